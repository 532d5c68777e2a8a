"""The names of rewards, as a run file writes them."""

from collections.abc import Mapping
from importlib.metadata import entry_points

from multigraft.errors import InputError, UnknownNameError
from multigraft.rewards.confidence import Confidence
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.judges.yes_no import YesNoJudge
from multigraft.rewards.remote import Remote
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.scripted import Scripted
from multigraft.types import Reward

REWARDS: Mapping[str, type[Reward]] = {
    "rules": Rules,
    "judge": YesNoJudge,
    "graded_judge": GradedJudge,
    "remote": Remote,
    "confidence": Confidence,
    "scripted": Scripted,
}
GROUP = "multigraft.rewards"
"""Entry points of other packages are looked for here, and only on a miss."""


def reward_class(kind: str) -> type[Reward]:
    """Find the class of a kind of reward.

    Args:
        kind: a key of `REWARDS`, or the name of an entry point of the group `multigraft.rewards`.

    Returns:
        The class; what its constructor takes is its own affair.

    Raises:
        UnknownNameError: neither.
        InputError: the entry point names something that is no class with a `score`.
    """
    known = REWARDS.get(kind)
    if known is not None:
        return known
    found = entry_points(group=GROUP)
    for point in found:
        if point.name == kind:
            loaded: object = point.load()
            if not isinstance(loaded, type) or not hasattr(loaded, "score"):
                message = f"entry point '{point.value}' of reward '{kind}' is no reward class"
                raise InputError(message)
            return loaded
    what = "reward"
    raise UnknownNameError(what, kind, {*REWARDS, *(point.name for point in found)})
