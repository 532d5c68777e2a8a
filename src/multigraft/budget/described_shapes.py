"""Shapes read from what a model says of itself: a Hugging Face `config.json`, or the metadata of a GGUF file.

Both are somebody else's data: a field of another type, or an architecture whose work the formulas do not describe (compressed keys and values, state-space or
linear attention layers, layers that differ in size), gives None rather than a wrong number. Where a detail is not told, the larger reading is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from multigraft.budget.flops import Architecture, ModelShape, shape_of_architecture

_PLAIN_FEED_FORWARD = frozenset({
    "bloom", "codegen", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "gptneox", "mpt", "opt", "phi", "phi2", "starcoder", "starcoder2",
})  # fmt: skip
"""Architectures with two feed-forward matrices; all others are taken to be gated."""

_GLOBAL_EVERY: Mapping[str, int] = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2, "gpt-oss": 2}
"""Every how manieth layer has no window, where a window is given without a pattern."""

_ALL_WINDOWED = frozenset({"mistral", "phi3"})

_UNLIKE = frozenset({
    "bamba", "deepseek2", "deepseek_v2", "deepseek_v3", "falcon-h1", "falcon_h1", "gemma3n", "granitehybrid", "granitemoehybrid", "jamba", "lfm2", "llama4",
    "llama4_text", "mamba", "mamba2", "nemotron_h", "openelm", "qwen3_next", "qwen3next", "recurrent_gemma", "recurrentgemma", "rwkv", "rwkv6", "rwkv7", "t5",
    "zamba", "zamba2",
})  # fmt: skip
"""Architectures the formulas do not describe."""

_ATTENTION_LAYERS = frozenset({"full_attention", "sliding_attention"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What either source tells; None where it does not."""

    family: str
    layers: int | None
    width: int | None
    heads: int | None
    kv_heads: int | None
    head_size: int | None
    feed_forward: int | None
    vocabulary: int | None
    window: int | None
    windowed_layers: int | None
    experts_used: int | None = None
    expert_width: int | None = None
    shared_width: int | None = None

    def shape(self) -> ModelShape | None:
        if self.family in _UNLIKE or not self.layers or not self.width or not self.heads:
            return None
        head_size = self.head_size or self.width // self.heads
        kv_heads = self.kv_heads or self.heads
        feed_forward = self._active_feed_forward()
        if not feed_forward or not head_size or min(self.layers, self.width, self.heads, kv_heads, head_size, feed_forward) < 1:
            return None
        architecture = Architecture(
            heads=self.heads,
            kv_heads=kv_heads,
            head_size=head_size,
            feed_forward=feed_forward,
            vocabulary=max(0, self.vocabulary or 0),
            gated=self.family not in _PLAIN_FEED_FORWARD,
            window=max(0, self.window or 0),
            windowed_layers=self._windowed(self.layers) if self.window else 0,
        )
        return shape_of_architecture(self.layers, self.width, architecture)

    def _active_feed_forward(self) -> int | None:
        if not self.experts_used:
            return self.feed_forward
        width = self.expert_width or self.feed_forward
        return None if width is None else self.experts_used * width + (self.shared_width or 0)

    def _windowed(self, layers: int) -> int:
        if self.windowed_layers is not None:
            return self.windowed_layers
        if self.family in _GLOBAL_EVERY:
            return layers - layers // _GLOBAL_EVERY[self.family]
        return layers if self.family in _ALL_WINDOWED else 0


def shape_of_config(config: Mapping[str, object]) -> ModelShape | None:
    """Read the shape of a model from its Hugging Face configuration.

    Args:
        config: the object in `config.json`; of a model of several modalities the `text_config` in it counts.

    Returns:
        The shape; None when a number is missing, or the architecture is one the formulas do not describe.
    """
    nested = config.get("text_config")
    if isinstance(nested, Mapping):
        # What the inner configuration leaves out stands in the outer one.
        config = {**config, **nested}
    if config.get("kv_lora_rank"):
        return None
    kinds = config.get("layer_types")
    windowed_layers: int | None = None
    if isinstance(kinds, Sequence) and not isinstance(kinds, str):
        if not _ATTENTION_LAYERS.issuperset(kind for kind in kinds if isinstance(kind, str)):
            return None
        windowed_layers = sum(1 for kind in kinds if kind == "sliding_attention")
    layers = _first(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    width = _first(config, "hidden_size", "n_embd", "d_model")
    pattern = _first(config, "sliding_window_pattern")
    if windowed_layers is None and pattern and layers:
        windowed_layers = layers - layers // pattern
    return _Reading(
        family=str(config.get("model_type", "")),
        layers=layers,
        width=width,
        heads=_first(config, "num_attention_heads", "n_head", "n_heads"),
        kv_heads=1 if config.get("multi_query") is True else _first(config, "num_key_value_heads", "num_kv_heads"),
        head_size=_first(config, "head_dim"),
        # The GPT-2 family leaves out the inner width when it is four times the width.
        feed_forward=_first(config, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size") or (4 * width if width and "n_embd" in config else None),
        vocabulary=_first(config, "vocab_size"),
        window=None if config.get("use_sliding_window") is False else _first(config, "sliding_window"),
        windowed_layers=windowed_layers,
        experts_used=_first(config, "num_experts_per_tok", "experts_per_token") if _first(config, "num_local_experts", "num_experts") else None,
        expert_width=_first(config, "moe_intermediate_size"),
        shared_width=_first(config, "shared_expert_intermediate_size"),
    ).shape()


def shape_of_gguf(metadata: Mapping[str, object]) -> ModelShape | None:
    """Read the shape of a model from the metadata of its GGUF file.

    Args:
        metadata: keys such as `general.architecture` and `llama.block_count`, with numbers, texts and sequences as values.

    Returns:
        The shape; None when a number is missing, or the architecture is one the formulas do not describe.
    """
    family = str(metadata.get("general.architecture", ""))

    def number(key: str) -> int | None:
        return _whole(metadata.get(f"{family}.{key}"))

    if number("attention.kv_lora_rank") or any(key.startswith(f"{family}.ssm.") for key in metadata):
        return None
    tokens = metadata.get("tokenizer.ggml.tokens")
    listed = len(tokens) if isinstance(tokens, Sequence) and not isinstance(tokens, str | bytes) else None
    return _Reading(
        family=family,
        layers=number("block_count"),
        width=number("embedding_length"),
        heads=number("attention.head_count"),
        kv_heads=number("attention.head_count_kv"),
        head_size=number("attention.key_length"),
        feed_forward=number("feed_forward_length"),
        vocabulary=number("vocab_size") or listed,
        window=number("attention.sliding_window"),
        windowed_layers=None,
        experts_used=number("expert_used_count") if number("expert_count") else None,
        expert_width=number("expert_feed_forward_length"),
        shared_width=number("expert_shared_feed_forward_length"),
    ).shape()


def _first(config: Mapping[str, object], *names: str) -> int | None:
    """Return the first of the fields that holds a whole number."""
    return next((number for name in names if (number := _whole(config.get(name))) is not None), None)


def _whole(value: object) -> int | None:
    """Return a whole number of any integer type, numpy's included; None for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return value.__index__()
    except TypeError:
        return None  # an array that has one number a layer offers the method and refuses it
