"""Causal models as judges in this process: the probability of a verdict as the next token."""

from collections.abc import Sequence
from math import exp, isfinite, log1p

from multigraft.errors import InputError
from multigraft.rewards.hf.layouts import Chat, Conversation, Places, Writing, Written
from multigraft.rewards.hf.model_reward import ModelReward, Prepared, Ready, Source, TooLong
from multigraft.rewards.hf.placement import Dtype, Placement
from multigraft.rewards.hf.recipes import Recipe
from multigraft.rewards.hf.templates import ChatTemplate, TemplateFailedError
from multigraft.rewards.hf.tokens import Encoded, Encoder, Row
from multigraft.rewards.hf.weights import Weights
from multigraft.rewards.hf.work import Readings
from multigraft.rewards.rendering import conversation, fenced_apart, fill, places
from multigraft.rewards.scores import scored, unscored
from multigraft.types import FailureKind, Message, Score

TEMPLATE = """Read a task and a response to it.

{prompt}

{response}

Does the response do what the task asks, correctly and completely? Reply with one word, Yes or No."""
_RECIPE = Recipe(name="verdict", head="causal")


class Generative(ModelReward):
    """Value = P(yes) / (P(yes) + P(no)), the probabilities that a causal model goes on with one word or the other; in [0, 1].

    Unlike the judge of the same idea it runs in this process and reads the whole vocabulary, so it needs no server that returns alternatives of a token.

    Args:
        model: folder with safetensors, or a repository of the hub.
        template: what is asked, with the places `{prompt}` and `{response}`, both put between tags.
        yes: words for a good response; of each, the ways to write it that are one token of the model count, with and without a space or a capital.
        no: words for a bad one.
        chat: ask in a user turn of the chat template, where the model has one; otherwise the words follow the template's text.
        system: system turn.
        max_tokens: what the question may come to; the least of it, the config's and the tokenizer's limit counts.
        too_long: `refuse`: no score, reason `CONTEXT`. `cut`: the end of the response is left out, and the score is marked as truncated.
        revision: branch, tag or commit of a repository.
        dtype: as for `classifier`.
        device: as for `classifier`.
        devices: as for `classifier`.
        split: as for `classifier`.
        threads: as for `classifier`.
        batch_tokens: as for `classifier`.
        trust_remote_code: run the Python files that came with this model.
        max_batch: candidates of one call.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range, or words that are both yes and no.

    Source:
        Kadavath et al., "Language Models (Mostly) Know What They Know" (arXiv 2207.05221), section 3: P(True); Zhang et al., "Generative Verifiers"
        (arXiv 2408.15240), section 3.1.
    """

    def __init__(
        self,
        *,
        model: str,
        template: str = TEMPLATE,
        yes: Sequence[str] = ("yes",),
        no: Sequence[str] = ("no",),
        chat: bool = True,
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
        name: str = "generative",
    ) -> None:
        source = Source(
            model=model,
            recipe=_RECIPE.name,
            revision=revision,
            trust_remote_code=trust_remote_code,
            system=system,
            max_tokens=max_tokens,
            too_long=too_long,
            batch_tokens=batch_tokens,
            max_batch=max_batch,
        )
        super().__init__(source, Placement(device=device, devices=tuple(devices), split=split, dtype=dtype, threads=threads), name)
        if not places(template) >= {"prompt", "response"}:
            message = f"the template of {name} needs the places {{prompt}} and {{response}}, unlike {template!r}"
            raise ValueError(message)
        self._yes, self._no = (tuple(dict.fromkeys(word.strip() for word in words)) for words in (yes, no))
        both = {word.casefold() for word in self._yes} & {word.casefold() for word in self._no}
        if both or not self._yes or not self._no or "" in {*self._yes, *self._no}:
            message = f"{name} needs words for yes and for no that differ, not {list(yes)} and {list(no)}"
            raise ValueError(message)
        self._template, self._chat = template, chat

    def _recipes(self) -> tuple[Recipe, ...]:
        return (_RECIPE,)

    def _settings(self) -> str:
        return repr((self._template, self._yes, self._no, self._chat))

    def _recipe_of(self, weights: Weights) -> Recipe:
        del weights
        return _RECIPE

    def _writing_of(self, weights: Weights, recipe: Recipe, template: ChatTemplate | None) -> Writing:
        return super()._writing_of(weights, recipe, template) if template is not None and self._chat else Places(self._template)

    def _groups(self, recipe: Recipe, encoder: Encoder) -> tuple[tuple[int, ...], ...]:
        del recipe
        yes, no = self._tokens(encoder, self._yes, "yes"), self._tokens(encoder, self._no, "no")
        if yes & no:
            message = "a token of this model stands for both yes and no: choose other words"
            raise InputError(message, field="yes")
        return tuple(sorted(yes)), tuple(sorted(no))

    @staticmethod
    def _tokens(encoder: Encoder, words: Sequence[str], name: str) -> set[int]:
        found: set[int] = set()
        for word in words:
            for written in (word, word.lower(), word.capitalize(), word.upper()):
                alone, after, start = (one.ids for one in encoder.encode([written, f"a {written}", "a"], templated=True))
                found |= set(alone) if len(alone) == 1 else set()
                found |= set(after[len(start) :]) if after[: len(start)] == start and len(after) == len(start) + 1 else set()
        if not found:
            message = f"no way to write {' or '.join(map(repr, words))} is one token of this model: choose another word"
            raise InputError(message, field=name)
        return found

    def _written(self, ready: Ready, conversations: Sequence[Conversation]) -> Sequence[Written | TemplateFailedError]:
        fences = [fenced_apart({"task": conversation(one.messages), "response": one.response}) for one in conversations]
        questions = [fill(self._template, {"prompt": one["task"], "response": one["response"]}) for one in fences]
        chat = ready.writing
        return chat.open([[Message("user", question)] for question in questions]) if isinstance(chat, Chat) else list(map(Written, questions))

    def _row(self, ready: Ready, written: Written, encoded: Encoded) -> Row:
        del ready, written
        return Row(encoded.ids, (len(encoded.ids) - 1,))

    def _score_of(self, ready: Ready, prepared: Prepared, readings: Readings) -> Score:
        del ready
        if len(readings) != 1 or len(readings[0]) != 2:
            return unscored(FailureKind.INVALID_SCORE, f"wanted 2 numbers of the model, got {readings!r}"[:200])
        yes, no = readings[0]
        if not (isfinite(yes) and isfinite(no)):
            return unscored(FailureKind.INVALID_SCORE, "the model's probabilities are not finite")
        value = exp(-log1p(exp(no - yes))) if no - yes < 700 else 0.0
        message = "; ".join((f"P(yes) {exp(yes):.3g}, P(no) {exp(no):.3g}", *prepared.notes))
        return scored(value, message, truncated=prepared.truncated, details={"P(yes)": exp(yes), "P(no)": exp(no)})
