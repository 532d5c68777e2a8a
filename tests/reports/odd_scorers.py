"""Scorers as somebody else may have written them, installed for one test as a package with an entry point."""

import os
from pathlib import Path

ODD = """
from math import inf, nan
from multigraft.types import FailureKind, Score

NUMBERS = {
    "a plain answer": 0.25,
    "nan": nan,
    "plus infinity": inf,
    "minus infinity": -inf,
    "a text": "0.9",
    "truth": True,
    "beyond": 10 ** 400,
    "a list": [0.9],
    "a table": {"value": 0.9},
    "nothing": None,
    "complex": 3j,
    "whole": 1,
    "huge": 1e308,
    "deep": -1e308,
}


class Odd:
    version = "1"
    max_batch = 4

    def __init__(self, *, name="odd"):
        self.name = name

    async def score(self, candidates):
        return [self.of(candidate.completion.text) for candidate in candidates]

    def of(self, text):
        number = NUMBERS[text]
        if number is None:
            return Score(None, FailureKind.UNSCORABLE, "nothing to say")
        return Score(number, message="as it is", details={"sound": 0.5, "odd": nan, "large": inf, "text": "0.9"})


class OddRanking:
    version = "1"

    def __init__(self, *, name="odd_ranking"):
        self.name = name

    async def rank(self, candidates):
        return [Odd().of(candidate.completion.text) for candidate in candidates]


class ShortRanking(OddRanking):
    async def rank(self, candidates):
        return (await super().rank(candidates))[1:]
"""


def installed(folder: Path) -> dict[str, str]:
    """Install the scorers under a folder.

    Returns:
        The environment in which they are found.
    """
    place = folder / "packages"
    described = place / "odd_scorers-1.dist-info"
    described.mkdir(parents=True, exist_ok=True)
    (place / "odd_scorers.py").write_text(ODD)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-scorers\nVersion: 1\n")
    kinds = {"odd": "Odd", "odd_ranking": "OddRanking", "short_ranking": "ShortRanking"}
    points = "".join(f"{kind} = odd_scorers:{name}\n" for kind, name in kinds.items())
    (described / "entry_points.txt").write_text(f"[multigraft.rewards]\n{points}")
    return {"PYTHONPATH": os.pathsep.join([str(place), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(os.pathsep)}
