"""Reward models behind HTTP: vLLM and SGLang, whole batches in one request. Retries are the engine's; here a score says whether another try may help."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Protocol, TypeAlias

from multigraft.errors import UnknownNameError
from multigraft.randomness import key_of
from multigraft.rewards.remote_shapes import Embedded, Labelled, Listed, Pair, Paired, Shape, picked
from multigraft.rewards.remote_whole import Whole
from multigraft.rewards.rendering import conversation, fill, places
from multigraft.rewards.scores import of_failure, scored, unscored
from multigraft.types import Candidate, Failure, FailureKind, Json, Message, Score
from multigraft.wire.exchange import Reply

AnyShape: TypeAlias = Shape | Whole
SHAPES: Mapping[str, AnyShape] = {
    "pooling": Listed("/pooling", ("data", "embedding", "score")),
    "classify": Listed("/classify", ("probs", "score", "data")),
    "v1_classify": Listed("/v1/classify", ("probs", "score", "data")),
    "score": Paired(),
    "sglang_classify": Embedded(),
    "multigraft": Whole(),
}
"""The routes that need no settings of their own. `multigraft` is that of `multigraft reward serve`: there the scores are those of the scorer itself."""
LABELLED = "sglang_score"
"""The route that needs token ids."""

TURNS: Mapping[str, str] = {
    "plain": "{role}: {content}\n\n",
    "chatml": "<|im_start|>{role}\n{content}<|im_end|>\n",
    "llama3": "<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>",
}
"""How one turn of a conversation is written for the reward model, by name."""

_ONE_BY_ONE = frozenset({FailureKind.CONTEXT, FailureKind.BAD_REQUEST, FailureKind.TOO_LARGE, FailureKind.REFUSED, FailureKind.INVALID_SCORE})
"""Failures of a batch that a single candidate may have caused."""
Cut: TypeAlias = Literal["refuse", "cut"]


class Poster(Protocol):
    """The part of `wire.endpoints.Endpoints` that is needed."""

    async def post(self, path: str, body: Mapping[str, Json]) -> Reply | Failure:
        """POST once."""
        ...


class Remote:
    """A reward model on one or several servers.

    Args:
        endpoints: where to post.
        shape: a name of `SHAPES`, `sglang_score`, or a shape.
        model: the served model's name.
        path: in place of the shape's own.
        field: of an item, in place of the shape's own.
        label_token_ids: for `sglang_score`, the tokens whose probabilities are wanted; `size` is how many they are.
        size: numbers a candidate gets; any other count is no score.
        index: which of them is the score; [0, size).
        turn: how a turn is written: a name of `TURNS`, or a template with `{role}` and `{content}`.
        max_characters: what prompt and response may come to; None: the server decides, and says so when it is too much. Nothing is ever cut without a trace.
        too_long: `refuse`: no score, reason `CONTEXT`. `cut`: the end of the response is left out, and the score is marked as truncated.
        name: what records know it by.
        max_batch: candidates in a request; 1 for servers whose scores depend on the batch.

    Raises:
        UnknownNameError: no such shape.
        ValueError: a setting out of its range, or token ids where they do not belong.
    """

    reads_answers: ClassVar[bool] = True

    def __init__(
        self,
        endpoints: Poster,
        *,
        shape: str | AnyShape,
        model: str,
        path: str | None = None,
        field: str | None = None,
        label_token_ids: Sequence[int] = (),
        size: int = 1,
        index: int = 0,
        turn: str = "chatml",
        max_characters: int | None = None,
        too_long: Cut = "refuse",
        name: str = "remote",
        max_batch: int = 8,
    ) -> None:
        if not 0 <= index < size or max_batch < 1 or (max_characters is not None and max_characters < 1):
            message = f"{name} needs 0 <= index < size, max_batch and max_characters of at least 1, not {index}, {size}, {max_batch}, {max_characters}"
            raise ValueError(message)
        self._endpoints = endpoints
        if (shape == LABELLED) != bool(label_token_ids):
            message = f"{name}: shape '{LABELLED}' needs label_token_ids, and only that shape takes them"
            raise ValueError(message)
        self._shape = _shape(Labelled(tuple(label_token_ids)) if label_token_ids else shape, field)
        self._path = path or self._shape.path
        self._model = model
        self._size, self._index = size, index
        self._turn = TURNS.get(turn, turn)
        if not places(self._turn) >= {"role", "content"}:
            message = f"turn of {name} must be one of {', '.join(TURNS)}, or a template with {{role}} and {{content}}, not {turn!r}"
            raise ValueError(message)
        self._max_characters, self._too_long = max_characters, too_long
        self.name = name
        self.max_batch = max_batch

    @property
    def version(self) -> str:
        """Revision, and a digest of the model and of how it is asked; the batch is part of it, as scores may depend on it."""
        parts = (self._shape, self._path, self._model, self._size, self._index, self._turn, self._max_characters, self._too_long, self.max_batch)
        return f"1-{key_of(repr(parts)):016x}"

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch, in one request where the route takes several."""
        scores: list[Score | None] = [None] * len(candidates)
        sent: list[tuple[int, Candidate, bool]] = []
        for position, candidate in enumerate(candidates):
            fitting, cut = self._fitting(candidate)
            if fitting is None:
                message = f"prompt and response exceed max_characters ({self._max_characters}); raise it, or set too_long to 'cut'"
                scores[position] = unscored(FailureKind.CONTEXT, message)
            else:
                sent.append((position, fitting, cut))
        for (position, _, cut), score in zip(sent, await self._scored([fitting for _, fitting, _ in sent]), strict=True):
            scores[position] = replace(score, truncated=score.truncated or (cut and score.value is not None))
        return [score for score in scores if score is not None]

    async def _scored(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        if not candidates:
            return []
        if self._shape.batches or len(candidates) == 1:
            scores = await self._posted(candidates)
            if not isinstance(scores, Score):
                return scores
            if len(candidates) == 1 or scores.reason not in _ONE_BY_ONE:
                return [scores] * len(candidates)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._posted([candidate])) for candidate in candidates]
        return [result if isinstance(result := task.result(), Score) else result[0] for task in tasks]

    async def _posted(self, candidates: Sequence[Candidate]) -> list[Score] | Score:
        """Send one request; a single score speaks for all of it."""
        shape = self._shape
        body = shape.body(self._model, candidates) if isinstance(shape, Whole) else shape.body(self._model, list(map(self._pair, candidates)))
        reply = await self._endpoints.post(self._path, body)
        if isinstance(reply, Failure):
            # A body that does not fit is one the scorer's context would not hold either.
            return of_failure(replace(reply, kind=FailureKind.CONTEXT) if reply.message.startswith("HTTP 413") else reply)
        if isinstance(shape, Whole):
            scores = shape.scores(reply.body, len(candidates))
        else:
            values = shape.values(reply.body, len(candidates))
            scores = None if values is None else [self._read(value) for value in values]
        if scores is None:
            return unscored(FailureKind.INVALID_SCORE, f"the server did not return one score for each of {len(candidates)} responses", retryable=True)
        return scores

    def _read(self, value: Json) -> Score:
        found = picked(value, self._size, self._index)
        if found is None:
            shown = f"{len(value)} items" if isinstance(value, list) else repr(value)
            return unscored(FailureKind.INVALID_SCORE, f"wanted {self._size} numbers, got {shown}, or one that is NaN, infinite or null")
        return scored(found)

    def _fitting(self, candidate: Candidate) -> tuple[Candidate | None, bool]:
        """Return the candidate, its response cut where that is wanted, and whether it was; None when it is too long."""
        messages, completion = candidate.prompt.messages, candidate.completion
        over = 0
        if self._max_characters is not None:
            over = sum(len(message.content) for message in messages) + len(completion.text) - self._max_characters
        if over <= 0:
            return candidate, False
        if self._too_long == "refuse" or over >= len(completion.text):
            return None, False
        return replace(candidate, completion=replace(completion, text=completion.text[:-over])), True

    def _pair(self, candidate: Candidate) -> Pair:
        messages, response = candidate.prompt.messages, candidate.completion.text
        both = "".join(map(self._written, (*messages, Message("assistant", response))))
        return Pair(conversation(messages), response, both)

    def _written(self, message: Message) -> str:
        # A response must not be able to write turns of its own.
        content = message.content.replace("<|", "< |") if "<|" in self._turn else message.content
        return fill(self._turn, {"role": message.role, "content": content})


def _shape(shape: str | AnyShape, field: str | None) -> AnyShape:
    found = SHAPES.get(shape) if isinstance(shape, str) else shape
    if found is None:
        what = "shape of a reward server"
        raise UnknownNameError(what, str(shape), {*SHAPES, LABELLED})
    if field is not None and isinstance(found, Listed | Paired | Embedded | Labelled):
        return replace(found, fields=(field,))
    return found
