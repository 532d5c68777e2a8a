"""Formats that can be seen: bullets, highlights, sections, a title, JSON, a fixed choice."""

import json
import re

from multigraft.rewards.rules.check import Check, compare, exactly, fails, holds, verdict

_CHOICES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_TITLE = re.compile(r"<<((?:(?!<<|>>)[^\n])+)>>")
_FENCE = re.compile(r"\A```(?:json)?(.*?)(?:```)?\Z", re.IGNORECASE | re.DOTALL)


def number_bullet_lists(response: str, *, num_bullets: int) -> Check:
    """Exactly so many lines that start with `*` (not `**`) or `-`."""
    lines = [line.strip() for line in response.split("\n")]
    bullets = [line for line in lines if line.startswith("-") or (line.startswith("*") and line[1:2] not in ("", "*"))]
    return exactly(len(bullets), num_bullets, "bullets")


def number_highlighted_sections(response: str, *, num_highlights: int) -> Check:
    """At least so many passages between single or double asterisks."""
    marked = _HIGHLIGHT.findall(response) + _DOUBLE_HIGHLIGHT.findall(response)
    return compare(sum(bool(passage.strip("*").strip()) for passage in marked), "at least", num_highlights, "highlights")


def multiple_sections(response: str, *, section_spliter: str, num_sections: int) -> Check:
    """At least so many sections that begin with the word and a number, such as `SECTION 1`."""
    marks = re.findall(rf"{re.escape(section_spliter)}\s?\d+", response)
    return compare(len(marks), "at least", num_sections, f"sections marked '{section_spliter} X'")


def title(response: str) -> Check:
    """A title in double angular brackets: <<title>>."""
    found = any(content.strip(" \t<>") for content in _TITLE.findall(response))
    single = "<" in response and ">" in response
    return verdict("title found" if found else "no <<title>>", passed=found, credit=0.25 if single else 0.0)


def json_format(response: str) -> Check:
    """The whole answer is JSON, with or without a code fence around it; credit for prose around it: a half."""
    stripped = response.strip()
    fenced = _FENCE.match(stripped)
    try:
        json.loads((fenced[1] if fenced else stripped).strip())
    except (ValueError, RecursionError) as error:
        return fails(0.5 if _holds_json(stripped) else 0.0, f"not JSON: {error}"[:100])
    return holds("JSON")


def constrained_response(response: str) -> Check:
    """One of the three fixed answers occurs, to the letter; credit for another case: a half."""
    if any(choice in response for choice in _CHOICES):
        return holds("one of the fixed answers occurs")
    lowered = response.lower()
    return fails(0.5 if any(choice.lower().rstrip(".") in lowered for choice in _CHOICES) else 0.0, f"none of {', '.join(_CHOICES)}")


def _holds_json(text: str) -> bool:
    start = min((position for position in (text.find("{"), text.find("[")) if position >= 0), default=-1)
    try:
        return start >= 0 and bool(json.JSONDecoder().raw_decode(text, start)[0])
    except (ValueError, RecursionError):
        return False
