"""Asking a chat model which of two texts answers a prompt better, in both orders, so that a liking for the first place cancels."""

import asyncio
from dataclasses import replace
from math import fsum
from typing import Literal, TypeAlias

from multigraft.randomness import key_of, seed_of
from multigraft.rewards.judges.preference import VERDICTS, Scale, likely_preference, written_preference
from multigraft.rewards.judges.wording import check_template, default_template
from multigraft.rewards.rendering import conversation, fenced_apart, fill
from multigraft.rewards.scores import of_failure, scored, unscored
from multigraft.types import Ask, Candidate, Completion, Failure, FailureKind, Message, Request, Sampling, Score

Read: TypeAlias = Literal["text", "probability"]

REVISION = 1
"""Raised with every change that may change a verdict."""
_LETTER_TOKENS = 4
"""More than one, so that a reply that opens with a space still has a visible character."""


class PairAsking:
    """A question about two texts.

    Args:
        ask: how the model is reached.
        template: the message, with the places `{prompt}`, `{first}` and `{second}`, and `{reference}` where there is one; None: the wording that fits.
        read: `text`: the one verdict the judge writes in double brackets. `probability`: P(A) / (P(A) + P(B)) of the first token.
        scale: of written verdicts, `three` or `five`.
        both_orders: ask twice, each text once in the first place; False: once, in an order drawn for the pair.
        temperature: of the judge.
        max_tokens: of a written reply; one by probability takes 4.
        name: of the judge.
        identity: of the judge model.

    Raises:
        ValueError: a setting that is none, or a template without its places.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        template: str | None,
        read: Read,
        scale: Scale,
        both_orders: bool,
        temperature: float,
        max_tokens: int,
        name: str,
        identity: str,
    ) -> None:
        if read not in {"text", "probability"}:
            message = f"read of {name} must be 'text' or 'probability', not {read!r}"
            raise ValueError(message)
        if scale not in VERDICTS:
            message = f"scale of {name} must be 'three' or 'five', not {scale!r}"
            raise ValueError(message)
        by_letter = read == "probability"
        if by_letter and scale == "five":
            message = f"scale = 'five' of {name} needs written verdicts: leave it out, or set read = 'text'"
            raise ValueError(message)
        if template is None:
            template = default_template("pairwise_letter" if by_letter else "pairwise_five" if scale == "five" else "pairwise")
        check_template(template, {"prompt", "first", "second"}, name)
        self.template = template
        self.calls = 2 if both_orders else 1
        """Calls a pair takes."""
        self._ask, self._name, self._read, self._scale = ask, name, read, scale
        most = _LETTER_TOKENS if by_letter else max_tokens
        self._sampling = Sampling(temperature=0.0 if by_letter else temperature, max_tokens=most, logprobs=by_letter, top_logprobs=20 if by_letter else 0)
        self.digest = key_of(REVISION, identity, template, read, scale, self.calls, repr(self._sampling))
        """Of all that may change a verdict."""

    async def preference(self, candidate: Candidate, opponent: str, *, show_reference: bool = True) -> Score:
        """Compare a response with another text.

        Args:
            candidate: the response; the calls are charged to it.
            opponent: the other text. An equal one ties, without a call.
            show_reference: put the prompt's reference into the place `{reference}`.

        Returns:
            How much the response is preferred: the mean over the orders, in [0, 1]. Details: `shown_first` and `shown_second`, the same by the place of the
            response, `orders_agree`, 1 if both orders prefer the same text or both none, else 0, `length` and `opponent_length` in characters, and by
            probability `verdict_mass`, the least P(A) + P(B). Without a verdict in every order there is no score.
        """
        text = candidate.completion.text
        lengths = {"length": float(len(text)), "opponent_length": float(len(opponent))}
        if text == opponent:
            return scored(0.5, "both texts are the same", details=lengths)
        orders = [True, False] if self.calls == 2 else [seed_of(self._name, candidate.prompt.prompt_id, text, opponent) % 2 == 0]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._in_order(candidate, opponent, first=first, show_reference=show_reference)) for first in orders]
        verdicts = dict(zip(orders, (task.result() for task in tasks), strict=True))
        missing = _missing(verdicts)
        if missing is not None:
            return missing
        values = {first: score.value for first, score in verdicts.items() if score.value is not None}
        details = {"shown_first" if first else "shown_second": value for first, value in values.items()}
        if len(values) == 2:
            details["orders_agree"] = float(_side(values[True]) == _side(values[False]))
        masses = [score.details["verdict_mass"] for score in verdicts.values() if "verdict_mass" in score.details]
        if masses:
            details["verdict_mass"] = min(masses)
        said = ", ".join(f"{value:.3g} shown {'first' if first else 'second'}" for first, value in values.items())
        return scored(fsum(values.values()) / len(values), said, details=details | lengths)

    async def _in_order(self, candidate: Candidate, opponent: str, *, first: bool, show_reference: bool) -> Score:
        prompt, text = candidate.prompt, candidate.completion.text
        one, other = (text, opponent) if first else (opponent, text)
        shown = {"task": conversation(prompt.messages), "response-a": one, "response-b": other}
        fences = fenced_apart(shown | {"reference": prompt.reference} if show_reference and prompt.reference is not None else shown)
        places = {"prompt": fences["task"], "first": fences["response-a"], "second": fences["response-b"], "reference": fences.get("reference", "")}
        message = fill(self.template, places)
        seed = seed_of(self._name, prompt.prompt_id, candidate.call.call_id, message)
        sample = await self._ask(candidate, Request((Message("user", message),), self._sampling, (seed,)))
        if isinstance(sample, Failure):
            return of_failure(sample)
        score = self._by_letter(sample) if self._read == "probability" else self._by_text(sample)
        return score if first or score.value is None else replace(score, value=1.0 - score.value)

    def _by_text(self, reply: Completion) -> Score:
        value = written_preference(reply, self._scale)
        if value is None:
            wanted = "[[A>>B]] to [[B>>A]]" if self._scale == "five" else "[[A]], [[B]] or [[tie]]"
            return unscored(FailureKind.UNREADABLE, f"no single verdict {wanted} in the judge's reply, which ends in {reply.text[-80:]!r}")
        return scored(value)

    @staticmethod
    def _by_letter(reply: Completion) -> Score:
        if not reply.first_token:
            return unscored(
                FailureKind.UNREADABLE, "the judge's server returned no alternatives of the first token: use one with top_logprobs, or read = 'text'"
            )
        likely_a, likely_b = likely_preference(reply)
        both = likely_a + likely_b
        if both <= 0.0:
            return unscored(FailureKind.UNREADABLE, f"neither A nor B among the first tokens of {reply.text[:80]!r}")
        return scored(likely_a / both, details={"verdict_mass": both})


def _missing(verdicts: dict[bool, Score]) -> Score | None:
    """Return what keeps a pair from being decided; what will not pass goes before what may."""
    missing = [(first, score) for first, score in verdicts.items() if score.value is None]
    if not missing:
        return None
    first, score = min(missing, key=lambda found: found[1].retryable)
    return replace(score, message=f"with the response shown {'first' if first else 'second'}: {score.message}")


def _side(value: float) -> int:
    return (value > 0.5) - (value < 0.5)
