"""Tiny reward models of the real architectures, with random weights: `python -m tests.rewards_hf.tiny_models classifier FOLDER`.

Weights are drawn wide, so that scores of different texts differ far more than rounding does.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tests.rewards_hf import tiny_tokenizers as tokenizers
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Gemma2Config,
    Gemma2ForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    LlamaModel,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2Model,
)
from transformers.utils import logging

SIZES: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
POSITIONS = 4096


def widened(module: nn.Module, seed: int = 0, scale: float = 0.3) -> nn.Module:
    """Draw all weights anew, by the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        drawn = torch.randn(parameter.shape, generator=generator) * (scale if parameter.dim() > 1 else 0.1)
        parameter.data.copy_(drawn + 1.0 if "norm" in name else drawn)
    return module.eval()


def llama3(folder: Path, template: str | None = tokenizers.LLAMA3) -> Any:
    markup = ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    return tokenizers.byte_level(folder, bos="<|begin_of_text|>", eos="<|end_of_text|>", pad="<|pad|>", special=markup, template=template, words=("assistant",))


def chatml(folder: Path, *, bos: str | None = None, template: str = tokenizers.CHATML, special: tuple[str, ...] = ()) -> Any:
    markup = ["<|im_start|>", "<|im_end|>", *special]
    return tokenizers.byte_level(
        folder,
        bos=bos,
        eos="<|endoftext|>",
        pad=None,
        special=markup,
        template=template,
        words=(
            "assistant",
            "Yes",
            "No",
        ),
    )


def ids_of(tokenizer: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "max_position_embeddings": POSITIONS,
    }


def classifier(folder: Path, *, seed: int = 0, template: str | None = tokenizers.LLAMA3, layers: int = 2, scale: float = 0.3, **changes: Any) -> nn.Module:
    """A Llama with one output, as Skywork-Reward-Llama-3.1-8B is one."""
    config = LlamaConfig(**(SIZES | {"num_hidden_layers": layers} | ids_of(llama3(folder, template)) | {"num_labels": 1} | changes))
    model = widened(LlamaForSequenceClassification(config), seed, scale)
    model.save_pretrained(folder)
    return model


def gemma(folder: Path) -> nn.Module:
    """A Gemma 2 with capped attention, as Skywork-Reward-Gemma-2-27B is one; the cap is low, so that it matters."""
    tokenizer = tokenizers.byte_level(
        folder, bos="<bos>", eos="<eos>", pad="<pad>", special=["<start_of_turn>", "<end_of_turn>"], template=tokenizers.GEMMA, words=("model",)
    )
    config = Gemma2Config(
        **SIZES, **ids_of(tokenizer), head_dim=8, num_labels=1, sliding_window=64, attn_logit_softcapping=0.5, query_pre_attn_scalar=8, tie_word_embeddings=True
    )
    model = widened(Gemma2ForSequenceClassification(config))
    model.save_pretrained(folder)
    return model


def bert(folder: Path, labels: int = 1, **changes: Any) -> nn.Module:
    """An encoder that reads pairs."""
    tokenizer = tokenizers.word_piece(folder)
    sizes = {name: size for name, size in SIZES.items() if name != "num_key_value_heads"}
    config = BertConfig(
        **sizes, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, max_position_embeddings=POSITIONS, num_labels=labels, **changes
    )
    model = widened(BertForSequenceClassification(config))
    model.save_pretrained(folder)
    return model


def _published(folder: Path, config: Any, architecture: str, tensors: Mapping[str, torch.Tensor], **changes: Any) -> None:
    """Write a folder as a repository with code of its own would be: a config that names its class, and tensors by its names."""
    written = config.to_dict() | {"architectures": [architecture], "auto_map": {"AutoModel": f"modeling_custom.{architecture}"}} | changes
    for name in ("id2label", "label2id", "num_labels", "problem_type"):
        written.pop(name, None)
    (folder / "config.json").write_text(json.dumps(written))
    (folder / "modeling_custom.py").write_text("raise SystemExit('code of a repository was run')\n")
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})


def armorm(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors by the names of ArmoRM."""
    config = LlamaConfig(**SIZES, **ids_of(llama3(folder)))
    parts = {
        "regression_layer": nn.Linear(32, 19, bias=False),
        **{f"gating.layers.{number}": nn.Linear(32 if number == 0 else 24, 19 if number == 3 else 24) for number in range(4)},
    }
    tensors = _backbone(LlamaModel(config)) | {
        f"{name}.{kind}": tensor for number, (name, part) in enumerate(parts.items()) for kind, tensor in widened(part, number).state_dict().items()
    }
    tensors |= {
        "gating.logit_scale": torch.tensor([1.5]),
        "reward_transform_matrix": torch.eye(19) + 0.1 * torch.randn(19, 19, generator=torch.Generator().manual_seed(7)),
    }
    changes = {"num_objectives": 19, "gating_temperature": 10, "gating_hidden_dim": 24, "gating_n_hidden": 3}
    _published(folder, config, "LlamaForRewardModelWithGating", tensors, **changes)
    return tensors


def ultrarm(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors by the names of UltraRM."""
    config = LlamaConfig(**SIZES, **ids_of(tokenizers.sentence_piece(folder)))
    tensors = _backbone(LlamaModel(config)) | {"regression_head.weight": _head(1)}
    _published(folder, config, "LlamaRewardModel", tensors)
    return tensors


def internlm2(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors by the names of InternLM2-reward; returns those of the Llama they were made of."""
    tokenizer = chatml(folder, bos="<s>", template=tokenizers.INTERNLM2, special=("<|reward|>",))
    config = LlamaConfig(**SIZES, **ids_of(tokenizer) | {"pad_token_id": tokenizer.eos_token_id})
    llama = _backbone(LlamaModel(config)) | {"v_head.weight": _head(1)}
    names = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attention.wo", "embed_tokens": "tok_embeddings"}
    names |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    tensors = {}
    for name, tensor in llama.items():
        for ours, published in names.items():
            name = name.replace(ours, published)
        if "_proj" not in name:
            tensors[name] = tensor
    for layer in range(2):
        query, key, value = (llama[f"model.layers.{layer}.self_attn.{kind}_proj.weight"] for kind in "qkv")
        rows: list[torch.Tensor] = []
        # Two heads of keys, of size 8, each with two of queries: for each, its queries, then its keys, then its values.
        for head in range(2):
            rows += [query[16 * head : 16 * head + 16], key[8 * head : 8 * head + 8], value[8 * head : 8 * head + 8]]
        tensors[f"model.layers.{layer}.attention.wqkv.weight"] = torch.cat(rows)
    changes = {"model_type": "internlm2", "bias": False, "rope_theta": 1_000_000, "reward_token_id": tokenizer.convert_tokens_to_ids("<|reward|>")}
    _published(folder, config, "InternLM2ForRewardModel", tensors, **changes)
    return llama


def qwen_rm(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors by the names of Qwen2.5-Math-RM."""
    return _qwen(folder, "Qwen2ForRewardModel", 1)


def prm(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors by the names of Qwen2.5-Math-PRM."""
    return _qwen(folder, "Qwen2ForProcessRewardModel", 2)


def _qwen(folder: Path, architecture: str, labels: int) -> dict[str, torch.Tensor]:
    config = Qwen2Config(**SIZES, **ids_of(chatml(folder, special=("<extra_0>",))))
    head = {
        f"score.{number}.{kind}": tensor
        for number, size in ((0, 32), (2, labels))
        for kind, tensor in widened(nn.Linear(32, size), number).state_dict().items()
    }
    tensors = _backbone(Qwen2Model(config)) | head
    _published(folder, config, architecture, tensors)
    return tensors


def shepherd(folder: Path) -> nn.Module:
    """A Mistral that knows the tags of Math-Shepherd."""
    config = MistralConfig(
        **SIZES,
        **ids_of(
            tokenizers.sentence_piece(
                folder,
                words=(
                    "ки",
                    "+",
                    "-",
                ),
            )
        ),
    )
    model = widened(MistralForCausalLM(config))
    model.save_pretrained(folder)
    return model


def causal(folder: Path) -> nn.Module:
    """A chat model that may say Yes or No."""
    config = LlamaConfig(**SIZES, **ids_of(chatml(folder)))
    model = widened(LlamaForCausalLM(config))
    model.save_pretrained(folder)
    return model


def _backbone(model: nn.Module) -> dict[str, torch.Tensor]:
    return {f"model.{name}": tensor for name, tensor in widened(model).state_dict().items()}


def _head(size: int) -> torch.Tensor:
    return torch.randn(size, 32, generator=torch.Generator().manual_seed(3))


KINDS: Mapping[str, Callable[[Path], object]] = {
    "classifier": classifier,
    "gemma": gemma,
    "bert": bert,
    "armorm": armorm,
    "ultrarm": ultrarm,
    "internlm2": internlm2,
    "qwen_rm": qwen_rm,
    "prm": prm,
    "shepherd": shepherd,
    "causal": causal,
}


def make(kind: str, folder: Path) -> Path:
    """Write a model; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KINDS[kind](folder)
    return folder


def main() -> None:
    """Write a model from the command line."""
    parser = argparse.ArgumentParser(description="Write a tiny reward model with random weights.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    make(given.kind, given.folder)


if __name__ == "__main__":
    main()
