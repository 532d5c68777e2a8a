"""The ledger: reserve an upper bound before a call is sent, settle what it did cost after.

Comparing what was *reported* with a limit lets every call in flight through: with many of them a small limit is overshot by half. Here a call is admitted only
when everything spent, everything reserved by calls in flight, and its own upper bound together stay within every limit of its ledger and of all ledgers above.

All sums are whole numbers: FLOPs (rounded up), tokens, calls, and picodollars (10^-12 dollars, to the nearest). Float sums would drift: ten times 0.1 is
not 1.0, and a refund would not restore what the reservation took. Both roundings keep order, so an actual cost that is at most its bound stays so.
Nothing here waits or locks: a ledger belongs to one event loop, and each of its steps is done before another begins.
"""

from math import ceil, floor
from typing import Literal, TypeAlias

from multigraft.budget.amount import NOTHING, Amount, Limits
from multigraft.budget.limits import check_limit_values
from multigraft.budget.price import PICODOLLARS
from multigraft.budget.shortage import Kind, Shortage, Units

Scope: TypeAlias = Literal["run", "prompt"]

_UNLIMITED = 1 << 1000
"""Larger than any sum; an integer, since comparing integers is faster than comparing with infinity."""


def _units(amount: Amount) -> Units:
    flops, tokens, usd, calls = amount
    if flops < 0 or tokens < 0 or usd < 0 or calls < 0:
        message = f"{amount} has a negative part"
        raise ValueError(message)
    return ceil(flops), tokens, round(usd * PICODOLLARS), calls


def _amount(flops: int, tokens: int, picodollars: int, calls: int) -> Amount:
    return Amount(flops, tokens, picodollars / PICODOLLARS, calls)


class Account:
    """The sums of one ledger. `held_*` is spent and reserved together, so that one comparison decides."""

    __slots__ = (
        "excess", "held_calls", "held_flops", "held_picodollars", "held_tokens", "max_calls", "max_flops", "max_picodollars", "max_tokens",
        "spent_calls", "spent_flops", "spent_picodollars", "spent_tokens",
    )  # fmt: skip

    def __init__(self, limits: Limits, spent: Amount) -> None:
        self.max_flops = _UNLIMITED if limits.flops is None else floor(limits.flops)
        self.max_tokens = _UNLIMITED if limits.tokens is None else limits.tokens
        self.max_picodollars = _UNLIMITED if limits.usd is None else round(limits.usd * PICODOLLARS)
        self.max_calls = _UNLIMITED if limits.calls is None else limits.calls
        self.spent_flops, self.spent_tokens, self.spent_picodollars, self.spent_calls = _units(spent)
        self.held_flops, self.held_tokens, self.held_picodollars, self.held_calls = _units(spent)
        self.excess: Units = (0, 0, 0, 0)


class Reservation:
    """Room taken for one call. Settle it exactly once."""

    __slots__ = ("_accounts", "bound")

    def __init__(self, accounts: tuple[Account, ...], bound: Units) -> None:
        self._accounts = accounts
        self.bound = bound

    @property
    def amount(self) -> Amount:
        """The upper bound that is reserved; settle with it when a call's fate is unknown."""
        return _amount(*self.bound)

    @property
    def open(self) -> bool:
        """Whether it is still to be settled."""
        return bool(self._accounts)

    def settle(self, actual: Amount) -> None:
        """Give the reservation back and charge what the call did cost.

        Args:
            actual: the cost; `NOTHING` when nothing was sent, `Amount(calls=1)` when it failed without being billed. More than the bound is charged as
                well, shows in `Ledger.overrun`, and keeps further calls out as soon as a limit is passed.

        Raises:
            ValueError: it was settled before, or the cost has a negative part.
        """
        accounts = self._accounts
        if not accounts:
            message = "a reservation is settled exactly once, and this one was settled before"
            raise ValueError(message)
        flops, tokens, usd, calls = actual
        if flops < 0 or tokens < 0 or usd < 0 or calls < 0:
            message = f"{actual} has a negative part"
            raise ValueError(message)
        flops, picodollars = ceil(flops), round(usd * PICODOLLARS)
        bound_flops, bound_tokens, bound_picodollars, bound_calls = bound = self.bound
        self._accounts = ()
        for account in accounts:
            account.spent_flops += flops
            account.held_flops += flops - bound_flops
            account.spent_tokens += tokens
            account.held_tokens += tokens - bound_tokens
            account.spent_picodollars += picodollars
            account.held_picodollars += picodollars - bound_picodollars
            account.spent_calls += calls
            account.held_calls += calls - bound_calls
        if flops > bound_flops or tokens > bound_tokens or picodollars > bound_picodollars or calls > bound_calls:
            _add_excess(accounts, (flops, tokens, picodollars, calls), bound)


def _add_excess(accounts: tuple[Account, ...], actual: Units, bound: Units) -> None:
    beyond = [max(0, one - other) for one, other in zip(actual, bound, strict=True)]
    for account in accounts:
        flops, tokens, picodollars, calls = (sum(pair) for pair in zip(account.excess, beyond, strict=True))
        account.excess = flops, tokens, picodollars, calls


class Ledger:
    """What may be spent, what is, and what calls in flight may still cost.

    Args:
        limits: of this ledger; `seconds` are not its affair: it has no clock.
        parent: a ledger whose limits hold as well, of the run for a prompt.
        spent: what was spent before, for a resumed run. It is not passed on to the parent, which is given its own.
        scope: what it is the ledger of, for messages.

    Raises:
        InputError: a limit is not a positive finite number.
    """

    __slots__ = ("accounts", "limits", "parent", "scope")

    def __init__(self, limits: Limits, parent: "Ledger | None" = None, spent: Amount = NOTHING, scope: Scope = "run") -> None:
        check_limit_values(limits)
        self.limits = limits
        self.parent = parent
        self.scope = scope
        self.accounts: tuple[Account, ...] = (Account(limits, spent), *(parent.accounts if parent else ()))

    def reserve(self, amount: Amount) -> Reservation | Shortage:
        """Take room for one call in this ledger and all above, or nowhere.

        Args:
            amount: upper bound of what the call may cost.

        Returns:
            The reservation, or which limit is short.

        Raises:
            ValueError: the amount has a negative part.
        """
        flops, tokens, usd, calls = amount
        if flops < 0 or tokens < 0 or usd < 0 or calls < 0:
            message = f"{amount} has a negative part"
            raise ValueError(message)
        flops, picodollars = ceil(flops), round(usd * PICODOLLARS)
        for account in self.accounts:
            if (
                account.held_flops + flops > account.max_flops
                or account.held_tokens + tokens > account.max_tokens
                or account.held_picodollars + picodollars > account.max_picodollars
                or account.held_calls + calls > account.max_calls
            ):
                return self._shortage((flops, tokens, picodollars, calls))
        for account in self.accounts:
            account.held_flops += flops
            account.held_tokens += tokens
            account.held_picodollars += picodollars
            account.held_calls += calls
        return Reservation(self.accounts, (flops, tokens, picodollars, calls))

    @property
    def spent(self) -> Amount:
        """What settled calls did cost, with what was spent before."""
        account = self.accounts[0]
        return _amount(account.spent_flops, account.spent_tokens, account.spent_picodollars, account.spent_calls)

    @property
    def reserved(self) -> Amount:
        """What calls in flight may cost at most."""
        account = self.accounts[0]
        return _amount(
            account.held_flops - account.spent_flops,
            account.held_tokens - account.spent_tokens,
            account.held_picodollars - account.spent_picodollars,
            account.held_calls - account.spent_calls,
        )

    @property
    def remaining(self) -> Limits:
        """Room left by this ledger's own limits, 0 where one is passed; None where there is none. No seconds: a ledger has no clock."""
        account, limits = self.accounts[0], self.limits
        return Limits(
            flops=None if limits.flops is None else max(0, account.max_flops - account.held_flops),
            tokens=None if limits.tokens is None else max(0, account.max_tokens - account.held_tokens),
            usd=None if limits.usd is None else max(0, account.max_picodollars - account.held_picodollars) / PICODOLLARS,
            calls=None if limits.calls is None else max(0, account.max_calls - account.held_calls),
        )

    @property
    def overrun(self) -> Amount:
        """By how much calls did cost more than was reserved for them, summed; nothing unless a server reported more than the bound."""
        return _amount(*self.accounts[0].excess)

    def _shortage(self, wanted: Units) -> Shortage:
        short: list[Shortage] = []
        ledger: Ledger | None = self
        while ledger:
            short += _shortages(ledger, wanted)
            ledger = ledger.parent
        # A limit the call can never meet says more than one that calls in flight hold for now.
        return next((shortage for shortage in short if not shortage.waits), short[0])


def _shortages(ledger: Ledger, wanted: Units) -> list[Shortage]:
    account = ledger.accounts[0]
    rows: tuple[tuple[Kind, int, int, int, int], ...] = (
        ("calls", account.max_calls, account.spent_calls, account.held_calls, wanted[3]),
        ("usd", account.max_picodollars, account.spent_picodollars, account.held_picodollars, wanted[2]),
        ("tokens", account.max_tokens, account.spent_tokens, account.held_tokens, wanted[1]),
        ("flops", account.max_flops, account.spent_flops, account.held_flops, wanted[0]),
    )
    return [
        Shortage.of_units(kind=kind, scope=ledger.scope, limit=limit, spent=spent, reserved=held - spent, wanted=more)
        for kind, limit, spent, held, more in rows
        if held + more > limit
    ]
