"""The comparison of search methods in the simulated world: its arithmetic, and one small search."""

import pytest
from benchmarks.graph_search import Job, followed, searched
from benchmarks.graph_search_cases import known_best, mutated, space_of
from benchmarks.graph_search_statistics import Searched, needed, summaries

from multigraft.graphs.graph import SINK, Graph, Node
from multigraft.randomness import Draws


def ran(method: str, seed: int, *curve: float) -> Searched:
    return Searched("math-4", method, seed, curve, curve, len(curve), 0, 10, 0.1, {})


def test_a_curve_needs_as_many_evaluations_as_its_first_good_point() -> None:
    assert needed([0.1, 0.5, 0.4], 0.5) == 2
    assert needed([0.1, 0.5, 0.4], 0.6) is None


def test_methods_are_compared_seed_by_seed_and_what_never_comes_counts_in_full() -> None:
    runs = [ran("random", 0, 0.2, 0.3, 0.4), ran("random", 1, 0.2, 0.5, 0.5), ran("ours", 1, 0.5, 0.5, 0.5), ran("ours", 0, 0.2, 0.5, 0.5)]
    base, ours = summaries(runs, {0: 0.5, 1: 0.5})
    # Needed: 3 (never) and 2 against 2 and 1.
    assert base.needed.value == 2.5
    assert base.reached == 0.5
    assert ours.needed.value == 1.5
    assert ours.ratio.value == 0.6
    assert ours.reached == 1.0
    assert ours.gain.value == pytest.approx(0.05)
    assert base.gain.value == 0
    assert base.share_of_best == pytest.approx(0.9)


def test_the_best_may_differ_by_seed() -> None:
    (found,) = summaries([ran("random", 0, 0.2, 0.3), ran("random", 1, 0.2, 0.6)], {0: 0.3, 1: 0.9})
    assert found.reached == 0.5
    assert found.share_of_best == pytest.approx((1 + 2 / 3) / 2)


def test_other_seeds_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="different seeds"):
        summaries([ran("random", 0, 0.2), ran("ours", 1, 0.2)], {0: 1.0, 1: 1.0})


def test_a_graph_stands_until_the_next() -> None:
    graphs = [Graph((Node(SINK, model),)) for model in ("a", "b", "c")]
    assert followed([None, graphs[1], None, graphs[2]], graphs[0]) == [graphs[0], graphs[1], graphs[1], graphs[2]]


def test_a_search_is_watched() -> None:
    job = Job("math-tiny", "random", 3, evaluations=8, train=12, validation=12, varied=False)
    (run, best), (again, _) = searched(job), searched(job)
    assert run._replace(cpu_s=0.0) == again._replace(cpu_s=0.0)
    assert run.evaluations == 8
    assert len(run.by_validation) == len(run.by_training) == 8
    assert best.quality == max(run.by_validation)
    assert 0.2 < best.quality <= known_best("math-tiny").quality + 1e-9
    assert run.calls > 0


def test_a_variant_is_another_task() -> None:
    plain, variant = (searched(Job("math-tiny", "random", 3, 4, 12, 12, varied))[0] for varied in (False, True))
    assert plain.by_validation != variant.by_validation


def test_the_long_search_stays_in_its_space() -> None:
    space, draws = space_of("math-4"), Draws("mutations")
    graph = space.smallest(space.sinks[0])
    met = set()
    for _ in range(150):
        graph = mutated(graph, space, draws)
        assert space.fits(graph)
        assert len(graph.live_nodes) <= space.max_agents + 1
        met.add(graph)
    assert len(met) > 15


def test_best_known_graphs_fit_their_budgets() -> None:
    for name in ("math-4", "math-8", "math-8-small", "mmlu-8", "humaneval-4", "math-tiny"):
        assert space_of(name).fits(known_best(name).graph)
