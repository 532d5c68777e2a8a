"""Scorers put to work: with retries, and stopped when the run is."""

from collections.abc import Sequence
from typing import cast

from multigraft.build.rewards import BuiltJudge, is_reward
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Juror
from multigraft.engine.scoring import Scoring
from multigraft.types import Ranking, Reward
from multigraft.wire.retry import RetryPolicy

ONCE = RetryPolicy(max_attempts=1)


def scoring_of(scorer: Reward, retry: RetryPolicy, halt: Halt, *, retried: bool) -> Scoring:
    """Put a scorer to work.

    Args:
        scorer: scores single responses.
        retry: when a failure is repeated.
        halt: the run's stop.
        retried: False for a scorer whose own calls are repeated already.
    """
    return Scoring(scorer, retry if retried else ONCE, halt)


def jurors_of(judges: Sequence[BuiltJudge], retry: RetryPolicy, halt: Halt) -> tuple[Juror, ...]:
    """Put the judges to work that the search does not see."""
    return tuple(
        Juror(
            scoring=scoring_of(judge.scorer, retry, halt, retried=judge.retried) if is_reward(judge.scorer) else cast("Ranking", judge.scorer),
            at=judge.at,
        )
        for judge in judges
    )
