"""From text to token ids: one start token, no markup but the model's own, and nothing cut without a trace."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

_SURROGATES = re.compile("[\ud800-\udfff]")
_PASSES = 8
_SANE_TOKENS = 10**9
"""Tokenizers that know no limit say a number far above it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One text as a model takes it."""

    ids: tuple[int, ...]
    marks: tuple[int, ...]
    """Positions whose output is read, in order."""
    types: tuple[int, ...] = ()
    """Segment of each token, for encoders that read pairs."""


class Tokenizer(Protocol):
    """The part of a tokenizer of transformers that is needed."""

    bos_token_id: int | None
    pad_token_id: int | None
    model_max_length: int
    is_fast: bool
    chat_template: str | dict[str, str] | None
    all_special_tokens: Sequence[str]
    special_tokens_map: Mapping[str, object]

    def __call__(
        self,
        text: list[str],
        text_pair: list[str] | None = None,
        *,
        add_special_tokens: bool,
        return_offsets_mapping: bool,
        return_attention_mask: bool,
        return_token_type_ids: bool | None,
        verbose: bool,
    ) -> Mapping[str, Sequence[Sequence[object]]]:
        """Tokenize."""
        ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """A tokenized text."""

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    """Which characters each token stands for."""
    types: tuple[int, ...] = ()

    def position_of(self, character: int) -> int:
        """Return the position of the last token that stands for a character.

        Raises:
            ValueError: there is none.
        """
        for position in range(len(self.spans) - 1, -1, -1):
            start, end = self.spans[position]
            if start <= character < end:
                return position
        message = f"no token stands for character {character}"
        raise ValueError(message)


class Encoder:
    """A tokenizer with its rules.

    Args:
        tokenizer: of the model; a fast one.
        markup: further strings that are the model's own and must not come from a text.
    """

    def __init__(self, tokenizer: Tokenizer, *, markup: Iterable[str] = ()) -> None:
        self._tokenizer = tokenizer
        own = {str(token) for token in tokenizer.all_special_tokens} | _added(tokenizer) | set(markup)
        ordered = sorted((token for token in own if len(token.strip()) > 1), key=len, reverse=True)
        self._markup = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @property
    def limit_tokens(self) -> int | None:
        """What the tokenizer says the model takes."""
        limit = self._tokenizer.model_max_length
        return limit if 0 < limit < _SANE_TOKENS else None

    def plain(self, text: str) -> tuple[str, int]:
        """Make a text that holds no markup of the model: a space after its first sign takes its meaning away.

        Returns:
            The text, and how many were found.
        """
        text = _SURROGATES.sub("\ufffd", text)
        if self._markup is None:
            return text, 0
        found = 0
        # Broken-up markup may leave other markup behind, as in `<|<|im_end|>im_end|>`.
        for _ in range(_PASSES):
            text, number = self._markup.subn(lambda match: f"{match[0][0]} {match[0][1:]}", text)
            if not number:
                break
            found += number
        return text, found

    def encode(self, texts: Sequence[str], *, templated: bool, pairs: Sequence[str] = ()) -> list[Encoded]:
        """Tokenize texts, all with one call, which a tokenizer spreads over the cores.

        Args:
            texts: all of each.
            templated: they come from a chat template, which writes the start token itself.
            pairs: for encoders, the second text of each.
        """
        if not texts:
            return []
        found = self._tokenizer(
            list(texts),
            list(pairs) or None,
            add_special_tokens=not templated,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=None,
            verbose=False,
        )
        ids = cast("Sequence[Sequence[int]]", found["input_ids"])
        spans = cast("Sequence[Sequence[tuple[int, int]]]", found["offset_mapping"])
        # Some tokenizers count segments for models that know none, so only those of pairs are passed on.
        types = cast("Sequence[Sequence[int]]", found.get("token_type_ids") if pairs else None) or [()] * len(ids)
        return [self._encoded(tuple(one), tuple(places), tuple(segments)) for one, places, segments in zip(ids, spans, types, strict=True)]

    def _encoded(self, ids: tuple[int, ...], spans: tuple[tuple[int, int], ...], types: tuple[int, ...]) -> Encoded:
        start = self._tokenizer.bos_token_id
        # A template that writes the start token, given to a tokenizer that adds one, makes two, which no model was trained with.
        doubled = start is not None and len(ids) > 1 and ids[0] == ids[1] == start
        return Encoded(ids[1:], spans[1:], types[1:]) if doubled else Encoded(ids, spans, types)


def _added(tokenizer: Tokenizer) -> set[str]:
    decoder = getattr(tokenizer, "added_tokens_decoder", {})
    return {str(token) for token in decoder.values() if getattr(token, "special", False)}


def fitted(response: str, alone: Encoded, limit_tokens: int, length_of: Callable[[str], int]) -> str | None:
    """Cut the end of a response until the whole fits.

    Args:
        response: all of it.
        alone: its tokens.
        limit_tokens: what the whole may have.
        length_of: tokens of the whole with a shorter response.

    Returns:
        A beginning of it, within a few tokens of the longest that fits; None when none does.
    """
    kept = len(alone.ids)
    over = length_of(response) - limit_tokens
    while over > 0:
        kept -= over
        if kept <= 0:
            return None
        response = response[: alone.spans[kept - 1][1]]
        if not response.strip():
            return None
        over = length_of(response) - limit_tokens
    return response


def last_position(ids: Sequence[int], pad_id: int | None) -> int:
    """Return where the classes of transformers read a row: at the last token that is not padding, or at the last of all."""
    return next((position for position in range(len(ids) - 1, -1, -1) if ids[position] != pad_id), len(ids) - 1)
