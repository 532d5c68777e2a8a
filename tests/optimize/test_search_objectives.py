"""The loop with objectives other than quality."""

from tests.optimize.toy_world import CallCosts, ToyWorld, chain, fan, listed, peaked, shuffled_fans, toy_problem, toy_settings

from multigraft.optimize.loop.objectives import ParetoObjective, QualityMinusCost, QualityMinusLatency
from multigraft.optimize.loop.report import Found
from multigraft.optimize.loop.report_text import lines
from multigraft.optimize.loop.search import search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.problem import Evaluation, Objective, Run, Trial


def by_shares(shares: dict[int, float]) -> Found:
    """Search, with Pareto, graphs that are right on the first so many of ten questions, by their number of live nodes."""

    def answer(run: Run) -> Evaluation:
        trials = tuple(Trial(question, float(question % 10 < 10 * shares[len(run.graph.live)])) for question in run.questions)
        return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))

    graphs = [fan(nodes - 1) for nodes in shares]
    return drive(search(listed(graphs), toy_problem(objective=ParetoObjective()), toy_settings(num_train=40)), answer)


def best_of(objective: Objective) -> float:
    """Mean number of live nodes of what is found over some searches."""
    sizes = []
    for seed in range(12):
        found = drive(search(listed(shuffled_fans(seed, 20)), toy_problem(objective=objective), toy_settings()), ToyWorld(peaked, seed).evaluate)
        assert found.best is not None
        sizes.append(len(found.best.graph.live))
    return sum(sizes) / len(sizes)


def test_the_dearer_calls_are_the_smaller_the_best_graph_is() -> None:
    # Each node below nine adds 0.04 to quality; at a price of 0.05 a node, none is worth it.
    free, dear = best_of(QualityMinusCost(0.0, 1.0)), best_of(QualityMinusCost(0.05, 1.0))
    assert abs(free - 9) < 3
    assert dear < 6


def test_a_price_is_no_noise() -> None:
    # Equal scores, and a known price: the cheaper is better, and the interval has the width that shares have.
    def answer(run: Run) -> Evaluation:
        trials = tuple(Trial(question, float(question % 2)) for question in run.questions)
        return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))

    found = drive(search(listed([fan(4), fan(1)]), toy_problem(objective=QualityMinusCost(0.9, 3.0)), toy_settings()), answer)
    (change,) = found.changes[1:]
    assert change.paired is not None
    assert abs(change.paired.difference - 0.9) < 1e-9
    assert 0.1 < change.paired.high - change.paired.low < 1.0
    assert change.paired.decided == "better"


def test_of_two_as_good_the_faster_wins() -> None:
    def answer(run: Run) -> Evaluation:
        return Evaluation(run.graph, run.split, tuple(Trial(question, 1.0) for question in run.questions), CallCosts().of(run.graph))

    found = drive(search(listed([chain(3), fan(3)]), toy_problem(objective=QualityMinusLatency(0.1, 1.0)), toy_settings()), answer)
    assert found.best is not None
    assert found.best.graph.depth_of()[found.best.graph.sink] == 1


def test_on_a_front_only_what_a_cheaper_one_beats_is_given_up() -> None:
    found = by_shares({3: 0.5, 5: 0.9, 7: 0.1, 2: 0.2})
    given_up = [len(entry.graph.live) for entry in found.entries if entry.worse_than is not None]
    assert given_up == [7]
    assert [len(entry.graph.live) for entry in found.front] == [5, 3, 2]
    # Scaled to the extremes, three nodes lose 4/7 of the quality and cost 1/3: together less than 1, so they lie beyond the line.
    assert found.best is not None
    assert len(found.best.graph.live) == 3


def test_a_new_member_of_the_front_is_progress() -> None:
    found = by_shares({9: 0.9, 8: 0.8, 7: 0.7, 6: 0.6, 5: 0.5})
    assert found.counts["validated"] == 5
    assert len(found.front) == 5


def test_units_of_one_graph_are_not_held_against_tokens_of_another() -> None:
    def answer(run: Run) -> Evaluation:
        nodes = len(run.graph.live)
        cost = CallCosts().of(run.graph)
        # Two calls of a model whose size is not known: 200 tokens, which are less than the 400 of four units.
        known = cost._replace(units=None) if nodes == 2 else cost
        return Evaluation(run.graph, run.split, tuple(Trial(question, float(nodes > 1)) for question in run.questions), known)

    found = drive(search(listed([fan(3), fan(1)]), toy_problem(objective=ParetoObjective()), toy_settings()), answer)
    assert [len(entry.graph.live) for entry in found.front if entry.train.trials] == [2]
    assert any("quality 1.000, 200 tokens" in line for line in lines(found))
