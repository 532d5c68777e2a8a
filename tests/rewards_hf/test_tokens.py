"""Markup and start tokens."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.rewards.hf.recipes import CLASSIFIERS, PROCESSES, recipe_of
from multigraft.rewards.hf.tokens import Encoded, Encoder


class Letters:
    """A tokenizer of one token a letter, which starts every text with a 1."""

    bos_token_id: int | None = 1
    pad_token_id: int | None = 0
    model_max_length = 10**30
    is_fast = True
    chat_template: str | dict[str, str] | None = None
    all_special_tokens: Sequence[str] = ("<|end|>", "<s>", "^")
    special_tokens_map: Mapping[str, object] = {}

    def __call__(
        self,
        text: list[str],
        text_pair: list[str] | None = None,
        *,
        add_special_tokens: bool,
        return_offsets_mapping: bool,
        return_attention_mask: bool,
        return_token_type_ids: bool | None,
        verbose: bool,
    ) -> Mapping[str, Sequence[Sequence[object]]]:
        first, before = ([1], [(0, 0)]) if add_special_tokens else ([], [])
        ids = [[*first, *(1 if letter == "^" else ord(letter) for letter in one)] for one in text]
        return {"input_ids": ids, "offset_mapping": [[*before, *((place, place + 1) for place in range(len(one)))] for one in text]}


def test_markup_of_the_model_is_broken_up() -> None:
    encoder = Encoder(Letters(), markup=("<tag>",))
    assert encoder.plain("a <|end|> b <tag>") == ("a < |end|> b < tag>", 2)
    assert encoder.plain("<<s>s>") == ("<< s>s>", 1)
    assert encoder.plain("plain \ud800 text <|other|>") == ("plain \ufffd text <|other|>", 0)


@given(st.text(alphabet="<|end>s a", max_size=30))
@settings(deadline=None, max_examples=200)
def test_no_markup_is_left(text: str) -> None:
    plain, _ = Encoder(Letters()).plain(text)
    assert "<|end|>" not in plain
    assert "<s>" not in plain
    assert plain.replace(" ", "") == text.replace(" ", "")


def test_a_doubled_start_token_becomes_one() -> None:
    encoder = Encoder(Letters())
    assert encoder.encode(["ab", "^ab"], templated=False) == [Encoded((1, 97, 98), ((0, 0), (0, 1), (1, 2))), Encoded((1, 97, 98), ((0, 1), (1, 2), (2, 3)))]
    assert [one.ids for one in encoder.encode(["ab", "a^^b"], templated=True)] == [(97, 98), (97, 1, 1, 98)]
    assert encoder.encode([], templated=True) == []
    assert encoder.limit_tokens is None


def test_the_token_of_a_character() -> None:
    encoded = Encoded((7, 8, 8, 9), ((0, 2), (2, 3), (2, 3), (3, 6)))
    assert [encoded.position_of(character) for character in (0, 1, 2, 5)] == [0, 0, 2, 3]
    with pytest.raises(ValueError, match="no token stands for character 6"):
        encoded.position_of(6)


@pytest.mark.parametrize(
    ("origin", "architecture", "name"),
    [
        ("RLHFlow/ArmoRM-Llama3-8B-v0.1", "LlamaForRewardModelWithGating", "armorm"),
        ("Skywork/Skywork-Reward-Llama-3.1-8B-v0.2", "LlamaForSequenceClassification", "skywork"),
        ("/models/Skywork-Reward-Gemma-2-27B/", "Gemma2ForSequenceClassification", "skywork"),
        ("internlm/internlm2-7b-reward", "InternLM2ForRewardModel", "internlm2"),
        ("Qwen/Qwen2.5-Math-RM-72B", "Qwen2ForRewardModel", "qwen2.5-math-rm"),
        ("openbmb/UltraRM-13b", "LlamaRewardModel", "ultrarm"),
        ("OpenAssistant/reward-model-deberta-v3-large-v2", "DebertaV2ForSequenceClassification", "openassistant"),
        ("somebody/a-copy", "LlamaRewardModel", "ultrarm"),
        ("somebody/else", "LlamaForSequenceClassification", None),
    ],
)
def test_recipes_of_classifiers(origin: str, architecture: str, name: str | None) -> None:
    found = recipe_of("auto", origin, architecture, CLASSIFIERS)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("origin", "architecture", "name"),
    [
        ("peiyi9979/math-shepherd-mistral-7b-prm", "MistralForCausalLM", "math-shepherd"),
        ("Qwen/Qwen2.5-Math-PRM-7B", "Qwen2ForProcessRewardModel", "qwen2.5-math-prm"),
        ("somebody/else", "MistralForCausalLM", None),
    ],
)
def test_recipes_of_process_rewards(origin: str, architecture: str, name: str | None) -> None:
    found = recipe_of("auto", origin, architecture, PROCESSES)
    assert (found.name if found else None) == name
