"""Scores with our own COMET reward where unbabel-comet is, as `python inside_comet.py FOLDER` on a folder that `tiny_comet.py` has filled; prints JSON."""

import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multigraft.errors import WeightsError
from multigraft.rewards.comet import Comet
from multigraft.types import Call, Candidate, Completion, Finish, Message, Prompt, Role, Score, Usage

BASE = {"src": "Es regnet.", "mt": "It rains.", "ref": "It is raining."}
LENGTHS = (66, 67, 68, 80, 81, 82, 89, 90, 91, 92)
LAST = {"kiwi": "src", "unified": "ref", "xcomet": "ref", "referenceless": "mt", "comet22": "mt"}
"""The part whose end is lost first: the last of those a model joins into one sequence, or any where it reads each by itself."""


def candidate(sample: dict[str, str], number: int = 0) -> Candidate:
    prompt = Prompt(f"p{number}", (Message("user", sample["src"]),), reference=sample.get("ref"))
    return Candidate(prompt, Call(0, "m", (), Role.ANSWER, 0), Completion(sample["mt"], Finish.STOP, Usage()))


def reward(folder: Path, name: str, **settings: Any) -> Comet:
    return Comet(model=f"file:{folder / name / 'checkpoints' / 'model.ckpt'}", gpus=0, **settings)


def told(score: Score) -> dict[str, Any]:
    return {"value": score.value, "reason": score.reason, "message": score.message, "truncated": score.truncated, "details": dict(score.details)}


async def seen(comet: Comet, part: str) -> list[tuple[int, bool, bool]]:
    """For each length of a part: whether its last letter makes a difference, and whether the score is marked as truncated."""
    found = []
    for length in LENGTHS:
        pair = [candidate(BASE | {part: "x" * length + last}) for last in "ab"]
        one, other = await comet.score(pair)
        assert one.value is not None
        assert other.value is not None
        # Equal rows of one batch may differ by rounding.
        found.append((length, abs(one.value - other.value) > 1e-5, one.truncated))
    return found


async def results(folder: Path, samples: Sequence[dict[str, str]]) -> dict[str, Any]:
    candidates = [candidate(sample, number) for number, sample in enumerate(samples)]
    made: dict[str, Any] = {"scores": {}, "alone": {}, "hostile": {}, "seen": {}}
    for name in ("kiwi", "unified", "xcomet", "referenceless", "comet22"):
        comet = reward(folder, name, batch_size=3)
        made["scores"][name] = [told(score) for score in await comet.score(candidates)]
        made["alone"][name] = [(await comet.score([one]))[0].value for one in candidates]
        made["seen"][name] = await seen(comet, LAST[name])
        await comet.close()
    made["scores"]["xcomet without"] = [told(score) for score in await reward(folder, "xcomet", reference="").score(candidates)]
    made["bare"] = {name: told((await reward(folder, name).score([candidate({"src": "Ja.", "mt": "Yes."})]))[0]) for name in ("xcomet", "comet22")}
    for name in ("planted-state_dict", "planted-hyper_parameters", "planted-callbacks", "planted-yaml", "lacking", "not-a-number", "absent"):
        try:
            made["hostile"][name] = told((await reward(folder, name).score(candidates[:1]))[0])
        except WeightsError as error:
            made["hostile"][name] = str(error)
    made["ran"] = (folder / "it-ran").exists()
    made["loggers"] = logging.getLogger("comet").level
    return made


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(results(Path(sys.argv[1]), json.loads(sys.argv[2])))) + "\n")
