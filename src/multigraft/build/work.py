"""Scorers put to work: with retries, stopped when the run is, and each under a name that was nobody else's."""

from collections.abc import Sequence
from typing import cast

from multigraft.build.rewards import BuiltJudge
from multigraft.build.scorers import is_reward
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Juror
from multigraft.engine.scoring import Scoring
from multigraft.errors import InputError
from multigraft.records.reader import RunRecord
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


def refuse_namesakes(record: RunRecord, judges: Sequence[BuiltJudge]) -> None:
    """Refuse to mix the scores of two scorers under one name.

    Args:
        record: of the run.
        judges: started, as some know their version only then.

    Raises:
        InputError: the record holds scores of a scorer of the same name and another version.
    """
    known = record.versions()
    for judge in judges:
        name, version = judge.scorer.name, judge.scorer.version
        if name in known and known[name] != {version}:
            others = ", ".join(sorted(known[name] - {version}))
            message = f"the run holds scores of another scorer called '{name}' (version {others}, this is {version}); give this one a name of its own"
            raise InputError(message)
