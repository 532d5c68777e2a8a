"""What one endpoint takes and what it does not, learnt from its own answers.

Nothing is asked beforehand: the first calls that use a feature show whether the server honours it, and its refusals say in words what it objects to.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum


class Feature(StrEnum):
    """Something of a request that some servers refuse or ignore."""

    BASICS = "basics"
    """Model, messages, token limit."""
    MAX_TOKENS = "max_tokens"
    """The token limit under its old name; where it is refused, `max_completion_tokens` is sent."""
    N = "n"
    """Several samples in one request."""
    SYSTEM = "system"
    """A system message."""
    LOGPROBS = "logprobs"
    TOP_LOGPROBS = "top_logprobs"
    SEED = "seed"
    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    STOP = "stop"
    JSON_SCHEMA = "json_schema"
    """An answer held to a JSON schema."""
    JSON_OBJECT = "json_object"
    """An answer held to be some JSON object; asked for where a schema is refused."""


_REJECTED = (
    r"(?:not (?:\w+ )?(?:support|permit|allow|recogni|implement)|unsupported|does(?: not|n't) support|unknown|unrecogni[sz]ed|unexpected"
    r"|extra (?:field|input)|isn't supported|only the default|not available|incompatible|deprecated)"
)


def _about(name: str) -> re.Pattern[str]:
    # The field has to stand near the word that rejects it, since a message may list fields that are fine.
    return re.compile(rf"(?<![\w]){name}(?![\w]).{{0,80}}{_REJECTED}|{_REJECTED}.{{0,60}}(?<![\w]){name}(?![\w])", re.IGNORECASE | re.DOTALL)


_FORMAT = re.compile(r"response[_ ]?format|json[_ ]?(?:schema|object|mode)|invalid schema|grammar|guided|structured output|the word ['\"`]?json", re.IGNORECASE)

_WORDINGS: tuple[tuple[Feature, re.Pattern[str]], ...] = (
    (Feature.MAX_TOKENS, re.compile(r"use ['\"`]?max_completion_tokens", re.IGNORECASE)),
    (Feature.MAX_TOKENS, _about("max_tokens")),
    (
        Feature.N,
        re.compile(r"only one completion|(?<![\w])n(?![\w])['\"`]? ?(?:must|should|has to|>|!?=|can only)|multiple (?:choices|completions)", re.IGNORECASE),
    ),
    (Feature.N, _about(r"['\"`]n['\"`]")),
    (
        Feature.SYSTEM,
        re.compile(r"system (?:role|message|prompt|instruction)|roles must alternate|only user[^.]{0,40}roles|developer instruction", re.IGNORECASE),
    ),
    (Feature.SYSTEM, _about(r"['\"`]system['\"`]")),
    (Feature.TOP_LOGPROBS, _about("top_?logprobs")),
    (Feature.LOGPROBS, _about("log_?probs?")),
    (Feature.SEED, _about("seed")),
    (Feature.TEMPERATURE, _about("temperature")),
    (Feature.TOP_P, _about("top_p")),
    (Feature.STOP, _about("stop")),
    # Only one of the two is ever sent, so words about either are about that one.
    (Feature.JSON_SCHEMA, _FORMAT),
    (Feature.JSON_OBJECT, _FORMAT),
)


@dataclass(slots=True)
class Capabilities:
    """What is known of one endpoint."""

    honoured: set[Feature] = field(default_factory=set)
    """Features a call used with success."""
    refused: set[Feature] = field(default_factory=set)
    """Features the server objected to, or ignored where that matters."""

    def unknown(self, used: AbstractSet[Feature]) -> bool:
        """Whether a call that uses these features would try one for the first time."""
        return not used <= self.honoured | self.refused

    def confirm(self, used: AbstractSet[Feature]) -> None:
        """Take in that a call with these features succeeded."""
        self.honoured |= used - self.refused

    def refuse(self, feature: Feature) -> None:
        """Take in that a feature does not work here."""
        self.refused.add(feature)
        self.honoured.discard(feature)

    def learn(self, message: str, sent: AbstractSet[Feature]) -> Feature | None:
        """Learn from the words of a refusal.

        Args:
            message: what the server said.
            sent: features of the refused call.

        Returns:
            The feature now known to be refused; None when the words are about none of them, so that sending again would not help.
        """
        for feature, wording in _WORDINGS:
            if feature in sent and wording.search(message):
                self.refuse(feature)
                return feature
        return None
