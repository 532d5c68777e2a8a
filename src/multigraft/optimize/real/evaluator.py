"""Runs graphs on questions with real models: one trial a graph and question, many at once, each finished one kept."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from multigraft.budget.amount import NOTHING, Amount
from multigraft.engine.campaign import PATIENCE_S
from multigraft.engine.halt import UNSENT
from multigraft.engine.step import Contestant
from multigraft.errors import MultigraftError, RecordError
from multigraft.graphs.cones import cone_keys
from multigraft.graphs.costs import Costs
from multigraft.graphs.graph import Graph
from multigraft.graphs.graph_file import text_of
from multigraft.graphs.latency import span_s
from multigraft.knowledge import Knowledge
from multigraft.optimize.problem import Evaluation, Run, Split, Trial
from multigraft.optimize.real.grading import Grading
from multigraft.optimize.real.once import OWN_DOING, Once
from multigraft.optimize.real.store import KeptTrial
from multigraft.prompting.render import Templates, render
from multigraft.strategies.graph import Collaboration, CollaborationState
from multigraft.types import Call, Candidate, Completion, FailureKind, Outcome, Prompt, Request, Sample, Score

MANY: Final = 4096
"""Calls in flight for one question: as many as its graph allows."""


class _Made(NamedTuple):
    """What came of one call."""

    call: Call
    sample: Sample
    spent: Amount
    score: Score | None
    """Its grade."""
    guided: Score | None
    """What a sink that chooses goes by, where it may choose this."""


@dataclass(slots=True)
class Watch:
    """How far the evaluator is, for whoever watches."""

    trials_wanted: int = 0
    """Of the runs under way."""
    trials_ended: int = 0


@dataclass(slots=True, kw_only=True)
class Evaluator:
    """Runs graphs on questions.

    Args:
        questions: of each split, in order.
        contestants: how each model takes part, by name.
        once: buys the nodes' outputs, and keeps them and finished trials.
        grading: grades answers.
        templates: wording of the roles.
        costs: what graphs are expected to cost.
        seed: of the draws of all nodes.
        all_nodes: whether every node's output is graded, for credit; otherwise only what may be the answer.
        drain_s: seconds that calls in flight get to end after a stop.
    """

    questions: Mapping[Split, Sequence[Prompt]]
    contestants: Mapping[str, Contestant]
    once: Once
    grading: Grading
    templates: Templates
    costs: Costs
    seed: int
    all_nodes: bool = True
    drain_s: float = 8.0
    watch: Watch = field(default_factory=Watch)

    async def evaluate(self, runs: Sequence[Run]) -> tuple[Evaluation, ...] | None:
        """Run graphs on questions, all at once as far as the models have room.

        Returns:
            An evaluation each, in order; None where the search was stopped before they were complete. What ended by then is kept.

        Raises:
            RecordError: nothing can be recorded any more.
            InputError: the grader's scores are none.
        """
        wanted = [(index, question) for index, run in enumerate(runs) for question in run.questions]
        self.watch.trials_wanted, self.watch.trials_ended = len(wanted), 0
        prepared = [Prepared(run.graph) for run in runs]
        tasks = {(place, question): asyncio.create_task(self._trial(prepared[place], runs[place].split, question)) for place, question in wanted}
        try:
            whole = await self._finish(set(tasks.values()))
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        if not whole:
            return None
        trials = {key: task.result() for key, task in tasks.items()}
        if any(trial is None for trial in trials.values()):
            return None
        of_run = [[trial for (index, _), trial in trials.items() if trial is not None and index == place] for place in range(len(runs))]
        return tuple(self._evaluation(run, found) for run, found in zip(runs, of_run, strict=True))

    def known(self, runs: Sequence[Run]) -> tuple[Evaluation, ...]:
        """Return what is known of graphs without asking anything: an evaluation each, in order, of the trials that have ended."""
        return tuple(self._evaluation(run, self._ended(Prepared(run.graph), run)) for run in runs)

    def _ended(self, prepared: "Prepared", run: Run) -> list[Trial]:
        name, questions = prepared.keys[prepared.graph.sink], self.questions[run.split]
        kept = {question: self.once.store.trial(name, questions[question].prompt_id) for question in run.questions}
        return [prepared.trial(question, found) for question, found in kept.items() if found is not None]

    async def _finish(self, pending: "set[asyncio.Task[Trial | None]]") -> bool:
        loop, halt = asyncio.get_running_loop(), self.once.purchases.halt
        until_s: float | None = None
        while pending:
            done, pending = await asyncio.wait(pending, timeout=0.2, return_when=asyncio.FIRST_EXCEPTION)
            _raise_first(done)
            if halt.stopped:
                until_s = loop.time() + (PATIENCE_S if halt.patient else self.drain_s) if until_s is None else until_s
                if loop.time() > until_s:
                    return False
        return True

    def _evaluation(self, run: Run, trials: Sequence[Trial]) -> Evaluation:
        cost = self.costs.of(run.graph)
        if cost.latency_s is None and trials:
            cost = cost._replace(latency_s=sum(trial.latency_s for trial in trials) / len(trials))
        return Evaluation(run.graph, run.split, tuple(sorted(trials, key=lambda trial: trial.question)), cost)

    async def _trial(self, prepared: "Prepared", split: Split, question: int) -> Trial | None:
        prompt, name = self.questions[split][question], prepared.keys[prepared.graph.sink]
        kept = self.once.store.trial(name, prompt.prompt_id)
        if kept is None:
            kept = await GraphTrial(self, prepared, prompt).run()
            if kept is None:
                return None
            self.once.store.keep_trial(name, prompt.prompt_id, kept)
            await self.once.store.durable()
        self.watch.trials_ended += 1
        return prepared.trial(question, kept)


class Prepared:
    """A graph made ready to run.

    Args:
        graph: any.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.keys = cone_keys(graph)
        """Of the live nodes' cones; the sink's names the graph."""
        self.strategy = Collaboration(graph=text_of(graph), max_parallel=MANY)
        self.sink = graph.node(graph.sink)
        self.may_win = frozenset(graph.read_by(graph.sink) if self.sink.selects else (graph.sink,))
        """Nodes whose output may be the answer."""

    def trial(self, question: int, kept: KeptTrial) -> Trial:
        """Return a trial as the graph's own nodes are called."""
        scores = {node_id: kept.node_scores[key] for node_id, key in self.keys.items() if key in kept.node_scores}
        return Trial(question, kept.score, kept.reason, scores, kept.spent, kept.latency_s)


class GraphTrial:
    """One graph on one question.

    Args:
        evaluator: whose questions and models.
        prepared: the graph.
        prompt: the question.
    """

    def __init__(self, evaluator: Evaluator, prepared: Prepared, prompt: Prompt) -> None:
        self._evaluator, self._prepared, self._prompt = evaluator, prepared, prompt
        self._state: CollaborationState = prepared.strategy.init(prompt.prompt_id, prepared.strategy.models, evaluator.seed)
        self._nodes: dict[int, str] = {}
        """By call id."""
        self._texts: dict[int, str] = {}
        self._made: dict[int, _Made] = {}

    async def run(self) -> KeptTrial | None:
        """Run it; None: the search was stopped before it had an answer."""
        under_way: set[asyncio.Task[_Made]] = set()
        knowledge = Knowledge()
        stopped = False
        try:
            while True:
                if not stopped:
                    under_way |= {asyncio.create_task(self._make(call)) for call in self._asks()}
                if not under_way:
                    break
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for made in sorted((task.result() for task in done), key=lambda made: made.call.call_id):
                    stopped = stopped or made.sample is UNSENT
                    if not stopped:
                        self._made[made.call.call_id] = made
                        self._prepared.strategy.tell(self._state, made.call.call_id, _outcome(made), knowledge)
        finally:
            for task in under_way:
                task.cancel()
        return None if stopped else self._kept()

    def _asks(self) -> Iterator[Call]:
        while isinstance(call := self._prepared.strategy.ask(self._state), Call):
            self._nodes[call.call_id] = self._state.node_of[call.call_id]
            yield call

    async def _make(self, call: Call) -> _Made:
        evaluator = self._evaluator
        contestant = evaluator.contestants[call.model]
        messages = render(self._prompt, call, self._texts, evaluator.templates, contestant.system)
        asked = await evaluator.once.sample(call.model, Request(messages, contestant.sampling, (call.seed,)))
        sample = asked.sample
        if not isinstance(sample, Completion):
            return _Made(call, sample, asked.spent, None, None)
        self._texts[call.call_id] = sample.text
        candidate, may_win = Candidate(self._prompt, call, sample), self._nodes[call.call_id] in self._prepared.may_win
        score = await evaluator.grading.grade(candidate, asked.digest) if may_win or evaluator.all_nodes else None
        guided = await evaluator.grading.guided(candidate, asked.digest) if may_win and self._prepared.sink.selects else None
        cut_short = any(found is not None and found.value is None for found in (score, guided))
        if cut_short and evaluator.once.purchases.halt.stopped:
            # What a stop kept from being graded says nothing of the graph; a resumed search grades it.
            return _Made(call, UNSENT, asked.spent, None, None)
        return _Made(call, sample, asked.spent, score, guided)

    def _kept(self) -> KeptTrial:
        prepared, spent = self._prepared, NOTHING
        seconds = dict.fromkeys(prepared.keys, 0.0)
        node_scores: dict[str, float | None] = {}
        for call_id, made in self._made.items():
            node_id = self._nodes[call_id]
            spent = spent.plus(made.spent)
            seconds[node_id] += made.sample.latency_s
            if made.score is not None:
                node_scores[prepared.keys[node_id]] = made.score.value
        best = prepared.strategy.best(self._state)
        answer = self._made[best] if best is not None else None
        if answer is not None and answer.score is not None:
            node_scores[prepared.keys[prepared.graph.sink]] = answer.score.value
        score, reason = self._judged(answer)
        return KeptTrial(score, reason, node_scores, spent, span_s(prepared.graph, seconds))

    def _judged(self, answer: _Made | None) -> tuple[float | None, FailureKind | None]:
        if answer is not None and answer.score is not None:
            return answer.score.value, answer.score.reason
        # How each node ended, in the order of the graph: which of them was the last to end is chance.
        by_node = {self._nodes[call_id]: made for call_id, made in self._made.items()}
        ended = [(node_id, by_node[node_id]) for node_id in self._prepared.graph.order if node_id in by_node]
        # A sink whose model failed too often before is not asked at all; then the failures of others say why.
        last = [made for node_id, made in ended if node_id in self._prepared.may_win]
        last = last or [made for _, made in ended if not isinstance(made.sample, Completion)]
        failures = [made.sample.kind for made in last if not isinstance(made.sample, Completion)]
        unknown = next((kind for kind in failures if kind not in OWN_DOING), None)
        if unknown is not None:
            return None, unknown
        if len(failures) < len(last):  # answers that a sink could not choose among, such as none with a value
            reasons = [made.score.reason for made in last if made.score is not None and made.score.value is None]
            return None, next(iter(reasons), FailureKind.UNSCORABLE)
        return 0.0, failures[0]


def _outcome(made: _Made) -> Outcome:
    if not isinstance(made.sample, Completion):
        return Outcome(None, made.sample.kind)
    told = [found for found in (made.guided, made.score) if found is not None]
    return Outcome(told[0].value if told else None, None, answer=next((found.answer for found in told if found.answer is not None), None))


def _raise_first(tasks: "set[asyncio.Task[Trial | None]]") -> None:
    """Raise what a trial failed of; of several failures the record's own comes first, as the others follow from it."""
    errors = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    for wanted in (RecordError, MultigraftError, BaseException):
        for error in errors:
            if isinstance(error, wanted):
                raise error
