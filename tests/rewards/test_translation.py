"""BLEU, chrF++ and TER of single sentences: by hand, as sacreBLEU says, and as recorded."""

import json
from pathlib import Path

import pytest

from multigraft.rewards.translation import SacreBleu
from multigraft.testing.reward_suite import RewardSuite, candidate
from multigraft.types import Candidate, Completion, FailureKind, Finish, Json, Message, Prompt, Usage

sacrebleu = pytest.importorskip("sacrebleu")

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "wmt" / "translations.jsonl").read_text("utf-8").splitlines()]


class TestChrf(RewardSuite):
    def reward(self) -> SacreBleu:
        return SacreBleu()


class TestTer(RewardSuite):
    def reward(self) -> SacreBleu:
        return SacreBleu(metric="ter")


def translated(response: str, references: Json) -> Candidate:
    prompt = Prompt("p", (Message("user", "Translate."),), fields={"references": references})
    return Candidate(prompt, candidate(response).call, Completion(response, Finish.STOP, Usage()))


async def values(reward: SacreBleu, pairs: list[tuple[str, Json]]) -> list[float | None]:
    return [score.value for score in await reward.score([translated(response, references) for response, references in pairs])]


async def test_recorded_chrf() -> None:
    found = await values(SacreBleu(word_order=0, field="references"), [(row["response"], row["references"]) for row in ROWS])
    assert found == pytest.approx([row["chrf"] for row in ROWS], abs=0.006)
    assert len(ROWS) == 20


async def test_the_values_are_those_of_sacrebleu() -> None:
    metrics = {"chrf": sacrebleu.CHRF(word_order=2), "bleu": sacrebleu.BLEU(effective_order=True), "ter": sacrebleu.TER()}
    for metric, direct in metrics.items():
        wanted = [direct.sentence_score(row["response"], row["references"]).score * (-1 if metric == "ter" else 1) for row in ROWS]
        found = await values(SacreBleu(metric=metric, field="references"), [(row["response"], row["references"]) for row in ROWS])  # type: ignore[arg-type] # its keys
        assert found == pytest.approx(wanted)


async def test_by_hand() -> None:
    # One substitution in four words; the better of two references counts.
    assert await values(SacreBleu(metric="ter", field="references"), [("a b c d", ["a b c e"]), ("a b c d", ["x", "a b c d"])]) == [-25.0, 0.0]
    # Precisions 3/4, 2/3, 1/2 and, smoothed, 1/2 of 1/1; no brevity penalty.
    assert await values(SacreBleu(metric="bleu", field="references"), [("a b c d", "a b c e")]) == pytest.approx(
        [100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25]
    )
    assert await values(SacreBleu(field="references"), [("the same", "the same"), ("xyz", "abc")]) == pytest.approx([100.0, 0.0])


async def test_no_references_no_score() -> None:
    score = (await SacreBleu(field="references").score([translated("a", []), translated("a", "a")]))[0]
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)
    assert "no field 'references'" in score.message


def test_the_version_holds_the_signature() -> None:
    assert SacreBleu().signature == f"case:mixed|eff:yes|nc:6|nw:2|space:no|version:{sacrebleu.__version__}"
    assert SacreBleu().version.endswith(SacreBleu().signature)
    assert "tok:zh" in SacreBleu(metric="bleu", tokenize="zh").version
    assert SacreBleu(field="x").version != SacreBleu().version


def test_bad_settings_are_refused_with_the_value() -> None:
    with pytest.raises(ValueError, match="not 'rouge'"):
        SacreBleu(metric="rouge")  # type: ignore[arg-type] # the mistake
    with pytest.raises(ValueError, match="not 'flores200'"):
        SacreBleu(tokenize="flores200")
    with pytest.raises(ValueError, match="not 5 and 16"):
        SacreBleu(word_order=5)
