r"""Where the final answer stands in a text: after `####`, in the last `\boxed{}`, after "answer is", on the last line; and the last number."""

import re
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-+\u2212]?)(?:[$\u20ac\u00a3\u00a5]\s?)?(?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,3}\b)?"
)
_MARK = "####"
_BOXED = "\\boxed{"
_ANSWER_IS = re.compile(r"\banswer(?: is)?\b[\s:*=]*", re.IGNORECASE)


def final_parts(text: str) -> list[str]:
    """Return the parts of a text that may be its final answer, the most explicit first; the last is the whole text."""
    parts = [part for part in (boxed(text), marked(text)) if part is not None]
    if (said := [match.end() for match in _ANSWER_IS.finditer(text)]) and (rest := text[said[-1] :].strip()):
        parts.append(rest.splitlines()[0])
    lines = text.strip().splitlines()
    return [*parts, *lines[-1:], text]


def boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{...}` whose braces are balanced; None when there is none."""
    start = text.rfind(_BOXED)
    while start >= 0:
        depth, begin = 1, start + len(_BOXED)
        for position in range(begin, len(text)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                return text[begin:position]
        # An unclosed brace swallows the rest, so what comes before it is all that is left to look at.
        text = text[:start]
        start = text.rfind(_BOXED)
    return None


def marked(text: str) -> str | None:
    """Return the line after the last `####`; None when there is none."""
    _, mark, rest = text.rpartition(_MARK)
    return rest.strip().splitlines()[0] if mark and rest.strip() else None


def last_number(text: str) -> Decimal | None:
    r"""Return the number a text ends on.

    Args:
        text: of an answer. What stands in its last `\boxed{}`, else after its last `####`, goes before the rest.

    Returns:
        The last number there, without thousands commas and currency signs; None when there is none. A minus counts unless a word or digit is right before it.
    """
    for part in (boxed(text), marked(text), text):
        numbers = [] if part is None else list(_NUMBER.finditer(part.replace("{,}", ",").replace("\\$", "$")))
        if numbers:
            return _decimal(numbers[-1])
    return None


def as_number(text: str) -> Decimal | None:
    """Return the number that a text is as a whole, a currency sign, percent sign or final stop aside; None when it is more or less than that."""
    match = _NUMBER.fullmatch(text.strip().rstrip("%. "))
    return None if match is None else _decimal(match)


def _decimal(match: re.Match[str]) -> Decimal | None:
    sign = "-" if match["sign"] in ("-", "\u2212") else ""
    try:
        return Decimal(f"{sign}{match['digits'].replace(',', '')}{match['exponent'] or ''}")
    except InvalidOperation:
        return None
