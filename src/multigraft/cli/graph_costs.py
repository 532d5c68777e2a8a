"""What a graph's models cost: from a run file, flags, a run that was measured, the file of the graph, and the table of known models."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import Form
from multigraft.budget.shapes import known_shape
from multigraft.build.models import cost_of
from multigraft.cli.optimize_caps import parse_tokens
from multigraft.cli.settings import models_of, restored
from multigraft.config import RunFile, checked
from multigraft.errors import InputError
from multigraft.graphs.cost import WORKLOAD, KnownCosts, Workload, workload_of
from multigraft.graphs.graph import Graph
from multigraft.graphs.latency import CallTime, LatencyModel, fitted
from multigraft.models.local.catalogue import CATALOGUE
from multigraft.records.folder import SETTINGS_NAME, read_settings
from multigraft.records.reader import RunRecord
from multigraft.types import Completion, Json, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFlags:
    """What may be said of costs on the command line; None: not said."""

    run_file: Path | None = None
    models: str | None = None
    tokens: str | None = None
    measured: Path | None = None
    """Folder of a run."""
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a run tells of its models."""

    settings: RunFile
    workload: Workload
    latency: Mapping[str, LatencyModel]


def costs_of(graph: Graph, about: Mapping[str, Json], flags: CostFlags) -> KnownCosts | None:
    """Find out what the models of a graph cost.

    Args:
        graph: any.
        about: what its file says of it.
        flags: of the command.

    Returns:
        The costs; None: nobody said how long questions and answers are.

    Raises:
        InputError: a flag, the run file or the run does not fit.
        RecordError: the run cannot be read.
    """
    measured = None if flags.measured is None else _measured(flags.measured)
    kept = workload_of(about.get(WORKLOAD))
    workload, unit = kept if kept is not None else (None, None)
    if measured is not None:
        workload, unit = measured.workload, None
    if flags.tokens is not None:
        workload, unit = Workload(*parse_tokens(flags.tokens)), None
    if workload is None:
        return None
    models = _models(graph, flags, measured)
    # Another pool or form has another unit than that of the search.
    unit = unit if flags.form is None and flags.run_file is None and flags.models is None else None
    return KnownCosts(models, workload, latency={} if measured is None else measured.latency, base_flops=unit)


def _models(graph: Graph, flags: CostFlags, measured: _Measured | None) -> dict[str, ModelCost]:
    found: dict[str, ModelCost] = {}
    settings = None if measured is None else measured.settings
    if flags.run_file is not None or flags.models is not None:
        settings = models_of(flags.models, flags.run_file)
    if settings is not None:
        found = {table.name: cost_of(table, settings) for table in settings.models}
    for model in sorted({node.model for node in graph.nodes if node.model} - set(found)):
        if model in CATALOGUE:
            listed = checked({"models": [{"name": model, "kind": "local"}]})
            found[model] = cost_of(listed.models[0], listed)
        else:
            found[model] = ModelCost(known_shape(model))
    return found if flags.form is None else {name: _in_form(name, cost, flags.form) for name, cost in found.items()}


def _in_form(name: str, cost: ModelCost, form: Form) -> ModelCost:
    try:
        return replace(cost, form=form)
    except InputError as error:
        message = f"model '{name}': {error}"
        raise InputError(message, field="--cost-form") from None


def _measured(run: Path) -> _Measured:
    settings = read_settings(run)
    lengths: dict[str, list[tuple[int, int]]] = {}
    times: dict[str, list[CallTime]] = {}
    with RunRecord(run) as record:
        for prompt in record.prompts():
            for call in prompt.calls.values():
                sample = call.sample
                if not isinstance(sample, Completion):
                    continue
                usage = sample.usage
                read = max(usage.prompt_tokens, usage.context_tokens)
                times.setdefault(call.call.model, []).append(CallTime(read, usage.completion_tokens, sample.latency_s))
                if call.call.role is Role.ANSWER:
                    lengths.setdefault(call.call.model, []).append((read, usage.completion_tokens))
    if not lengths:
        message = "holds no answer to measure; take another run, or give mean tokens with --tokens"
        raise InputError(message, file=str(run))
    means = {model: (_mean([pair[0] for pair in pairs]), _mean([pair[1] for pair in pairs])) for model, pairs in lengths.items()}
    everybody = [pair for pairs in lengths.values() for pair in pairs]
    workload = Workload(_mean([pair[0] for pair in everybody]), _mean([pair[1] for pair in everybody]), means)
    kept = restored(settings, str(run / SETTINGS_NAME), unsafe_no_sandbox=bool(settings.get("unsafe_no_sandbox")))  # nothing is run
    return _Measured(kept, workload, {model: fitted(calls) for model, calls in times.items()})


def _mean(values: list[int]) -> float:
    return sum(values) / len(values)
