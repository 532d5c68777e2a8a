from collections.abc import Mapping

import pytest

from multigraft.budget.described_shapes import shape_of_config, shape_of_gguf
from multigraft.budget.shapes import KNOWN_SHAPES

QWEN = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_attention_heads": 14,
    "num_hidden_layers": 24,
    "num_key_value_heads": 2,
    "sliding_window": 32768,
    "use_sliding_window": False,
    "tie_word_embeddings": True,
    "vocab_size": 151936,
}
GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 640,
    "intermediate_size": 2048,
    "num_attention_heads": 4,
    "num_hidden_layers": 18,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "sliding_window": 512,
    "vocab_size": 262144,
}
MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
    "vocab_size": 32000,
}
QWEN_EXPERTS = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_attention_heads": 32,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 768,
    "vocab_size": 151936,
}


class UnsignedInteger:
    """As readers of GGUF files give: a number of a type of their own."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class NumberALayer:
    """An array, which offers to be a number and refuses."""

    def __index__(self) -> int:
        message = "only integer scalar arrays can be converted to a scalar index"
        raise TypeError(message)


LAYER_TYPES = (["sliding_attention"] * 5 + ["full_attention"]) * 3


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (QWEN, "Qwen2.5-0.5B"),
        (GEMMA, "Gemma-3-270M"),
        (GEMMA | {"model_type": "new", "layer_types": LAYER_TYPES}, "Gemma-3-270M"),
        (GEMMA | {"model_type": "new", "sliding_window_pattern": 6}, "Gemma-3-270M"),
        ({"model_type": "gemma3", "vocab_size": 262144, "text_config": GEMMA}, "Gemma-3-270M"),
        (MIXTRAL, "Mixtral-8x7B"),
        (QWEN_EXPERTS, "Qwen3-30B-A3B"),
    ],
)
def test_a_configuration_gives_the_shape_in_the_table(config: Mapping[str, object], name: str) -> None:
    assert shape_of_config(config) == KNOWN_SHAPES[name]


def test_shared_experts_are_passed_by_every_token() -> None:
    shape = shape_of_config(QWEN_EXPERTS | {"shared_expert_intermediate_size": 1000})
    assert shape is not None
    assert shape.architecture is not None
    assert shape.architecture.feed_forward == 8 * 768 + 1000


def test_gpt2_leaves_its_inner_width_out_and_has_two_matrices() -> None:
    shape = shape_of_config({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_inner": None, "vocab_size": 50257})
    assert shape is not None
    # 12 layers of 4*768^2 + 2*768*3072: the 85 million known of GPT-2.
    assert shape.parameters == 84_934_656


def test_a_window_without_a_pattern_counts_as_full_attention_in_an_unknown_architecture() -> None:
    shape = shape_of_config(GEMMA | {"model_type": "new"})
    assert shape is not None
    assert shape.architecture is not None
    assert shape.architecture.windowed_layers == 0


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": None},
        {"hidden_size": "896"},
        {"num_hidden_layers": 24.0},
        {"num_hidden_layers": True},
        {"num_hidden_layers": -1},
        {"num_attention_heads": 0},
        {"num_attention_heads": 1000},
        {"intermediate_size": [4864, 4864]},
        {"intermediate_size": -1},
        {"kv_lora_rank": 512},
        {"model_type": "mamba"},
        {"layer_types": ["linear_attention", "full_attention"]},
        {"num_experts": 8, "num_experts_per_tok": -2},
    ],
)
def test_what_the_formulas_do_not_describe_is_not_known(change: Mapping[str, object]) -> None:
    assert shape_of_config({**QWEN, **change}) is None


def test_an_empty_description_is_not_known() -> None:
    assert shape_of_config({}) is None
    assert shape_of_gguf({}) is None
    assert shape_of_gguf({"general.architecture": 7}) is None


LLAMA_GGUF = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.vocab_size": 49152,
}
GEMMA_GGUF = {
    "general.architecture": "gemma3",
    "gemma3.block_count": 18,
    "gemma3.embedding_length": 640,
    "gemma3.feed_forward_length": 2048,
    "gemma3.attention.head_count": 4,
    "gemma3.attention.head_count_kv": 1,
    "gemma3.attention.key_length": 256,
    "gemma3.attention.value_length": 256,
    "gemma3.attention.sliding_window": 512,
    "tokenizer.ggml.tokens": ["x"] * 262144,
}
EXPERTS_GGUF = {
    "general.architecture": "qwen3moe",
    "qwen3moe.block_count": 48,
    "qwen3moe.embedding_length": 2048,
    "qwen3moe.feed_forward_length": 6144,
    "qwen3moe.expert_feed_forward_length": 768,
    "qwen3moe.attention.head_count": 32,
    "qwen3moe.attention.head_count_kv": 4,
    "qwen3moe.attention.key_length": 128,
    "qwen3moe.expert_count": 128,
    "qwen3moe.expert_used_count": 8,
    "qwen3moe.vocab_size": 151936,
}


@pytest.mark.parametrize(("metadata", "name"), [(LLAMA_GGUF, "SmolLM2-135M"), (GEMMA_GGUF, "Gemma-3-270M"), (EXPERTS_GGUF, "Qwen3-30B-A3B")])
def test_a_gguf_gives_the_shape_in_the_table(metadata: Mapping[str, object], name: str) -> None:
    assert shape_of_gguf(metadata) == KNOWN_SHAPES[name]


def test_numbers_of_a_readers_own_type_are_numbers() -> None:
    metadata = {key: UnsignedInteger(value) if isinstance(value, int) else value for key, value in LLAMA_GGUF.items()}
    assert shape_of_gguf(metadata) == KNOWN_SHAPES["SmolLM2-135M"]


@pytest.mark.parametrize(
    "change",
    [
        {"llama.attention.head_count": NumberALayer()},
        {"llama.attention.head_count": [9, 9]},
        {"llama.feed_forward_length": None},
        {"llama.attention.kv_lora_rank": 512},
        {"llama.ssm.state_size": 16},
        {"general.architecture": "mamba"},
    ],
)
def test_a_gguf_the_formulas_do_not_describe_is_not_known(change: Mapping[str, object]) -> None:
    assert shape_of_gguf({**LLAMA_GGUF, **change}) is None
