"""Why a ledger turned a call away."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from multigraft.budget.describe import quantity
from multigraft.budget.price import PICODOLLARS

Kind: TypeAlias = Literal["flops", "tokens", "usd", "calls"]

Units: TypeAlias = tuple[int, int, int, int]
"""FLOPs, tokens, picodollars and calls: an amount in whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """The limit that has no room for a call."""

    kind: Kind
    scope: str
    """Whose limit it is: `run` or `prompt`."""
    limit: float
    spent: float
    reserved: float
    """What calls in flight may cost at most."""
    wanted: float
    """The upper bound of the call turned away."""
    waits: bool
    """True: the call would fit if all that is reserved were given back, so it is worth waiting for a call in flight. False: it never fits."""

    @classmethod
    def of_units(cls, *, kind: Kind, scope: str, limit: int, spent: int, reserved: int, wanted: int) -> Self:
        """Make it from whole numbers, deciding `waits` on them.

        Args:
            kind: of the limit.
            scope: whose limit it is.
            limit: in whole units of the kind, as all others.
            spent: so far.
            reserved: by calls in flight.
            wanted: by the call.

        Returns:
            The shortage, in the units people use.
        """

        def value(units: int) -> float:
            return units / PICODOLLARS if kind == "usd" else units

        return cls(
            kind=kind, scope=scope, limit=value(limit), spent=value(spent), reserved=value(reserved), wanted=value(wanted), waits=spent + wanted <= limit
        )

    @property
    def message(self) -> str:
        """What is short, for people."""
        parts = [f"{quantity(self.kind, self.spent)} spent"]
        if self.reserved:
            parts.append(f"{quantity(self.kind, self.reserved)} reserved by calls in flight")
        return f"the {self.scope}'s limit of {quantity(self.kind, self.limit)} has no room for {quantity(self.kind, self.wanted)} more: {', '.join(parts)}"

    def __str__(self) -> str:
        return self.message
