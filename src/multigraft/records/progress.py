"""How a prompt's best response changed while its responses came in: the axis every curve against compute stands on."""

from collections.abc import Sequence

from multigraft.records.reader import CallRecord, PromptRecord


def doubling(count: int) -> tuple[int, ...]:
    """List the points 1, 2, 4, 8, ... up to a number of responses, and that number itself.

    Args:
        count: responses in all, >= 0.

    Returns:
        Rising; empty for 0.
    """
    points = []
    point = 1
    while point < count:
        points.append(point)
        point *= 2
    return (*points, count) if count > 0 else ()


def responses_of(record: PromptRecord) -> list[CallRecord]:
    """List a prompt's responses in the order they were told to the strategy; failed calls, and answers that were never told, are none."""
    told = [(call.told_sequence, call) for call in record.calls.values() if call.text is not None and call.told_sequence is not None]
    return [call for _, call in sorted(told, key=lambda pair: pair[0])]


def best_so_far(record: PromptRecord, points: Sequence[int]) -> dict[int, int]:
    """Find the response with the highest reward among the first ones told, at several points of the run; with all of them there, the prompt's answer.

    Args:
        record: of the prompt.
        points: numbers of responses, >= 1, in any order.

    Returns:
        The call id by point, rising. Equal rewards go to the lowest call id, as in `PromptRecord.best`. A point beyond the responses there are is left out,
        and so is one before the first response with a reward. Where the strategy itself says which response is the answer, the last point is that one, and is
        left out where there is none; earlier points show what the highest reward would have taken.
    """
    wanted = set(points)
    found: dict[int, int] = {}
    best: CallRecord | None = None
    responses = responses_of(record)
    for point, call in enumerate(responses, 1):
        if call.reward is not None and (best is None or _rank(call) > _rank(best)):
            best = call
        if record.concludes and point == len(responses):
            best = record.best()
        if point in wanted and best is not None:
            found[point] = best.call.call_id
    return found


def _rank(call: CallRecord) -> tuple[float, int]:
    return (float("-inf") if call.reward is None else call.reward, -call.call.call_id)
