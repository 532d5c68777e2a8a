r"""Mathematical answers as texts: what can be said of two of them without algebra, and a normal form, in which equal answers are equal texts.

What is left undecided here goes to a worker; what is decided here, the worker decides alike.
"""

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

LONGEST_CHARACTERS = 1000
"""An answer beyond this is no final answer, and is compared as a text only."""
DEEPEST_BRACES = 24
"""The same for braces in braces: the grammar takes time that grows with their depth."""

_LONGEST_NUMERAL = 60
_ROUNDING = Fraction(1, 10**5)
"""Decimals nearer than this are left to the worker, which rounds to six places."""
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|mathbf|operatorname)\s*\{([^{}]*)\}")
_DROPPED = re.compile(r"\\(?:left|right|displaystyle|limits|big|Big|bigg|Bigg)(?![A-Za-z])|\\[!,;: ]|~|\^\s*\{?\s*\\circ\s*\}?|\\degree|\u00b0|\\?\$")
_FRACTION_NAMES = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_SHORT_FRACTION = re.compile(r"\\frac\s*(\d)\s*(\d)(?!\d)")
_SPACES = re.compile(r"\s+")
_SPACE_AT_MARK = re.compile(r"\s?([,;:()\[\]{}=+*/^<>|-])\s?")
_NUMERAL = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = re.compile(rf"(-?)({_NUMERAL})?(?:\.(\d+))?\.?")
_QUOTIENT = re.compile(rf"(-?)(?:\\frac\{{(-?{_NUMERAL})\}}\{{({_NUMERAL})\}}|({_NUMERAL})/({_NUMERAL}))")
_LETTER = re.compile(r"\(?([A-Za-z])\)?\.?")
_WORDS = re.compile(r"[^\W\d_]+(?:[ '-][^\W\d_]+)*\.?")
_SHORT_WORDS = frozenset({"yes", "no", "odd", "all", "none", "true"})


class Number(NamedTuple):
    """A number that stands alone."""

    value: Fraction
    is_decimal: bool
    """Written with a point, so perhaps rounded."""


def plain(text: str) -> str:
    r"""Return a text without what carries no meaning: spacing commands, `\left`, `\text{}` around words, dollar signs, degrees, a final stop."""
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("{,}", ",")
    text = _WRAPPED.sub(r" \1 ", _DROPPED.sub(" ", text))
    text = _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", _FRACTION_NAMES.sub(r"\\frac", text))
    text = _SPACE_AT_MARK.sub(r"\1", _SPACES.sub(" ", text)).strip(" *_`\"'")
    text = text.removesuffix(".").strip()
    letter = _LETTER.fullmatch(text)
    return letter[1] if letter else text


def number(text: str) -> Number | None:
    r"""Return the number that a plain text is as a whole: `-3`, `1,000`, `0.5`, `1/2`, `\frac{1}{2}`; None when it is anything else."""
    text = text.replace(" ", "")
    if len(text) > _LONGEST_NUMERAL:
        return None
    if (match := _DECIMAL.fullmatch(text)) and (match[2] or match[3]):
        value = Fraction(f"{(match[2] or '0').replace(',', '')}.{match[3] or '0'}")
        return Number(-value if match[1] else value, is_decimal=match[3] is not None)
    if match := _QUOTIENT.fullmatch(text):
        above, below = (int(part.replace(",", "")) for part in (match[2] or match[4], match[3] or match[5]))
        return None if below == 0 else Number(Fraction(-above if match[1] else above, below), is_decimal=False)
    return None


def is_words(text: str, *, wrapped: bool) -> bool:
    r"""Tell whether a plain text is words, which algebra would take for products of letters.

    Args:
        text: plain.
        wrapped: it stood in `\text{}`, so that also a short word is one.
    """
    if not _WORDS.fullmatch(text):
        return False
    longest = max(len(word) for word in re.split(r"[ '-]", text))
    return longest >= (2 if wrapped else 4) or text.casefold() in _SHORT_WORDS


def decided(answer: str, reference: str) -> bool | None:
    """Compare two answers as texts and as numbers.

    Args:
        answer: as it was found.
        reference: as it is written.

    Returns:
        Whether they are equal; None when that takes algebra.
    """
    one, other = plain(answer), plain(reference)
    if one == other and one:
        return True
    if is_words(other, wrapped=_is_wrapped(reference)):
        return one.casefold() == other.casefold()
    first, second = number(one), number(other)
    if second is not None and is_words(one, wrapped=_is_wrapped(answer)):
        return False
    if first is None or second is None:
        return None
    apart = abs(first.value - second.value)
    if apart == 0:
        return True
    return None if (first.is_decimal or second.is_decimal) and apart <= _ROUNDING else False


def form(answer: str) -> str | None:
    """Return the normal form of an answer that is a number or words; None when that takes algebra."""
    text = plain(answer)
    if (found := number(text)) is not None:
        return str(found.value)
    return text.casefold() if is_words(text, wrapped=_is_wrapped(answer)) else text if len(text) == 1 else None


def is_readable(text: str) -> bool:
    """Tell whether a text is short and flat enough to be given to a worker."""
    if len(text) > LONGEST_CHARACTERS:
        return False
    depth = deepest = 0
    for character in text:
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(character, 0)
        deepest = max(deepest, depth)
    return deepest <= DEEPEST_BRACES


def _is_wrapped(text: str) -> bool:
    return _WRAPPED.search(text) is not None
