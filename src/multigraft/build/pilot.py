"""From a run file with `[pilot]` to a pilot: planned as a whole before anything is fetched, started or paid, then run like a search."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from multigraft.budget.cost import prompt_tokens_bound
from multigraft.build.optimize import SearchPlan, search_plan_of
from multigraft.build.optimize_run import SearchRun, cheapest_first, opened_search
from multigraft.config import PilotTable, RunFile
from multigraft.errors import InputError
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.models.local.progress import Progress
from multigraft.optimize.pilot.plan import Expense, PilotPlan, planned
from multigraft.optimize.pilot.runs import PilotRuns, pilot, results_of, runs_of_graphs
from multigraft.optimize.pilot.settings import PilotSettings
from multigraft.optimize.problem import Consult, Evaluation, Reply, Run, Space, sink_node
from multigraft.optimize.real.drive import drive
from multigraft.types import Prompt

ALIKE: Final = Workload(200, 250)
"""Lengths by which models are put in order and counted against each other before anything is measured: the same for all, about those of school mathematics, so
that what counts is their size."""


@dataclass(frozen=True, slots=True)
class PilotJob:
    """A pilot before it is opened."""

    search: SearchPlan
    """Its pool, graders, limits and questions, as a search has them."""
    plan: PilotPlan
    expense: Expense
    lengths_given: bool
    """Whether the lengths of questions and answers were given; otherwise every answer counts as long as it may be."""


def pilot_job_of(run_file: RunFile, prompts: list[Prompt], progress: Progress | None = None) -> PilotJob:
    """Check and plan a pilot as a whole.

    Args:
        run_file: with `[pilot]` and its number of questions, and `[optimize]` with as many to train on.
        prompts: all questions.
        progress: told when weights are fetched.

    Raises:
        InputError: settings that do not fit.
        BudgetError: a limit on what is not known of a model.
    """
    table = run_file.pilot
    if table is None:
        message = "the run file describes no pilot; it has no table [pilot]"
        raise InputError(message)
    search = search_plan_of(run_file, prompts, None, progress)
    costs = {name: search.models[name].cost for name in search.pool}
    tokens = search.table.tokens
    alike = KnownCosts(costs, ALIKE if tokens is None else Workload(*tokens))
    models = cheapest_first(search.pool, alike)
    sink = search.sinks[0] if table.sink else sink_node(models[(len(models) - 1) // 2])
    plan = planned(Space(models=models, sinks=(sink,), costs=alike), _settings(table, run_file.seed))
    expected = alike if tokens is not None else KnownCosts(costs, _longest(search))
    return PilotJob(search, plan, plan.expense(expected), tokens is not None)


def _settings(table: PilotTable, seed: int) -> PilotSettings:
    given = table.model_dump(exclude={"questions", "sink"})
    return PilotSettings(num_questions=table.questions, seed=seed, **given)


def _longest(search: SearchPlan) -> Workload:
    """Return lengths that no call exceeds."""
    questions = search.questions["train"]
    read = sum(prompt_tokens_bound(prompt.messages) for prompt in questions) / len(questions)
    written = {name: float(search.models[name].contestant.sampling.max_tokens) for name in search.pool}
    return Workload(read, max(written.values()), {name: (read, tokens) for name, tokens in written.items()})


@dataclass(slots=True)
class PilotRun:
    """A pilot that is ready to go on.

    Args:
        job: the pilot.
        run: what it shares with a search: store, models, clock and stop.
    """

    job: PilotJob
    run: SearchRun
    _done: int = field(init=False, default=0)

    @property
    def trials(self) -> int:
        """Graphs times questions that there are."""
        return len(self.job.plan.graphs) * self.job.plan.num_questions

    @property
    def trials_ended(self) -> int:
        """How many of them are done."""
        return self._done + self.run.models.evaluator.watch.trials_ended

    async def go(self) -> PilotRuns | None:
        """Run it; None where it was stopped.

        Raises:
            MultigraftError: what stopped it; what it paid for is safe.
        """
        async with self.run.timed():
            measures = await self.run.measures()
            if measures is None:
                return None
            self.run.models.evaluator.costs = self.run.costs(measures)
            return await drive(pilot(self.job.plan), self)

    async def evaluate(self, runs: Sequence[Run]) -> tuple[Evaluation, ...] | None:
        """Answer a step."""
        found = await self.run.models.evaluate(runs)
        if found is not None:
            self._done += sum(len(run.questions) for run in runs)
            self.run.models.evaluator.watch.trials_ended = 0
        return found

    async def consult(self, consult: Consult) -> Reply | None:
        """Ask the optimiser model, which a pilot has none of."""
        return await self.run.models.consult(consult)

    def so_far(self) -> PilotRuns:
        """Return what is known, of whatever ended; nothing is asked."""
        plan = self.job.plan
        return results_of(plan, self.run.models.evaluator.known(runs_of_graphs(plan, plan.graphs)))

    def workload(self) -> Workload:
        """Return how long questions and answers are; nothing while that is not measured."""
        costs = self.run.models.evaluator.costs
        return costs.workload if isinstance(costs, KnownCosts) else Workload(0, 0)


@asynccontextmanager
async def opened_pilot(job: PilotJob, folder: Path) -> AsyncIterator[PilotRun]:
    """Open a pilot whose folder is owned and has its settings.

    Args:
        job: the pilot.
        folder: of the pilot.

    Raises:
        InputError: its scorers are not those it was started with.
        MultigraftError: of any kind; nothing was paid.
    """
    async with opened_search(job.search, folder) as run:
        yield PilotRun(job, run)
