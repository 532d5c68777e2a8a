"""The loop around a search method: it asks more of the graphs that do well, compares them fairly, and keeps the best.

Every graph answers the same questions in the same order, so that graphs are compared question by question, and node outputs that graphs share are paid once.
The loop is a generator as its method is: it yields `Evaluate` and `Consult`, and is sent the answers. Equal answers make an equal search.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from multigraft.graphs.canonical import canonical, canonical_order, graph_id
from multigraft.graphs.graph import SINK, Graph
from multigraft.optimize.loop.archive import Archive, Entry
from multigraft.optimize.loop.report import Found, Stopped, found_of
from multigraft.optimize.loop.selection import Selection, is_worse_than, selection_of
from multigraft.optimize.problem import Consult, Evaluate, Evaluation, Method, Problem, Proposal, Propose, Reply, Run, Split, sink_node
from multigraft.randomness import Draws

EventKind: TypeAlias = Literal["evaluated", "repeated", "refused", "worse", "validated", "best", "consulted"]

OVER_BUDGET: Final = "over the caps"
"""Note on a proposal that costs more than it may: it is not run."""

Steps: TypeAlias = Generator[Evaluate | Consult, Any, Found]
_Inner: TypeAlias = Generator[Evaluate | Consult, Any, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How much is asked of whom.

    Args:
        num_train: questions that a graph answers in training at most; >= 1.
        num_validation: questions by which the best is chosen; >= 1.
        first_batch: questions of the first rung, of either split; >= 1.
        halving: by which factor questions grow from rung to rung; > 1.
        drop_level: how likely at most a graph as good as the incumbent is given up before it has answered all questions of a split; in [0, 0.5], 0: none is.
        patience: evaluated graphs without a better incumbent after which the search ends; 0: never.
        steps_per_evaluation: proposals and consultations, for each evaluation of the budget, after which a method that repeats itself is stopped; >= 1.
        compare_singles: whether each model alone answers the validation questions at the end, where that fits the caps, and is the best if nothing beats it.
    """

    num_train: int
    num_validation: int
    first_batch: int = 8
    halving: float = 2.0
    drop_level: float = 0.2
    patience: int = 8
    steps_per_evaluation: int = 20
    compare_singles: bool = True

    def __post_init__(self) -> None:
        rules = (
            ("num_train", self.num_train >= 1, "at least 1"),
            ("num_validation", self.num_validation >= 1, "at least 1"),
            ("first_batch", self.first_batch >= 1, "at least 1"),
            ("halving", 1.0 < self.halving < float("inf"), "above 1"),
            ("drop_level", 0.0 <= self.drop_level <= 0.5, "in [0, 0.5]"),
            ("patience", self.patience >= 0, "at least 0"),
            ("steps_per_evaluation", self.steps_per_evaluation >= 1, "at least 1"),
        )
        for name, holds, wanted in rules:
            if not holds:
                message = f"{name} must be {wanted}, not {getattr(self, name)}"
                raise ValueError(message)

    def rungs(self, split: Split) -> tuple[tuple[int, ...], ...]:
        """Return which questions each rung adds, each ascending.

        Which come first is drawn once for each number of questions, so it is the same for all methods and seeds, and no order of the task's own matters.
        """
        count = self.num_validation if split == "validation" else self.num_train
        order = Draws("rungs", split, count).shuffled(range(count))
        ends = list(_ends(self.first_batch, self.halving, count))
        return tuple(tuple(sorted(order[start:end])) for start, end in zip([0, *ends], ends, strict=False))


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """Something a watcher may show."""

    kind: EventKind
    """`evaluated`: all its training questions; `repeated`: answered from the archive; `refused`: over the caps; `worse`: given up; `validated`: all its
    validation questions; `best`: the new incumbent; `consulted`: the optimiser model replied."""
    entry: Entry | None
    """Whom it is about; None for `refused` and `consulted`."""
    best: Entry | None
    """The best so far."""
    num_evaluations: int
    """Graphs evaluated so far."""
    max_evaluations: int
    """How many may be."""


def search(
    method: Method,
    problem: Problem,
    settings: SearchSettings,
    noticed: Callable[[SearchEvent], None] | None = None,
    archive: Archive | None = None,
) -> Steps:
    """Search with a method until its budget of graphs, its patience or its ideas are at an end.

    A graph counts as an evaluation once, when it is first run on training questions; a graph equal to it up to names is answered from the archive. To stop
    earlier, close the generator: the archive stays as it is, and `report.found_of` makes of it what a finished search returns.

    Args:
        method: which proposes.
        problem: the space, the objective and the budget.
        settings: how much is asked of whom.
        noticed: told what happens, at once.
        archive: empty, the caller's own; None: one is made.

    Yields:
        `Evaluate`, answered by an `Evaluation` of each run in order, with the trials of the run's questions; `Consult`, answered by a `Reply`.

    Returns:
        What was found.

    Raises:
        BudgetError: nothing fits the caps.
    """
    problem.space.check()
    loop = _Loop(problem, settings, archive if archive is not None else Archive(problem.objective), noticed)
    stopped = yield from loop.proposals_of(method)
    if settings.compare_singles:
        yield from loop.singles()
    return found_of(loop.archive, problem, stopped)


class _Loop:
    """One search under way."""

    def __init__(self, problem: Problem, settings: SearchSettings, archive: Archive, noticed: Callable[[SearchEvent], None] | None) -> None:
        self.archive = archive
        self._problem, self._settings, self._noticed = problem, settings, noticed
        self._selection: Selection = selection_of(problem.objective)
        self._num_steps = 0
        self._last_better = 0

    def proposals_of(self, method: Method) -> Generator[Evaluate | Consult, Any, Stopped]:
        """Drive a method; says why it ended."""
        steps = method.search(self._problem)
        answer: tuple[Evaluation, ...] | Reply | None = None
        try:
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return "method"
                if isinstance(step, Propose):
                    answer = yield from self._evaluate(step)
                else:
                    self._num_steps += 1
                    answer = cast("Reply", (yield step))
                    self.archive.hear(answer)
                    self._tell("consulted", None)
                stopped = self._stopped()
                if stopped is not None:
                    return stopped
        finally:
            steps.close()

    def singles(self) -> _Inner:
        """Have each model alone answer the validation questions, and challenge the incumbent."""
        space = self._problem.space
        entries = []
        for model in space.models:
            graph = Graph((sink_node(model),), (), SINK)
            if not space.fits(graph):
                continue
            identity = graph_id(graph)
            known = self.archive.find(identity)
            entries.append(known or self.archive.add(identity, graph, space.costs.of(graph), origin="single model", reference=True))
        yield from self._validate([entry for entry in entries if not entry.validated], drop=False)
        self.archive.mark()

    def _stopped(self) -> Stopped | None:
        done = self.archive.num_evaluations
        if done >= self._problem.max_evaluations:
            return "evaluations"
        if self._settings.patience and done - self._last_better >= self._settings.patience:
            return "patience"
        return "repeats" if self._num_steps >= self._settings.steps_per_evaluation * self._problem.max_evaluations else None

    def _evaluate(self, step: Propose) -> Generator[Evaluate | Consult, Any, tuple[Evaluation, ...]]:
        self._num_steps += max(len(step.proposals), 1)
        new: list[int] = []
        numbers = [self._enter(proposal, new) for proposal in step.proposals]
        yield from self._train(new)
        trained = [self.archive.entries[number] for number in new if self.archive.entries[number].trained]
        deserving = self._selection.deserving(self.archive, trained)
        if deserving:
            yield from self._validate(deserving, drop=True)
        if new:
            self.archive.mark()
        return tuple(self._answer(proposal, number) for proposal, number in zip(step.proposals, numbers, strict=True))

    def _enter(self, proposal: Proposal, new: list[int]) -> int | None:
        """Find the entry of a proposal, or make it one; None: it cannot be run."""
        archive, space = self.archive, self._problem.space
        archive.num_proposals += 1
        archive.note(proposal.notes)
        identity = graph_id(proposal.graph)
        known = archive.find(identity)
        if known is not None:
            if known.number not in new:
                self._tell("repeated", known)
            return known.number
        if not space.fits(proposal.graph):
            archive.note((OVER_BUDGET,))
            self._tell("refused", None)
            return None
        if archive.num_evaluations + len(new) >= self._problem.max_evaluations:
            return None
        form = canonical(proposal.graph)
        entry = archive.add(identity, form, space.costs.of(form), origin=proposal.origin, notes=proposal.notes)
        new.append(entry.number)
        return entry.number

    def _train(self, numbers: Sequence[int]) -> _Inner:
        rungs = self._settings.rungs("train")
        for place, questions in enumerate(rungs):
            asked = [self.archive.entries[number] for number in numbers if self.archive.entries[number].worse_than is None]
            yield from self._ask(asked, "train", questions)
            if place < len(rungs) - 1:
                self._drop("train", [entry.number for entry in asked], len(rungs) - 1)
                continue
            for entry in asked:
                self._tell("evaluated", self.archive.put(replace(self.archive.entries[entry.number], trained=True)))

    def _validate(self, entries: Sequence[Entry], *, drop: bool) -> _Inner:
        # Without giving up any, there is nothing to wait for.
        rungs = self._settings.rungs("validation") if drop else (tuple(range(self._settings.num_validation)),)
        numbers = [entry.number for entry in entries]
        for place, questions in enumerate(rungs):
            asked = [entry for entry in (self.archive.entries[number] for number in numbers) if entry.worse_than is None or not drop]
            yield from self._ask(asked, "validation", questions)
            if drop and place < len(rungs) - 1:
                self._drop("validation", [entry.number for entry in asked], len(rungs) - 1)
        validated = []
        for number in numbers:
            entry = self.archive.entries[number]
            if entry.worse_than is None or not drop:
                validated.append(self.archive.put(replace(entry, validated=True)))
                self._tell("validated", validated[-1])
        before = self.archive.incumbent
        if self._selection.settle(self.archive, validated):
            self._last_better = self.archive.num_evaluations
        if self.archive.incumbent != before:
            self._tell("best", self.archive.best)

    def _ask(self, entries: Sequence[Entry], split: Split, questions: Sequence[int]) -> _Inner:
        runs = []
        for entry in entries:
            known = entry.train if split == "train" else entry.validation
            answered = {trial.question for trial in known.trials} if known is not None else set()
            missing = tuple(question for question in questions if question not in answered)
            if missing:
                runs.append((entry.number, Run(entry.graph, split, missing)))
        if runs:
            found = cast("tuple[Evaluation, ...]", (yield Evaluate(tuple(run for _, run in runs))))
            for (number, _), evaluation in zip(runs, found, strict=True):
                self.archive.learn(number, evaluation)

    def _drop(self, split: Split, numbers: Sequence[int], num_looks: int) -> None:
        """Give up those that are worse than their rivals by now."""
        together = [self.archive.entries[number] for number in numbers]
        # Who is ahead of a batch was picked by its luck: each of its rivals is one more look.
        num_rivals = 1 if self.archive.incumbent is not None else max(len(together) - 1, 1)
        level = self._settings.drop_level / (num_looks * num_rivals)
        if not level:
            return
        for entry in together:
            rival = self._selection.rival_of(self.archive, entry, together, split)
            if rival is not None and is_worse_than(self.archive.objective, entry, rival, split, level):
                self._tell("worse", self.archive.put(replace(entry, worse_than=rival.number)))

    def _answer(self, proposal: Proposal, number: int | None) -> Evaluation:
        if number is None:
            return Evaluation(proposal.graph, "train", (), self._problem.space.costs.of(proposal.graph))
        return renamed(self.archive.entries[number].train, proposal.graph)

    def _tell(self, kind: EventKind, entry: Entry | None) -> None:
        if self._noticed is not None:
            self._noticed(SearchEvent(kind, entry, self.archive.best, self.archive.num_evaluations, self._problem.max_evaluations))


def renamed(evaluation: Evaluation, graph: Graph) -> Evaluation:
    """Say what is known of a graph in its canonical form of an equal graph with names of its own.

    Args:
        evaluation: of the canonical form.
        graph: equal to it up to names, and to nodes that do not reach the sink.
    """
    if not any(trial.node_scores for trial in evaluation.trials):
        return replace(evaluation, graph=graph)
    names = {f"a{number}": node_id for number, node_id in enumerate(canonical_order(graph), start=1)} | {SINK: graph.sink}
    trials = tuple(replace(trial, node_scores={names[node_id]: score for node_id, score in trial.node_scores.items()}) for trial in evaluation.trials)
    return replace(evaluation, graph=graph, trials=trials)


def _ends(first: int, factor: float, count: int) -> Iterator[int]:
    """Yield how many questions have been asked after each rung."""
    end = min(first, count)
    while end < count:
        yield end
        end = min(max(round(end * factor), end + 1), count)
    yield count
