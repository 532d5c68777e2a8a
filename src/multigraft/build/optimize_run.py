"""A graph search under way: opens its folder, its models and scorers, measures the task, searches, compares on the test questions, and closes everything."""

import asyncio
import platform
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from multigraft import __version__
from multigraft.budget.amount import NO_LIMITS
from multigraft.budget.ledger import Ledger
from multigraft.build.lifecycle import Closing, Starting
from multigraft.build.optimize import SearchPlan
from multigraft.build.rewards import Built
from multigraft.build.work import scoring_of
from multigraft.engine.halt import Halt
from multigraft.engine.step import Contestant
from multigraft.errors import InputError
from multigraft.graphs.blocks import single
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.costs import NO_CAPS, Caps, Costs
from multigraft.optimize.loop.archive import Archive
from multigraft.optimize.loop.report import Found, found_of
from multigraft.optimize.loop.search import SearchEvent, SearchSettings, search
from multigraft.optimize.problem import Problem, Space, sink_node
from multigraft.optimize.real.drive import Optimiser, RealModels, drive
from multigraft.optimize.real.evaluator import Evaluator
from multigraft.optimize.real.grading import Grading, Scorers
from multigraft.optimize.real.held_out import Compared, compared, rivals_of, strongest_of
from multigraft.optimize.real.measure import Measures, measured
from multigraft.optimize.real.splits import digest_of_questions
from multigraft.optimize.real.store import Store
from multigraft.randomness import key_of
from multigraft.types import Sampling

SESSION_INTERVAL_S = 5.0
"""How often the seconds worked are recorded."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search has come to."""

    found: Found | None
    """None: it was stopped before anything was searched."""
    space: Space | None
    held_out: tuple[Compared, ...]
    """The best graph first; empty where there are no test questions, or it was stopped before."""
    whole: bool
    """Whether it came to its end."""


@dataclass(slots=True, kw_only=True)
class SearchRun:
    """A search that is ready to go on.

    Args:
        plan: of the search.
        store: what is known already.
        models: answer it.
        seconds: worked on it by earlier processes.
    """

    plan: SearchPlan
    store: Store
    models: RealModels
    seconds: float
    archive: Archive = field(init=False)
    """What was found so far, for whoever watches."""
    began_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.archive = Archive(self.plan.objective)

    @property
    def halt(self) -> Halt:
        """The search's stop."""
        return self.plan.once.purchases.halt

    @property
    def elapsed_s(self) -> float:
        """Seconds worked on the search, earlier processes included."""
        return self.seconds + time.monotonic() - self.began_s

    async def run(self, noticed: Callable[[SearchEvent], None] | None = None) -> Outcome:
        """Search, and compare what was found.

        Args:
            noticed: told what happens.

        Raises:
            BudgetError: nothing fits the caps.
            MultigraftError: what stopped the search; what it paid for is safe.
        """
        async with self.timed():
            outcome = await self._run(noticed)
            if outcome.found is None:
                return outcome
            # Trials that are told again after an interruption cost nothing; what is on disk is all that was paid for them.
            await self.store.durable()
            found = replace(outcome.found, spent=self.store.spent(apart=False), optimiser_spent=self.store.spent(apart=True))
            return replace(outcome, found=found)

    @asynccontextmanager
    async def timed(self) -> AsyncIterator[None]:
        """Record the seconds that the block lasts, and stop what is under way when they are spent."""
        clock = asyncio.create_task(self._clock())
        try:
            yield
        finally:
            clock.cancel()
            await asyncio.gather(clock, return_exceptions=True)
            self._note_session()

    async def _run(self, noticed: Callable[[SearchEvent], None] | None) -> Outcome:
        measures = await self.measures()
        if measures is None:
            return Outcome(None, None, (), whole=False)
        plan, space = self.plan, self._space(measures)
        self.models.evaluator.costs = space.costs
        problem = Problem(
            space=space,
            objective=plan.objective,
            seed=plan.run_file.seed,
            max_evaluations=plan.table.evaluations,
            task=task_of(plan),
            findings=plan.findings,
        )
        settings = SearchSettings(num_train=plan.table.train, num_validation=plan.table.validation, patience=plan.table.patience)
        found = await drive(search(plan.method, problem, settings, noticed=noticed, archive=self.archive), self.models)
        if found is None:
            return Outcome(found_of(self.archive, problem), space, (), whole=False)
        if found.best is None or not plan.table.test:
            return Outcome(found, space, (), whole=True)
        rivals = rivals_of(found.best.graph, strongest_of(found.entries) or space.models[-1], space, votes=self.store.has_answers())
        held_out = await compared(self.models, found.best.graph, rivals, plan.table.test)
        return Outcome(found, space, held_out or (), whole=held_out is not None)

    async def measures(self) -> Measures | None:
        """Measure how long questions and answers are, unless that is known; None where it was stopped."""
        table = self.plan.table
        given = None if table.tokens is None else Workload(*table.tokens)
        timed = table.caps.latency_s is not None or table.objective.split(":")[0] in {"latency", "pareto"}
        if given is not None and not timed:
            return Measures(given)
        return await measured(self.models, self.store, self.plan.pool, min(table.measured_questions, table.train), given, reading=timed)

    def costs(self, measures: Measures) -> KnownCosts:
        """Return what graphs cost by what was measured."""
        return KnownCosts({name: self.plan.models[name].cost for name in self.plan.pool}, measures.workload, latency=measures.latency)

    def _space(self, measures: Measures) -> Space:
        plan = self.plan
        costs = self.costs(measures)
        space = Space(
            models=cheapest_first(plan.pool, costs, plan.caps),
            sinks=plan.sinks,
            costs=costs,
            caps=plan.caps,
            max_agents=plan.table.max_agents,
            max_in_degree=plan.table.max_in_degree,
        )
        space.check()
        # A sink that fits nothing would only be proposed to be refused.
        fitting = tuple(sink for sink in space.sinks if space.fits(space.smallest(sink)))
        return Space(models=space.models, sinks=fitting, costs=costs, caps=space.caps, max_agents=space.max_agents, max_in_degree=space.max_in_degree)

    async def _clock(self) -> None:
        """Record the seconds worked, and stop the search when they are spent."""
        limit_s = self.plan.limits.seconds
        while not self.halt.stopped:
            self._note_session()
            rest_s = SESSION_INTERVAL_S
            if limit_s is not None:
                rest_s = min(rest_s, limit_s - self.elapsed_s)
                if rest_s <= 0:
                    self.halt.time_is_up()
                    return
            await asyncio.sleep(rest_s)

    def _note_session(self) -> None:
        self.store.note_session(time.monotonic() - self.began_s, {})


@asynccontextmanager
async def opened_search(plan: SearchPlan, folder: Path) -> AsyncIterator[SearchRun]:
    """Open a search whose folder is owned and has its settings.

    Args:
        plan: of the search.
        folder: of the search.

    Raises:
        InputError: its questions or scorers are not those it was started with.
        MultigraftError: of any kind; nothing was paid.
    """
    once, purchases, run_file = plan.once, plan.once.purchases, plan.run_file
    async with AsyncExitStack() as stack:
        for thing in (*(built.closing for built in plan.models.values()), *plan.scorers):
            if isinstance(thing, Closing):
                stack.push_async_callback(thing.close)
        store = Store(folder)
        stack.callback(store.close)
        once.kept_in = store
        if run_file.pilot is None:
            _settle(store, "questions", digest_of_questions(plan.questions), "the questions are not those it was started with")
            _settle(store, "pilot", f"{key_of(repr(plan.findings)):x}", "the pilot is another one, or was not there when it was started")
        purchases.ledger = Ledger(plan.limits, spent=store.spent())
        # What the optimiser model costs is counted apart, and paid from the same purse.
        purchases.ledger_apart = Ledger(NO_LIMITS, purchases.ledger, store.spent(apart=True))
        for thing in (*(built.starting for built in plan.models.values()), *plan.scorers):
            if isinstance(thing, Starting):
                await thing.start()
        versions = {scorer.name: scorer.version for built in (plan.grader, *([plan.guide] if plan.guide else [])) for scorer in built.rewards}
        for name, version in sorted(versions.items()):
            _settle(store, f"scorer {name}", version, f"answers were graded by another version of '{name}'")
        seconds = store.seconds()
        store.note_session(0.0, _facts(plan, versions))
        await store.durable()
        guide = _scorers(plan.guide, plan) if plan.guide else None
        worst, best = plan.table.score_range
        evaluator = Evaluator(
            questions=plan.questions,
            contestants={name: plan.models[name].contestant for name in plan.pool},
            once=once,
            grading=Grading(_scorers(plan.grader, plan), once=once, guide=guide, worst=worst, best=best),
            templates=plan.templates,
            costs=KnownCosts({}, Workload(0, 0)),  # until the task is measured
            seed=run_file.seed,
            all_nodes=plan.table.node_scores == "all" or (plan.table.node_scores == "auto" and plan.grades_cheaply),
            drain_s=run_file.concurrency.drain_s,
        )
        yield SearchRun(plan=plan, store=store, models=RealModels(evaluator, _optimiser(plan)), seconds=seconds)


def cheapest_first(pool: Sequence[str], costs: Costs, caps: Caps = NO_CAPS) -> tuple[str, ...]:
    """Order models by what they cost alone, in FLOPs or dollars, the capped kind first; as they stand where neither is known of all."""
    alone = {name: costs.of(single(sink_node(name))) for name in pool}
    for kind in sorted(("units", "usd"), key=lambda kind: getattr(caps, kind) is None):
        prices = {name: value for name, cost in alone.items() if (value := getattr(cost, kind)) is not None}
        if len(prices) == len(alone):
            return tuple(sorted(pool, key=prices.__getitem__))
    return tuple(pool)


def task_of(plan: SearchPlan) -> str:
    """Say what the questions ask for, in the words of the task."""
    if plan.run_file.task is None:
        return ""
    from multigraft.tasks.task import load_task  # noqa: PLC0415 - only searches on a task load what tasks are made of

    return load_task(plan.run_file.task.name).table.description


def _optimiser(plan: SearchPlan) -> Optimiser | None:
    if plan.optimiser is None:
        return None
    built, table = plan.models[plan.optimiser], plan.table
    sampling = Sampling(temperature=table.optimizer_temperature, max_tokens=table.optimizer_max_tokens)
    return Optimiser(model=plan.optimiser, contestant=Contestant(sampling, built.contestant.system), once=plan.once, seed=plan.run_file.seed)


def _scorers(built: Built, plan: SearchPlan) -> Scorers:
    halt = plan.once.purchases.halt
    scorings = tuple(scoring_of(reward, plan.retry, halt, retried=reward.name in built.retried) for reward in built.rewards)
    return Scorers(scorings, built.combination)


def _settle(store: Store, name: str, value: str, otherwise: str) -> None:
    known = store.fact(name)
    if known is None:
        store.keep_fact(name, value)
    elif known != value:
        message = f"{otherwise}, and results under different ones must not be mixed; take another folder (-o)"
        raise InputError(message)


def _facts(plan: SearchPlan, versions: Mapping[str, str]) -> dict[str, str]:
    facts = {"multigraft": __version__, "python": platform.python_version(), "system": platform.platform()}
    return facts | {f"scorer {name}": version for name, version in versions.items()} | plan.sandbox.facts()
