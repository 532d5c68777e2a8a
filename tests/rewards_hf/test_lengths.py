"""Texts longer than the model takes: refused or cut, and never without a trace."""

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rewards_hf.answers import USER, answer

from multigraft.rewards.hf.classifier import Classifier
from multigraft.rewards.hf.generative import Generative
from multigraft.rewards.hf.layouts import Conversation
from multigraft.rewards.hf.model_reward import ModelReward
from multigraft.rewards.hf.tokens import Encoded, Row, fitted, last_position
from multigraft.types import FailureKind

Tiny = Callable[[str], Path]
Closing = Callable[[ModelReward], ModelReward]


def tokens_of(reward: ModelReward, response: str) -> int:
    assert reward._ready is not None
    (row,) = reward._rows(reward._ready, [Conversation([USER], response)])
    assert isinstance(row, Row)
    return len(row.ids)


LONG = " ".join(f"word{number}" for number in range(300))


@pytest.mark.parametrize("kind", ["classifier", "bert", "armorm", "ultrarm", "internlm2"])
async def test_too_long_is_refused_or_cut_at_the_end(kind: str, tiny: Tiny, closing: Closing) -> None:
    from tests.rewards_hf.direct import DIRECT

    refusing = closing(Classifier(model=str(tiny(kind)), max_tokens=200))
    (refused, short) = await refusing.score([answer(LONG), answer("42")])
    assert (refused.value, refused.reason, refused.truncated) == (None, FailureKind.CONTEXT, False)
    assert "tokens and the model takes 200: set too_long to 'cut'" in refused.message
    assert short.value is not None
    cutting = closing(Classifier(model=str(tiny(kind)), max_tokens=200, too_long="cut"))
    (cut, whole) = await cutting.score([answer(LONG), answer("42")])
    assert cut.truncated
    assert "the end of the response was cut" in cut.message
    assert not whole.truncated
    assert whole.value == pytest.approx(short.value, rel=1e-4)
    # What was scored is the prompt whole, and the response up to a few tokens of what fits. Longer texts may have fewer tokens, so the end is searched around.
    direct = DIRECT[kind](tiny(kind))
    most = bisect_right(range(len(LONG)), 200, key=lambda end: tokens_of(cutting, LONG[:end]))
    ends = [end for end in range(most - 30, most + 5) if tokens_of(cutting, LONG[:end]) <= 200]
    assert cut.value in [pytest.approx(direct(answer(LONG[:end])), rel=1e-4, abs=1e-5) for end in ends]


async def test_a_prompt_that_is_too_long_is_never_cut(tiny: Tiny, closing: Closing) -> None:
    for reward in (
        Classifier(model=str(tiny("classifier")), max_tokens=20, too_long="cut"),
        Generative(model=str(tiny("causal")), max_tokens=50, too_long="cut"),
    ):
        (score,) = await closing(reward).score([answer(LONG)])
        assert (score.value, score.reason) == (None, FailureKind.CONTEXT)
        assert "the prompt alone is too long" in score.message


async def test_the_config_and_the_tokenizer_set_limits_too(tiny: Tiny, closing: Closing, tmp_path: Path) -> None:
    import json

    from tests.rewards_hf.test_classifier import copied

    folder = copied(tiny("classifier"), tmp_path / "short", max_position_embeddings=100)
    (score,) = await closing(Classifier(model=str(folder), max_tokens=1000)).score([answer(LONG)])
    assert "the model takes 100" in score.message
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 60}))
    (score,) = await closing(Classifier(model=str(folder))).score([answer(LONG)])
    assert "the model takes 60" in score.message


async def test_a_cut_verdict_is_marked(tiny: Tiny, closing: Closing) -> None:
    (score,) = await closing(Generative(model=str(tiny("causal")), max_tokens=400, too_long="cut")).score([answer(LONG)])
    assert score.truncated
    assert score.value is not None


def spelled(text: str) -> Encoded:
    """One token a character."""
    return Encoded(tuple(map(ord, text)), tuple((place, place + 1) for place in range(len(text))))


def test_cutting_by_hand() -> None:
    assert fitted("abcdef", spelled("abcdef"), 7, lambda text: 3 + len(text)) == "abcd"
    assert fitted("abcdef", spelled("abcdef"), 3, lambda text: 3 + len(text)) is None
    # The whole shrinks by less than the response: it is cut again until it fits.
    assert fitted("abcdefgh", spelled("abcdefgh"), 10, lambda text: 7 + len(text) - len(text) // 2) == "abcdef"
    assert fitted("   abc", spelled("   abc"), 5, lambda text: 3 + len(text)) is None


def test_where_a_row_is_read() -> None:
    assert last_position((5, 6, 0), None) == 2
    assert last_position((5, 6, 0), 0) == 1
    assert last_position((5, 0, 6), 0) == 2
    assert last_position((0, 0), 0) == 1
