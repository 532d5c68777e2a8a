"""`fixjson`: a JSON object with mistakes of syntax, to be repaired."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from multigraft.puzzles.facts import table
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.reading import fenced_or_whole, strict_json
from multigraft.puzzles.words import NAMES, NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json


@dataclass(slots=True)
class _Member:
    """One member of the object as text, in pieces that can be broken."""

    key: str
    colon: str
    value: str
    end: str


def _make(draws: Draws, size: int) -> Item:
    keys = draws.shuffled(NOUNS)[: size + 2]
    wanted: dict[str, Json] = {key: _value(draws) for key in keys}
    members = [_Member(json.dumps(key), ": ", json.dumps(value), ", ") for key, value in wanted.items()]
    members[-1].end = "}"
    for number in sorted(draws.sample(range(len(members)), size)):
        _break(draws, members[number], last=number == len(members) - 1)
    broken = "{" + "".join(f"{member.key}{member.colon}{member.value}{member.end}" for member in members)
    question = f"This JSON has mistakes of syntax. Repair it, and change nothing else. Reply with the JSON only.\n\n{broken}"
    return Item(question, json.dumps(wanted), {"json": wanted})


def _value(draws: Draws) -> Json:
    kind = draws.below(4)
    if kind == 0:
        return draws.below(100)
    if kind == 1:
        return draws.below(2) == 1
    if kind == 2:
        return [NOUNS[draws.below(len(NOUNS))] for _ in range(2)]
    return NAMES[draws.below(len(NAMES))]


def _break(draws: Draws, member: _Member, *, last: bool) -> None:
    """Put in one mistake that can only be repaired in one way."""
    kinds = ["bare key", "open key", "single quotes", "no colon", "equals"] + (["no brace", "trailing comma"] if last else ["no comma"])
    kind = kinds[draws.below(len(kinds))]
    match kind:
        case "bare key":
            member.key = member.key.strip('"')
        case "open key":
            member.key = member.key[:-1]
        case "single quotes":
            member.key = member.key.replace('"', "'")
        case "no colon":
            member.colon = " "
        case "equals":
            member.colon = " = "
        case "no brace":
            member.end = ""
        case "trailing comma":
            member.end = ",}"
        case _:
            member.end = " "


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    wanted = table(facts, "json")
    text = fenced_or_whole(response)
    found = strict_json(text[text.find("{") : text.rfind("}") + 1])
    if not isinstance(found, dict):
        squeezed = "".join(text.split())
        kept = sum(f'"{key}":{_written(value)}'.replace(" ", "") in squeezed for key, value in wanted.items())
        return verdict(None, "no JSON object", right=False, credit=0.5 * kept / len(wanted))
    right = _written(found) == _written(wanted)
    equal = sum(key in found and _written(found[key]) == _written(value) for key, value in wanted.items())
    credit = 0.5 + 0.5 * equal / max(len(wanted), len(found))
    return verdict(_written(found)[:2000], "the object is right" if right else "the object differs", right=right, credit=credit)


def _written(value: Json) -> str:
    """Write a value so that true and 1, or 1 and 1.0, stay apart."""
    return json.dumps(value, sort_keys=True)


FIX_JSON = Family(name="fixjson", asks="JSON with mistakes of syntax, repaired", counts="mistakes", least=1, most=40, usual=2, make=_make, check=_check)
