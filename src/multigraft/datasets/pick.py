"""Which responses count, by stated rules; each rule is counted, and each can be turned off."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from multigraft.errors import InputError, UnknownNameError
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Completion, Finish


class Rule(StrEnum):
    """Why a response is left out. A response is counted under the first rule that holds, in this order."""

    FAILED = "failed"
    """The call brought no response; refused by a content filter or the model's refusal field included."""
    EMPTY = "empty"
    """Not one visible character."""
    TRUNCATED = "truncated"
    """Ended by its token limit."""
    REFUSAL = "refusal"
    """Begins with one of `REFUSALS`."""
    UNSCORED = "unscored"
    """No reward."""
    PARTLY_SCORED = "partly_scored"
    """A scorer saw only a part of it."""
    DUPLICATE = "duplicate"
    """Says, but for white space, what a better or earlier response of the prompt says."""
    TIE = "tie"
    """Of pairs: chosen and rejected have the same reward, or the same text."""


REFUSALS = (
    "as a language model",
    "as an ai",
    "i am not able to",
    "i am sorry, but i",
    "i am sorry, i",
    "i am unable to",
    "i can't answer",
    "i can't assist",
    "i can't comply",
    "i can't fulfill",
    "i can't help",
    "i can't provide",
    "i cannot answer",
    "i cannot assist",
    "i cannot comply",
    "i cannot fulfill",
    "i cannot help",
    "i cannot provide",
    "i do not feel comfortable",
    "i don't feel comfortable",
    "i must decline",
    "i won't be able to",
    "i'm not able to",
    "i'm sorry, but i",
    "i'm sorry, i",
    "i'm unable to",
    "sorry, but i can",
    "sorry, i can",
    "unfortunately, i can't",
    "unfortunately, i cannot",
)
"""Beginnings of a refusal, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The rules in force.

    Args:
        keep: rules that are turned off, so that what they would leave out is kept.
    """

    keep: frozenset[Rule] = frozenset()

    @classmethod
    def keeping(cls, names: Iterable[str]) -> "Filters":
        """Turn rules off by name.

        Raises:
            UnknownNameError: there is no such rule.
        """
        known = {rule.value: rule for rule in Rule}
        keep: set[Rule] = set()
        for name in names:
            if name not in known:
                what = "filter"
                raise UnknownNameError(what, name, known)
            keep.add(known[name])
        return cls(keep=frozenset(keep))

    def require(self, *rules: Rule) -> None:
        """Refuse to go without some rules.

        Raises:
            InputError: one of them is turned off.
        """
        for rule in rules:
            if rule in self.keep:
                message = f"'{rule}' cannot be kept here: such responses lack the text or the reward a row needs; export all responses instead"
                raise InputError(message, field="keep")


@dataclass(frozen=True, slots=True)
class Picked:
    """The responses of a prompt that count."""

    calls: tuple[CallRecord, ...]
    """Best first; equal rewards in the order of asking, those without a reward last. With `answer_first`, the prompt's answer before all others."""
    dropped: Counter[Rule]
    """Responses left out, by rule."""


def reward_of(call: CallRecord) -> float | None:
    """Return the reward that counts, None when there is none or it is no finite number."""
    return call.reward if call.reward is not None and isfinite(call.reward) else None


def rank(record: PromptRecord, filters: Filters, *, answer_first: bool = False) -> Picked:
    """Put the responses of a prompt in order and leave out what does not count.

    Args:
        record: of the prompt.
        filters: the rules in force.
        answer_first: where the strategy itself says which response is the answer, it comes first, whatever the rewards.
    """
    first = record.answer if answer_first and record.concludes else None
    kept: list[CallRecord] = []
    dropped: Counter[Rule] = Counter()
    seen: set[str] = set()
    for call in sorted(record.calls.values(), key=lambda call: (call.call.call_id != first, _order(call))):
        rule = _first_rule(call, seen, filters.keep)
        if rule is None:
            kept.append(call)
            seen.add(squeezed(call.text or ""))
        else:
            dropped[rule] += 1
    return Picked(tuple(kept), dropped)


def squeezed(text: str) -> str:
    """Reduce every run of white space to one space, so that texts can be compared."""
    return " ".join(text.split())


def is_empty(text: str) -> bool:
    """Tell whether a text has no visible character: white space, control and formatting characters alone."""
    return not any(unicodedata.category(character)[0] not in "ZC" for character in text)


def is_refusal(text: str) -> bool:
    """Tell whether a text begins with one of `REFUSALS`, whatever quotes and marks stand before it."""
    start = text[:400].lstrip(" \t\r\n\"'*_>#-\u201c\u2018").replace("\u2019", "'").lower()
    return squeezed(start).startswith(REFUSALS)


def _order(call: CallRecord) -> tuple[bool, float, int]:
    reward = reward_of(call)
    return reward is None, -(reward or 0.0), call.call.call_id


def _first_rule(call: CallRecord, seen: set[str], keep: frozenset[Rule]) -> Rule | None:
    if not isinstance(call.sample, Completion):
        return Rule.FAILED
    text = call.sample.text
    # Later entries are only worked out when the earlier ones do not hold.
    if Rule.EMPTY not in keep and is_empty(text):
        return Rule.EMPTY
    if Rule.TRUNCATED not in keep and call.sample.finish is Finish.LENGTH:
        return Rule.TRUNCATED
    if Rule.REFUSAL not in keep and is_refusal(text):
        return Rule.REFUSAL
    if Rule.UNSCORED not in keep and reward_of(call) is None:
        return Rule.UNSCORED
    if Rule.PARTLY_SCORED not in keep and any(found.score.truncated for found in call.scores.values()):
        return Rule.PARTLY_SCORED
    if Rule.DUPLICATE not in keep and squeezed(text) in seen:
        return Rule.DUPLICATE
    return None
