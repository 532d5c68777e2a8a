"""The report of a search: for people and for programs."""

import json

import pytest
from tests.optimize.toy_world import CallCosts, ToyWorld, chain, fan, flat, listed, peaked, shuffled_fans, toy_problem, toy_settings

from multigraft.budget.amount import Amount
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.loop.archive import Archive, Entry
from multigraft.optimize.loop.explanation import depth_of, explained, levels_of, models_of, width_of
from multigraft.optimize.loop.objectives import ParetoObjective, QualityMinusCost
from multigraft.optimize.loop.report import Found, found_of
from multigraft.optimize.loop.report_text import as_json, lines
from multigraft.optimize.loop.search import search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.problem import Evaluation, Run, Trial


def entry_of(graph: Graph, trials: tuple[Trial, ...] = ()) -> Entry:
    cost = CallCosts().of(graph)
    return Entry(0, graph, "0" * 12, "list", (), Evaluation(graph, "train", trials, cost), None, cost)


def grid() -> Graph:
    """Two chains of two, and the sink."""
    nodes = (Node("a1", "small"), Node("a2", "small"), Node("a3", "large"), Node("a4", "small", NodeRole.FUSER), Node(SINK, "large"))
    return Graph(nodes, (("a1", "a3"), ("a2", "a4"), ("a3", SINK), ("a4", SINK)))


def test_shapes_by_hand() -> None:
    assert [(width_of(graph), depth_of(graph)) for graph in (fan(0), fan(3), chain(4), grid())] == [(0, 0), (3, 1), (1, 4), (2, 2)]
    assert models_of(grid()) == {"small": 3, "large": 2}


def test_scores_rise_along_the_graph() -> None:
    trials = (
        Trial(0, 1.0, node_scores={"a1": 0.0, "a2": 1.0, "a3": 1.0, "a4": None, SINK: 1.0}),
        Trial(1, 1.0, node_scores={"a1": 0.0, "a2": 0.0, "a3": 0.0, "a4": 1.0, SINK: 1.0}),
    )
    assert [(level.num_nodes, level.mean_score) for level in levels_of(grid(), Evaluation(grid(), "train", trials, CallCosts().of(grid())), None)] == [
        (2, 0.25),
        (2, pytest.approx(2 / 3)),
        (1, 1.0),
    ]
    assert explained(entry_of(grid(), trials), Caps(units=10.0)) == [
        "2 wide and 2 deep, then large writes the answer: 3 x small, 2 x large (width 2, depth 2).",
        "An answer takes 5 calls, about 5 units (50% of the cap of 10), about 0.3 s on the longest way.",
        "Scores from the sources to the sink: 0.250 (mean of 2) -> 0.667 (mean of 2) -> 1.000; the sink is +0.750 to the sources.",
    ]
    assert explained(entry_of(fan(0), trials), Caps())[1].startswith("An answer takes 1 call, about 1 units")


@pytest.mark.parametrize(
    ("graph", "shape"),
    [
        (fan(0), "One call of m: no graph that was tried did better."),
        (fan(1), "One draft, then m writes the answer: 2 x m (width 1, depth 1)."),
        (chain(3), "A chain of 3, then m writes the answer: 4 x m (width 1, depth 3)."),
        (
            Graph((Node("a1", "m"), Node("a2", "m"), Node(SINK, "", NodeRole.VOTE)), (("a1", SINK), ("a2", SINK))),
            "2 side by side, then a vote chooses the answer: 2 x m (width 2, depth 1).",
        ),
    ],
)
def test_shapes_in_words(graph: Graph, shape: str) -> None:
    assert explained(entry_of(graph), Caps())[0] == shape


def answer(run: Run) -> Evaluation:
    """The wider, the better; the sink alone is right on every fifth question."""
    width = len(run.graph.live) - 1
    trials = tuple(Trial(question, float(question % 5 < 1 + width), spent=Amount(1e12, 1000, 0.01, 2)) for question in run.questions)
    return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))


def test_the_report_in_words() -> None:
    found = drive(search(listed([fan(3), fan(2)]), toy_problem(caps=Caps(units=8.0)), toy_settings(compare_singles=True)), answer)
    assert lines(found) == [
        (
            f"The best graph is number 0 ({found.entries[0].graph_id}; list): 0.800 [0.551, 0.929] on 20 validation questions,"
            " an interval of 95% for all 2 validated graphs at once."
        ),
        "  3 side by side, then m writes the answer: 4 x m (width 3, depth 1).",
        "  An answer takes 4 calls, about 4 units (50% of the cap of 8), about 0.2 s on the longest way.",
        "Against the best model alone, m: +0.600 [+0.309, +0.761] over 20 questions: better.",
        "The search ended because the method had nothing more to propose.",
        "2 graphs were evaluated (2 proposals) on 60 training questions in all; 0 were given up early, 2 validated on 40 questions in all.",
        "Spent on graphs: 200 calls, 100,000 tokens, 1e+14 FLOPs, 1 USD.",
    ]


def test_overlapping_intervals_are_called_undecided() -> None:
    found = drive(search(listed(shuffled_fans(4)), toy_problem(), toy_settings()), ToyWorld(flat, 3).evaluate)
    assert found.runner_up is not None
    assert found.runner_up.paired is not None
    assert found.runner_up.paired.low <= 0 <= found.runner_up.paired.high
    assert any(line.startswith("Against the next best graph") and line.endswith("undecided.") for line in lines(found))


def test_nothing_scored_is_said() -> None:
    archive = Archive(toy_problem().objective)
    assert lines(found_of(archive, toy_problem()))[:2] == ["No graph has a score, so there is no best one.", "The search ended because it was interrupted."]


def test_a_utility_other_than_quality_is_shown() -> None:
    found = drive(search(listed([fan(3)]), toy_problem(objective=QualityMinusCost(0.1, 4.0)), toy_settings()), answer)
    assert "with its interval of 95%; utility 0.700." in lines(found)[0]


def front_found() -> Found:
    graphs = [fan(1), fan(2), fan(3), fan(7), chain(2)]
    return drive(search(listed(graphs), toy_problem(objective=ParetoObjective()), toy_settings()), answer)


def test_a_front_is_listed_with_its_knee() -> None:
    found = front_found()
    # By width: 0.4, 0.6, 0.8 and 1.0 at 2, 3, 4 and 8 units; the chain is as good and as dear as two side by side, and slower.
    assert [len(entry.graph.live) for entry in found.front] == [8, 4, 3, 2]
    assert found.best is not None
    assert len(found.best.graph.live) == 4
    shown = lines(found)
    start = shown.index("No other graph beats these in quality, cost and latency at once:")
    assert shown[start + 2] == "  number 2: quality 0.800, 4 units, 0.2 s, width 3, depth 1  <- the knee"


@pytest.mark.parametrize("found", [front_found(), drive(search(listed([]), toy_problem(), toy_settings()), answer)], ids=["front", "nothing"])
def test_json_is_json(found: Found) -> None:
    told = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert told == as_json(found)
    assert (told["schema"], told["version"]) == ("multigraft.search", 1)


def test_json_holds_all_of_it() -> None:
    found = front_found()
    told = json.loads(json.dumps(as_json(found)))
    assert told["front"] == [entry.number for entry in found.front]
    assert found.best is not None
    assert told["best"] == found.best.number
    best = told["entries"][told["best"]]
    assert best["graph"]["edges"] == [["a1", "sink"], ["a2", "sink"], ["a3", "sink"]]
    assert best["validation"]["mean"] == 0.8
    assert len(best["train"]["scores"]) == 30
    assert (best["width"], best["depth"], best["models"], best["cost"]["units"]) == (3, 1, {"m": 4}, 4.0)


def test_a_cheap_graph_is_not_given_up_for_a_dear_one() -> None:
    found = front_found()
    assert found.counts["found_worse_early"] == 0
    assert peaked(fan(8)) == 0.6
