from pathlib import Path

import pytest
from tests.optimize.search_of_scripted import made

from multigraft.errors import InputError
from multigraft.graphs.cost import Workload
from multigraft.models.scripted import ScriptedModel
from multigraft.optimize.real.measure import measured
from multigraft.types import Completion, Failure, FailureKind, Finish, Request, Usage


def model(name: str, prompt_tokens: int, completion_tokens: int, latency_s: float) -> ScriptedModel:
    usage = Usage(prompt_tokens, completion_tokens, context_tokens=prompt_tokens)
    return ScriptedModel(name=name, answers=lambda request, seed: Completion("yes", Finish.STOP, usage, latency_s=latency_s))


async def test_tokens_and_seconds_are_measured_once(tmp_path: Path) -> None:
    async with made(tmp_path, model("m0", 30, 4, 0.2), model("m1", 40, 8, 0.6)) as search:
        found = await measured(search.real, search.store, ["m0", "m1"], 3)
        assert found is not None
        assert found.workload == Workload(35.0, 6.0, {"m0": (30.0, 4.0), "m1": (40.0, 8.0)})
        assert found.latency.keys() == {"m0", "m1"}
        assert [model.seconds(30, 4) for model in found.latency.values()] == pytest.approx([0.2, 0.6])
        assert search.asked == 6
    async with made(tmp_path, model("m0", 99, 99, 9.0), model("m1", 99, 99, 9.0)) as search:
        assert await measured(search.real, search.store, ["m0", "m1"], 3) == found, "a budget must not change while a search goes on"
        assert search.asked == 0


async def test_given_tokens_are_kept_and_only_seconds_are_measured(tmp_path: Path) -> None:
    async with made(tmp_path, model("m0", 30, 4, 0.2)) as search:
        found = await measured(search.real, search.store, ["m0"], 2, Workload(202, 275))
        assert found is not None
        assert found.workload == Workload(202, 275)
        assert found.latency["m0"].seconds(30, 4) == pytest.approx(0.2)


async def test_a_model_that_answers_nothing_is_named(tmp_path: Path) -> None:
    silent = ScriptedModel(name="m1", failures=lambda request, seed: Failure(FailureKind.NO_ANSWER, "nothing"))
    async with made(tmp_path, model("m0", 30, 4, 0.2), silent) as search:
        with pytest.raises(InputError, match="'m1' answered none of 2 training questions"):
            await measured(search.real, search.store, ["m0", "m1"], 2)


async def test_it_can_be_stopped(tmp_path: Path) -> None:
    async with made(tmp_path, model("m0", 30, 4, 0.2)) as search:
        search.once.purchases.halt.stop("enough")
        assert await measured(search.real, search.store, ["m0"], 2) is None


async def test_where_seconds_matter_calls_that_read_are_measured_too(tmp_path: Path) -> None:
    """A question alone is as long as the next; only what is read as well tells the seconds of a token read from those of the start."""

    def timed(name: str, start_s: float, read_s: float) -> ScriptedModel:
        def answers(request: Request, seed: int) -> Completion:
            length = sum(len(message.content) for message in request.messages)
            return Completion("one two three", Finish.STOP, Usage(length, 3, context_tokens=length), latency_s=start_s + read_s * length)

        return ScriptedModel(name=name, answers=answers)

    async with made(tmp_path, timed("m0", 0.2, 0.001), timed("m1", 0.5, 0.004)) as search:
        found = await measured(search.real, search.store, ["m0", "m1"], 3, reading=True)
        assert found is not None
        assert found.latency["m0"].per_prompt_token_s == pytest.approx(0.001, rel=1e-3)
        assert found.latency["m1"].per_prompt_token_s == pytest.approx(0.004, rel=1e-3)
        assert found.latency["m1"].seconds(1000, 3) == pytest.approx(4.5, rel=1e-3)
        assert found.workload.prompt_tokens < 50, "lengths are those of questions alone"
        # Both alone; three drafts more of m0, and a sink of each.
        assert search.asked == 3 * (2 + 3 + 2)
        assert await measured(search.real, search.store, ["m0", "m1"], 3, reading=True) == found
        assert search.asked == 3 * (2 + 3 + 2)
        alone = await measured(search.real, search.store, ["m0", "m1"], 3)
        assert alone is not None
        assert alone.workload == found.workload
