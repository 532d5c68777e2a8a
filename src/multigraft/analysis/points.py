"""One prompt at several points of its run: the best response so far, what the scorers say of it, and what it had cost until then."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from multigraft.budget.amount import NOTHING, Amount
from multigraft.records.progress import best_so_far, doubling, responses_of
from multigraft.records.reader import CallRecord, PromptRecord

NO_GROUP = "(none)"
"""Group of the prompts that lack the field."""


@dataclass(frozen=True, slots=True)
class PromptPoints:
    """What the curves need of one prompt; small, so that a whole run fits into memory."""

    prompt_id: str
    group: str
    num_responses: int
    finished: bool
    chosen: Mapping[int, int]
    """Call id of the best response so far, by point; a point without any reward is missing."""
    rewards: Mapping[int, float]
    """Its reward."""
    values: Mapping[str, Mapping[int, float]]
    """By scorer and point: its value of the best response so far. Missing where it has none."""
    oracles: Mapping[str, Mapping[int, float]]
    """By scorer and point: its highest value among the responses until then. Missing where not all of them are scored."""
    spent: Mapping[int, Amount]
    """From the run's budget until the response was told: calls, failed ones included, and judging for the reward. Judges apart from it are not in it."""

    def at(self, point: int) -> int:
        """Return the point of this prompt that stands for a point of the run: its last one, where it had fewer responses."""
        return min(point, self.num_responses)


def points_of(record: PromptRecord, points: Sequence[int] | None = None, *, by: str | None = None) -> PromptPoints:
    """Reduce a prompt to its points.

    Args:
        record: of the prompt.
        points: numbers of responses, >= 1; None: 1, 2, 4, ... The prompt's last response is always a point.
        by: field of the prompt that names its group.
    """
    responses = responses_of(record)
    total = len(responses)
    wanted = doubling(total) if points is None else sorted({min(point, total) for point in (*points, total)} - {0})
    chosen = best_so_far(record, wanted)
    rewards = {point: reward for point, call_id in chosen.items() if (reward := record.calls[call_id].reward) is not None}
    values: dict[str, dict[int, float]] = {scorer: {} for response in responses for scorer in response.scores}
    oracles: dict[str, dict[int, float]] = {scorer: {} for scorer in values}
    for scorer, by_point in values.items():
        found = [value_of(response, scorer) for response in responses]
        for point in wanted:
            until = [value for value in found[:point] if value is not None]
            if len(until) == point:
                oracles[scorer][point] = max(until)
        for point, call_id in chosen.items():
            value = value_of(record.calls[call_id], scorer)
            if value is not None:
                by_point[point] = value
    spent = {point: _spent_until(record, responses, point) for point in wanted}
    return PromptPoints(record.prompt.prompt_id, group_of(record, by), total, record.ended is not None, chosen, rewards, values, oracles, spent)


def value_of(call: CallRecord, scorer: str) -> float | None:
    """Return what a scorer says of a response, None where it says nothing."""
    found = call.scores.get(scorer)
    return None if found is None else found.score.value


def group_of(record: PromptRecord, by: str | None) -> str:
    """Return the value of a field of a prompt as a text."""
    if by is None:
        return ""
    value = record.prompt.fields.get(by)
    if value is None:
        return NO_GROUP
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _spent_until(record: PromptRecord, responses: Sequence[CallRecord], point: int) -> Amount:
    last = responses[point - 1].told_sequence or 0
    return _sum(call.charged for call in record.calls.values() if point == len(responses) or (call.told_sequence is not None and call.told_sequence <= last))


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total
