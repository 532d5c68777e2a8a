"""What the fake server is told to be: its quirks, limits and faults. Given as JSON at the start, changed by POST /control."""

from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any


@dataclass
class Fault:
    """One kind of trouble, and which calls it hits."""

    kind: str
    """A name in `fake_faults.FAULTS`, or `status`."""
    share: float = 1.0
    """Of the calls, chosen by a hash of the body and of how often it was seen, so that a run is repeatable."""
    first: int | None = None
    """Only the first so many calls of this path."""
    each_body_first: int | None = None
    """Only the first so many times the same body is seen."""
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 2.0
    path: str | None = None
    key: str | None = None
    """Only calls with this bearer token."""
    contains: str | None = None
    """Only calls whose body contains this."""


@dataclass
class Settings:
    latency_s: float = 0.0
    per_prompt_token_s: float = 0.0
    per_completion_token_s: float = 0.0
    """Both are added to `latency_s`, as a model takes longer for longer texts."""
    faults: list[Fault] = field(default_factory=list)
    n: str = "honour"
    """honour | ignore | refuse | more | fewer | identical | shuffled"""
    system: str = "take"
    """take | refuse"""
    max_tokens: str = "old"
    """old | new: the name of the field that is taken."""
    refused_fields: list[str] = field(default_factory=list)
    """Fields answered with 400 "Unsupported parameter"."""
    logprobs: str = "give"
    """give | ignore"""
    usage: str = "give"
    """give | omit | cut"""
    thinking: str = "none"
    """none | tags | field | only"""
    keys: list[str] | None = None
    """Bearer tokens that are taken; None: any."""
    rate_per_s: float | None = None
    burst: float = 10.0
    retry_after: str = "whole"
    """whole | exact | none"""
    max_concurrent: int | None = None
    """More calls at once get a 429."""
    context_tokens: int | None = None
    close_every: int | None = None
    """Close the connection after every so many answers."""
    nul_score: bool = False

    def change(self, values: dict[str, Any]) -> None:
        known = {item.name for item in fields(self)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(name)
            setattr(self, name, [Fault(**fault) for fault in value] if name == "faults" else value)


def drawn(*parts: str | int | bytes) -> float:
    """A number in [0, 1) that depends on its key alone."""
    text = b"\0".join(part if isinstance(part, bytes) else str(part).encode() for part in parts)
    return int.from_bytes(blake2b(text, digest_size=7).digest(), "big") / 2**56
