"""The names of rewards, as a run file writes them. A class is imported when it is named, as many need libraries of their own."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from multigraft.errors import InputError, UnknownNameError
from multigraft.types import Ranking, Reward

Scorer: TypeAlias = Reward | Ranking
REWARDS: Mapping[str, str] = {
    "rules": "multigraft.rewards.rules.reward:Rules",
    "math": "multigraft.rewards.math_answer:MathAnswer",
    "unit_tests": "multigraft.rewards.unit_tests:UnitTests",
    "puzzle": "multigraft.rewards.puzzle:Puzzle",
    "final_answer": "multigraft.rewards.final_answer:FinalAnswer",
    "sacrebleu": "multigraft.rewards.translation:SacreBleu",
    "similarity": "multigraft.rewards.embedding:Similarity",
    "confidence": "multigraft.rewards.confidence:Confidence",
    "judge": "multigraft.rewards.judges.yes_no:YesNoJudge",
    "graded_judge": "multigraft.rewards.judges.graded:GradedJudge",
    "rubric": "multigraft.rewards.judges.rubric:RubricJudge",
    "pairwise": "multigraft.rewards.judges.pairwise:PairwiseJudge",
    "tournament": "multigraft.rewards.judges.tournament:Tournament",
    "panel": "multigraft.rewards.judges.panel:Panel",
    "classifier": "multigraft.rewards.hf.classifier:Classifier",
    "process": "multigraft.rewards.hf.process:Process",
    "generative": "multigraft.rewards.hf.generative:Generative",
    "comet": "multigraft.rewards.comet:Comet",
    "remote": "multigraft.rewards.remote:Remote",
    "scripted": "multigraft.rewards.scripted:Scripted",
}
"""Module and class by name."""
GROUP = "multigraft.rewards"
"""Entry points of other packages are looked for here, and only on a miss."""


def reward_class(kind: str) -> Callable[..., Scorer]:
    """Find the class of a kind of reward.

    Args:
        kind: a key of `REWARDS`, or the name of an entry point of the group `multigraft.rewards`.

    Returns:
        The class; what its constructor takes is its own affair.

    Raises:
        UnknownNameError: neither.
        InputError: the entry point names something that is no class with a `score` or a `rank`.
    """
    if kind in REWARDS:
        module, _, name = REWARDS[kind].partition(":")
        known: Callable[..., Scorer] = getattr(import_module(module), name)
        return known
    found = entry_points(group=GROUP)
    for point in found:
        if point.name == kind:
            loaded: Any = point.load()
            if not isinstance(loaded, type) or not (hasattr(loaded, "score") or hasattr(loaded, "rank")):
                message = f"entry point '{point.value}' of reward '{kind}' is no reward class"
                raise InputError(message)
            return loaded
    what = "reward"
    raise UnknownNameError(what, kind, {*REWARDS, *(point.name for point in found)})
