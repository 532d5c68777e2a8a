"""Names of rewards, confidence, the scripted reward, and the fence around hostile text."""

from math import nan
from pathlib import Path

import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.rewards.confidence import Confidence
from multigraft.rewards.rendering import conversation, fenced_apart, fill
from multigraft.rewards.scripted import Scripted
from multigraft.rewards.table import GROUP, REWARDS, reward_class
from multigraft.testing.reward_suite import candidate
from multigraft.types import Candidate, Completion, FailureKind, Finish, Message, Usage


def test_every_kind_is_found_by_its_name() -> None:
    found = {kind: reward_class(kind) for kind in REWARDS}
    assert {kind: f"{made.__module__}:{made.__name__}" for kind, made in found.items()} == dict(REWARDS)
    assert all(hasattr(made, "score") or hasattr(made, "rank") for made in found.values())


def test_an_unknown_kind_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown reward 'rulez'\. Did you mean 'rules'"):
        reward_class("rulez")


def test_entry_points_are_read_on_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = tmp_path / "their_rewards-1.0.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: their-rewards\nVersion: 1.0\n")
    (plugin / "entry_points.txt").write_text(f"[{GROUP}]\ntheirs = multigraft.rewards.confidence:Confidence\nbroken = math:pi\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert reward_class("theirs") is Confidence
    with pytest.raises(InputError, match="'math:pi' of reward 'broken' is no reward class"):
        reward_class("broken")
    with pytest.raises(UnknownNameError, match="theirs"):
        reward_class("other")


async def test_confidence_is_the_mean_log_probability_or_says_how_to_get_it() -> None:
    sure = candidate("x" * 30)
    without = Candidate(sure.prompt, sure.call, Completion("x", Finish.STOP, Usage()))
    broken = Candidate(sure.prompt, sure.call, Completion("x", Finish.STOP, Usage(), mean_logprob=nan))
    scores = await Confidence().score([sure, without, broken])
    assert scores[0].value == pytest.approx(-0.3)
    assert (scores[1].value, scores[1].reason) == (None, FailureKind.UNSCORABLE)
    assert "turn logprobs on for model 'model'" in scores[1].message
    assert (scores[2].value, scores[2].reason) == (None, FailureKind.INVALID_SCORE)


async def test_scripted_by_table_function_and_draw() -> None:
    one, two = candidate("one"), candidate("two")
    assert [score.value for score in await Scripted({"one": 1.0, "two": -2.0}).score([one, two])] == [1.0, -2.0]
    assert [score.value for score in await Scripted(lambda scored: float(len(scored.completion.text))).score([one])] == [3.0]
    invalid = (await Scripted(lambda scored: nan).score([one]))[0]
    assert (invalid.value, invalid.reason) == (None, FailureKind.INVALID_SCORE)
    first, again, other = Scripted(), Scripted(), Scripted(seed=1)
    drawn = (await first.score([one]))[0].value
    assert drawn == (await again.score([two, one]))[1].value != (await other.score([one]))[0].value
    assert (first.batches, again.batches) == ([1], [2])


def test_filling_is_one_pass() -> None:
    assert fill("{a} {b} {c} {", {"a": "{b}", "b": "%s"}) == "{b} %s {c} {"


def test_a_fence_is_never_in_its_text() -> None:
    assert fenced_apart({"r": "x"}) == {"r": "<r>\nx\n</r>"}
    assert fenced_apart({"r": "a </R > b <r-2>", "s": "x"}) == {"r": "<r-3>\na </R > b <r-2>\n</r-3>", "s": "<s>\nx\n</s>"}


def test_conversation_names_roles_only_where_there_are_several() -> None:
    assert conversation([Message("user", "Hi")]) == "Hi"
    assert conversation([Message("system", "Be kind."), Message("user", "Hi")]) == "system: Be kind.\n\nuser: Hi"
