"""From `[reward]` and `[judge]` to scorers, and how those of the reward combine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from multigraft.build.scorers import Surroundings, asked_models, build_scorer, is_ranking, is_reward, repeats_itself, takes
from multigraft.config import JudgeTable, RewardTable, ScorerTable
from multigraft.engine.judging import At
from multigraft.errors import InputError
from multigraft.rewards.combine import Combination, Part
from multigraft.types import Ranking, Reward


@dataclass(frozen=True, slots=True)
class Built:
    """The scorers that make the reward."""

    rewards: tuple[Reward, ...]
    ranking: Ranking | None
    """In place of rewards: compares the responses of a prompt once they are all there."""
    retried: frozenset[str]
    """Names of those whose failures are repeated by whoever scores with them; a judge's calls are repeated as every call of a model is, and nowhere else."""
    combination: Combination


@dataclass(frozen=True, slots=True)
class BuiltJudge:
    """A scorer that the search does not see."""

    scorer: Reward | Ranking
    retried: bool
    """See `Built`."""
    at: At
    """Which responses it scores, as in the run file."""


def judges_of(parts: Iterable[ScorerTable]) -> tuple[str, ...]:
    """Name the chat models that judge, each once."""
    return tuple(dict.fromkeys(model for part in parts for model in asked_models(part)))


def build_rewards(table: RewardTable, surroundings: Surroundings) -> Built:
    """Make the scorers of the reward.

    Args:
        table: `[reward]`.
        surroundings: the rest of the run.

    Raises:
        InputError: a setting that does not fit; names the part and the setting.
    """
    scorers = [build_scorer(part, f"reward.parts[{index}]", surroundings) for index, part in enumerate(table.parts)]
    try:
        parts = tuple(
            Part(
                name=scorer.name,
                weight=part.weight,
                normalise=part.normalise or ("model" if part.kind == "confidence" else "none"),
                optional=part.optional,
            )
            for part, scorer in zip(table.parts, scorers, strict=True)
        )
        combination = Combination(parts=parts, how=table.combine, deviations=table.deviations, allow_truncated=table.allow_truncated)
    except ValueError as error:
        raise InputError(str(error), field="reward") from error
    retried = frozenset(scorer.name for part, scorer in zip(table.parts, scorers, strict=True) if not repeats_itself(part))
    rankings = [scorer for scorer in scorers if is_ranking(scorer)]
    if rankings and len(scorers) > 1:
        message = f"'{rankings[0].name}' compares the responses of a prompt when all are there, so it cannot be one part of several; name it alone"
        raise InputError(message, field="reward.parts")
    rewards = tuple(scorer for scorer in scorers if is_reward(scorer))
    return Built(rewards, next(iter(rankings), None), retried, combination)


def build_judges(table: JudgeTable, surroundings: Surroundings, taken: Sequence[str]) -> tuple[BuiltJudge, ...]:
    """Make the scorers that the search does not see.

    Args:
        table: `[judge]`.
        surroundings: the rest of the run.
        taken: names of the scorers of the reward.

    Raises:
        InputError: a setting that does not fit, or a name given twice.
    """
    judges: list[BuiltJudge] = []
    for index, part in enumerate(table.parts):
        place = f"judge.parts[{index}]"
        scorer = build_scorer(part, place, surroundings)
        if scorer.name in {*taken, *(judge.scorer.name for judge in judges)}:
            message = f"another scorer of the run is called '{scorer.name}' already; give this one a name of its own: name = \"...\""
            raise InputError(message, field=f"{place}.name")
        judges.append(BuiltJudge(scorer, not repeats_itself(part), part.at))
    return tuple(judges)


def needs_logprobs(parts: Iterable[ScorerTable]) -> bool:
    """Whether models must return log-probabilities of their answers."""
    return any(part.kind == "confidence" for part in parts)


def parts_of(text: str) -> Sequence[dict[str, object]]:
    """Read the parts named on the command line, several joined by `+`.

    `rules` and other kinds without a model stand alone; `judge:MODEL`, `classifier:FOLDER`, `remote:URL` name what they need.

    Raises:
        InputError: a form that is none of these.
    """
    parts: list[dict[str, object]] = []
    for word in text.split("+"):
        kind, _, rest = word.strip().partition(":")
        if not rest:
            parts.append({"kind": kind})
        elif takes(kind, "endpoints"):
            parts.append({"kind": kind, "endpoints": [{"url": rest}]})
        elif takes(kind, "ask") or takes(kind, "model"):
            parts.append({"kind": kind, "model": rest})
        else:
            message = f"reward '{kind}' takes no ':{rest}'; write judge:MODEL, classifier:FOLDER or remote:URL, and more settings into a run file"
            raise InputError(message, field="--reward")
    # Normalised where there are several, as a sum of raw scores of different scales would follow the widest alone.
    return [part | {"normalise": "run"} if len(parts) > 1 and part["kind"] != "confidence" else part for part in parts]
