from pathlib import Path

import pytest
from tests.optimize.search_of_scripted import LARGE, SMALL, made

from multigraft.budget.cost import ModelCost
from multigraft.graphs.blocks import chain, parallel, single
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.costs import NO_CAPS, Caps
from multigraft.graphs.graph import SINK, Node, NodeRole
from multigraft.optimize.loop.archive import Archive
from multigraft.optimize.loop.objectives import Quality
from multigraft.optimize.problem import Evaluation, Space, Trial, sink_node
from multigraft.optimize.real.held_out import compared, rivals_of, strongest_of

COSTS = KnownCosts({"m0": ModelCost(SMALL), "m1": ModelCost(LARGE)}, Workload(100, 10))


def space(caps: Caps = NO_CAPS) -> Space:
    return Space(models=("m0", "m1"), sinks=(sink_node("m0"),), costs=COSTS, caps=caps)


def units(graph: object) -> float:
    found = COSTS.of(graph).units  # type: ignore[arg-type]  # graphs of one test
    assert found is not None
    return found


def test_rivals_cost_no_more_than_the_best_and_are_as_wide_as_that_allows() -> None:
    best = chain(["m0"] * 6, sink_node("m1"))
    rivals = dict(rivals_of(best, "m0", space(), votes=True))
    assert list(rivals) == ["m0 alone", "7 x m0 side by side", "vote of 9 x m0", "mixture of agents by hand"]
    assert rivals["m0 alone"] == single(sink_node("m0"))
    limit = units(best)
    for name, wider in (
        ("7 x m0 side by side", parallel(["m0"] * 8, sink_node("m0"))),
        ("vote of 9 x m0", parallel(["m0"] * 10, Node(SINK, "", NodeRole.VOTE))),
    ):
        assert units(rivals[name]) <= limit < units(wider)


def test_a_vote_has_at_least_three_where_the_caps_allow_them() -> None:
    best = parallel(["m0"] * 2, Node(SINK, "", NodeRole.BEST))
    assert "vote of 3 x m0" in dict(rivals_of(best, "m0", space(Caps(units=3.5)), votes=True))
    assert not any(name.startswith("vote") for name, _ in rivals_of(best, "m0", space(Caps(units=2.5)), votes=True))


def test_without_answers_there_is_no_vote_and_the_best_is_no_rival_of_itself() -> None:
    names = [name for name, _ in rivals_of(single(sink_node("m0")), "m0", space(Caps(units=4.0)), votes=False)]
    assert names == ["2 x m0 side by side"]


def test_the_mixture_made_by_hand_is_as_deep_as_the_budget_allows() -> None:
    best = chain(["m0"], sink_node("m1"))
    deep = dict(rivals_of(best, "m0", space(Caps(units=30.0)), votes=False))["mixture of agents by hand"]
    flat = dict(rivals_of(best, "m0", space(Caps(units=8.0)), votes=False))["mixture of agents by hand"]
    assert len(deep.nodes) == 5
    assert len(flat.nodes) == 3


async def test_all_answer_the_same_questions_and_are_compared_pairwise(tmp_path: Path) -> None:
    async with made(tmp_path) as search:
        best = parallel(["m0", "m0"], sink_node("m1"))
        found = await compared(search.real, best, [("m0 alone", single(sink_node("m0")))], 4)
        assert found is not None
        first, other = found
        assert first.name == "the best graph"
        assert first.best_less_this is None
        assert other.best_less_this is not None
        assert first.evaluation.mean is not None
        assert other.evaluation.mean is not None
        assert other.best_less_this.difference == pytest.approx(first.evaluation.mean - other.evaluation.mean)
        assert other.best_less_this.count == 4
        search.once.purchases.halt.stop("enough")
        assert await compared(search.real, best, [("m1 alone", single(sink_node("m1")))], 4) is None


def test_a_model_of_unknown_size_is_not_held_against_units_of_another() -> None:
    costs = KnownCosts({"m0": ModelCost(SMALL), "m1": ModelCost()}, Workload(100, 10))
    pool = Space(models=("m0", "m1"), sinks=(sink_node("m0"),), costs=costs)
    best = chain(["m1"], sink_node("m0"))
    rivals = dict(rivals_of(best, "m0", pool, votes=False))
    # Tokens: 110 and 120 of the best; 110 a copy, and 110 and 10 a copy of the one that reads them. Its 230 tokens are no limit in units.
    assert [name for name in rivals if "side by side" in name or "row" in name] == ["m0 twice in a row"]


def test_of_models_as_good_alone_the_cheaper_is_the_strongest() -> None:
    archive = Archive(Quality())
    for model, scores in (("m1", (1.0, 0.0)), ("m0", (0.0, 1.0)), ("m2", (0.0, 0.0))):
        graph = single(sink_node(model))
        entry = archive.add(model, graph, COSTS.of(graph), origin="list")
        archive.learn(entry.number, Evaluation(graph, "validation", tuple(Trial(place, score) for place, score in enumerate(scores)), entry.cost))
    assert strongest_of(archive.entries) == "m0"
    assert strongest_of(archive.entries[:1]) == "m1"
    assert strongest_of([]) is None
