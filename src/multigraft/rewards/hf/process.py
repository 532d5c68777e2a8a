"""Process reward models: a probability for each step of a response, and one value of them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import exp, isfinite, log1p, prod
from typing import Literal, TypeAlias, get_args

from multigraft.errors import InputError
from multigraft.rewards.hf.layouts import Conversation, Written
from multigraft.rewards.hf.model_reward import ModelReward, Prepared, Ready, Source, TooLong
from multigraft.rewards.hf.placement import Dtype, Placement
from multigraft.rewards.hf.recipes import PROCESSES, Recipe, recipe_of
from multigraft.rewards.hf.templates import TemplateFailedError
from multigraft.rewards.hf.tokens import Encoded, Encoder, Row
from multigraft.rewards.hf.weights import Weights
from multigraft.rewards.hf.work import Readings
from multigraft.rewards.rendering import conversation
from multigraft.rewards.scores import scored, unscored
from multigraft.types import FailureKind, Score

Aggregate: TypeAlias = Literal["last", "min", "product", "mean"]
_DIVIDERS = {"blank_line": re.compile(r"\n[ \t\r]*\n\s*"), "line": re.compile(r"[\r\n]+")}
_NUMBERED = re.compile(r"\s*step\s+\d+", re.IGNORECASE)


class Process(ModelReward):
    """Value = the probabilities that the steps of a response are right, made one by `aggregate`; in [0, 1]. Each step's is in the details of the score.

    Known models (`recipe`): `math-shepherd` (a causal model asked for + or - at a tag after each step) and `qwen2.5-math-prm` (two classes at a separator).

    Args:
        model: folder with safetensors, or a repository of the hub.
        recipe: `auto`: by the architecture and the name of the model; or a recipe's name.
        aggregate: `last`, `min`, `product` or `mean` of the steps.
        steps: what divides a response into steps: `auto`: as the model was trained, `blank_line`, `line`, or any text.
        tag: what stands after a step, in place of the recipe's; one token.
        good: the token for a right step, in place of the recipe's.
        bad: the token for a wrong step.
        system: system turn for prompts without one, in place of the recipe's; empty: none.
        max_tokens: what prompt and response may come to; the least of it, the config's and the tokenizer's limit counts.
        too_long: `refuse`: no score, reason `CONTEXT`. `cut`: the end of the response is left out, and the score, over the steps left, is marked as truncated.
        revision: branch, tag or commit of a repository.
        dtype: as for `classifier`.
        device: as for `classifier`.
        devices: as for `classifier`.
        split: as for `classifier`.
        threads: as for `classifier`.
        batch_tokens: as for `classifier`.
        trust_remote_code: run the Python files that came with this model, in place of the native head.
        max_batch: candidates of one call.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.

    Source:
        Wang et al., "Math-Shepherd" (arXiv 2312.08935), section 3.3, for `min`; Lightman et al., "Let's Verify Step by Step" (arXiv 2305.20050),
        section 2.6, for `product`; Zhang et al. (arXiv 2501.07301), section 2, for `last`.
    """

    def __init__(
        self,
        *,
        model: str,
        recipe: str = "auto",
        aggregate: Aggregate = "min",
        steps: str = "auto",
        tag: str | None = None,
        good: str | None = None,
        bad: str | None = None,
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
        name: str = "process",
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
        if aggregate not in get_args(Aggregate):
            message = f"aggregate of {name} must be last, min, product or mean, not {aggregate!r}"
            raise ValueError(message)
        if not steps or "" in {tag, good, bad}:
            message = f"steps, tag, good and bad of {name} must not be empty"
            raise ValueError(message)
        self._aggregate, self._steps = aggregate, steps
        self._tag, self._good, self._bad = tag, good, bad

    def _recipes(self) -> tuple[Recipe, ...]:
        return PROCESSES

    def _settings(self) -> str:
        return repr((self._aggregate, self._steps, self._tag, self._good, self._bad))

    def _recipe_of(self, weights: Weights) -> Recipe:
        found = recipe_of(self._source.recipe, weights.origin, weights.architecture, PROCESSES)
        if found is None:
            message = (
                f"'{weights.origin}' is no process reward model that is known here: say how it is asked, recipe = one of {[one.name for one in PROCESSES]}"
            )
            raise InputError(message, field="recipe")
        return found

    def _groups(self, recipe: Recipe, encoder: Encoder) -> tuple[tuple[int, ...], ...]:
        # In the middle of a text, as the tags are; some tokenizers write a first word differently.
        start, tagged = (one.ids for one in encoder.encode(["a", f"a {self._tag or recipe.tag}"], templated=True))
        if recipe.layout == "plain" and len(tagged) != len(start) + 1:
            message = f"the tag {self._tag or recipe.tag!r} is {len(tagged) - len(start)} tokens of this model, so it was not trained with it: set tag"
            raise InputError(message, field="tag")
        if recipe.head != "causal":
            return ()
        words = {"good": self._good or recipe.good, "bad": self._bad or recipe.bad}
        ids = {name: encoder.encode([f"a {word}"], templated=True)[0].ids[len(start) :] for name, word in words.items()}
        for name, found in ids.items():
            if len(found) != 1 or ids["good"] == ids["bad"]:
                message = f"{name} = {words[name]!r} is {len(found)} tokens of this model, and must be one, unlike the other"
                raise InputError(message, field=name)
        return ids["good"], ids["bad"]

    def _divided(self, recipe: Recipe, response: str) -> list[str]:
        how = recipe.steps if self._steps == "auto" else self._steps
        divider = _DIVIDERS.get(how)
        steps = response.split(how) if divider is None else divider.split(response)
        return [step.strip() for step in steps if step.strip()]

    def _written(self, ready: Ready, conversations: Sequence[Conversation]) -> Sequence[Written | TemplateFailedError]:
        tag = self._tag or ready.recipe.tag
        steps = [self._divided(ready.recipe, one.response) for one in conversations]
        if ready.recipe.layout == "plain":
            return [_tagged(one, own, tag, ready.recipe.step_prefix) for one, own in zip(conversations, steps, strict=True)]
        tagged = [Conversation(one.messages, "".join(f"{step}{tag}" for step in own)) for one, own in zip(conversations, steps, strict=True)]
        return [_found(one, tag, len(own)) for one, own in zip(ready.writing.write(tagged), steps, strict=True)]

    def _row(self, ready: Ready, written: Written, encoded: Encoded) -> Row:
        del ready
        return Row(encoded.ids, tuple(map(encoded.position_of, written.ends)))

    def _score_of(self, ready: Ready, prepared: Prepared, readings: Readings) -> Score:
        del ready
        if not readings or len(readings) != len(prepared.row.marks) or any(len(reading) != 2 for reading in readings):
            return unscored(
                FailureKind.INVALID_SCORE, f"wanted 2 numbers for each of {len(prepared.row.marks)} steps, got {[len(reading) for reading in readings][:8]}"
            )
        if not all(isfinite(number) for reading in readings for number in reading):
            return unscored(FailureKind.INVALID_SCORE, "the model's outputs are not all finite")
        steps = [_share(good, bad) for good, bad in readings]
        value = {"last": steps[-1], "min": min(steps), "product": prod(steps), "mean": sum(steps) / len(steps)}[self._aggregate]
        message = "; ".join((f"{self._aggregate} of {len(steps)} steps, the least is step {steps.index(min(steps)) + 1}", *prepared.notes))
        return scored(value, message, truncated=prepared.truncated, details={f"step {number}": step for number, step in zip(count(1), steps, strict=False)})


def _tagged(asked: Conversation, steps: Sequence[str], tag: str, prefix: str) -> Written:
    """Write the steps line by line. The places of the tags are known as they are written, whatever words the text holds."""
    text, ends = conversation(asked.messages), []
    for number, step in enumerate(steps, 1):
        head = "" if _NUMBERED.match(step) else prefix.replace("{number}", str(number))
        text += f"{' ' if number == 1 else chr(10)}{head}{step} {tag}"
        ends.append(len(text) - 1)
    return Written(text, ends=tuple(ends))


def _found(written: Written | TemplateFailedError, tag: str, steps: int) -> Written | TemplateFailedError:
    """Look the tags up. Those that a text brought along were broken up before, so each that is there was written here."""
    if isinstance(written, TemplateFailedError):
        return written
    ends = tuple(match.end() - 1 for match in re.finditer(re.escape(tag), written.text))
    return replace(written, ends=ends) if len(ends) == steps else TemplateFailedError(f"the chat template left {len(ends)} of {steps} step tags")


def _share(good: float, bad: float) -> float:
    """Return P(good) / (P(good) + P(bad)) of two log-probabilities."""
    difference = bad - good
    return exp(-log1p(exp(difference))) if difference < 700 else 0.0
