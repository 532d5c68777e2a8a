r"""Where the final answer stands in a text: in JSON, in the last `\boxed{}`, after `####`, after "answer is", in the last formula, at the end; and numbers.

Every search takes time in proportion to the text, whatever the text is.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias

Place: TypeAlias = Literal["json", "boxed", "marked", "stated", "formula", "last"]

_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-+\u2212]?)(?:[$\u20ac\u00a3\u00a5]\s?)?(?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,3}\b)?"
)
_MARK = "####"
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s+([^\s{}$\\.,;]{1,40})")
_ANSWER_IS = re.compile(r"\banswer(?: is|\b(?=[*_ ]{0,4}[:=]))[\s:*=]*", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer(?: is)?\b[\s:*=]*", re.IGNORECASE)
_KEY = re.compile(r"""["'](?:final[_ ]?)?answer["']\s*:\s*""", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.){0,2000})"')
_BARE_VALUE = re.compile(r"[^\s,{}\[\]\"]{1,200}")
_FORMULA_ENDS = (("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_GLUE = re.compile(r"\s*(?:,|;|and|or|,\s*and|,\s*or)\s*")
_PROSE = re.compile(r"(?<![\\{\w])[A-Za-z]{3,}\s+[A-Za-z]{2,}")
_ESCAPES = {"\f": "\\f", "\b": "\\b", "\t": "\\t", "\r": "\\r"}
_COMMAND = re.compile(r"[\f\x08]|\t(?=(?:ext|imes|heta|frac|an|au)\b|ext\{)|\r(?=ight|ho\b)")
"""JSON reads `\\frac` with a single backslash as a form feed and "rac"; no answer holds a form feed."""
_LONGEST_LITERAL = 30


def final_parts(text: str) -> list[str]:
    """Return the parts of a text that may be its final answer, the most explicit first; the last is the whole text."""
    parts = [part for part in (in_json(text), boxed(text), marked(text)) if part is not None]
    if (said := [match.end() for match in _ANSWER.finditer(text)]) and (rest := text[said[-1] :].strip()):
        parts.append(rest.splitlines()[0])
    lines = text.strip().splitlines()
    return [*parts, *lines[-1:], text]


def final_answer(text: str, places: Sequence[Place]) -> str | None:
    """Return the final answer of a text.

    Args:
        text: of a response.
        places: where to look, in this order; the first place that holds anything counts.

    Returns:
        What stands there, without blanks around it; None when nothing stands in any of them.
    """
    for place in places:
        found = READERS[place](text)
        if found is not None and found.strip():
            return found.strip()
    return None


def boxed(text: str) -> str | None:
    r"""Return what stands in the last `\boxed{...}` or `\fbox{...}` whose braces are balanced; None when there is none.

    A brace after a backslash is one that is printed, and does not count. The last is the one that opens last.
    """
    opened: list[tuple[bool, int]] = []
    last: tuple[int, int] | None = None
    first = _BOX.search(text)
    for match in () if first is None else _BRACES.finditer(text, first.start()):
        found = match[0]
        if found.endswith("{") and found != "\\{":
            opened.append((found != "{", match.end()))
        elif found == "}" and opened:
            is_box, begin = opened.pop()
            if is_box and (last is None or begin > last[0]):
                last = (begin, match.start())
    if last is not None:
        return text[last[0] : last[1]]
    bare = list(_BARE_BOX.finditer(text))
    return bare[-1][1] if bare else None


def marked(text: str) -> str | None:
    """Return the line after the last `####`; None when there is none."""
    _, mark, rest = text.rpartition(_MARK)
    return rest.strip().splitlines()[0] if mark and rest.strip() else None


def in_json(text: str) -> str | None:
    """Return the value of the last JSON key "answer", when it is a text, a number or a bare word; the JSON around it need not be whole."""
    keys = list(_KEY.finditer(text))
    for key in reversed(keys[-4:]):
        begin = key.end()
        if text.startswith('"', begin):
            try:
                value, _ = json.JSONDecoder(strict=False).raw_decode(text, begin)
            except ValueError:
                # Formulas in JSON often have single backslashes, which JSON does not know.
                quoted = _QUOTED.match(text, begin)
                value = None if quoted is None else quoted[1].replace("\\\\", "\\")
            if isinstance(value, str) and value.strip():
                return _COMMAND.sub(lambda match: _ESCAPES[match[0]], value).strip()
        elif bare := _BARE_VALUE.match(text, begin):
            return bare[0]
    return None


def stated(text: str) -> str | None:
    """Return what follows the last "answer is" or "answer:": the formulas it opens with, else the rest of the sentence; None when there is none."""
    said = [match.end() for match in _ANSWER_IS.finditer(text)]
    rest = text[said[-1] :].strip() if said else ""
    if not rest:
        return None
    rest = rest.splitlines()[0]
    if formulas := _formulas(rest):
        return formulas
    sentence = re.split(r"[.!?](?:\s|$)", rest, maxsplit=1)[0]
    return sentence.strip(" *_`\"':") or None


def formula(text: str) -> str | None:
    r"""Return the last formula, which is what stands between dollar signs, `\(` and `\)`, or `\[` and `\]`; None when there is none.

    What stands between two amounts of money is prose and no formula.
    """
    found: tuple[int, str] | None = None
    for opening, closing in _FORMULA_ENDS:
        end = text.rfind(closing)
        start = text.rfind(opening, 0, max(end, 0))
        # The two signs of `$$` next to each other enclose nothing: the formula stands before them.
        if closing == "$" and end == start + 1 and end > 0:
            end = start
            start = text.rfind(opening, 0, end)
        inner = text[start + len(opening) : end].strip() if 0 <= start < end else ""
        if inner and not _PROSE.search(inner) and (found is None or start > found[0]):
            found = (start, inner)
    return None if found is None else found[1]


def last_expression(text: str) -> str | None:
    """Return what follows the last equals sign of the last line, when it is no prose; else the last number as it is written."""
    lines = text.strip().splitlines()
    if lines and "=" in lines[-1]:
        side = lines[-1].rpartition("=")[2].strip(" .$*")
        if side and not re.search(r"(?<!\\)\b[A-Za-z]{2,}", side):
            return side
    numbers = _numbers(text)
    return numbers[-1][0] if numbers else None


def last_number(text: str) -> Decimal | None:
    r"""Return the number a text ends on.

    Args:
        text: of an answer. Its last JSON key "answer" is all that counts, where it has one: an answer such as "unknown" is no number. Else what stands in its
            last `\boxed{}`, else after its last `####`, goes before the rest.

    Returns:
        The last number there, without thousands commas and currency signs; None when there is none. A minus counts unless a word or digit is right before it.
    """
    said = in_json(text)
    for part in (boxed(text), marked(text), text) if said is None else (said,):
        numbers = [] if part is None else _numbers(part)
        if numbers:
            return _decimal(numbers[-1])
    return None


def as_number(text: str) -> Decimal | None:
    """Return the number that a text is as a whole, a currency sign, percent sign or final stop aside; None when it is more or less than that."""
    match = _NUMBER.fullmatch(text.strip().rstrip("%. "))
    return None if match is None else _decimal(match)


def number_text(number: Decimal) -> str:
    """Write a number such that equal numbers are equal texts: 2.50 as 2.5, 1e3 as 1000, -0 as 0."""
    if number == 0:
        return "0"
    written = f"{number:f}" if abs(number.adjusted()) <= _LONGEST_LITERAL or number == number.to_integral_value() else f"{number:e}"
    return written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written


def _numbers(text: str) -> list[re.Match[str]]:
    return list(_NUMBER.finditer(text.replace("{,}", ",").replace("\\$", "$").replace("\\!", "")))


def _formulas(text: str) -> str | None:
    """Return the formulas a text opens with, joined where only a comma, "and" or "or" stands between them."""
    parts: list[str] = []
    position = 0
    while (opening := next((pair for pair in _FORMULA_ENDS if text.startswith(pair[0], position)), None)) is not None:
        begin = position + len(opening[0])
        if text.startswith("$", begin) and opening[0] == "$":
            return parts[0] if len(parts) == 1 else ", ".join(parts) or None
        end = text.find(opening[1], begin)
        if end < 0 or _PROSE.search(text[begin:end]):
            break
        parts.append(text[begin:end].strip())
        glue = _GLUE.match(text, end + len(opening[1]))
        if glue is None:
            break
        position = glue.end()
    return ", ".join(parts) or None


def _decimal(match: re.Match[str]) -> Decimal | None:
    sign = "-" if match["sign"] in ("-", "\u2212") else ""
    try:
        return Decimal(f"{sign}{match['digits'].replace(',', '')}{match['exponent'] or ''}")
    except InvalidOperation:
        return None


READERS: Mapping[Place, Callable[[str], str | None]] = {
    "json": in_json,
    "boxed": boxed,
    "marked": marked,
    "stated": stated,
    "formula": formula,
    "last": last_expression,
}
"""How each place is read."""
PLACES: tuple[Place, ...] = ("json", "boxed", "marked", "stated", "formula", "last")
"""All of them, the most explicit first."""
