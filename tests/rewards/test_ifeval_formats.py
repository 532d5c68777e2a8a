"""Kinds of IFEval that look at the form of an answer; every verdict and credit was decided by hand."""

import pytest

from multigraft.rewards.rules.ifeval.evaluate import evaluate
from multigraft.types import Constraint, Json

REQUEST = "Write a poem."
END: dict[str, Json] = {"end_phrase": "Hope you agree with me."}
BULLETS: dict[str, Json] = {"num_bullets": 2}
HIGHLIGHTS: dict[str, Json] = {"num_highlights": 2}
SECTIONS: dict[str, Json] = {"section_spliter": "SECTION", "num_sections": 2}
PLACEHOLDERS: dict[str, Json] = {"num_placeholders": 2}
PS: dict[str, Json] = {"postscript_marker": "P.S."}
PPS: dict[str, Json] = {"postscript_marker": "P.P.S"}

CASES: list[tuple[str, dict[str, Json], str, float]] = [
    ("combination:repeat_prompt", {"prompt_to_repeat": REQUEST}, "write a poem.\nRoses are red.", 1.0),
    ("combination:repeat_prompt", {"prompt_to_repeat": REQUEST}, "  Write a poem. Roses", 1.0),
    ("combination:repeat_prompt", {"prompt_to_repeat": REQUEST}, "Write a song.", 8 / 13),
    ("combination:repeat_prompt", {"prompt_to_repeat": REQUEST}, "Sure! Write a poem.", 0.0),
    ("combination:two_responses", {}, "One\n******\nTwo", 1.0),
    ("combination:two_responses", {}, "******One******Two******", 1.0),
    ("combination:two_responses", {}, "One\n******\nOne", 0.25),
    ("combination:two_responses", {}, "One only", 0.25),
    ("combination:two_responses", {}, "One******Two******Three", 1 / 3),
    ("combination:two_responses", {}, "One************Two", 0.5),
    ("detectable_content:number_placeholders", PLACEHOLDERS, "Dear [name], at [address]", 1.0),
    ("detectable_content:number_placeholders", PLACEHOLDERS, "Dear [[name]], bye", 0.5),
    ("detectable_content:number_placeholders", PLACEHOLDERS, "Dear [na\nme] and ]x[", 0.0),
    ("detectable_content:postscript", PS, "Bye.\nP.S. I love you", 1.0),
    ("detectable_content:postscript", PS, "Bye. p. s. more", 1.0),
    ("detectable_content:postscript", PS, "Bye. PS: more", 0.0),
    ("detectable_content:postscript", PPS, "P.P.S more", 1.0),
    ("detectable_content:postscript", PPS, "P.S. more", 0.0),
    ("detectable_content:postscript", {"postscript_marker": "N.B."}, "n.b. this", 1.0),
    ("detectable_format:constrained_response", {}, "My answer is no.", 1.0),
    ("detectable_format:constrained_response", {}, "Well: My answer is maybe. Sorry.", 1.0),
    ("detectable_format:constrained_response", {}, "my answer is no", 0.5),
    ("detectable_format:constrained_response", {}, "No.", 0.0),
    ("detectable_format:json_format", {}, '{"a": [1, 2]}', 1.0),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', 1.0),
    ("detectable_format:json_format", {}, "```\n[1]\n```", 1.0),
    ("detectable_format:json_format", {}, 'Here it is: {"a": 1}', 0.5),
    ("detectable_format:json_format", {}, '{"a": 1', 0.0),
    ("detectable_format:json_format", {}, "[" * 100_000, 0.0),
    ("detectable_format:multiple_sections", SECTIONS, "SECTION 1\nx\nSECTION 2\ny", 1.0),
    ("detectable_format:multiple_sections", SECTIONS, "SECTION1 SECTION 2 SECTION 3", 1.0),
    ("detectable_format:multiple_sections", SECTIONS, "SECTION 1\nSection 2", 0.5),
    ("detectable_format:multiple_sections", SECTIONS, "SECTION one", 0.0),
    ("detectable_format:number_bullet_lists", BULLETS, "Points:\n* one\n* two", 1.0),
    ("detectable_format:number_bullet_lists", BULLETS, "  - one\n*two", 1.0),
    ("detectable_format:number_bullet_lists", BULLETS, "* one\n* two\n* three", 2 / 3),
    ("detectable_format:number_bullet_lists", BULLETS, "**bold**\n*\n* one", 0.5),
    ("detectable_format:number_bullet_lists", BULLETS, "1. one\n2. two", 0.0),
    ("detectable_format:number_highlighted_sections", HIGHLIGHTS, "*one* and *two*", 1.0),
    ("detectable_format:number_highlighted_sections", HIGHLIGHTS, "**one** and *two*", 1.0),
    ("detectable_format:number_highlighted_sections", HIGHLIGHTS, "**one** ** ** and *\n*", 0.5),
    ("detectable_format:number_highlighted_sections", HIGHLIGHTS, "none", 0.0),
    ("detectable_format:title", {}, "<<A title>>\ntext", 1.0),
    ("detectable_format:title", {}, "text <<<Title>>> text", 1.0),
    ("detectable_format:title", {}, "<< >> text", 0.25),
    ("detectable_format:title", {}, "<<A\ntitle>>", 0.25),
    ("detectable_format:title", {}, "# A title", 0.0),
    ("punctuation:no_comma", {}, "No comma here; truly.", 1.0),
    ("punctuation:no_comma", {}, "One, here", 0.5),
    ("punctuation:no_comma", {}, "1,234,567,890", 0.25),
    ("startend:end_checker", END, "So it is. hope you agree with me. ", 1.0),
    ("startend:end_checker", END, '"So it is. Hope you agree with me."', 1.0),
    ("startend:end_checker", END, "Hope you agree with me. Bye!", 0.5),
    ("startend:end_checker", END, "Hope you agree", 0.0),
    ("startend:quotation", {}, ' "All of it." ', 1.0),
    ("startend:quotation", {}, '"Half of it.', 0.5),
    ("startend:quotation", {}, '"', 0.5),
    ("startend:quotation", {}, "“Curly.”", 0.0),
]


@pytest.mark.parametrize(("kind", "arguments", "response", "credit"), CASES)
def test_verdict_and_credit(kind: str, arguments: dict[str, Json], response: str, credit: float) -> None:
    check = evaluate(Constraint(kind, arguments), response)
    assert check.passed is (credit == 1.0), check.message
    assert check.credit == pytest.approx(credit, abs=1e-3)


def test_loose_forgives_an_introduction_and_asterisks() -> None:
    constraint = Constraint("startend:quotation", {})
    response = 'Sure, here it is:\n*"All of it."*\nAnything else?'
    assert not evaluate(constraint, response, "strict").passed
    assert evaluate(constraint, response, "loose") == (True, 1.0, "0 of 2 ends in double quotes; holds loosely", None)
    assert not evaluate(constraint, "Sure.\nNo quotes.\nBye.", "loose").passed


def test_loose_does_not_pass_by_emptiness() -> None:
    assert not evaluate(Constraint("punctuation:no_comma", {}), "One line, with a comma", "loose").passed
    assert evaluate(Constraint("punctuation:no_comma", {}), "Well, then:\nno commas below", "loose").passed


@pytest.mark.parametrize("form", ["partial", "strict", "loose"])
def test_an_empty_response_follows_nothing(form: str) -> None:
    check = evaluate(Constraint("punctuation:no_comma", {}), " \n", "partial" if form == "partial" else "strict" if form == "strict" else "loose")
    assert check == (False, 0.0, "empty", None)
