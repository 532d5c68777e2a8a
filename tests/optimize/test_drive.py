from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.search_of_scripted import made

from multigraft.budget.amount import Amount
from multigraft.graphs.blocks import single
from multigraft.models.scripted import ScriptedModel
from multigraft.optimize.problem import Consult, Evaluate, Reply, Run, sink_node
from multigraft.optimize.real.drive import drive
from multigraft.types import Failure, FailureKind, Message, Request

CONSULT = Consult((Message("user", "Which graph?"),))


def asking(*consults: Consult) -> Generator[Evaluate | Consult, Any, list[Any]]:
    answers = []
    for consult in consults:
        reply = yield consult
        answers.append(reply)
    answers.append((yield Evaluate((Run(single(sink_node("m0")), "train", (0, 1)),))))
    return answers


def large(**more: Any) -> ScriptedModel:
    return ScriptedModel(name="m1", **more)


async def test_a_search_is_answered_and_its_replies_are_paid_apart_and_once(tmp_path: Path) -> None:
    again = Consult(CONSULT.messages, attempt=1)
    async with made(tmp_path, ScriptedModel(name="m0"), large(), optimiser="m1") as search:
        found = await drive(asking(CONSULT, again), search.real)
        assert found is not None
        first, second, evaluations = found
        assert first.text is not None
        assert first.text != second.text, "another attempt draws anew"
        assert evaluations[0].mean is not None
        assert search.models["m1"].samples_asked == 2
        assert search.store.spent(apart=True).calls == 2
        assert search.store.spent().calls == 4
        assert search.once.purchases.ledger_apart.spent.calls == 2
        assert search.once.purchases.ledger.spent.calls == 4
    async with made(tmp_path, ScriptedModel(name="m0"), large(), optimiser="m1") as search:
        assert await drive(asking(CONSULT, again), search.real) == found
        assert search.asked == 0


async def test_a_failed_reply_is_told_again_as_it_was(tmp_path: Path) -> None:
    failing = large(failures=lambda request, seed: Failure(FailureKind.SERVER, "503", retryable=True))
    async with made(tmp_path, ScriptedModel(name="m0"), failing, optimiser="m1") as search:
        found = await drive(asking(CONSULT), search.real)
        assert found is not None
        assert found[0] == Reply(None, FailureKind.SERVER, Amount(calls=1))
    async with made(tmp_path, ScriptedModel(name="m0"), large(), optimiser="m1") as search:
        assert await drive(asking(CONSULT), search.real) == found
        assert search.asked == 0


async def test_an_optimiser_model_that_is_down_stops_the_search(tmp_path: Path) -> None:
    failing = large(failures=lambda request, seed: Failure(FailureKind.NOT_FOUND, "no such model"))
    async with made(tmp_path, ScriptedModel(name="m0"), failing, optimiser="m1") as search:
        assert await drive(asking(CONSULT), search.real) is None
        assert search.once.purchases.halt.reason == "the model 'm1' takes no calls: no such model"
    async with made(tmp_path, ScriptedModel(name="m0"), large(), optimiser="m1") as search:
        found = await drive(asking(CONSULT), search.real)
        assert found is not None
        assert found[0].text is not None


async def test_the_schema_and_the_system_text_reach_the_model(tmp_path: Path) -> None:
    seen: list[Request] = []

    def answer(request: Request, seed: int) -> str:
        seen.append(request)
        return "{}"

    async with made(tmp_path, ScriptedModel(name="m0"), large(answers=answer), optimiser="m1") as search:
        await drive(asking(Consult(CONSULT.messages, '{"type": "object"}')), search.real)
    assert seen[0].json_schema == '{"type": "object"}'
    assert seen[0].messages[0] == Message("system", "You choose graphs.")


async def test_a_method_that_consults_needs_a_model(tmp_path: Path) -> None:
    async with made(tmp_path) as search:
        with pytest.raises(RuntimeError, match="there is none"):
            await drive(asking(CONSULT), search.real)


async def test_a_stopped_search_is_closed(tmp_path: Path) -> None:
    closed = []

    def search_of() -> Generator[Evaluate | Consult, Any, str]:
        try:
            yield Evaluate((Run(single(sink_node("m0")), "train", (0,)),))
        finally:
            closed.append(True)
        return "whole"

    async with made(tmp_path) as search:
        search.once.purchases.halt.stop("enough")
        assert await drive(search_of(), search.real) is None
    assert closed == [True]
