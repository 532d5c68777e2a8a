"""Scores worked out directly: one text at a time, without padding, by the classes of transformers and by plain arithmetic."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tests.rewards_hf.tiny_models import armorm, internlm2, prm, qwen_rm, ultrarm
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    LlamaConfig,
    LlamaModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2Model,
)

from multigraft.rewards.hf.recipes import MATH_SYSTEM
from multigraft.types import Candidate

Direct = Callable[[Candidate], float]


def turns(candidate: Candidate) -> list[dict[str, str]]:
    told = [{"role": message.role, "content": message.content} for message in candidate.prompt.messages]
    return [*told, {"role": "assistant", "content": candidate.completion.text}]


def tokenizer_of(folder: Path) -> Any:
    """As the cards of the models load it; InternLM2's needs code of its repository, or its file by itself."""
    named = json.loads((folder / "config.json").read_text())["model_type"]
    return (PreTrainedTokenizerFast if named == "internlm2" else AutoTokenizer).from_pretrained(folder)


def templated(folder: Path, messages: list[dict[str, str]]) -> list[int]:
    tokenizer = tokenizer_of(folder)
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def states(backbone: Any, ids: list[int]) -> Any:
    with torch.inference_mode():
        return backbone(input_ids=torch.tensor([ids])).last_hidden_state[0]


def backbone(made: Any, config: Any, tensors: Mapping[str, Any]) -> Any:
    model = made(config)
    model.load_state_dict({name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")})
    return model.eval()


def of_classifier(folder: Path, **options: Any) -> Direct:
    model = AutoModelForSequenceClassification.from_pretrained(folder, **options).eval()

    def score(candidate: Candidate) -> float:
        with torch.inference_mode():
            return float(model(torch.tensor([templated(folder, turns(candidate))])).logits[0, 0])

    return score


def of_gemma(folder: Path) -> Direct:
    """Its template refuses system turns, so that text stands before the first of the user's."""
    direct = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()

    def score(candidate: Candidate) -> float:
        messages = turns(candidate)
        if messages[0]["role"] == "system":
            messages[:2] = [{"role": "user", "content": messages[0]["content"] + "\n\n" + messages[1]["content"]}]
        with torch.inference_mode():
            return float(direct(torch.tensor([templated(folder, messages)])).logits[0, 0])

    return score


def of_bert(folder: Path) -> Direct:
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def score(candidate: Candidate) -> float:
        messages = candidate.prompt.messages
        prompt = messages[0].content if len(messages) == 1 else "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        with torch.inference_mode():
            return float(model(**tokenizer(prompt, candidate.completion.text, return_tensors="pt")).logits[0, 0])

    return score


def of_armorm(folder: Path) -> Direct:
    tensors = armorm(folder)
    model = backbone(LlamaModel, LlamaConfig.from_pretrained(folder), tensors)
    pattern = tokenizer_of(folder)("<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", add_special_tokens=False)["input_ids"]

    def score(candidate: Candidate) -> float:
        ids = templated(folder, turns(candidate))
        start = max(place for place in range(len(ids)) if ids[place : place + len(pattern)] == pattern)
        hidden = states(model, ids)
        gate = hidden[start]
        for number in range(4):
            gate = tensors[f"gating.layers.{number}.weight"] @ gate + tensors[f"gating.layers.{number}.bias"]
            gate = gate if number == 3 else gate.clamp(min=0)
        weights = torch.softmax(gate / 10, dim=0) * tensors["gating.logit_scale"]
        rewards = tensors["regression_layer.weight"] @ hidden[-1]
        return float(weights @ (rewards @ tensors["reward_transform_matrix"]))

    return score


def of_ultrarm(folder: Path) -> Direct:
    tensors = ultrarm(folder)
    model, tokenizer = backbone(LlamaModel, LlamaConfig.from_pretrained(folder), tensors), tokenizer_of(folder)
    names = {"user": "Human: ", "assistant": "Assistant: ", "system": ""}

    def score(candidate: Candidate) -> float:
        text = "\n\n".join(names[turn["role"]] + turn["content"] for turn in turns(candidate))
        return float(tensors["regression_head.weight"][0] @ states(model, tokenizer(text)["input_ids"])[-1])

    return score


def of_internlm2(folder: Path) -> Direct:
    """By the Llama whose tensors were renamed and fused."""
    tensors = internlm2(folder)
    from tests.rewards_hf.tiny_models import SIZES

    tokenizer = tokenizer_of(folder)
    config = LlamaConfig(**SIZES, vocab_size=len(tokenizer), rope_theta=1_000_000, max_position_embeddings=4096)
    model, reward = backbone(LlamaModel, config, tensors), tokenizer.convert_tokens_to_ids("<|reward|>")

    def score(candidate: Candidate) -> float:
        return float(tensors["v_head.weight"][0] @ states(model, [*templated(folder, turns(candidate)), reward])[-1])

    return score


def with_math_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    return messages if messages[0]["role"] == "system" else [{"role": "system", "content": MATH_SYSTEM}, *messages]


def perceptron(tensors: Mapping[str, Any], hidden: Any) -> Any:
    return tensors["score.2.weight"] @ (tensors["score.0.weight"] @ hidden + tensors["score.0.bias"]).clamp(min=0) + tensors["score.2.bias"]


def of_qwen_rm(folder: Path) -> Direct:
    tensors = qwen_rm(folder)
    model = backbone(Qwen2Model, Qwen2Config.from_pretrained(folder), tensors)

    def score(candidate: Candidate) -> float:
        return float(perceptron(tensors, states(model, templated(folder, with_math_system(turns(candidate))))[-1]))

    return score


def steps_of_prm(folder: Path, prompt: str, steps: list[str]) -> list[float]:
    """The probability of class 1 at each separator."""
    tensors = prm(folder)
    model = backbone(Qwen2Model, Qwen2Config.from_pretrained(folder), tensors)
    content = "<extra_0>".join(steps) + "<extra_0>"
    ids = templated(folder, with_math_system([{"role": "user", "content": prompt}, {"role": "assistant", "content": content}]))
    separator = tokenizer_of(folder).convert_tokens_to_ids("<extra_0>")
    hidden = states(model, ids)
    return [float(torch.softmax(perceptron(tensors, hidden[place]), dim=0)[1]) for place, token in enumerate(ids) if token == separator]


def steps_of_shepherd(folder: Path, text: str) -> list[float]:
    """As the card of the model has it: the probabilities of + and - among themselves, wherever the tag stands."""
    tokenizer, model = tokenizer_of(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    candidates, tag = tokenizer("+ -", add_special_tokens=False)["input_ids"], tokenizer("ки", add_special_tokens=False)["input_ids"][-1]
    assert len(candidates) == 2
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        found: list[float] = model(ids).logits[:, :, candidates].softmax(dim=-1)[:, :, 0][ids == tag].tolist()
    return found


def verdict(folder: Path, text: str, yes: list[str], no: list[str]) -> float:
    """P(yes) / (P(yes) + P(no)) of the next token."""
    # The fused attention of torch leaves the cap of Gemma out, in older versions of transformers without a word.
    tokenizer, model = tokenizer_of(folder), AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        probabilities = torch.softmax(model(torch.tensor([ids])).logits[0, -1].double(), dim=0)
    good, bad = (float(sum(probabilities[tokenizer.convert_tokens_to_ids(word)] for word in words)) for words in (yes, no))
    return good / (good + bad)


DIRECT: Mapping[str, Callable[[Path], Direct]] = {
    "classifier": of_classifier,
    "gemma": of_gemma,
    "bert": of_bert,
    "armorm": of_armorm,
    "ultrarm": of_ultrarm,
    "internlm2": of_internlm2,
    "qwen_rm": of_qwen_rm,
}
