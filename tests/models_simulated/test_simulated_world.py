import numpy
import pytest

from multigraft.errors import InputError
from multigraft.graphs.blocks import chain, grid, parallel, single
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.models.simulated.costs import simulated_costs
from multigraft.models.simulated.tasks import HUGE, LARGE, MATH, MEDIUM, SMALL, TASKS, varied
from multigraft.models.simulated.world import World, reference, true_quality, world

QUESTIONS = range(40)
TAIL = Node(SINK, MEDIUM)
DIAMOND = Graph(
    (Node("a", SMALL), Node("b", LARGE), Node("c", SMALL, NodeRole.FUSER), Node("d", SMALL), TAIL),
    (("a", "c"), ("b", "c"), ("a", "d"), ("c", SINK), ("d", SINK)),
)


def test_the_same_seed_plays_the_same_and_another_does_not() -> None:
    first, again, other = (World(MATH, seed).play(DIAMOND, "train", QUESTIONS) for seed in (3, 3, 4))
    assert first.right.tolist() == again.right.tolist()
    assert first.latency_s.tolist() == again.latency_s.tolist()
    assert first.right.tolist() != other.right.tolist()


def test_a_question_is_answered_alike_whichever_are_asked_with_it() -> None:
    place = world("math", 3)
    among, alone = place.play(DIAMOND, "train", QUESTIONS), place.play(DIAMOND, "train", (17,))
    for node_id, right in among.node_right.items():
        assert alone.node_right[node_id].tolist() == right[17:18].tolist()
    assert alone.latency_s.tolist() == among.latency_s[17:18].tolist()


def test_splits_ask_different_questions() -> None:
    place = world("math", 3)
    train, validation = (place.play(single(TAIL), split, range(200)).chance for split in ("train", "validation"))
    assert abs(float(numpy.corrcoef(train, validation)[0, 1])) < 0.25


def test_graphs_that_begin_alike_share_their_outputs() -> None:
    place = world("math", 3)
    short, long = (place.play(chain([SMALL] * depth, TAIL), "train", QUESTIONS) for depth in (3, 6))
    for node_id in ("a1", "a2", "a3"):
        assert short.node_right[node_id].tolist() == long.node_right[node_id].tolist()
        assert short.tokens[node_id][1].tolist() == long.tokens[node_id][1].tolist()


def test_equal_agents_beside_each_other_have_luck_of_their_own() -> None:
    played = world("math", 3).play(parallel([SMALL] * 2, TAIL), "train", range(200))
    assert played.node_right["a1"].tolist() != played.node_right["a2"].tolist()


def test_graphs_equal_up_to_names_play_the_same() -> None:
    names = {"a": "z", "b": "y", "c": "m", "d": "k", SINK: SINK}
    renamed = Graph(
        tuple(Node(names[node.node_id], node.model, node.role) for node in reversed(DIAMOND.nodes)),
        tuple((names[source], names[target]) for source, target in DIAMOND.edges),
    )
    place = world("math", 3)
    played, other = (place.play(graph, "train", QUESTIONS) for graph in (DIAMOND, renamed))
    assert played.right.tolist() == other.right.tolist()
    assert {names[node_id]: right.tolist() for node_id, right in played.node_right.items()} == {key: right.tolist() for key, right in other.node_right.items()}


def test_scores_of_two_graphs_are_paired() -> None:
    # On the same questions the difference of two graphs varies less than it would on different ones.
    place = world("math", 3)
    left, right = (place.play(grid(3, depth, [SMALL], TAIL), "train", range(2000)).right for depth in (3, 4))
    assert float((left - right).var()) < 0.8 * float(left.var() + right.var())


def test_nodes_that_do_not_reach_the_sink_are_not_run() -> None:
    graph = Graph((*DIAMOND.nodes, Node("idle", HUGE)), DIAMOND.edges)
    place = world("math", 3)
    played = place.play(graph, "train", QUESTIONS)
    assert "idle" not in played.node_right
    assert played.right.tolist() == place.play(DIAMOND, "train", QUESTIONS).right.tolist()


@pytest.mark.parametrize("task", sorted(TASKS))
@pytest.mark.parametrize("model", [SMALL, MEDIUM, LARGE, HUGE])
def test_a_model_alone_answers_the_reported_share(task: str, model: str) -> None:
    # 4,000 questions: the luck of the questions alone has a standard error of about 0.005.
    assert true_quality(reference(TASKS[task]), single(Node(SINK, model))) == pytest.approx(TASKS[task].alone[model], abs=0.015)


def test_a_chance_is_the_share_of_right_answers() -> None:
    played = world("mmlu", 5).play(DIAMOND, "train", range(8000))
    assert float(played.right.mean()) == pytest.approx(float(played.chance.mean()), abs=0.02)


def test_selectors_choose_among_what_they_read_at_no_cost() -> None:
    for role in (NodeRole.VOTE, NodeRole.BEST):
        graph = parallel([LARGE] * 5, Node(SINK, "", role))
        played = world("math", 3).play(graph, "train", range(2000))
        agents = numpy.array([played.node_right[f"a{number}"] for number in range(1, 6)])
        assert SINK not in played.tokens
        assert bool((agents.min(axis=0) <= played.right).all())
        assert bool((played.right <= agents.max(axis=0)).all())
        assert float(played.right.mean()) > float(agents.mean())


def test_latency_runs_along_the_longest_way() -> None:
    place = world("math", 3)
    costs = simulated_costs(MATH)
    for graph in (chain([SMALL] * 4, TAIL), parallel([SMALL] * 4, TAIL), DIAMOND):
        mean = float(place.play(graph, "train", range(4000)).latency_s.mean())
        expected = costs.of(graph).latency_s
        assert expected is not None
        # The mean of the longest of several is above the longest of the means, and by little here.
        assert expected * 0.99 < mean < expected * 1.25
    lone = float(place.play(chain([SMALL] * 4, TAIL), "train", range(4000)).latency_s.mean())
    assert lone == pytest.approx(costs.of(chain([SMALL] * 4, TAIL)).latency_s, rel=0.02)


def test_caps_of_the_paper_come_out() -> None:
    # arXiv 2511.00086, appendix A.8 and its public code: the densest graph of 4, 8 and 12 small agents.
    expected = {"math": (17.753, 42.866, 78.978), "mmlu": (16.337, 38.512, 69.967), "humaneval": (14.151, 31.889, 56.394)}
    for task, caps in expected.items():
        costs = simulated_costs(TASKS[task])
        assert [costs.dense_cap(count, SMALL, MEDIUM) for count in (4, 8, 12)] == pytest.approx(caps, abs=5e-4)


def test_what_a_world_does_not_know_is_named() -> None:
    with pytest.raises(InputError, match=r"'juggling'.*math, mmlu, humaneval"):
        world("juggling")
    with pytest.raises(InputError, match=r"'gpt-5'.*llama-3.2-1b"):
        world("math").play(single(Node(SINK, "gpt-5")), "train", (0,))


def test_a_varied_task_is_like_the_first_but_not_the_same() -> None:
    one, again, other = (varied(MATH, seed) for seed in (1, 1, 2))
    assert one == again
    assert one.right_pull != other.right_pull != MATH.right_pull
    assert 0.2 < one.alone[SMALL] < 0.45
    assert all(0 <= share <= 1 for task in (one, other) for share in (task.copying, task.heritage, task.saturation, task.fusing_relief))
    assert simulated_costs(one).of(DIAMOND) == simulated_costs(MATH).of(DIAMOND)
    assert true_quality(reference(one), single(TAIL)) == pytest.approx(one.alone[MEDIUM], abs=0.015)
