"""Seconds: what a call takes, fitted on logged calls, and what a graph takes on free, few or single places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import fsum, isfinite
from typing import NamedTuple

from multigraft.errors import InputError
from multigraft.graphs.cones import cone
from multigraft.graphs.costs import Costs
from multigraft.graphs.graph import Graph


class CallTime(NamedTuple):
    """One logged call."""

    prompt_tokens: float
    """>= 0."""
    completion_tokens: float
    """>= 0."""
    seconds: float
    """From sending to the last token; >= 0."""


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """Seconds of a call, linear in its tokens: `a + b Np + c Nd`. All finite and >= 0."""

    start_s: float = 0.0
    """Whatever the tokens (`a`): network, queue, scheduling."""
    per_prompt_token_s: float = 0.0
    """Of reading one token (`b`)."""
    per_completion_token_s: float = 0.0
    """Of writing one token (`c`)."""

    def __post_init__(self) -> None:
        for name in ("start_s", "per_prompt_token_s", "per_completion_token_s"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                message = f"{name} is {value}; give seconds, at least 0"
                raise InputError(message)

    def seconds(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Expect the time of a call.

        Args:
            prompt_tokens: Np; >= 0.
            completion_tokens: Nd; >= 0.
        """
        return self.start_s + self.per_prompt_token_s * prompt_tokens + self.per_completion_token_s * completion_tokens


def fitted(samples: Sequence[tuple[float, float, float]]) -> LatencyModel:
    """Fit a model to logged calls by least squares, none of its three numbers below 0.

    Args:
        samples: prompt tokens, completion tokens and seconds of each call (`CallTime`); at least one. Where they cannot tell the numbers apart (one call,
            always as many tokens), the fewest numbers that explain them are used: first the start, then the written tokens, then the read ones.

    Returns:
        The best model; at equal error, the one with fewer numbers above 0.

    Raises:
        InputError: no sample, or one that is not finite or below 0.
    """
    if not samples:
        message = "no logged call to fit a latency on; log some, or give the seconds of a call"
        raise InputError(message)
    for sample in samples:
        if any(not isfinite(value) or value < 0 for value in sample):
            message = f"{tuple(sample)} is no logged call; give prompt tokens, completion tokens and seconds, each at least 0"
            raise InputError(message)
    # With three numbers, non-negative least squares is the best plain fit of at most eight: one for each set of numbers that are not 0.
    scales = [max((abs(sample[column]) for sample in samples), default=0.0) or 1.0 for column in (0, 1)]
    rows = [(1.0, written / scales[1], read / scales[0]) for read, written, _ in samples]
    seconds = [sample[2] for sample in samples]
    size = fsum(value * value for value in seconds)
    best, best_error = (0.0, 0.0, 0.0), size
    for count in (1, 2, 3):
        for columns in combinations(range(3), count):
            found = _plain_fit(rows, seconds, columns)
            if found is None or min(found) < 0:
                continue
            error = fsum(
                (second - fsum(weight * value for weight, value in zip(found, row, strict=True))) ** 2 for row, second in zip(rows, seconds, strict=True)
            )
            # Rounding alone must not buy another number.
            if error < best_error - 1e-12 * size:
                best, best_error = found, error
    start, written, read = best
    return LatencyModel(start, read / scales[0], written / scales[1])


def critical_path(graph: Graph, times: Mapping[str, float]) -> tuple[str, ...]:
    """Find the live nodes that decide how long a graph takes when nothing waits for a free place.

    Args:
        graph: any.
        times: seconds of each live node, by node id; one that is missing takes none.

    Returns:
        Node ids from a node that reads nothing to the sink; of equally long ways the one whose nodes come first.
    """
    ends = _ends(graph, times)
    path = [graph.sink]
    while read := graph.read_by(path[-1]):
        path.append(max(read, key=ends.__getitem__))
    return tuple(reversed(path))


def slowest_way(graph: Graph, costs: Costs) -> tuple[str, ...]:
    """Find the critical path by what graphs are expected to take: a node ends when the graph that ends in it does.

    Args:
        graph: any.
        costs: that know seconds; where they do not, the deepest way counts as the slowest.

    Returns:
        Node ids from a node that reads nothing to the sink.
    """
    levels = graph.depth_of()
    path = [graph.sink]
    while read := graph.read_by(path[-1]):
        path.append(max(read, key=lambda source: (costs.of(cone(graph, source)).latency_s or 0.0, levels[source])))
    return tuple(reversed(path))


def span_s(graph: Graph, times: Mapping[str, float]) -> float:
    """Return the length of the critical path (`T_inf`), in seconds.

    Args:
        graph: any.
        times: as in `critical_path`.
    """
    return _ends(graph, times)[graph.sink]


def sum_s(graph: Graph, times: Mapping[str, float]) -> float:
    """Return the time of one call after the other (`T_1`), in seconds.

    Args:
        graph: any.
        times: as in `critical_path`.
    """
    return fsum(times.get(node.node_id, 0.0) for node in graph.live_nodes)


def slots_s(graph: Graph, times: Mapping[str, float], slots: int) -> float:
    """Return the time on a limited number of places (`T_k`), in seconds: a place that comes free takes the ready node with the longest way to the sink.

    This is a schedule, not the best one: as with every list schedule, a graph with an edge less may now and then take longer. It is never below `span_s`
    nor `sum_s / slots`, and at most `sum_s / slots + (1 - 1 / slots) span_s`.

    Args:
        graph: any.
        times: as in `critical_path`.
        slots: calls at a time; >= 1.

    Source:
        Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17 (1969).
    """
    if slots < 1:
        message = f"{slots} places run no call; give at least 1"
        raise InputError(message)
    live = graph.live_nodes
    rank = {node.node_id: index for index, node in enumerate(live)}
    to_sink: dict[str, float] = {}
    for node in reversed(live):
        after = [to_sink[reader] for reader in graph.readers_of(node.node_id) if reader in rank]
        to_sink[node.node_id] = times.get(node.node_id, 0.0) + max(after, default=0.0)
    missing = {node.node_id: len(graph.read_by(node.node_id)) for node in live}
    ready = [(-to_sink[node_id], rank[node_id], node_id) for node_id, count in missing.items() if not count]
    heapify(ready)
    running: list[tuple[float, int, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < slots:
            _, index, node_id = heappop(ready)
            heappush(running, (now + times.get(node_id, 0.0), index, node_id))
        now, _, ended = heappop(running)
        for reader in graph.readers_of(ended):
            if reader in missing:
                missing[reader] -= 1
                if not missing[reader]:
                    heappush(ready, (-to_sink[reader], rank[reader], reader))
    return now


def _ends(graph: Graph, times: Mapping[str, float]) -> dict[str, float]:
    ends: dict[str, float] = {}
    for node in graph.live_nodes:
        begin = max((ends[source] for source in graph.read_by(node.node_id)), default=0.0)
        ends[node.node_id] = begin + times.get(node.node_id, 0.0)
    return ends


def _plain_fit(rows: Sequence[tuple[float, float, float]], seconds: Sequence[float], columns: tuple[int, ...]) -> tuple[float, float, float] | None:
    """Solve the normal equations of some columns; None: they do not tell these numbers apart."""
    matrix = [[fsum(row[left] * row[right] for row in rows) for right in columns] for left in columns]
    wanted = [fsum(row[left] * second for row, second in zip(rows, seconds, strict=True)) for left in columns]
    solution = _solved(matrix, wanted)
    if solution is None:
        return None
    by_column = dict(zip(columns, solution, strict=True))
    return by_column.get(0, 0.0), by_column.get(1, 0.0), by_column.get(2, 0.0)


def _solved(matrix: list[list[float]], wanted: list[float]) -> list[float] | None:
    size = len(wanted)
    rows = [[*row, value] for row, value in zip(matrix, wanted, strict=True)]
    largest = max(matrix[index][index] for index in range(size))
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        if abs(rows[pivot][column]) <= 1e-10 * largest:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            factor = rows[row][column] / rows[column][column]
            rows[row] = [value - factor * above for value, above in zip(rows[row], rows[column], strict=True)]
    result = [0.0] * size
    for column in reversed(range(size)):
        rest = fsum(rows[column][other] * result[other] for other in range(column + 1, size))
        result[column] = (rows[column][size] - rest) / rows[column][column]
    return result
