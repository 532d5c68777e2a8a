"""From a run file with `[optimize]` to a graph search: everything of it that can be checked before anything is fetched, started or paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multigraft.budget.amount import Limits
from multigraft.budget.cost import ModelCost, check_limits
from multigraft.budget.ledger import Ledger
from multigraft.build.limits import limits_of
from multigraft.build.models import BuiltModel, build_model
from multigraft.build.rewards import Built, build_rewards, judges_of, needs_logprobs
from multigraft.build.run import templates_of
from multigraft.build.sandbox import SandboxOfRun
from multigraft.build.scorers import Surroundings, repeats_itself
from multigraft.config import OptimizeTable, RewardPartTable, RewardTable, RunFile, ScorerTable, checked_table
from multigraft.engine.halt import Halt
from multigraft.engine.purchases import Purchases
from multigraft.errors import BudgetError, InputError, UnknownNameError
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import SINK, Node, NodeRole
from multigraft.models.local.progress import Progress
from multigraft.optimize.agent.settings import styled
from multigraft.optimize.findings import Findings
from multigraft.optimize.loop.objectives import QualityMinusCost, parse_objective
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.pilot.pilot_file import Told
from multigraft.optimize.problem import Method, Objective, Split, sink_node
from multigraft.optimize.real.once import Once
from multigraft.optimize.real.splits import Sizes, dealt
from multigraft.prompting.render import Templates
from multigraft.types import Prompt
from multigraft.wire.retry import RetryPolicy

SELECTORS: Mapping[str, NodeRole] = {"vote": NodeRole.VOTE, "best": NodeRole.BEST}
"""Sinks that are no models, by how they are called in settings."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A graph search before it is opened."""

    run_file: RunFile
    table: OptimizeTable
    models: Mapping[str, BuiltModel]
    """All that are needed: of the pool, judges, and the optimiser model."""
    pool: tuple[str, ...]
    """Names, in the order of the run file."""
    sinks: tuple[Node, ...]
    caps: Caps
    objective: Objective
    method: Method
    optimiser: str | None
    """None: the method asks none."""
    grader: Built
    guide: Built | None
    """What a sink that chooses goes by, where it is not the grader."""
    grades_cheaply: bool
    """Whether the grader asks no model and no server."""
    once: Once
    limits: Limits
    """Of the whole search."""
    scorers: Sequence[object]
    """What is to be started and closed beside the models."""
    sandbox: SandboxOfRun
    templates: Templates
    retry: RetryPolicy
    questions: Mapping[Split, tuple[Prompt, ...]]
    findings: Findings | None


def search_plan_of(run_file: RunFile, prompts: Sequence[Prompt], told: Told | None = None, progress: Progress | None = None) -> SearchPlan:
    """Check a search, or a pilot, as a whole.

    Args:
        run_file: with `[optimize]`, and the sizes of its splits; of a pilot also with `[pilot]`.
        prompts: all questions.
        told: by a pilot.
        progress: told when weights are fetched.

    Raises:
        InputError: settings that do not fit.
        BudgetError: a limit on what is not known of a model.
    """
    table = run_file.optimize
    if table is None:
        message = "the run file describes no graph search; it has no table [optimize]"
        raise InputError(message)
    method = method_from(table.method, table.settings)
    grading, guiding = _tables(run_file, table)
    parts = (*grading.parts, *(guiding.parts if guiding else ()))
    pool = _pool(run_file, table, set(judges_of(parts)))
    optimiser = (table.optimizer or pool[-1]) if method.consults else None
    models = _models(run_file, (*pool, *judges_of(parts), *([optimiser] if optimiser else [])), parts, progress)
    if optimiser is not None and "style" not in table.settings:
        method = styled(method, models[optimiser].cost.shape)
    retry = RetryPolicy(max_attempts=run_file.concurrency.max_attempts, total_timeout_s=run_file.concurrency.total_timeout_s)
    once, sandbox = Once(_purchases(run_file, models, pool, retry)), SandboxOfRun(run_file)
    surroundings = Surroundings(
        ask_of=once.ask_of, identities={name: built.identity for name, built in models.items()}, concurrency=run_file.concurrency, sandbox=sandbox
    )
    caps = Caps(**table.caps.model_dump())
    objective = parse_objective(table.objective, caps=caps)
    if run_file.pilot is None:
        _check_known({name: models[name].cost for name in pool}, caps, objective)
    return SearchPlan(
        run_file=run_file,
        table=table,
        models=models,
        pool=pool,
        sinks=_sinks(table, pool),
        caps=caps,
        objective=objective,
        method=method,
        optimiser=optimiser,
        grader=_scorers(grading, surroundings),
        guide=_scorers(guiding, surroundings) if guiding else None,
        grades_cheaply=not any(repeats_itself(part) or part.model or part.endpoints for part in grading.parts),
        once=once,
        limits=limits_of(run_file.budget),
        scorers=surroundings.opened,
        sandbox=sandbox,
        templates=templates_of(run_file),
        retry=retry,
        questions=_questions(run_file, table, prompts, told),
        findings=told.findings if told else None,
    )


def _check_known(pool: Mapping[str, ModelCost], caps: Caps, objective: Objective) -> None:
    """Refuse a budget, or an objective, in what is not known of a model: no graph with it could be told to fit, or to be better."""
    weighed = {kind for kind, cap in caps._asdict().items() if cap is not None}
    weighed |= {objective.kind} if isinstance(objective, QualityMinusCost) else set()
    costs = KnownCosts(pool, Workload(0, 0))
    for kinds, prices in (({"units", "flops"}, False), ({"usd"}, True)):
        lacking = costs.lacking(pool, prices=prices) if weighed & kinds else ()
        if lacking:
            message = f"graphs are to be compared by {' and '.join(sorted(weighed & kinds))}, and {'; '.join(lacking)}"
            raise BudgetError(message)


def _questions(run_file: RunFile, table: OptimizeTable, prompts: Sequence[Prompt], told: Told | None) -> Mapping[Split, tuple[Prompt, ...]]:
    if run_file.pilot is None and min(table.train, table.validation) < 1:
        message = f"at least one question is needed to train on, and one to choose by, not {table.train} and {table.validation}"
        raise InputError(message, field="--split")
    return dealt(prompts, Sizes(table.train, table.validation, table.test), run_file.seed, told.questions if told else ())


def _models(run_file: RunFile, names: Sequence[str], parts: Sequence[ScorerTable], progress: Progress | None) -> Mapping[str, BuiltModel]:
    tables = {model.name: model for model in run_file.models}
    unknown = [name for name in names if name not in tables]
    if unknown:
        what = "model"
        raise UnknownNameError(what, unknown[0], tables)
    models = {name: build_model(tables[name], run_file, logprobs=needs_logprobs(parts), progress=progress) for name in dict.fromkeys(names)}
    check_limits(limits_of(run_file.budget), {name: built.cost for name, built in models.items()})
    return models


def _purchases(run_file: RunFile, models: Mapping[str, BuiltModel], pool: Sequence[str], retry: RetryPolicy) -> Purchases:
    return Purchases(
        models={name: built.model for name, built in models.items()},
        costs={name: built.cost for name, built in models.items()},
        ledger=Ledger(limits_of(run_file.budget)),
        retry=retry,
        halt=Halt(pool),
        places={name: built.max_in_flight for name, built in models.items()},
        max_in_flight=run_file.concurrency.max_in_flight,
    )


def _tables(run_file: RunFile, table: OptimizeTable) -> tuple[RewardTable, RewardTable | None]:
    """Choose what grades, and what a sink that chooses goes by, as it will when the graph runs; None where that is the same or not needed."""
    judges = run_file.judge.parts
    if not judges:
        if table.scorer is not None:
            message = f"there is no judge '{table.scorer}'; the run file has none, and [reward] is what counts"
            raise InputError(message, field="optimize.scorer")
        return run_file.reward, None
    named = {part.name or part.kind: part for part in judges}
    if table.scorer is not None and table.scorer not in named:
        what = "judge"
        raise UnknownNameError(what, table.scorer, named)
    chosen = named[table.scorer] if table.scorer is not None else judges[0]
    # Only what is set: the table of a part of the reward has no `at`.
    part = checked_table(RewardPartTable, chosen.model_dump(exclude={"at"}, exclude_unset=True), "judge.parts")
    return RewardTable(parts=(part,)), run_file.reward if SELECTORS.keys() & set(table.sinks) else None


def _scorers(table: RewardTable, surroundings: Surroundings) -> Built:
    built = build_rewards(table, surroundings)
    if built.ranking is not None:
        message = f"'{built.ranking.name}' compares the answers of one question with each other; graphs are compared by scores of single answers"
        raise InputError(message, field="reward.parts")
    if any(part.normalise != "none" for part in built.combination.parts):
        message = 'a score must not depend on what was scored before it: set normalise = "none"'
        raise InputError(message, field="reward.parts")
    return built


def _pool(run_file: RunFile, table: OptimizeTable, judges: set[str]) -> tuple[str, ...]:
    if table.models:
        return tuple(dict.fromkeys(table.models))
    only_asked = judges | {table.optimizer}
    pool = tuple(model.name for model in run_file.models if model.name not in only_asked or model.answers_too)
    if not pool:
        message = "no models; name some with --models, or in a run file (`multigraft init` writes one)"
        raise InputError(message)
    return pool


def _sinks(table: OptimizeTable, pool: Sequence[str]) -> tuple[Node, ...]:
    sinks = []
    choosing = [name for name in table.sinks if name in SELECTORS and name not in pool]
    if choosing and not table.max_agents:
        message = f"a sink '{choosing[0]}' chooses among agents, and there may be none: allow at least 1, or name models alone as sinks"
        raise InputError(message, field="--max-agents")
    for name in dict.fromkeys(table.sinks or pool):
        if name not in (*pool, *SELECTORS):
            what = "sink"
            raise UnknownNameError(what, name, (*pool, *SELECTORS))
        sinks.append(Node(SINK, "", SELECTORS[name]) if name not in pool else sink_node(name))
    return tuple(sinks)
