"""IFEval's prompt level and instruction level, strict and loose, over real items that hold all 25 kinds; the responses are written by hand."""

import json
from pathlib import Path

import pytest

from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.ifeval.kinds import KINDS
from multigraft.rewards.rules.reward import Rules
from multigraft.types import Constraint, Message, Prompt

ITEMS = {item["id"]: item for item in map(json.loads, (Path(__file__).parents[1] / "data/ifeval/items.jsonl").read_text("utf-8").splitlines())}
BAD = "Well, I like to ride slow, kid."
"""Follows none of the prompts below."""
GOOD: dict[int, str] = {
    240: "Решётка это узор из линий, которые пересекаются много раз, как забор или вафля. Дети видят её каждый день.",
    281: '"Why did the tag feel empty? Nobody closed it."',
    301: "Sit on the saddle, push off with one foot and keep turning the pedals.",
    1082: "He woke up and saw a score above his door.\n***\nHe jumped, and the score rose.",
    1098: "Lord\n******\nAllah",
    1107: "Rockets are a blast.\n******\nI would tell you another but it went over my head.",
    1122: "new issue out now #one #two #three #four",
    1131: "Section 1\nPhil Larkin\nSection 2\nSkills\nSection 3\nWork\nSection 4\nAwards",
    1220: "They met over coffee, and stayed for tea.\nIs there anything else I can help with?",
    1246: "It shines, it hums, it holds your tea.\n\nP.P.S. Batteries not included",
    1393: "Pro: synonyms add colour. Con: synonyms confuse, and more synonyms confuse more.",
    1480: "Write a blog post about the most interesting things you have seen or ridden on public transportation.\n\nI once saw a goat on a tram.",
    1508: "forests hide the king\nhis mane a golden riddle\nthe grass holds its breath",
    1837: "I paint. " * 22,
    1954: "\n\n".join(["Poppy seeds are baked."] * 6 + ["Summary they are useful."]),
    2314: "* Domino\n* Patch\n* Oreo",
    2341: "IT IS A KIND THING TO DO FOR SOMEBODY WHO WANTS IT, AND IT HARMS NOBODY.",
    2752: "The opposite of youth is *doubt*, and sometimes *certainty*.",
    2849: "A man from NANTUCKET wrote NOTES in a bucket.",
    3057: "<<The way back>>\nI undo what was done. What am I?",
    3195: "vento nel mare\nuna barca bianca va\nil sole scende lontano",
    3223: '{"name": "Lionel Messi", "born": 1987, "sport": "football"}',
    3415: "Dog cage for sale. Unfortunately too big for us, unfortunately too small for the dog, unfortunately still here.",
    3743: "Zoe told [name] about bubbles on [date] in [place], and it went pop.",
    3755: "My answer is no.",
}
LOOSE_ONLY = [281, 3223, 1480]
"""Followed once the first line is left out."""


def prompt_of(number: int) -> Prompt:
    item = ITEMS[number]
    constraints = tuple(Constraint(kind, arguments) for kind, arguments in zip(item["instruction_id_list"], item["kwargs"], strict=True))
    return Prompt(str(number), (Message("user", item["prompt"]),), constraints=constraints)


def levels(number: int, response: str) -> tuple[float | None, ...]:
    """Prompt level strict and loose."""
    rules = (Rules(rules=[Constraints(form="strict", gather="all")], gate=None), Rules(rules=[Constraints(form="loose", gather="all")], gate=None))
    return tuple(rule.score_text(prompt_of(number), response).value for rule in rules)


def test_every_kind_is_among_them() -> None:
    assert {kind for number in GOOD for kind in ITEMS[number]["instruction_id_list"]} == set(KINDS)


@pytest.mark.parametrize("number", GOOD)
def test_good_responses_pass_and_the_bad_one_fails_at_both_levels(number: int) -> None:
    assert levels(number, GOOD[number]) == (1.0, 1.0)
    assert levels(number, BAD) == (0.0, 0.0)


@pytest.mark.parametrize("number", LOOSE_ONLY)
def test_an_introduction_is_forgiven_loosely(number: int) -> None:
    assert levels(number, f"Sure, here it is:\n{GOOD[number]}") == (0.0, 1.0)


def test_the_instruction_level_counts_every_constraint() -> None:
    # Of no comma and two responses, one holds, also without the first or the last line.
    response = "One joke\nis bad, another\n******\nworse"
    assert Rules(rules=[Constraints(form="strict")], gate=None).score_text(prompt_of(1107), response).value == 0.5
    assert levels(1107, response) == (0.0, 0.0)
