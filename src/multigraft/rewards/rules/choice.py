r"""The option that an answer to a multiple-choice question names: `The answer is (C)`, `\boxed{C}`, `**C**`, `{"answer": "C"}`, `C`, or its text."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from multigraft.errors import InputError
from multigraft.rewards.rules.check import Check, verdict
from multigraft.rewards.rules.final_answer import boxed, in_json, marked
from multigraft.types import Json, Prompt

LETTERS = "ABCDEFGHIJ"
_OPEN = r"(?:[\s*_`\"'$(\[{<:=]|\\\(|\\\[|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\s*\{){0,12}"
_ENDS = r"(?![\w']|\s*\+|-\w|\s+[a-z]\w*\s+[a-z])"
"""A letter followed by words is an article or a pronoun ("A man went", "I think so"), unless one word alone follows ("C is")."""
_LOOSE_ENDS = r"(?![\w'])"
_LETTER = rf"{_OPEN}(?:(?i:option|choice|letter)\s*)?{_OPEN}(?P<letter>[A-J])(?:(?<=\([A-J])(?=\))|{_ENDS})"
_IS = r"\s+(?:is|would\s+be|should\s+be|must\s+be)(?:\s+(?:therefore|thus|indeed|likely|probably))?"
_ANSWER = re.compile(rf"\b(?i:answer)\b(?:\s+(?i:choice|option|letter))?(?:{_IS})?{_LETTER}")
_OPTION_IS = re.compile(rf"\b(?i:answer|option|choice)\b(?:\s+(?:that|to|for|among|from)\b[^.\n]{{0,80}}?)?{_IS}{_LETTER}")
_CORRECT = re.compile(
    r"(?:\(|\*\*|\b(?i:option|choice)\s+)(?P<letter>[A-J])\b[^.\n]{0,80}?\bis\s+(?:the\s+)?(?:most\s+|only\s+)?(?:correct|right|best|answer|closest)"
)
_LONE = re.compile(rf"{_OPEN}(?P<letter>[A-Ja-j]){_LOOSE_ENDS}[\s*_`\"'$)\]}}>.:,;!]*")
_LEADING = re.compile(rf"{_OPEN}(?P<letter>[A-J])(?:[*_]*\s*[).:]|\s*\*\*|\s*$|\s*\n)")
_BRACKETED = re.compile(r"\((?P<letter>[A-J])\)|\*\*\(?(?P<bold>[A-J])[).]?\*\*")
_NEXT_QUESTION = re.compile(r"\n[ \t*#_>]{0,8}Question\b ?\d{0,4}[*_]{0,3}:")
_SPACES = re.compile(r"\s+")
_EDGES = " \t\r\n.,;:!?*_`\"'()[]$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    r"""The answer names the right option; does not apply to a prompt without a reference.

    The option is read off, in this order: the JSON key "answer", the last `\boxed{}` or `####`, the last "answer is" or "Answer:", a text that is a letter or
    an option, the one letter that opens a line, the one option whose text is a line, "option C is correct", the one letter that stands in brackets or bold. An
    answer that names none, or several alike, has no option and is wrong.

    Args:
        choices: field of the prompt's row that lists the texts of the options; where there is none, letters alone are read, A to J.
        first_index: what the first option is called where the reference is an index: 0, or 1.

        several: which counts where a text says "the answer is" of several options; MMLU-Pro takes the first.

    Raises:
        ValueError: another first index, or another word for several.
    """

    reads_answers: ClassVar[bool] = True

    choices: str = "choices"
    first_index: int = 0
    several: Literal["last", "first"] = "last"

    def __post_init__(self) -> None:
        if self.first_index not in (0, 1):
            message = f"first_index must be 0 or 1, not {self.first_index}"
            raise ValueError(message)
        if self.several not in ("last", "first"):
            message = f"several must be 'last' or 'first', not {self.several!r}"
            raise ValueError(message)

    def check(self, prompt: Prompt, response: str) -> Check | None:
        """Read the option and compare it with the reference.

        Raises:
            InputError: the reference is neither a letter nor an index nor the text of one option.
        """
        if prompt.reference is None:
            return None
        options = options_of(prompt.fields.get(self.choices))
        wanted = self._wanted(prompt.reference, options)
        found = read_choice(response, options, self.several)
        message = f"option {found}, right is {wanted}" if found else f"no option named, right is {wanted}"
        return verdict(message, passed=found == wanted, credit=0.0, answer=found)

    def _wanted(self, reference: str, options: Sequence[str]) -> str:
        letters = LETTERS[: len(options)] if options else LETTERS
        text = reference.strip()
        if (lone := _LONE.fullmatch(text)) and lone["letter"].upper() in letters:
            return lone["letter"].upper()
        if text.isdecimal() and len(text) < 3 and 0 <= (index := int(text) - self.first_index) < len(letters):
            return letters[index]
        if (option := _by_text(text, options)) is not None:
            return option
        message = f"the reference {reference!r} is no letter of {letters}, no index from {self.first_index} and no text of one option"
        raise InputError(message)


def read_choice(text: str, options: Sequence[str] = (), several: Literal["last", "first"] = "last") -> str | None:
    """Return the letter of the option that a text names.

    Args:
        text: of a response. What comes after a line that begins with "Question:" is none of it: there a model went on with a question of its own.
        options: their texts, at most ten; empty: not known.
        several: see `Choice`.

    Returns:
        A capital letter; None when the text names no option, or several alike.
    """
    letters = LETTERS[: len(options)] if options else LETTERS
    return next((letter for letter in _readings(_before_the_next_question(text), options, several) if letter is not None and letter in letters), None)


def _readings(text: str, options: Sequence[str], several: Literal["last", "first"]) -> Iterator[str | None]:
    for part in (in_json(text), boxed(text), marked(text)):
        if part is not None:
            yield _of_part(part, options)
    for pattern in (_ANSWER, _OPTION_IS):
        yield _said(pattern, text, several)
    stripped = text.strip()
    yield _whole(stripped, options)
    lines = stripped.splitlines()
    # Of a text that goes through the options one by one, no line is the answer.
    yield _only(_letter(_LEADING.match(line)) for line in lines)
    yield _only(_by_text(line, options) or _by_text(line.rpartition(":")[2], options) for line in lines)
    yield _said(_CORRECT, text, several)
    yield _only(match["letter"] or match["bold"] for match in _BRACKETED.finditer(text))


def _before_the_next_question(text: str) -> str:
    opening = len(text) - len(text.lstrip())
    following = _NEXT_QUESTION.search(text, opening)
    return text if following is None else text[: following.start()]


def _of_part(part: str, options: Sequence[str]) -> str | None:
    return _whole(part.strip(), options) or _letter(_LEADING.match(part.strip()))


def _whole(text: str, options: Sequence[str]) -> str | None:
    return _letter(_LONE.fullmatch(text)) or _by_text(text, options)


def _said(pattern: re.Pattern[str], text: str, several: Literal["last", "first"]) -> str | None:
    found = [match["letter"] for match in pattern.finditer(text) if match["letter"].isupper()]
    return found[-1 if several == "last" else 0] if found else None


def _only(letters: Iterable[str | None]) -> str | None:
    named = {letter for letter in letters if letter is not None}
    return named.pop() if len(named) == 1 else None


def _letter(match: re.Match[str] | None) -> str | None:
    return None if match is None else match["letter"].upper()


def _by_text(text: str, options: Sequence[str]) -> str | None:
    wanted = _plain(text)
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if wanted and _plain(option) == wanted]
    return same[0] if len(same) == 1 else None


def options_of(value: Json) -> list[str]:
    """Return the texts of the options that a field lists, at most ten; empty where it lists none."""
    return [str(option) for option in value][: len(LETTERS)] if isinstance(value, list) else []


def _plain(text: str) -> str:
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip(_EDGES)
