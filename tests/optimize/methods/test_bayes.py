"""Bayesian optimisation: repaired points, silence, and the kernel by hand."""

import json
import subprocess
import sys
from collections.abc import Mapping
from math import exp, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.methods.spaces import assert_belongs, exact, problem_for, proposals, space_for

from multigraft.errors import InputError, MultigraftError
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.methods.bayes import Bayes, Coding, _Parzen
from multigraft.optimize.methods.graph_kernel import expected_improvement, likenesses, subtrees
from multigraft.optimize.methods.random_graphs import GraphDrawer
from multigraft.optimize.problem import sink_node
from multigraft.randomness import Draws


def likeness(one: Mapping[int, int], other: Mapping[int, int]) -> float:
    return float(likenesses([one], [other])[0, 0])


def width(graph: Graph) -> float:
    return len(graph.read_by(SINK)) / 10


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_a_graph_is_its_parameters_and_back(seed: int) -> None:
    space = space_for(num_models=3, sinks=(sink_node("medium"), sink_node("small")))
    coding = Coding(space)
    graph = GraphDrawer(space, Draws(seed), edge_probability=0.4, fuser_probability=0.5).draw().graph
    parameters = coding.encoded(graph)
    assert all(parameters[name] in choices for name, choices in coding.choices.items())
    assert parameters.keys() == coding.choices.keys()
    assert coding.decoded(parameters, Draws(0)).graph == canonical(graph)


def test_a_point_that_is_no_graph_is_repaired_and_learnt_as_repaired() -> None:
    space = space_for(num_models=2, max_agents=4, units=9.0)
    learner = _Parzen(problem_for(space), Draws(0))
    made = []
    for _ in range(12):
        found = learner.propose()
        assert found is not None
        assert_belongs(found.graph, space)
        made.append(found)
        learner.learn(found.graph, width(found.graph))
    states = [trial.state.name for trial in learner._study.trials]
    assert states.count("COMPLETE") == 12
    # What was asked for and not run is no trial to learn from.
    assert states.count("FAIL") >= 12
    coding = Coding(space)
    completed = [trial for trial in learner._study.trials if trial.state.name == "COMPLETE"]
    assert [trial.params for trial in completed] == [coding.encoded(found.graph) for found in made]
    assert [trial.value for trial in completed] == [width(found.graph) for found in made]
    assert any(found.notes for found in made)


@pytest.mark.parametrize("model", ["tpe", "kernel"])
def test_what_pays_is_proposed_more_often_after_the_warm_up(model: str) -> None:
    space = space_for(units=None, max_agents=8)
    made = [
        [
            width(proposal.graph)
            for proposal in proposals("bayes", problem_for(space, seed=seed, max_evaluations=25), lambda graph: exact(graph, width), model=model)
        ]
        for seed in range(2)
    ]
    assert sum(max(widths[5:]) for widths in made) > sum(max(widths[:5]) for widths in made)
    assert sum(sum(widths[15:]) / 10 for widths in made) > sum(sum(widths[:5]) / 5 for widths in made) * 1.3


def test_origins_say_which_graphs_were_drawn() -> None:
    made = proposals("bayes", problem_for(space_for(), max_evaluations=6), lambda graph: exact(graph, width), warm_up=4)
    assert [proposal.origin for proposal in made] == ["warm-up"] * 4 + ["model"] * 2


def test_optuna_says_nothing_and_keeps_its_verbosity() -> None:
    program = """
import json, sys, optuna
optuna.logging.set_verbosity(optuna.logging.DEBUG)
from tests.optimize.methods.spaces import exact, problem_for, proposals, space_for
made = proposals("bayes", problem_for(space_for(), max_evaluations=8), lambda graph: exact(graph, lambda _: 0.5))
print(json.dumps([len(made), optuna.logging.get_verbosity()]))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [8, 10]


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MultigraftError, match=r"method 'bayes' needs optuna: pip install 'multigraft\[optimize\]'"):
        next(Bayes().search(problem_for(space_for())))


def test_kinds_of_nodes_by_hand() -> None:
    one = Graph((Node("a1", "small"), Node("a2", "small"), sink_node("medium")), (("a1", SINK), ("a2", SINK)))
    other = Graph((Node("a1", "small"), Node("a2", "small"), sink_node("medium")), (("a1", "a2"), ("a2", SINK)))
    # Kinds: small and sink; then small that reads nothing, and the sink of two of these.
    assert sorted(subtrees(one, 1).values()) == [1, 1, 2, 2]
    # A small that reads a small is another kind than one that reads nothing, and so is the sink.
    assert sorted(subtrees(other, 1).values()) == [1, 1, 1, 1, 2]
    # In common: small twice each, the sink once each, and a small that reads nothing, twice and once.
    assert likeness(subtrees(one, 1), subtrees(other, 1)) == pytest.approx((4 + 1 + 2) / sqrt(10 * 8))
    assert likeness(subtrees(one, 2), subtrees(one, 2)) == pytest.approx(1.0)


def test_kinds_do_not_depend_on_names_and_do_on_roles() -> None:
    chain = Graph((Node("a1", "small"), Node("a2", "small"), sink_node("medium")), (("a1", "a2"), ("a2", SINK)))
    renamed = Graph((Node("y", "small"), Node("x", "small"), sink_node("medium")), (("x", "y"), ("y", SINK)))
    fused = Graph((Node("a1", "small"), Node("a2", "small", NodeRole.FUSER), sink_node("medium")), (("a1", "a2"), ("a2", SINK)))
    assert graph_id(chain) == graph_id(renamed)
    assert subtrees(chain, 2) == subtrees(renamed, 2)
    assert likeness(subtrees(chain, 2), subtrees(fused, 2)) < 0.8


@pytest.mark.parametrize(("mean", "deviation", "expected"), [(0.0, 1.0, 1 / sqrt(2 * pi)), (3.0, 1e-6, 3.0), (-3.0, 1e-6, 0.0)])
def test_expected_improvement_by_hand(mean: float, deviation: float, expected: float) -> None:
    assert expected_improvement(mean, deviation) == pytest.approx(expected, abs=1e-9)


def test_expected_improvement_is_the_integral() -> None:
    steps = [place / 1000 for place in range(10_001)]
    integral = sum(value * exp(-0.5 * ((value + 0.3) / 0.8) ** 2) / (0.8 * sqrt(2 * pi)) for value in steps) / 1000
    assert expected_improvement(-0.3, 0.8) == pytest.approx(integral, abs=1e-4)


@pytest.mark.parametrize("changed", [{"warm_up": 0}, {"pool": 0}, {"xi": -0.1}, {"model": "forest"}])
def test_settings_are_checked(changed: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(changed))):
        proposals("bayes", problem_for(space_for()), lambda graph: exact(graph, width), **changed)
