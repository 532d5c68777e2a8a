import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.optimize.search_of_scripted import ByLength, made

from multigraft.budget.amount import NOTHING, Limits
from multigraft.errors import InputError
from multigraft.graphs.blocks import chain, parallel, single
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.models.scripted import ScriptedModel
from multigraft.optimize.problem import Run, sink_node
from multigraft.types import Completion, Failure, FailureKind, Finish, Request, Sample, Score, Usage

ALL = (0, 1, 2, 3)


def timed(name: str, latency_s: float) -> ScriptedModel:
    return ScriptedModel(
        name=name, answers=lambda request, seed: Completion(f"{name} {seed % 7}", Finish.STOP, Usage(10, 3, context_tokens=10), latency_s=latency_s)
    )


async def test_what_graphs_share_is_paid_once(tmp_path: Path) -> None:
    async with made(tmp_path) as search:
        wide = parallel(["m0", "m0", "m0"], sink_node("m1"))
        wider = parallel(["m0", "m0", "m0", "m0"], sink_node("m1"))
        first, second = await search.evaluator.evaluate([Run(wide, "train", ALL), Run(wider, "train", ALL)]) or ()
        # Three drafts are common to both, asked at the same time; a fourth and two sinks are not.
        assert search.models["m0"].samples_asked == 4 * 4
        assert search.models["m1"].samples_asked == 4 * 2
        paid = [trial.spent.calls for trial in (*first.trials, *second.trials)]
        assert sum(paid) == search.asked == 24
        assert search.store.spent().calls == 24
        again = await search.evaluator.evaluate([Run(wide, "train", ALL)]) or ()
        assert search.asked == 24
        assert again[0].trials == first.trials


async def test_a_new_process_finds_everything(tmp_path: Path) -> None:
    runs = [Run(chain(["m0", "m0"], sink_node("m1")), "train", ALL), Run(single(sink_node("m0")), "validation", (1, 3))]
    async with made(tmp_path) as search:
        before = await search.evaluator.evaluate(runs)
        assert search.asked == 4 * 3 + 2
    async with made(tmp_path) as search:
        assert await search.evaluator.evaluate(runs) == before
        assert search.asked == 0
        assert search.once.purchases.ledger.spent.calls == 14


async def test_isomorphic_graphs_are_one(tmp_path: Path) -> None:
    nodes = (Node("a1", "m0"), Node("a2", "m0"), Node(SINK, "m1"))
    one = Graph(nodes, (("a1", "a2"), ("a2", SINK), ("a1", SINK)))
    other = Graph((nodes[1], nodes[0], nodes[2]), (("a2", "a1"), ("a1", SINK), ("a2", SINK)))
    async with made(tmp_path) as search:
        first, second = await search.evaluator.evaluate([Run(one, "train", (0,)), Run(other, "train", (0,))]) or ()
        assert search.asked == 3
        assert first.trials[0].score == second.trials[0].score
        assert first.trials[0].node_scores["a1"] == second.trials[0].node_scores["a2"]


async def test_latency_is_that_of_the_critical_path(tmp_path: Path) -> None:
    graph = Graph((Node("a1", "m0"), Node("a2", "m0"), Node("a3", "slow"), Node(SINK, "m1")), (("a1", "a2"), ("a2", SINK), ("a3", SINK)))
    async with made(tmp_path, timed("m0", 1.0), timed("slow", 5.0), timed("m1", 0.5)) as search:
        (found,) = await search.evaluator.evaluate([Run(graph, "train", (0,))]) or ()
        assert found.trials[0].latency_s == pytest.approx(5.5)


async def test_every_node_is_graded_or_only_the_answer(tmp_path: Path) -> None:
    graph = parallel(["m0", "m0"], sink_node("m1"))
    for folder, all_nodes, wanted in (("all", True, {"a1", "a2", SINK}), ("sink", False, {SINK})):
        (tmp_path / folder).mkdir()
        reward = ByLength()
        async with made(tmp_path / folder, reward=reward, all_nodes=all_nodes) as search:
            (found,) = await search.evaluator.evaluate([Run(graph, "train", (0,))]) or ()
            assert found.trials[0].node_scores.keys() == wanted
            assert found.trials[0].score == found.trials[0].node_scores[SINK]
            assert reward.scored == len(wanted)


async def test_a_vote_takes_what_most_say(tmp_path: Path) -> None:
    answers = iter(["red x", "blue", "blue"])
    model = ScriptedModel(name="m0", answers=lambda request, seed: next(answers))
    graph = parallel(["m0"] * 3, Node(SINK, "", NodeRole.VOTE))
    async with made(tmp_path, model, all_nodes=False) as search:
        (found,) = await search.evaluator.evaluate([Run(graph, "train", (0,))]) or ()
        assert found.trials[0].score == 0.5  # of one word
        assert found.trials[0].node_scores[SINK] == 0.5
        assert len(found.trials[0].node_scores) == 4
        assert search.store.has_answers()


async def test_a_sink_takes_the_best_by_score(tmp_path: Path) -> None:
    answers = iter(["a b c", "a", "a b"])
    model = ScriptedModel(name="m0", answers=lambda request, seed: next(answers))
    graph = parallel(["m0"] * 3, Node(SINK, "", NodeRole.BEST))
    async with made(tmp_path, model) as search:
        (found,) = await search.evaluator.evaluate([Run(graph, "train", (0,))]) or ()
        assert found.trials[0].score == 0.5


@pytest.mark.parametrize(
    ("kind", "score"),
    [(FailureKind.NO_ANSWER, 0.0), (FailureKind.REFUSED, 0.0), (FailureKind.CONTEXT, 0.0), (FailureKind.SERVER, None), (FailureKind.TIMEOUT, None)],
)
async def test_who_brings_no_answer_is_wrong_and_a_server_that_fails_says_nothing(tmp_path: Path, kind: FailureKind, score: float | None) -> None:
    failing = ScriptedModel(name="m0", failures=lambda request, seed: Failure(kind, "no", retryable=kind in {FailureKind.SERVER, FailureKind.TIMEOUT}))
    async with made(tmp_path, failing) as search:
        (found,) = await search.evaluator.evaluate([Run(single(sink_node("m0")), "train", (0, 1))]) or ()
        assert [(trial.score, trial.reason) for trial in found.trials] == [(score, kind)] * 2
        asked = search.asked
    async with made(tmp_path, failing) as search:
        again = await search.evaluator.evaluate([Run(single(sink_node("m0")), "train", (0, 1))]) or ()
        assert again[0].trials == found.trials, "what was told once is told again, failures too"
        assert search.asked == asked


@pytest.mark.parametrize("server_is_last", [True, False])
async def test_which_failure_came_last_decides_nothing(tmp_path: Path, server_is_last: bool) -> None:
    def model(name: str, kind: FailureKind, *, is_last: bool) -> ScriptedModel:
        return ScriptedModel(name=name, failures=lambda request, seed: Failure(kind, "no", retryable=False), latency_s=0.05 if is_last else 0.0)

    models = [model("m0", FailureKind.REFUSED, is_last=not server_is_last), model("m1", FailureKind.SERVER, is_last=server_is_last)]
    async with made(tmp_path, *models) as search:
        (found,) = await search.evaluator.evaluate([Run(parallel(["m0", "m1"], Node(SINK, "", NodeRole.VOTE)), "train", (0,))]) or ()
        assert (found.trials[0].score, found.trials[0].reason) == (None, FailureKind.SERVER)


async def test_a_sink_that_is_not_asked_any_more_says_why(tmp_path: Path) -> None:
    down = ScriptedModel(name="m0", failures=lambda request, seed: Failure(FailureKind.SERVER, "no", retryable=True))
    async with made(tmp_path, down) as search:
        (found,) = await search.evaluator.evaluate([Run(parallel(["m0"] * 9, sink_node("m0")), "train", (0,))]) or ()
        assert (found.trials[0].score, found.trials[0].reason) == (None, FailureKind.SERVER)


async def test_a_graph_with_a_failed_agent_goes_on_with_the_others(tmp_path: Path) -> None:
    def fails(request: Request, seed: int) -> Failure | None:
        return Failure(FailureKind.REFUSED, "no")

    async with made(tmp_path, ScriptedModel(name="m0"), ScriptedModel(name="shy", failures=fails), ScriptedModel(name="m1")) as search:
        (found,) = await search.evaluator.evaluate([Run(parallel(["m0", "shy"], sink_node("m1")), "train", (0,))]) or ()
        trial = found.trials[0]
        assert trial.score is not None
        assert trial.reason is None
        assert trial.node_scores.keys() == {"a1", SINK}


async def test_a_score_outside_of_its_range_is_refused(tmp_path: Path) -> None:
    async with made(tmp_path, reward=ByLength(lambda text: Score(3.5))) as search:
        with pytest.raises(InputError, match=r"by_length gave 3.5, which is outside of \[0, 1\]"):
            await search.evaluator.evaluate([Run(single(sink_node("m0")), "train", ALL)])


async def test_a_scorer_that_fails_leaves_no_score(tmp_path: Path) -> None:
    async with made(tmp_path, reward=ByLength(lambda text: Score(None, FailureKind.UNSCORABLE, "no reference"))) as search:
        (found,) = await search.evaluator.evaluate([Run(single(sink_node("m0")), "train", (0,))]) or ()
        assert (found.trials[0].score, found.trials[0].reason) == (None, FailureKind.UNSCORABLE)
        assert found.mean is None


async def test_money_that_is_spent_stops_it_and_more_lets_it_go_on(tmp_path: Path) -> None:
    run = Run(single(sink_node("m0")), "train", ALL)
    async with made(tmp_path, limits=Limits(calls=2)) as search:
        assert await search.evaluator.evaluate([run]) is None
        assert search.once.out_of_money
        assert search.once.purchases.halt.reason is not None
        assert "limit of 2 calls" in search.once.purchases.halt.reason
        assert search.asked == 2
    async with made(tmp_path, limits=Limits(calls=4)) as search:
        found = await search.evaluator.evaluate([run])
        assert found is not None
        assert search.asked == 2
        assert search.store.num_cut_off() == 0


async def test_a_model_that_takes_no_calls_stops_it_and_is_asked_again_later(tmp_path: Path) -> None:
    run = Run(single(sink_node("m0")), "train", ALL)
    down = ScriptedModel(name="m0", failures=lambda request, seed: Failure(FailureKind.AUTH, "bad key"))
    async with made(tmp_path, down, ScriptedModel(name="m1")) as search:
        assert await search.evaluator.evaluate([run]) is None
        assert search.once.purchases.halt.reason == "the model 'm0' takes no calls: bad key"
        assert not search.once.out_of_money
    async with made(tmp_path) as search:
        found = await search.evaluator.evaluate([run])
        assert found is not None
        assert all(trial.score is not None for trial in found[0].trials)


class Slow(ScriptedModel):
    """Answers after a while, and tells when it was asked."""

    def __init__(self, latency_s: float) -> None:
        super().__init__(name="m0", latency_s=latency_s)
        self.began = asyncio.Event()

    async def generate(self, request: Request) -> Sequence[Sample]:
        self.began.set()
        return await super().generate(request)


async def test_a_stop_waits_for_calls_in_flight_and_keeps_their_answers(tmp_path: Path) -> None:
    model = Slow(0.1)
    async with made(tmp_path, model) as search:
        task = asyncio.create_task(search.evaluator.evaluate([Run(chain(["m0"], sink_node("m0")), "train", (0,))]))
        await model.began.wait()
        search.once.purchases.halt.stop("enough")
        assert await task is None
        assert search.store.num_cut_off() == 0
        assert search.store.spent().calls == 1


async def test_a_call_that_hangs_is_cut_off_and_charged_at_its_bound(tmp_path: Path) -> None:
    model = Slow(60.0)
    async with made(tmp_path, model) as search:
        task = asyncio.create_task(search.evaluator.evaluate([Run(single(sink_node("m0")), "train", (0,))]))
        await model.began.wait()
        search.once.purchases.halt.stop("enough")
        assert await task is None
        assert search.store.num_cut_off() == 1
        spent = search.store.spent()
        assert spent.calls == 1
        assert spent.tokens > 64  # all that the answer may have, and the prompt
        assert search.once.purchases.ledger.spent == spent


async def test_nothing_is_asked_after_a_stop(tmp_path: Path) -> None:
    async with made(tmp_path) as search:
        search.once.purchases.halt.stop("enough")
        assert await search.evaluator.evaluate([Run(single(sink_node("m0")), "train", ALL)]) is None
        assert search.asked == 0
        assert search.store.spent() == NOTHING


async def test_what_a_stop_kept_from_being_graded_is_graded_later(tmp_path: Path) -> None:
    run = Run(single(sink_node("m0")), "train", (0,))
    stops: list[Callable[[str], None]] = []

    def interrupted(text: str) -> Score:
        stops[0]("enough")
        return Score(None, FailureKind.ABORTED, "not asked", retryable=True)

    async with made(tmp_path, reward=ByLength(interrupted)) as search:
        stops.append(search.once.purchases.halt.stop)
        assert await search.evaluator.evaluate([run]) is None
    async with made(tmp_path) as search:
        (found,) = await search.evaluator.evaluate([run]) or ()
        assert found.trials[0].score is not None
        assert search.asked == 0


async def test_what_is_known_of_a_graph_is_told_without_asking_anything(tmp_path: Path) -> None:
    wide, deep = parallel(["m0", "m0"], sink_node("m1")), chain(["m0", "m0"], sink_node("m1"))
    async with made(tmp_path) as search:
        before = search.evaluator.known([Run(wide, "train", ALL)])
        assert before[0].trials == ()
        assert before[0].cost == search.evaluator.costs.of(wide)
        (whole,) = await search.evaluator.evaluate([Run(wide, "train", (1, 3))]) or ()
        asked = search.asked
        known, unknown = search.evaluator.known([Run(wide, "train", ALL), Run(deep, "train", ALL)])
        assert known.trials == whole.trials
        assert unknown.trials == ()
        assert search.asked == asked
