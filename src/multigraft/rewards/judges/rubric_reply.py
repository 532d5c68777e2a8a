"""The grades in a judge's reply to a rubric: lines `criterion: number`, or one JSON object."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from multigraft.rewards.judges.grades import NUMBER, goes_on
from multigraft.types import Completion, Finish, Json

_MARKS = re.compile(r"^(?:[\s>#*+|_`\-\u2022]|\d{1,3}[.)](?=\s))+")
"""What Markdown puts before a line: list signs, numbers, quotes, headings, table edges."""
_LINE = re.compile(r"(?P<name>[^:=|\n]{1,200})[:=|](?P<rest>[^\n]*)")
_GRADE = re.compile(rf"[\s*_`\[(]*(?P<number>{NUMBER})[*_`\])]*(?P<rest>[^\n]*)")
_OUT_OF = re.compile(rf"\s*(?:/|out of|of)\s*[*_`]*(?P<most>{NUMBER})", re.IGNORECASE)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*\Z", re.DOTALL | re.IGNORECASE)
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a reply."""

    grades: Mapping[str, float]
    """By criterion, in the order of the criteria; only readable ones."""
    problems: Mapping[str, str]
    """What is wrong with the others, by criterion."""


def criterion_key(name: str) -> str:
    """Return what a criterion is recognised by: its letters and digits in small letters, without Markdown before them."""
    return " ".join(re.findall(r"[^\W_]+", _MARKS.sub("", name))).casefold()


def read_rubric(reply: Completion, criteria: Sequence[str], scale: tuple[float, float]) -> Reading:
    """Read the grade by each criterion.

    A criterion is readable if all lines that begin with its name and a number give it the same one, if that lies on the scale, and if the reply's end has not
    cut it off.

    Args:
        reply: of the judge.
        criteria: their names.
        scale: the lowest and the highest grade.

    Returns:
        A grade or a problem for each criterion.
    """
    names = {criterion_key(criterion): criterion for criterion in criteria}
    written = _of_object(reply.text)
    said: dict[str, list[float | str]] = {criterion: [] for criterion in criteria}
    for name, grade in _of_lines(reply, scale) if written is None else _of_members(written):
        if name in names:
            low, high = scale
            outside = not isinstance(grade, str) and not low <= grade <= high
            said[names[name]].append(f"{grade:g} is outside {low:g} to {high:g}" if outside else grade)
    grades: dict[str, float] = {}
    problems: dict[str, str] = {}
    for criterion, found in said.items():
        wrong = next((grade for grade in found if isinstance(grade, str)), None)
        numbers = sorted({grade for grade in found if not isinstance(grade, str)})
        if wrong is not None:
            problems[criterion] = wrong
        elif len(numbers) == 1:
            grades[criterion] = numbers[0]
        else:
            problems[criterion] = f"has several grades, {numbers[0]:g} and {numbers[1]:g}" if numbers else "is not graded"
    return Reading(grades, problems)


def _of_lines(reply: Completion, scale: tuple[float, float]) -> Iterator[tuple[str, float | str]]:
    lines = reply.text.rstrip().splitlines()
    for number, line in enumerate(lines, 1):
        match = _LINE.match(_MARKS.sub("", line))
        grade = None if match is None else _GRADE.match(match["rest"])
        if match is not None and grade is not None:
            last = number == len(lines) and reply.finish is Finish.LENGTH
            yield criterion_key(match["name"]), _grade(grade, scale, cut_off=last)


def _grade(match: re.Match[str], scale: tuple[float, float], *, cut_off: bool) -> float | str:
    shown = match[0].strip()[:_SHOWN_CHARACTERS]
    if goes_on(match["rest"]):
        return f"{shown!r} is no single number"
    if cut_off and not match["rest"].strip():
        return "the grade may be cut off"
    most = _OUT_OF.match(match["rest"])
    if most is not None and float(most["most"]) != scale[1]:
        return f"{shown!r} is on another scale"
    return float(match["number"])


def _of_object(text: str) -> list[tuple[str, Json]] | None:
    """Return the members of the JSON object that the reply is, duplicates included; None: it is none."""
    fence = _FENCE.match(text)
    inside = (text if fence is None else fence["inside"]).strip()
    if not inside.startswith("{"):
        return None
    try:
        members = json.loads(inside, object_pairs_hook=list, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return members if isinstance(members, list) else None


def _of_members(members: Sequence[tuple[str, Json]]) -> Iterator[tuple[str, float | str]]:
    for name, grade in members:
        if isinstance(grade, bool) or not isinstance(grade, int | float):
            yield criterion_key(name), f"{str(grade)[:_SHOWN_CHARACTERS]!r} is no number"
        else:
            yield criterion_key(name), grade if isinstance(grade, float) else _float(grade)


def _float(grade: int) -> float | str:
    try:
        return float(grade)
    except OverflowError:
        return "a number beyond any scale"
