"""A graph run as a strategy: by hand, against random graphs and failures, and under the conformance suite."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.made_graphs import graph_from, random_graphs

from multigraft.errors import InputError
from multigraft.graphs.cones import cone_keys, node_seed, shown_order
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.graph_file import text_of
from multigraft.knowledge import Knowledge
from multigraft.randomness import Draws
from multigraft.strategies.base import DONE, WAIT, State
from multigraft.strategies.graph import Collaboration, CollaborationState
from multigraft.strategies.table import strategy_from
from multigraft.testing.strategy_driver import Session, Weather, drive, replay
from multigraft.testing.strategy_suite import StrategySuite
from multigraft.types import Call, FailureKind, Outcome, Role

NOTHING = Knowledge()
DOWN = Outcome(failure=FailureKind.SERVER)


def collaboration(graph: Graph | str, **options: Any) -> Collaboration:
    return Collaboration(graph=text_of(graph_from(graph) if isinstance(graph, str) else graph), **options)


def asked_by(strategy: Collaboration, state: Any) -> list[Call]:
    calls = []
    while isinstance(call := strategy.ask(state), Call):
        calls.append(call)
    return calls


def brief(calls: list[Call]) -> list[tuple[int, str, tuple[int, ...], str]]:
    return [(call.call_id, call.model, call.parents, call.role.value) for call in calls]


def one_layer(count: int, role: NodeRole) -> Graph:
    nodes = tuple(Node(f"n{number}", "abc"[number % 3]) for number in range(count))
    return Graph((*nodes, Node("sink", "", role)), tuple((node.node_id, "sink") for node in nodes))


class TestOneLayerTakesTheBest(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> Collaboration:
        return collaboration(one_layer(num_responses, NodeRole.BEST), max_parallel=max_parallel)

    def expected_best(self, state: State) -> int | None:
        # Of equal rewards the one that is shown first, which is decided by cones.
        assert isinstance(state, CollaborationState)
        graph = one_layer(16 if len(state.calls) > 4 else 4, NodeRole.BEST)
        shown = [state.responses[name] for name in shown_order(graph, cone_keys(graph), "sink") if name in state.responses]
        rewards = {call_id: reward for call_id in shown if (reward := state.rewards[call_id]) is not None}
        return next((call_id for call_id in rewards if rewards[call_id] == max(rewards.values())), None)


class TestLayersEndInAModel(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> Collaboration:
        nodes = tuple(Node(f"n{number}", "abc"[number % 3]) for number in range(num_responses - 1))
        edges = [(f"n{number - 3}", f"n{number}") for number in range(3, num_responses - 1)]
        edges += [(node.node_id, "sink") for node in nodes[-3:]]
        return collaboration(Graph((*nodes, Node("sink", "c")), tuple(edges)), max_parallel=max_parallel)

    def expected_best(self, state: State) -> int | None:
        assert isinstance(state, CollaborationState)
        answered = [call.call_id for call in state.calls if call.call_id in state.rewards and call.model == "c"]
        last = max(answered, default=None)  # nothing is asked after the sink
        return last if last is not None and state.responses.get("sink") == last else None


def test_levels_are_asked_as_soon_as_what_they_read_is_there() -> None:
    strategy = collaboration("x:a y:b z:c<x w:a/f<x,y s:b<z,w")
    state = strategy.init("p", ("a", "b", "c"), 0)
    first = asked_by(strategy, state)
    assert brief(first) == [(0, "a", (), "answer"), (1, "b", (), "answer")]
    assert strategy.ask(state) is WAIT
    strategy.tell(state, 0, Outcome(0.5), NOTHING)
    assert brief(asked_by(strategy, state)) == [(2, "c", (0,), "refine")]  # across levels: y is still in flight
    strategy.tell(state, 1, Outcome(0.5), NOTHING)
    (fuser,) = asked_by(strategy, state)
    assert (fuser.model, set(fuser.parents), fuser.role) == ("a", {0, 1}, Role.FUSE)
    strategy.tell(state, 2, Outcome(0.9), NOTHING)
    strategy.tell(state, 3, Outcome(0.1), NOTHING)
    (sink,) = asked_by(strategy, state)
    assert (sink.model, set(sink.parents), sink.role) == ("b", {2, 3}, Role.CONCLUDE)
    assert strategy.best(state) is None
    strategy.tell(state, 4, Outcome(-1.0), NOTHING)
    assert strategy.ask(state) is DONE
    assert strategy.best(state) == 4  # whatever the rewards say


def test_parents_are_shown_by_cone_and_seeds_are_those_of_the_cone() -> None:
    graph = graph_from("x:a y:b s:c<x,y")
    keys = cone_keys(graph)
    strategy = collaboration(graph)
    state = strategy.init("p", ("a", "b", "c"), 7)
    for call in asked_by(strategy, state):
        strategy.tell(state, call.call_id, Outcome(0.0), NOTHING)
    (sink,) = asked_by(strategy, state)
    assert [strategy.agents[parent].node.node_id for parent in sink.parents] == list(shown_order(graph, keys, "s"))
    assert [call.seed for call in state.calls] == [node_seed(7, "p", keys[name]) for name in ("x", "y", "s")]


def test_equal_cones_of_two_graphs_have_equal_seeds() -> None:
    def seeds(text: str) -> list[int]:
        session = drive(collaboration(text), ("a", "b", "c"), Draws("any"))
        return [call.seed for call in session.calls]

    chain, longer = seeds("x:a y:b<x s:c<y"), seeds("one:a two:b<one three:a<two sink:c<three")
    assert chain[:2] == longer[:2]
    assert len({*chain, *longer}) == 5


def test_dead_nodes_are_not_asked_and_one_model_alone_answers() -> None:
    strategy = collaboration("dead:a x:b s:c<x")
    assert (strategy.num_responses, strategy.models) == (2, ("b", "c"))
    assert brief(drive(strategy, ("b", "c"), Draws("any")).calls) == [(0, "b", (), "answer"), (1, "c", (0,), "conclude")]
    alone = drive(collaboration("s:a"), ("a",), Draws("any"))
    assert isinstance(alone.state, CollaborationState)
    assert (brief(alone.calls), collaboration("s:a").best(alone.state)) == ([(0, "a", (), "answer")], 0)


def test_n_is_the_number_of_live_nodes_whatever_was_said() -> None:
    assert collaboration("x:a s:b<x", num_responses=16).num_responses == 2
    assert replace(collaboration("x:a s:b<x"), max_parallel=1).num_responses == 2


def test_a_failed_node_is_tried_again_with_its_next_seed_and_then_given_up() -> None:
    strategy = collaboration("x:a y:b s:c<x,y", tries=2)
    keys = cone_keys(graph_from("x:a y:b s:c<x,y"))
    state = strategy.init("p", ("a", "b", "c"), 0)
    asked_by(strategy, state)
    strategy.tell(state, 0, DOWN, NOTHING)
    (again,) = asked_by(strategy, state)
    assert (again.model, again.seed) == ("a", node_seed(0, "p", keys["x"], 1))
    strategy.tell(state, again.call_id, DOWN, NOTHING)
    assert strategy.ask(state) is WAIT  # given up, but y may still come
    strategy.tell(state, 1, Outcome(1.0), NOTHING)
    assert brief(asked_by(strategy, state)) == [(3, "c", (1,), "conclude")]


@pytest.mark.parametrize(
    ("lost", "model", "role", "parents"),
    [
        ((), "c", Role.AGGREGATE, 2),
        (("x",), "c", Role.REFINE, 1),
        (("x", "y"), "c", Role.ANSWER, 0),
        (("x",), "f", Role.FUSE, 1),
        (("x", "y"), "f", Role.ANSWER, 0),
    ],
)
def test_readers_go_on_with_what_is_left(lost: tuple[str, ...], model: str, role: Role, parents: int) -> None:
    strategy = collaboration("x:a y:b r:c<x,y q:f/f<x,y s:d<r,q", tries=1)
    state = strategy.init("p", ("a", "b", "c", "d", "f"), 0)
    for call, name in zip(asked_by(strategy, state), ("x", "y"), strict=True):
        strategy.tell(state, call.call_id, DOWN if name in lost else Outcome(0.0), NOTHING)
    (found,) = [call for call in asked_by(strategy, state) if call.model == model]
    assert (found.role, len(found.parents)) == (role, parents)


def test_a_failed_sink_leaves_no_answer() -> None:
    strategy = collaboration("x:a s:b<x")
    session = drive(strategy, ("a", "b"), Draws("any"), weather=Weather(broken=frozenset({"b"})))
    assert [call.model for call in session.calls] == ["a", "b", "b", "b"]
    assert isinstance(session.state, CollaborationState)
    assert strategy.best(session.state) is None


@pytest.mark.parametrize("kind", [FailureKind.CONTEXT, FailureKind.PROMPT_TRUNCATED, FailureKind.BAD_REQUEST])
def test_what_the_same_messages_would_meet_again_is_not_tried_again(kind: FailureKind) -> None:
    strategy = collaboration("x:a s:b<x")
    state = strategy.init("p", ("a", "b"), 0)
    strategy.ask(state)
    strategy.tell(state, 0, Outcome(failure=kind), NOTHING)
    assert brief(asked_by(strategy, state)) == [(1, "b", (), "answer")]


def test_scattered_failures_never_cost_a_model() -> None:
    nodes = " ".join(f"n{number}:a" for number in range(12))
    strategy = collaboration(f"{nodes} s:a<" + ",".join(f"n{number}" for number in range(12)), max_failures=3, max_parallel=1)
    state = strategy.init("p", ("a",), 0)
    while isinstance(call := strategy.ask(state), Call):
        strategy.tell(state, call.call_id, DOWN if call.call_id % 2 == 0 else Outcome(0.0), NOTHING)
    assert state.failures["a"] > 6
    assert len(state.responses) == 13


def test_a_model_that_is_down_is_given_up_once_nothing_of_it_is_in_flight() -> None:
    nodes = " ".join(f"n{number}:a" for number in range(6))
    strategy = collaboration(f"{nodes} s:b<" + ",".join(f"n{number}" for number in range(6)), max_failures=3, max_parallel=4)
    state = strategy.init("p", ("a", "b"), 0)
    assert len(asked_by(strategy, state)) == 4
    for call_id in range(3):
        strategy.tell(state, call_id, DOWN, NOTHING)
    assert strategy.ask(state) is WAIT  # one call may still show that it is up
    strategy.tell(state, 3, DOWN, NOTHING)
    assert brief(asked_by(strategy, state)) == [(4, "b", (), "answer")]
    assert len(state.given_up) == 6


def test_a_response_in_flight_saves_the_model() -> None:
    nodes = " ".join(f"n{number}:a" for number in range(4))
    strategy = collaboration(f"{nodes} s:b<" + ",".join(f"n{number}" for number in range(4)), max_failures=3)
    state = strategy.init("p", ("a", "b"), 0)
    asked_by(strategy, state)
    for call_id in range(3):
        strategy.tell(state, call_id, DOWN, NOTHING)
    strategy.tell(state, 3, Outcome(0.0), NOTHING)
    assert [call.model for call in asked_by(strategy, state)] == ["a", "a", "a"]


def told(strategy: Collaboration, *outcomes: Outcome) -> int | None:
    """Tell a graph of one layer, in the order its nodes are shown, what came of them; return its choice by place in that order."""
    state = strategy.init("p", ("a", "b", "c"), 0)
    calls = {call.call_id: agent.node.node_id for call, agent in zip(asked_by(strategy, state), strategy.agents, strict=True)}
    graph = one_layer(len(calls), NodeRole.VOTE)
    shown = list(shown_order(graph, cone_keys(graph), "sink"))
    assert strategy.best(state) is None
    for call_id, name in calls.items():
        strategy.tell(state, call_id, outcomes[shown.index(name)], NOTHING)
    best = strategy.best(state)
    return None if best is None else shown.index(calls[best])


def vote(*answers: str | None) -> int | None:
    return told(collaboration(one_layer(len(answers), NodeRole.VOTE), tries=1), *(DOWN if said == "!" else Outcome(0.0, answer=said) for said in answers))


def test_a_vote_takes_the_answer_of_most_and_the_first_shown_of_equals() -> None:
    assert vote("4", "7", "7") == 1
    assert vote("4", "7") == 0
    assert vote("4", "7", "9", "7", "4") == 0
    assert vote(None, None, None, "7") == 3  # an answer that nobody could read votes for nothing
    assert vote(None, None) == 0
    assert vote("!", None, "!") == 1
    assert vote("!", "!") is None


def test_the_best_has_the_highest_reward_and_what_has_none_never_wins() -> None:
    def best(*rewards: float | None) -> int | None:
        return told(collaboration(one_layer(len(rewards), NodeRole.BEST)), *(Outcome(reward) for reward in rewards))

    assert best(0.1, 0.9, 0.9) == 1
    assert best(None, -3.0, None) == 1
    assert best(None, None) is None


def test_what_a_sink_needs_of_the_reward_is_said() -> None:
    needs = {
        role: (found.waits_for_rewards, found.counts_answers) for role in NodeRole if role in {"vote", "best"} for found in [collaboration(one_layer(2, role))]
    }
    assert needs == {NodeRole.VOTE: (False, True), NodeRole.BEST: (True, False)}
    assert (collaboration("s:a").waits_for_rewards, collaboration("s:a").counts_answers) == (False, False)


def test_mistakes_are_said_before_anything_is_asked() -> None:
    with pytest.raises(InputError, match="--graph FILE"):
        strategy_from("graph", {})
    with pytest.raises(InputError, match="tries must be at least 1, not 0"):
        strategy_from("graph", {"graph": text_of(graph_from("s:a")), "tries": 0})
    with pytest.raises(InputError, match=r'strategy.graph:5: .*"robot" is no role'):
        strategy_from("graph", {"graph": text_of(graph_from("s:a")).replace("assistant", "robot")})
    with pytest.raises(ValueError, match="the graph calls b, and the models are a, c"):
        collaboration("x:a s:b<x").init("p", ("a", "c"), 0)


def check_calls(graph: Graph, strategy: Collaboration, session: Session) -> None:
    """Every live node was asked at most `tries` times, for what fits the responses that were there."""
    by_seed = {node_seed(0, "p", agent.key, attempt): (agent.node.node_id, attempt) for agent in strategy.agents for attempt in range(strategy.tries)}
    node_of = {call.call_id: by_seed[call.seed] for call in session.calls}
    assert len(set(node_of.values())) == len(node_of)  # no seed twice
    responses: dict[str, int] = {}
    settled_at = {line.call_id: number for number, line in enumerate(session.record)}
    for line in session.record:
        if line.outcome.failure is None:
            responses[node_of[line.call_id][0]] = line.call_id
    assert len(responses) == len(session.state.rewards)
    for call in session.calls:
        name = node_of[call.call_id][0]
        assert call.model == graph.node(name).model
        assert [node_of[parent][0] for parent in call.parents] == [read for read in shown_order(graph, cone_keys(graph), name) if read in responses]
        fits = {0: {Role.ANSWER}, 1: {Role.REFINE, Role.FUSE, Role.CONCLUDE}}.get(len(call.parents), {Role.AGGREGATE, Role.FUSE, Role.CONCLUDE})
        assert call.role in fits
        asked_before = [line for line in session.record if line.num_asked <= call.call_id]
        assert all(settled_at[parent] < len(asked_before) for parent in call.parents)


@settings(deadline=None, max_examples=150)
@given(
    graph=random_graphs(),
    max_parallel=st.integers(1, 12),
    max_failures=st.integers(1, 5),
    tries=st.integers(1, 3),
    failing=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    broken=st.sampled_from(["", "a", "ab"]),
    luck=st.integers(0, 2**32),
    kill=st.floats(0, 1),
)
def test_any_graph_any_order_and_any_failures_end_and_replay(
    *, graph: Graph, max_parallel: int, max_failures: int, tries: int, failing: float, broken: str, luck: int, kill: float
) -> None:
    strategy = collaboration(graph, max_parallel=max_parallel, max_failures=max_failures, tries=tries)
    weather = Weather(failing=failing, unscored=0.2, broken=frozenset(broken))
    complete = drive(strategy, "abc", Draws(luck), weather=weather)
    state = complete.state
    assert isinstance(state, CollaborationState)
    assert not state.in_flight
    assert {agent.node.node_id for agent in strategy.agents} == state.responses.keys() | state.given_up
    assert not state.responses.keys() & state.given_up
    check_calls(graph, strategy, complete)
    if failing == 0.0 and not broken:
        assert len(complete.calls) == strategy.num_responses == len(state.responses)
    best = strategy.best(state)
    assert best is None or best in state.rewards

    live = drive(strategy, "abc", Draws(luck), weather=weather, max_told=max(1, int(kill * len(complete.record))))
    replayed = replay(strategy, "abc", live.record)
    assert (replayed.calls, replayed.state) == (live.calls, live.state)
    assert live.calls == complete.calls[: len(live.calls)]
