"""InternLM2-reward: a Llama under other names, with queries, keys and values in one matrix, and a linear `v_head`."""

from collections.abc import Iterator, Mapping

import torch
from torch import nn
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.models.llama.configuration_llama import LlamaConfig

from multigraft.types import Json

_NAMES = {
    "model.tok_embeddings.": "model.embed_tokens.",
    ".attention_norm.": ".input_layernorm.",
    ".ffn_norm.": ".post_attention_layernorm.",
    ".attention.wo.": ".self_attn.o_proj.",
    ".feed_forward.w1.": ".mlp.gate_proj.",
    ".feed_forward.w2.": ".mlp.down_proj.",
    ".feed_forward.w3.": ".mlp.up_proj.",
}
_FUSED = ".attention.wqkv."
_COPIED = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_act", "rms_norm_eps",
    "max_position_embeddings", "initializer_range", "pad_token_id", "bos_token_id", "eos_token_id", "tie_word_embeddings", "rope_theta", "rope_scaling",
)  # fmt: skip


class InternLM2Reward(LlamaPreTrainedModel):  # type: ignore[misc] # transformers is not typed here
    """Llama with the head of `InternLM2ForRewardModel`.

    Source:
        Cai et al., "InternLM2 Technical Report" (arXiv 2403.17297), section 2.2 for the order of queries, keys and values within the matrix, and
        `modeling_internlm2.py` of internlm/internlm2-7b-reward for the names of the tensors.
    """

    config_class = LlamaConfig
    group = 1

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.model = LlamaModel(config)
        self.v_head = nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        """Score the state of the reward token."""
        return self.v_head(hidden)


def config_of(published: Mapping[str, Json]) -> LlamaConfig:
    """Translate the published config."""
    known = {name: published[name] for name in _COPIED if published.get(name) is not None}
    return LlamaConfig(**known, attention_bias=bool(published.get("bias", False)))


def renamed(name: str, tensor: torch.Tensor, config: LlamaConfig) -> Iterator[tuple[str, torch.Tensor]]:
    """Translate one published tensor.

    The fused matrix holds, for each head of keys, its group of queries, then the keys, then the values.
    """
    if _FUSED in name:
        heads, size = config.num_key_value_heads, config.hidden_size // config.num_attention_heads
        parts = tensor.reshape(heads, -1, size, *tensor.shape[1:])
        for projection, part in (("q_proj", parts[:, :-2]), ("k_proj", parts[:, -2:-1]), ("v_proj", parts[:, -1:])):
            yield name.replace(_FUSED, f".self_attn.{projection}."), part.reshape(-1, *tensor.shape[1:]).contiguous()
        return
    for published, ours in _NAMES.items():
        name = name.replace(published, ours)
    yield name, tensor
