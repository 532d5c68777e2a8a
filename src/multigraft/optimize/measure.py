"""How long a task's questions and answers are, and how long a model takes: measured on each model alone, before anything is searched.

The graphs that are run for it are single models, on the first training questions: whatever search follows finds their answers paid for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from multigraft.errors import InputError
from multigraft.graphs.blocks import single
from multigraft.graphs.cost import Workload
from multigraft.graphs.latency import CallTime, LatencyModel, fitted
from multigraft.optimize.drive import Answering
from multigraft.optimize.problem import Run, sink_node
from multigraft.optimize.store import Store

FACT = "workload"
"""Under which name the store keeps what was measured: budgets are computed from it, so it must not change while a search goes on."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured."""

    workload: Workload
    latency: Mapping[str, LatencyModel] = field(default_factory=dict)
    """By model; empty where none was measured."""


async def measured(answering: Answering, store: Store, models: Sequence[str], num_questions: int, given: Workload | None = None) -> Measures | None:
    """Measure each model alone, unless that was done before.

    Args:
        answering: runs graphs.
        store: keeps what was measured.
        models: names.
        num_questions: of the training split; >= 1.
        given: lengths that need not be measured.

    Returns:
        None where it was stopped.

    Raises:
        InputError: a model answered nothing.
    """
    kept = store.fact(FACT)
    if kept is not None:
        return _read(kept)
    questions = tuple(range(num_questions))
    if await answering.evaluate([Run(single(sink_node(model)), "train", questions) for model in models]) is None:
        return None
    times = {model: store.call_times(model) for model in models}
    silent = [model for model, calls in times.items() if not calls]
    if silent:
        message = f"'{silent[0]}' answered none of {num_questions} training questions; see whether it works with `multigraft models check`"
        raise InputError(message)
    found = Measures(given or _workload(times), {model: fitted(calls) for model, calls in times.items()})
    store.keep_fact(FACT, _written(found))
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
