"""The pure parts of reading a reply."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers.fake_faults import CONTEXT_WORDINGS

from multigraft.models.chat_logprobs import answer_logprobs
from multigraft.models.chat_reply import Origin, Reading, samples_of
from multigraft.models.chat_request import folded
from multigraft.models.chat_usage import ReplyUsage, read_usage, shares
from multigraft.models.context_window import room_left_tokens
from multigraft.models.few_shot import FewShot
from multigraft.models.reasoning import ThinkingTags, part
from multigraft.randomness import Draws
from multigraft.types import Completion, Failure, Json, Message
from multigraft.wire.body import parse

TAGS = ThinkingTags()


@pytest.mark.parametrize(
    ("text", "field", "answer", "reasoning", "finished"),
    [
        ("4", None, "4", None, True),
        ("<think>2+2</think>4", None, "4", "2+2", True),
        ("\n<think>\n2+2\n</think>\n\n4\n", None, "4", "2+2", True),
        ("<think></think>4", None, "4", None, True),
        ("2+2</think>4", None, "4", "2+2", True),
        ("<think>2+2", None, "", "2+2", False),
        ("<think>a</think>", None, "", "a", True),
        ("4", "2+2", "4", "2+2", True),
        ("<think>b</think>4", "a", "4", "a\nb", True),
        ("Use <think> and </think> as tags", None, "Use <think> and </think> as tags", None, True),
        ("4", "  ", "4", None, True),
        ("<scratchpad>x</scratchpad>", None, "<scratchpad>x</scratchpad>", None, True),
    ],
)
def test_thinking_is_split_off(text: str, field: str | None, answer: str, reasoning: str | None, finished: bool) -> None:
    assert part(text, TAGS, field) == (answer, reasoning, finished)


def test_other_marks() -> None:
    assert part("[T]x[/T]y", ThinkingTags("[T]", "[/T]"), None).answer == "y"
    assert part("<think>x</think>y", None, None).answer == "<think>x</think>y"


@pytest.mark.parametrize(
    ("message", "room"),
    [
        (CONTEXT_WORDINGS["openai"], 1096),
        (CONTEXT_WORDINGS["sglang"], 1096),
        (CONTEXT_WORDINGS["vllm_negative"], None),
        (CONTEXT_WORDINGS["vllm_input"], None),
        (CONTEXT_WORDINGS["llama_cpp"], None),
        (
            "'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (2000 > 4096 - 3000).",
            1096,
        ),
        ("This model's maximum context length is 4096 tokens, however you requested 9000 tokens (5000 in your prompt; 4000 for the completion).", None),
        ("maximum context length is 4096 tokens ... 4090 in the messages", None),
        ("", None),
    ],
)
def test_room_that_is_left(message: str, room: int | None) -> None:
    assert room_left_tokens(message) == room


def test_system_texts_move_into_the_next_user_message() -> None:
    messages = (Message("system", "A"), Message("system", "B"), Message("user", "C"), Message("assistant", "D"), Message("system", "E"), Message("user", "F"))
    assert folded(messages) == [Message("user", "A\n\nB\n\nC"), Message("assistant", "D"), Message("user", "E\n\nF")]
    assert folded((Message("system", "A"),)) == [Message("user", "A")]


def test_a_few_shot_prompt() -> None:
    few_shot = FewShot(exchanges=(("q1", "a1"),), heading="H.")
    messages = (Message("system", "S."), Message("user", "q2"), Message("assistant", "a2"), Message("user", "q3 \n"))
    assert few_shot.render(messages) == "H.\n\nS.\n\nQuestion: q1\nAnswer: a1\n\nQuestion: q2\nAnswer: a2\n\nQuestion: q3\nAnswer:"
    assert few_shot.cut(" x\ny \n\nQuestion: z") == "x\ny"
    assert few_shot.cut(" x\n\nAnswer: again") == "x"
    assert few_shot.cut("Question: z\nAnswer: y") == ""
    assert few_shot.cut("plain ") == "plain"
    with pytest.raises(ValueError, match="labels"):
        FewShot(answer_label=" ")


def test_hostile_text_stays_text_in_a_few_shot_prompt() -> None:
    assert "{0} %s {{x}}" in FewShot().render((Message("user", "{0} %s {{x}}"),))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000), st.lists(st.integers(0, 500), min_size=1, max_size=9))
def test_shares_sum_to_the_whole(completion: int, reasoning: int, weights: list[int]) -> None:
    usage = ReplyUsage(100, completion, 5, min(reasoning, completion))
    parts = shares(usage, weights)
    assert sum(part.completion_tokens for part in parts) == completion
    assert sum(part.prompt_tokens for part in parts) == 100
    assert all(0 <= part.reasoning_tokens <= part.completion_tokens for part in parts)
    assert all(part.context_tokens == 100 for part in parts)


@pytest.mark.parametrize(
    "field", [None, [], {}, {"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": "1", "completion_tokens": 1}]
)
def test_usage_that_is_none(field: Json) -> None:
    assert read_usage(field) is None


def test_prompt_tokens_counted_without_the_cached_ones() -> None:
    usage = read_usage({"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 90}})
    assert usage == ReplyUsage(100, 1, 90, 0)


def test_logprobs_of_thinking_in_a_field_of_its_own() -> None:
    tokens: list[Json] = [{"token": token, "logprob": value, "top_logprobs": []} for token, value in (("hm", -9.0), ("m", -9.0), ("yes", -0.1), ("!", -0.3))]
    whole = answer_logprobs({"content": tokens}, answer="yes!", has_reasoning=True, closing="</think>")
    assert whole.mean == pytest.approx(-0.2)
    only_answer = answer_logprobs({"content": tokens[2:]}, answer="yes!", has_reasoning=True, closing="</think>")
    assert only_answer.mean == pytest.approx(-0.2)
    lost = answer_logprobs({"content": tokens}, answer="other", has_reasoning=True, closing=None)
    assert lost.with_reasoning
    assert lost.first_token == ()


def test_the_first_visible_token_is_the_first() -> None:
    first: Json = {"token": "\n", "logprob": -0.1, "top_logprobs": [{"token": "\n", "logprob": -0.1}]}
    second: Json = {
        "token": "yes",
        "logprob": -0.2,
        "top_logprobs": [{"token": "no", "logprob": -1.9}, {"token": "yes", "logprob": -0.2}, {"token": "x", "logprob": None}],
    }
    found = answer_logprobs({"content": [first, second]}, answer="yes", has_reasoning=False, closing=None)
    assert [(other.token, other.logprob) for other in found.first_token] == [("yes", -0.2), ("no", -1.9)]


GOOD: dict[str, Any] = {
    "id": "x",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "yes", "refusal": None},
            "logprobs": {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": [{"token": "yes", "logprob": -0.1}]}]},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 0}},
}
ODD: list[Json] = [None, True, -1, 0, 1.5, 10**30, "", "x", "\ud835", [], {}, [None], {"a": None}, [[]], [{}], "stop", "length"]


def test_mutated_replies_end_nothing_and_win_nothing() -> None:
    draws = Draws("reply mutations")
    completions = 0
    for _ in range(3000):
        reply = copy.deepcopy(GOOD)
        for _ in range(1 + draws.below(3)):
            _mutate(reply, draws)
        parsed = parse(json.dumps(reply).encode())
        assert parsed is not None
        assert isinstance(parsed.value, dict)
        samples = samples_of(parsed.value, 1, ReplyUsage(9, 9, 0, 0, estimated=True), Reading(thinking=TAGS), Origin(endpoint="e", latency_s=0.0))
        assert len(samples) == 1
        sample = samples[0]
        assert min(sample.usage.prompt_tokens, sample.usage.completion_tokens) >= 0
        if isinstance(sample, Completion):
            completions += 1
            assert sample.text.strip()
            assert sample.mean_logprob is None or -1e30 < sample.mean_logprob <= 0.0
        else:
            assert isinstance(sample, Failure)
    assert 100 < completions < 2900


def _mutate(value: Any, draws: Draws) -> None:
    """Change, drop or double something somewhere in a document."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[draws.below(len(keys))]
        if isinstance(value[key], (dict, list)) and value[key] and draws.below(4):
            value = value[key]
            continue
        action = draws.below(4)
        if action == 0:
            del value[key]
        elif action == 1 and isinstance(value, list):
            value.append(copy.deepcopy(value[key]))
        else:
            value[key] = copy.deepcopy(ODD[draws.below(len(ODD))])
        return
