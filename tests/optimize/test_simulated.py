import pytest

from multigraft.errors import InputError
from multigraft.graphs.blocks import chain, single
from multigraft.graphs.graph import SINK, Node
from multigraft.models.simulated.tasks import MEDIUM, SMALL
from multigraft.models.simulated.world import world
from multigraft.optimize.problem import Run
from multigraft.optimize.simulated import SimulatedEvaluator

TAIL = Node(SINK, MEDIUM)
GRAPH = chain([SMALL] * 3, TAIL)


def test_an_evaluation_says_what_the_world_played() -> None:
    place = world("math", 3)
    found = SimulatedEvaluator(place).evaluate(Run(GRAPH, "train", (1, 4, 6)))
    played = place.play(GRAPH, "train", (1, 4, 6))
    assert [trial.question for trial in found.trials] == [1, 4, 6]
    assert found.scores == tuple(played.right.tolist())
    assert [trial.latency_s for trial in found.trials] == played.latency_s.tolist()
    assert {node_id: [trial.node_scores[node_id] for trial in found.trials] for node_id in played.node_right} == {
        node_id: right.tolist() for node_id, right in played.node_right.items()
    }
    # (1, 3) and the sink: 4 calls, 3 of which read one answer of 275 tokens.
    assert found.cost.calls == 4
    assert found.cost.tokens == 4 * (202 + 275) + 3 * 275


def test_questions_are_answered_alike_asked_at_once_or_apart() -> None:
    at_once = SimulatedEvaluator(world("math", 3)).evaluate(Run(GRAPH, "train", tuple(range(6))))
    evaluator = SimulatedEvaluator(world("math", 3))
    first, rest = (evaluator.evaluate(Run(GRAPH, "train", questions)) for questions in ((0, 3), (1, 2, 4, 5)))
    assert first.with_trials(rest.trials) == at_once


def test_outputs_that_graphs_share_are_paid_once() -> None:
    evaluator = SimulatedEvaluator(world("math", 3))
    calls = [evaluator.evaluate(Run(graph, "train", (0, 1))).trials[0].spent.calls for graph in (GRAPH, GRAPH, chain([SMALL] * 5, TAIL), single(TAIL))]
    # Then two agents more and another sink; then a sink that reads nothing.
    assert calls == [4, 0, 3, 1]
    assert evaluator.evaluate(Run(GRAPH, "validation", (0,))).trials[0].spent.calls == 4


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(InputError, match="'gpt-5'"):
        SimulatedEvaluator(world("math")).evaluate(Run(single(Node(SINK, "gpt-5")), "train", (0,)))
