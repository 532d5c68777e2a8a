"""What tokens cost in dollars."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import isfinite

PICODOLLARS = 10**12
"""In one dollar. A price of up to six decimals a million tokens is a whole number of picodollars a token, so money adds up without rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens; 0 is a price (weights one runs oneself), None is not."""

    usd_per_million_prompt: float
    """Of the prompt; >= 0."""
    usd_per_million_completion: float
    """Of the completion, reasoning included; >= 0."""
    usd_per_million_cached: float | None = None
    """Of prompt tokens the server found in its cache; None: no discount."""

    def __post_init__(self) -> None:
        for name in ("usd_per_million_prompt", "usd_per_million_completion", "usd_per_million_cached"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                message = f"{name} is {value}; give US dollars for a million tokens, 0 for a model that costs nothing"
                raise ValueError(message)


def picodollars_per_token(usd_per_million: float) -> int:
    """Convert a price, rounding up to a whole picodollar.

    Args:
        usd_per_million: US dollars for a million tokens; finite and >= 0.

    Returns:
        Picodollars for one token.
    """
    # Decimal of the shortest text that reads back as the float: 0.18 is meant, not 0.179999999999999993.
    return int((Decimal(str(usd_per_million)) * (PICODOLLARS // 10**6)).to_integral_value(ROUND_CEILING))
