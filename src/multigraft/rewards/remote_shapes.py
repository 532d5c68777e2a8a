"""What reward servers take and return: one class a kind of route. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from multigraft.types import Json


class Pair(NamedTuple):
    """One candidate as text."""

    prompt: str
    """The conversation up to the response."""
    response: str
    both: str
    """The conversation with the response as its last turn, as the model's chat template writes it."""


class Shape(Protocol):
    """The form of one route. Its `repr` shows every setting, as versions of rewards are made of it."""

    @property
    def path(self) -> str:
        """Path of the route."""
        ...

    @property
    def batches(self) -> bool:
        """Whether one request may hold several candidates."""
        ...

    def body(self, model: str, pairs: Sequence[Pair]) -> Mapping[str, Json]:
        """Make the body of a request; one pair where the route does not batch."""
        ...

    def values(self, reply: Mapping[str, Json], count: int) -> list[Json] | None:
        """Find what the server returned for each candidate, in order: numbers, vectors, or whatever it wrote; None when it is not one for each."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A route that takes a list of texts as `input` and returns a list `data` whose items hold the score in one field.

    `/pooling` and `/classify` of vLLM, `/v1/classify` of SGLang.
    """

    path: str
    fields: tuple[str, ...]
    """Where the score stands in an item; the first that is there counts."""
    batches: bool = True

    def body(self, model: str, pairs: Sequence[Pair]) -> Mapping[str, Json]:
        """Ask for the whole conversations."""
        return {"model": model, "input": [pair.both for pair in pairs]}

    def values(self, reply: Mapping[str, Json], count: int) -> list[Json] | None:
        """Read the items by their index."""
        return _listed(reply, self.fields, count)


@dataclass(frozen=True, slots=True)
class Paired:
    """A route that takes prompts and responses as two lists: `/score` of vLLM, for cross-encoders."""

    path: str = "/score"
    fields: tuple[str, ...] = ("score",)
    batches: bool = True

    def body(self, model: str, pairs: Sequence[Pair]) -> Mapping[str, Json]:
        """Ask pair by pair."""
        return {"model": model, "text_1": [pair.prompt for pair in pairs], "text_2": [pair.response for pair in pairs]}

    def values(self, reply: Mapping[str, Json], count: int) -> list[Json] | None:
        """Read the items by their index."""
        return _listed(reply, self.fields, count)


@dataclass(frozen=True, slots=True)
class Embedded:
    """SGLang's own `/classify`: one text a request, and the reward comes back as an `embedding`."""

    path: str = "/classify"
    fields: tuple[str, ...] = ("embedding",)
    batches: bool = False

    def body(self, model: str, pairs: Sequence[Pair]) -> Mapping[str, Json]:
        """Ask for one conversation."""
        return {"model": model, "text": pairs[0].both}

    def values(self, reply: Mapping[str, Json], count: int) -> list[Json] | None:
        """Read the one value."""
        return [_field(reply, self.fields)] if count == 1 else None


@dataclass(frozen=True, slots=True)
class Labelled:
    """SGLang's `/v1/score`: the probabilities of some tokens right after the text, from a language model."""

    label_token_ids: tuple[int, ...]
    path: str = "/v1/score"
    fields: tuple[str, ...] = ("scores",)
    batches: bool = False

    def body(self, model: str, pairs: Sequence[Pair]) -> Mapping[str, Json]:
        """Ask for one response to its prompt."""
        return {
            "model": model,
            "query": pairs[0].prompt,
            "items": [pairs[0].response],
            "label_token_ids": list(self.label_token_ids),
            "apply_softmax": True,
            "item_first": False,
        }

    def values(self, reply: Mapping[str, Json], count: int) -> list[Json] | None:
        """Read the one vector."""
        found = _field(reply, self.fields)
        return found if isinstance(found, list) and len(found) == count else None


def picked(value: Json, size: int, index: int) -> Json:
    """Take the score out of what stands in an item.

    Args:
        value: a number, a vector, or a list of vectors, one a token, of which the last counts (the score of the last step).
        size: how long the vector must be.
        index: which of its numbers is the score.

    Returns:
        Whatever stands there, not yet known to be a number; None when the shape is not the one expected.
    """
    while isinstance(value, list) and value and isinstance(value[-1], list):
        value = value[-1]
    if not isinstance(value, list):
        return value if size == 1 else None
    return value[index] if len(value) == size else None


def _listed(reply: Mapping[str, Json], fields: Sequence[str], count: int) -> list[Json] | None:
    data = reply.get("data")
    if not isinstance(data, list) or len(data) != count:
        return None
    ordered: dict[int, Json] = {}
    for position, item in enumerate(data):
        if not isinstance(item, dict):
            return None
        index = item.get("index", position)
        if isinstance(index, bool) or not isinstance(index, int):
            return None
        ordered[index] = _field(item, fields)
    return [ordered[index] for index in range(count)] if ordered.keys() == set(range(count)) else None


def _field(item: Mapping[str, Json], fields: Sequence[str]) -> Json:
    return next((item[name] for name in fields if name in item), None)
