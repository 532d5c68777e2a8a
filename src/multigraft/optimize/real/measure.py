"""How long a task's questions and answers are, and how long a model takes: measured on each model alone, before anything is searched.

The graphs that are run for it are single models, on the first training questions: whatever search follows finds their answers paid for. Where seconds matter,
each model also reads a few answers of the first: questions alone are of nearly one length, which says nothing of what a node with much to read takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from multigraft.errors import InputError
from multigraft.graphs.blocks import parallel, single
from multigraft.graphs.cost import Workload
from multigraft.graphs.latency import CallTime, LatencyModel, fitted
from multigraft.optimize.problem import Run, sink_node
from multigraft.optimize.real.drive import Answering
from multigraft.optimize.real.store import Store

FACT = "workload"
"""Under which name the store keeps what was measured: budgets are computed from it, so it must not change while a search goes on."""
SECONDS_FACT = "seconds"
"""The same of seconds that were measured on calls that read, too."""
_READ = 4
_READING_QUESTIONS = 4


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured."""

    workload: Workload
    latency: Mapping[str, LatencyModel] = field(default_factory=dict)
    """By model; empty where none was measured."""


async def measured(
    answering: Answering, store: Store, models: Sequence[str], num_questions: int, given: Workload | None = None, *, reading: bool = False
) -> Measures | None:
    """Measure each model alone, and as a reader, unless that was done before.

    Args:
        answering: runs graphs.
        store: keeps what was measured.
        models: names.
        num_questions: of the training split; >= 1.
        given: lengths that need not be measured.
        reading: whether seconds matter, so that they are measured on calls that read answers as well.

    Returns:
        None where it was stopped.

    Raises:
        InputError: a model answered nothing.
    """
    kept = store.fact(FACT)
    found = _read(kept) if kept is not None else await _measured_alone(answering, store, models, num_questions, given)
    if found is None or not reading:
        return found
    kept = store.fact(SECONDS_FACT)
    if kept is not None:
        return _read(kept)
    graphs = [parallel([models[0]] * _READ, sink_node(model)) for model in models]
    questions = tuple(range(min(num_questions, _READING_QUESTIONS)))
    if await answering.evaluate([Run(graph, "train", questions) for graph in graphs]) is None:
        return None
    return await _kept(store, SECONDS_FACT, Measures(found.workload, {model: fitted(store.call_times(model)) for model in models}))


async def _measured_alone(answering: Answering, store: Store, models: Sequence[str], num_questions: int, given: Workload | None) -> Measures | None:
    questions = tuple(range(num_questions))
    if await answering.evaluate([Run(single(sink_node(model)), "train", questions) for model in models]) is None:
        return None
    times = {model: store.call_times(model) for model in models}
    silent = [model for model, calls in times.items() if not calls]
    if silent:
        message = f"'{silent[0]}' answered none of {num_questions} training questions; see whether it works with `multigraft models check`"
        raise InputError(message)
    return await _kept(store, FACT, Measures(given or _workload(times), {model: fitted(calls) for model, calls in times.items()}))


async def _kept(store: Store, fact: str, found: Measures) -> Measures:
    store.keep_fact(fact, _written(found))
    await store.durable()
    return found


def _workload(times: Mapping[str, Sequence[CallTime]]) -> Workload:
    by_model = {
        model: (sum(call.prompt_tokens for call in calls) / len(calls), sum(call.completion_tokens for call in calls) / len(calls))
        for model, calls in times.items()
    }
    read, written = (sum(pair[place] for pair in by_model.values()) / len(by_model) for place in (0, 1))
    return Workload(read, written, by_model)


def _written(found: Measures) -> str:
    workload = found.workload
    latency = {name: (model.start_s, model.per_prompt_token_s, model.per_completion_token_s) for name, model in found.latency.items()}
    return orjson.dumps(
        {"prompt": workload.prompt_tokens, "completion": workload.completion_tokens, "by_model": dict(workload.by_model), "latency": latency}
    ).decode()


def _read(text: str) -> Measures:
    found = orjson.loads(text)
    workload = Workload(found["prompt"], found["completion"], {name: (pair[0], pair[1]) for name, pair in found["by_model"].items()})
    return Measures(workload, {name: LatencyModel(*numbers) for name, numbers in found["latency"].items()})
