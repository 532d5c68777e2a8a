"""A gate: an answer must say something beyond what its constraints make it say."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from multigraft.rewards.rules.check import Check, verdict
from multigraft.types import Json, Prompt

_WORD = re.compile(r"\w+")
_SPACES = re.compile(r"\s+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese are written without spaces: there a character counts as a word."""
_PHRASES = ("end_phrase", "prompt_to_repeat", "postscript_marker", "section_spliter", "keywords", "keyword", "first_word")
"""Arguments of constraints that say which words must occur."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumContent:
    """Enough distinct words are left when the prompt, repeated, and everything its constraints demand word for word are taken away.

    Checkers alone pay for nothing: a bare required ending passes `end_checker`, and has no comma, few sentences and no forbidden word. Credit of a failure:
    the share of the words that are there.

    Args:
        num_words: distinct words wanted; >= 0.
        num_words_with_reference: the same for a prompt whose reference answer may be one word.
    """

    num_words: int = 3
    num_words_with_reference: int = 1

    def __post_init__(self) -> None:
        if min(self.num_words, self.num_words_with_reference) < 0:
            message = f"words wanted must be at least 0, not {self.num_words} and {self.num_words_with_reference}"
            raise ValueError(message)

    def check(self, prompt: Prompt, response: str) -> Check:
        """Count what the answer says by itself."""
        wanted = self.num_words if prompt.reference is None else self.num_words_with_reference
        text = _folded(response)
        demanded = set[str]()
        # The longest first: a keyword taken out of a phrase would leave the phrase unrecognisable.
        for phrase in sorted(_demanded(prompt), key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", text)
            demanded.update(_words(phrase) if " " not in phrase else ())
        count = len(set(_words(text)) - demanded)
        return verdict(f"{count} words of content, wanted {wanted}", passed=count >= wanted, credit=count / max(wanted, 1))


def _demanded(prompt: Prompt) -> Iterator[str]:
    phrases = [prompt.messages[-1].content]
    for constraint in prompt.constraints:
        for name in _PHRASES:
            phrases += _phrases(constraint.arguments.get(name))
    yield from filter(None, map(_folded, phrases))


def _phrases(argument: Json) -> list[str]:
    items = argument if isinstance(argument, list) else [argument]
    return [item for item in items if isinstance(item, str)]


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if _UNSPACED.search(word):
            yield from word
        else:
            yield word


def _folded(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()
