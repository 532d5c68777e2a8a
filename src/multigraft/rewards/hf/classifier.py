"""Sequence classifiers as rewards: one forward pass a response, one number or several."""

from collections.abc import Sequence
from math import exp, isfinite, log1p
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from multigraft.errors import InputError
from multigraft.rewards.hf.layouts import Places, Writing, Written
from multigraft.rewards.hf.model_reward import ModelReward, Prepared, Ready, Source, TooLong, end_tokens
from multigraft.rewards.hf.placement import Dtype, Placement
from multigraft.rewards.hf.recipes import CLASSIFIERS, UNKNOWN, Recipe, recipe_of
from multigraft.rewards.hf.templates import ChatTemplate
from multigraft.rewards.hf.tokens import Encoded, Row, last_position
from multigraft.rewards.hf.weights import Weights
from multigraft.rewards.hf.work import Readings
from multigraft.rewards.rendering import places
from multigraft.rewards.scores import scored, unscored
from multigraft.types import FailureKind, Score

if TYPE_CHECKING:
    from multigraft.rewards.hf.loading import Loaded

Activation: TypeAlias = Literal["auto", "none", "sigmoid", "softmax"]
_GATE = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
"""Where ArmoRM's gate reads the prompt: at the first token of this."""


class Classifier(ModelReward):
    """Value = an output of a sequence classifier that reads the prompt and the response; its scale is the model's own.

    Known models (`recipe`) are asked as they were trained: `armorm`, `skywork`, `internlm2`, `qwen2.5-math-rm`, `ultrarm`, `openassistant`. Any other
    classifier works from its config, with a warning.

    Args:
        model: folder with safetensors, or a repository of the hub.
        recipe: `auto`: by the architecture and the name of the model; or a recipe's name, or `config` for none.
        output: which output is the value, by number or label; needed where an unknown model has several.
        activation: what is done to the outputs: `auto`: nothing to a single one or a regression, `sigmoid` to several independent ones, `softmax` to classes.
        template: in place of the chat template, a text with `{prompt}` and `{response}`.
        system: system turn for prompts without one, in place of the recipe's; empty: none.
        max_tokens: what prompt and response may come to; the least of it, the config's and the tokenizer's limit counts.
        too_long: `refuse`: no score, reason `CONTEXT`. `cut`: the end of the response is left out, the prompt is kept, and the score is marked as truncated.
        revision: branch, tag or commit of a repository.
        dtype: `auto`: as the weights on an accelerator, `float32` on a CPU; or `float32`, `bfloat16`, `float16`.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
        devices: several devices: a replica on each, all working from one queue.
        split: spread one model over `devices` instead, for one that is too large for any.
        threads: cores that a replica on a CPU takes; all by default.
        batch_tokens: padded tokens of a batch; by default 1024 on a CPU, whose caches hold no more, and 16384 on an accelerator.
        trust_remote_code: run the Python files that came with this model, in place of the native head.
        max_batch: candidates of one call; calls at the same time are batched together whatever this is.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.
    """

    def __init__(
        self,
        *,
        model: str,
        recipe: str = "auto",
        output: int | str | None = None,
        activation: Activation = "auto",
        template: str | None = None,
        system: str | None = None,
        max_tokens: int | None = None,
        too_long: TooLong = "refuse",
        revision: str | None = None,
        dtype: Dtype = "auto",
        device: str = "auto",
        devices: Sequence[str] = (),
        split: bool = False,
        threads: int | None = None,
        batch_tokens: int | None = None,
        trust_remote_code: bool = False,
        max_batch: int = 64,
        name: str = "classifier",
    ) -> None:
        source = Source(
            model=model,
            recipe=recipe,
            revision=revision,
            trust_remote_code=trust_remote_code,
            system=system,
            max_tokens=max_tokens,
            too_long=too_long,
            batch_tokens=batch_tokens,
            max_batch=max_batch,
        )
        super().__init__(source, Placement(device=device, devices=tuple(devices), split=split, dtype=dtype, threads=threads), name)
        if activation not in get_args(Activation):
            message = f"activation of {name} must be auto, none, sigmoid or softmax, not {activation!r}"
            raise ValueError(message)
        if template is not None and not places(template) >= {"prompt", "response"}:
            message = f"the template of {name} needs the places {{prompt}} and {{response}}, unlike {template!r}"
            raise ValueError(message)
        self._output, self._activation, self._template = output, activation, template
        self._index = 0
        self._labels: tuple[str, ...] = ("score",)
        self._gate: tuple[int, ...] = ()

    def _recipes(self) -> tuple[Recipe, ...]:
        return (*CLASSIFIERS, UNKNOWN)

    def _settings(self) -> str:
        return repr((self._output, self._activation, self._template))

    def _recipe_of(self, weights: Weights) -> Recipe:
        return recipe_of(self._source.recipe, weights.origin, weights.architecture, self._recipes()) or UNKNOWN

    def _writing_of(self, weights: Weights, recipe: Recipe, template: ChatTemplate | None) -> Writing:
        return super()._writing_of(weights, recipe, template) if self._template is None else Places(self._template)

    def _notes_of(self, weights: Weights) -> Sequence[str]:
        if self._recipe_of(weights) is not UNKNOWN or self._source.recipe == UNKNOWN.name:
            return ()
        how = f"output {self._labels[self._index]!r} of {len(self._labels)}" if len(self._labels) > 1 else "its one output"
        return (f"'{weights.origin}' is no model that is known here: it is asked by its chat template and config, and {how} is the value",)

    def _check(self, weights: Weights, recipe: Recipe, loaded: "Loaded") -> None:
        self._labels = ("score", *recipe.attributes) if recipe.head == "gated" else loaded.labels if recipe.head == "auto" else ("score",)
        if self._output is None:
            if len(self._labels) > 1 and recipe.head != "gated":
                message = f"'{weights.origin}' has {len(self._labels)} outputs: say which is the value, output = one of {', '.join(map(repr, self._labels))}"
                raise InputError(message, field="output")
            self._index = 0
        elif self._output in self._labels:
            self._index = self._labels.index(str(self._output))
        elif isinstance(self._output, int) and 0 <= self._output < len(self._labels):
            self._index = self._output
        else:
            message = f"'{weights.origin}' has no output {self._output!r}: it has {', '.join(map(repr, self._labels))}"
            raise InputError(message, field="output")

    def _row(self, ready: Ready, written: Written, encoded: Encoded) -> Row:
        del written
        ids = (*encoded.ids, *end_tokens(ready.weights, ready.recipe))
        if not ready.loaded.at_token:
            return Row(ids, (0,), encoded.types)
        last = last_position(ids, ready.loaded.pad_id)
        return Row(ids, (self._gate_position(ready, ids), last) if ready.recipe.head == "gated" else (last,))

    def _gate_position(self, ready: Ready, ids: tuple[int, ...]) -> int:
        if not self._gate:
            self._gate = ready.encoder.encode([_GATE], templated=True)[0].ids
        for start in range(len(ids) - len(self._gate), -1, -1):
            if ids[start : start + len(self._gate)] == self._gate:
                return start
        message = "the text has no turn of the assistant as the gate of the model knows it"
        raise ValueError(message)

    def _score_of(self, ready: Ready, prepared: Prepared, readings: Readings) -> Score:
        outputs = readings[0] if readings else []
        if len(outputs) != len(self._labels):
            return unscored(FailureKind.INVALID_SCORE, f"wanted {len(self._labels)} numbers of the model, got {len(outputs)}")
        if not all(map(isfinite, outputs)):
            return unscored(FailureKind.INVALID_SCORE, f"the model's outputs are not all finite: {outputs[:4]}")
        numbers = self._activated(ready, outputs)
        value, notes = numbers[self._index], prepared.notes
        scale = ready.recipe.scale
        if scale is not None and self._index == 0 and not scale[0] <= value <= scale[1]:
            notes = (*notes, f"{value:.4g} lies far outside {scale[0]:g} to {scale[1]:g}, where {ready.recipe.name} usually scores")
        details = dict(zip(self._labels, numbers, strict=True)) if len(numbers) > 1 else {}
        return scored(value, "; ".join(notes), truncated=prepared.truncated, details=details)

    def _activated(self, ready: Ready, outputs: list[float]) -> list[float]:
        activation = self._activation
        if activation == "auto":
            kind = ready.weights.config.get("problem_type")
            several = len(outputs) > 1 and ready.recipe.head == "auto" and kind != "regression"
            activation = "none" if not several else "sigmoid" if kind == "multi_label_classification" else "softmax"
        if activation == "sigmoid":
            return [exp(-log1p(exp(-output))) if output > -700 else 0.0 for output in outputs]
        if activation == "softmax":
            most = max(outputs)
            parts = [exp(output - most) for output in outputs]
            return [part / sum(parts) for part in parts]
        return outputs
