"""Language and sentences of a text, by libraries that are imported when first needed: their tables take half a second to load."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

_MAX_BLOCK_CHARS = 2000
"""The segmenter's time grows with the square of the text on lists, so a long text is cut into blocks at line ends or spaces."""


class _Segmenter(Protocol):
    def segment(self, text: str) -> list[str]: ...


@cache
def known_languages() -> frozenset[str]:
    """Return the codes of the languages that can be told apart (ISO 639-1; Chinese is `zh-cn` and `zh-tw`)."""
    from langdetect.detector_factory import PROFILES_DIRECTORY  # noqa: PLC0415  # slow import, see above

    return frozenset(path.name for path in Path(PROFILES_DIRECTORY).iterdir())


def language_probabilities(text: str) -> Mapping[str, float]:
    """Say which languages a text may be in.

    Args:
        text: any text; its case is ignored, as the library finds no features in words of capitals.

    Returns:
        Probability by language code, the most probable first; empty when the text has no letters to tell it by. The same text always gives the same answer.
    """
    from langdetect import DetectorFactory, LangDetectException, detect_langs  # noqa: PLC0415  # slow import, see above

    # Without a seed the library draws at random, and a text near a border would get another score each time.
    DetectorFactory.seed = 0
    try:
        return {found.lang: float(found.prob) for found in detect_langs(text.lower())}
    except LangDetectException:
        return {}


def count_sentences(text: str) -> int:
    """Count the sentences of a text: segments with at least one letter or digit."""
    segmenter = _segmenter()
    return sum(any(character.isalnum() for character in sentence) for block in _blocks(text) for sentence in segmenter.segment(block))


@cache
def _segmenter() -> _Segmenter:
    from pysbd import Segmenter  # noqa: PLC0415  # slow import, see above

    segmenter: _Segmenter = Segmenter(language="en", clean=False)
    return segmenter


def _blocks(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _MAX_BLOCK_CHARS
        if end < len(text):
            end = max(text.rfind("\n", start, end), text.rfind(". ", start, end)) + 1 or end
        yield text[start:end]
        start = end
