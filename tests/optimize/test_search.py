"""The loop around a method, on a list of graphs whose worth is known."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from tests.optimize.toy_world import CallCosts, Listed, ToyWorld, chain, fan, flat, listed, peaked, shuffled_fans, toy_problem, toy_settings

from multigraft.budget.amount import Amount
from multigraft.errors import BudgetError
from multigraft.graphs.canonical import canonical
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import SINK, Graph, Node
from multigraft.optimize.loop.archive import Archive
from multigraft.optimize.loop.report import found_of
from multigraft.optimize.loop.search import SearchEvent, SearchSettings, search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.problem import Consult, Evaluate, Evaluation, Problem, Proposal, Propose, Reply, Run, Trial, consulted, proposed
from multigraft.types import FailureKind, Message


def scored(run: Run, scores: Mapping[int, float | None], **changed: Any) -> Evaluation:
    """Score a run by the number of live nodes of its graph."""
    score = scores[len(run.graph.live)]
    trials = tuple(Trial(question, score, FailureKind.SERVER if score is None else None, **changed) for question in run.questions)
    return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))


def test_rungs_double_up_to_all_questions_each_once() -> None:
    settings = toy_settings(num_train=30, num_validation=5)
    assert [len(rung) for rung in settings.rungs("train")] == [8, 8, 14]
    assert sorted(question for rung in settings.rungs("train") for question in rung) == list(range(30))
    assert all(list(rung) == sorted(rung) for rung in settings.rungs("train"))
    assert settings.rungs("validation") == ((0, 1, 2, 3, 4),)
    assert [len(rung) for rung in toy_settings(first_batch=1, halving=1.1).rungs("validation")] == [1] * 16 + [2, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_train": 0}, "num_train must be at least 1, not 0"),
        ({"num_validation": 0}, "num_validation must be at least 1, not 0"),
        ({"first_batch": 0}, "first_batch must be at least 1, not 0"),
        ({"halving": 1.0}, "halving must be above 1, not 1.0"),
        ({"drop_level": 0.6}, r"drop_level must be in \[0, 0.5\], not 0.6"),
        ({"patience": -1}, "patience must be at least 0, not -1"),
        ({"steps_per_evaluation": 0}, "steps_per_evaluation must be at least 1, not 0"),
    ],
)
def test_settings_are_checked(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toy_settings(**changed)


def test_equal_answers_make_an_equal_search() -> None:
    found = [drive(search(listed(shuffled_fans(3), batch=4), toy_problem(), toy_settings()), ToyWorld(peaked, 5).evaluate) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].best is not None


def test_a_record_of_the_answers_is_enough_to_go_on() -> None:
    world, recorded = ToyWorld(peaked, 2), {}

    def recording(run: Run) -> Evaluation:
        recorded[run] = world.evaluate(run)
        return recorded[run]

    method = listed(shuffled_fans(1))
    whole = drive(search(method, toy_problem(), toy_settings()), recording)
    assert drive(search(method, toy_problem(), toy_settings()), recorded.__getitem__) == whole


def test_all_graphs_are_asked_the_same_questions_and_none_twice() -> None:
    runs: list[Run] = []
    world = ToyWorld(flat)

    def watching(run: Run) -> Evaluation:
        runs.append(run)
        return world.evaluate(run)

    drive(search(listed(map(fan, range(1, 6)), batch=5), toy_problem(), toy_settings(drop_level=0.0)), watching)
    by_graph: dict[Graph, list[tuple[int, ...]]] = {}
    for run in runs:
        if run.split == "train":
            by_graph.setdefault(run.graph, []).append(run.questions)
    assert len(by_graph) == 5
    assert set(map(tuple, by_graph.values())) == {toy_settings().rungs("train")}


def test_an_equal_graph_is_answered_from_the_archive_in_its_own_names() -> None:
    heard: list[tuple[Evaluation, ...]] = []
    other = Graph((Node("dead", "m"), Node("left", "m"), Node("right", "m"), Node("end", "m")), (("left", "end"), ("right", "end")), "end")
    archive = Archive(toy_problem().objective)
    runs: list[Run] = []

    def answer(run: Run) -> Evaluation:
        runs.append(run)
        return scored(run, {3: 1.0}, node_scores={"a1": 0.25, "a2": 0.75, SINK: 1.0}, spent=Amount(calls=3))

    drive(search(listed([other, fan(2)], heard=heard.append), toy_problem(), toy_settings(), archive=archive), answer)
    assert (archive.num_evaluations, archive.num_proposals) == (1, 2)
    assert {run.graph for run in runs} == {canonical(fan(2))}
    assert archive.spent == Amount(calls=3 * 50)
    assert heard[0][0].graph is other
    assert set(heard[0][0].trials[0].node_scores) == {"left", "right", "end"}
    assert heard[0][0].trials[0].node_scores["end"] == 1.0
    assert heard[1][0].trials[0].node_scores == {"a1": 0.25, "a2": 0.75, SINK: 1.0}


def test_the_budget_counts_distinct_graphs() -> None:
    found = drive(search(listed([fan(1), *map(fan, range(1, 20))], batch=3), toy_problem(max_evaluations=5), toy_settings()), ToyWorld(peaked).evaluate)
    assert found.stopped == "evaluations"
    assert found.counts["evaluations"] == 5
    assert {len(entry.graph.live) for entry in found.entries} == {2, 3, 4, 5, 6}


def test_patience_ends_a_search_that_finds_nothing_better() -> None:
    scores = dict.fromkeys(range(40), 0.1) | {4: 0.9}
    found = drive(
        search(listed(map(fan, range(1, 30))), toy_problem(), toy_settings(patience=6)),
        lambda run: scored(run, scores),
    )
    assert found.stopped == "patience"
    assert found.counts["evaluations"] == 3 + 6
    assert found.best is not None
    assert len(found.best.graph.live) == 4


def test_a_method_that_repeats_itself_is_stopped() -> None:
    @dataclass(frozen=True)
    class Stubborn:
        step: Propose | Consult
        consults: ClassVar[bool] = True

        def search(self, problem: Problem) -> Generator[Propose | Consult, Any, None]:
            while True:
                yield self.step

    for step in (Propose((Proposal(fan(1), "again"),)), Propose(()), Consult(())):
        found = drive(
            search(Stubborn(step), toy_problem(max_evaluations=3), toy_settings(steps_per_evaluation=7)), ToyWorld(flat).evaluate, lambda _: Reply("")
        )
        assert found.stopped == "repeats"
        assert max(found.counts["proposals"], found.counts["consults"]) in {0, 21}


def test_of_equal_graphs_the_cheaper_is_the_best() -> None:
    equal = dict.fromkeys(range(40), 0.5)
    for order in ([3, 1, 2], [1, 2, 3]):
        found = drive(search(listed(map(fan, order)), toy_problem(), toy_settings()), lambda run: scored(run, equal))
        assert found.best is not None
        assert len(found.best.graph.live) == 2
    # Dearer than one with the same scores: not even validated.
    assert found.counts["validated"] == 1
    assert found.changes[0].paired is None


def test_of_equal_price_the_first_stays() -> None:
    equal = dict.fromkeys(range(40), 0.5)
    found = drive(search(listed([fan(2), chain(2)]), toy_problem(), toy_settings()), lambda run: scored(run, equal))
    assert found.best is not None
    assert found.best.number == 0


def test_notes_are_counted_by_kind() -> None:
    notes = (("pruned: a3", "pruned: a4", "repaired"), ("fallback: reinforce",), ("pruned: a1",))
    method = Listed(tuple(Proposal(fan(1), "list", each) for each in notes))
    found = drive(search(method, toy_problem(), toy_settings()), ToyWorld(flat).evaluate)
    assert found.notes == {"fallback": 1, "pruned": 3, "repaired": 1}


def test_what_is_over_the_caps_is_never_run() -> None:
    heard: list[tuple[Evaluation, ...]] = []
    problem = toy_problem(caps=Caps(units=3.0))
    found = drive(search(listed([fan(2), fan(3)], batch=2, heard=heard.append), problem, toy_settings()), ToyWorld(peaked).evaluate)
    assert len(found.entries) == 1
    assert found.notes == {"over the caps": 1}
    assert heard[0][1].trials == ()
    assert heard[0][1].mean is None


def test_caps_that_nothing_fits_are_refused_at_once() -> None:
    with pytest.raises(BudgetError, match="smallest is m"):
        next(search(listed([fan(1)]), toy_problem(caps=Caps(units=0.5)), toy_settings()))


def test_an_interrupted_search_leaves_its_best_so_far() -> None:
    problem, archive, world = toy_problem(), Archive(toy_problem().objective), ToyWorld(peaked)
    steps = search(listed(shuffled_fans(0)), problem, toy_settings(), archive=archive)
    assert found_of(archive, problem).best is None
    step = next(steps)
    for _ in range(20):
        assert isinstance(step, Evaluate)
        step = steps.send(tuple(map(world.evaluate, step.runs)))
    steps.close()
    found = found_of(archive, problem)
    assert found.stopped == "interrupted"
    assert found.best is archive.best
    assert found.best is not None
    assert found.estimate is not None


def test_before_any_validation_the_best_is_that_in_training() -> None:
    archive, world = Archive(toy_problem().objective), ToyWorld(peaked)
    steps = search(listed([fan(1), fan(8)], batch=2), toy_problem(), toy_settings(), archive=archive)
    step = next(steps)
    assert isinstance(step, Evaluate)
    steps.send(tuple(map(world.evaluate, step.runs)))
    assert archive.best is not None
    assert len(archive.best.graph.live) == 9
    assert found_of(archive, toy_problem()).estimate is None


def test_an_interruption_reaches_the_method() -> None:
    closed: list[bool] = []

    @dataclass(frozen=True)
    class Closing:
        consults: ClassVar[bool] = False

        def search(self, problem: Problem) -> Generator[Propose | Consult, Any, None]:
            try:
                yield from proposed(Proposal(fan(1), "list"))
            finally:
                closed.append(True)

    steps = search(Closing(), toy_problem(), toy_settings())
    next(steps)
    steps.close()
    assert closed == [True]


def test_unscored_answers_are_left_out_and_cannot_win() -> None:
    scores = {2: 0.5, 3: None, 4: 0.6}
    found = drive(search(listed(map(fan, (2, 1, 3))), toy_problem(), toy_settings()), lambda run: scored(run, scores))
    assert found.best is not None
    assert len(found.best.graph.live) == 4
    assert found.counts["without_a_score"] == 30
    nothing = drive(search(listed([fan(2)]), toy_problem(), toy_settings()), lambda run: scored(run, scores))
    assert (nothing.best, nothing.estimate, nothing.runner_up) == (None, None, None)


def test_scores_on_less_than_half_of_the_questions_do_not_win() -> None:
    def answer(run: Run) -> Evaluation:
        if run.split == "train" or len(run.graph.live) == 2:
            return scored(run, {2: 0.5, 3: 0.9})
        trials = tuple(Trial(question, 1.0 if question < 9 else None) for question in run.questions)
        return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))

    found = drive(search(listed(map(fan, (1, 2))), toy_problem(), toy_settings()), answer)
    assert found.best is not None
    assert len(found.best.graph.live) == 2


def test_models_alone_are_compared_with_in_the_end() -> None:
    scores = {1: 0.4, 3: 0.9}
    found = drive(search(listed([fan(2)]), toy_problem(), toy_settings(compare_singles=True)), lambda run: scored(run, scores))
    assert found.counts["evaluations"] == 1
    assert found.single is not None
    assert found.single.entry.reference
    assert found.single.paired is not None
    assert found.single.paired.difference == pytest.approx(0.5)
    assert found.single.paired.decided == "better"


def test_a_model_alone_that_is_as_good_is_the_best() -> None:
    found = drive(search(listed([fan(2)]), toy_problem(), toy_settings(compare_singles=True)), lambda run: scored(run, {1: 0.9, 3: 0.9}))
    assert found.best is not None
    assert len(found.best.graph.live) == 1
    assert found.single is None


def test_what_the_optimiser_spends_is_counted_apart() -> None:
    @dataclass(frozen=True)
    class Asking:
        consults: ClassVar[bool] = True

        def search(self, problem: Problem) -> Generator[Propose | Consult, Any, None]:
            reply = yield from consulted(Consult((Message("user", "which?"),)))
            yield from proposed(Proposal(fan(int(reply.text or 0)), "model"))

    method = Asking()
    found = drive(search(method, toy_problem(), toy_settings()), ToyWorld(peaked).evaluate, lambda _: Reply("8", spent=Amount(tokens=70, calls=1)))
    assert found.optimiser_spent == Amount(tokens=70, calls=1)
    assert found.spent == Amount(tokens=5000, calls=50)
    assert found.counts["consults"] == 1
    with pytest.raises(ValueError, match="pass one as `consult`"):
        drive(search(method, toy_problem(), toy_settings()), ToyWorld(peaked).evaluate)


def test_a_watcher_is_told_what_happens() -> None:
    events: list[SearchEvent] = []
    scores = {2: 0.1, 3: 0.9}
    method = listed(map(fan, (2, 1, 2)))
    drive(search(method, toy_problem(), toy_settings(num_train=32, drop_level=0.1), events.append), lambda run: scored(run, scores))
    told = [(event.kind, event.entry.number if event.entry else None, event.num_evaluations) for event in events]
    assert told == [("evaluated", 0, 1), ("validated", 0, 1), ("best", 0, 1), ("worse", 1, 2), ("repeated", 0, 2)]
    assert all(event.max_evaluations == 30 for event in events)
    assert events[-1].best is not None


def test_the_curve_says_what_was_known_when() -> None:
    scores = {2: 0.2, 3: 0.1, 4: 0.9}
    found = drive(search(listed(map(fan, (1, 2, 3))), toy_problem(), toy_settings(drop_level=0.0)), lambda run: scored(run, scores))
    assert [(point.num_evaluations, point.best) for point in found.curve] == [(1, 0), (2, 0), (3, 2)]
    assert [point.train for point in found.curve] == pytest.approx([0.2, 0.2, 0.9])
    assert [point.validation for point in found.curve] == pytest.approx([0.2, 0.2, 0.9])
    assert [(change.num_evaluations, change.number, change.previous) for change in found.changes] == [(1, 0, None), (3, 2, 0)]


def test_settings_have_the_defaults_that_are_documented() -> None:
    settings = SearchSettings(num_train=30, num_validation=20)
    assert (settings.first_batch, settings.halving, settings.patience, settings.steps_per_evaluation) == (8, 2.0, 8, 20)
