import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from multigraft.budget.amount import NO_LIMITS, NOTHING, Amount, Limits
from multigraft.budget.ledger import Ledger, Reservation
from multigraft.budget.shortage import Shortage
from multigraft.errors import InputError

CALL = Amount(flops=100, tokens=10, usd=0.1, calls=1)


def reserved(ledger: Ledger, amount: Amount) -> Reservation:
    reservation = ledger.reserve(amount)
    assert isinstance(reservation, Reservation), reservation
    return reservation


def refused(ledger: Ledger, amount: Amount) -> Shortage:
    shortage = ledger.reserve(amount)
    assert isinstance(shortage, Shortage)
    return shortage


def test_reserve_and_settle_by_hand() -> None:
    ledger = Ledger(Limits(flops=250, tokens=100, usd=1.0, calls=5))
    reservation = reserved(ledger, CALL)
    assert (reservation.amount, reservation.open) == (CALL, True)
    assert (ledger.spent, ledger.reserved) == (NOTHING, CALL)
    assert ledger.remaining == Limits(flops=150, tokens=90, usd=0.9, calls=4)
    reservation.settle(Amount(flops=60, tokens=6, usd=0.02, calls=1))
    assert not reservation.open
    assert (ledger.spent, ledger.reserved) == (Amount(60, 6, 0.02, 1), NOTHING)
    assert ledger.remaining == Limits(flops=190, tokens=94, usd=0.98, calls=4)
    assert ledger.overrun == NOTHING


def test_a_refund_leaves_nothing_behind() -> None:
    ledger = Ledger(Limits(usd=0.3))
    for _ in range(1000):
        reserved(ledger, CALL).settle(NOTHING)
    assert (ledger.spent, ledger.reserved, ledger.remaining.usd) == (NOTHING, NOTHING, 0.3)


def test_a_failed_call_counts_as_a_call() -> None:
    ledger = Ledger(Limits(calls=1))
    reserved(ledger, CALL).settle(Amount(calls=1))
    assert ledger.spent == Amount(calls=1)
    assert not refused(ledger, CALL).waits


def test_tenths_of_a_dollar_fill_a_dollar_exactly() -> None:
    ledger = Ledger(Limits(usd=1.0))
    for _ in range(10):
        reserved(ledger, Amount(usd=0.1))
    assert ledger.remaining.usd == 0
    assert refused(ledger, Amount(usd=1e-12)).waits


def test_flops_beyond_the_precision_of_floats_are_counted_exactly() -> None:
    ledger = Ledger(Limits(flops=2**60))
    reserved(ledger, Amount(flops=2**60 - 1)).settle(Amount(flops=2**60 - 1))
    assert ledger.spent.flops == 2**60 - 1
    assert not refused(ledger, Amount(flops=2)).waits
    reserved(ledger, Amount(flops=1))


def test_a_limit_may_be_met_but_not_passed() -> None:
    for kind, limits in {"flops": Limits(flops=100), "tokens": Limits(tokens=10), "usd": Limits(usd=0.1), "calls": Limits(calls=1)}.items():
        ledger = Ledger(limits)
        reserved(ledger, CALL)
        assert refused(ledger, CALL).kind == kind


def test_settling_twice_is_a_mistake() -> None:
    ledger = Ledger(NO_LIMITS)
    reservation = reserved(ledger, CALL)
    reservation.settle(CALL)
    with pytest.raises(ValueError, match="exactly once"):
        reservation.settle(NOTHING)
    assert ledger.spent == CALL


@pytest.mark.parametrize("amount", [Amount(flops=-1), Amount(tokens=-1), Amount(usd=-0.1), Amount(calls=-1)])
def test_negative_amounts_are_a_mistake_and_change_nothing(amount: Amount) -> None:
    ledger = Ledger(Limits(calls=3))
    with pytest.raises(ValueError, match="negative"):
        ledger.reserve(amount)
    reservation = reserved(ledger, CALL)
    with pytest.raises(ValueError, match="negative"):
        reservation.settle(amount)
    assert (ledger.reserved, reservation.open) == (CALL, True)


def test_an_amount_that_is_no_number_changes_nothing() -> None:
    ledger = Ledger(Limits(calls=3))
    with pytest.raises(ValueError, match="NaN"):
        ledger.reserve(Amount(flops=float("nan")))
    reservation = reserved(ledger, CALL)
    with pytest.raises(ValueError, match="NaN"):
        reservation.settle(Amount(usd=float("nan")))
    assert (ledger.reserved, reservation.open) == (CALL, True)


def test_a_reservation_is_made_everywhere_or_nowhere() -> None:
    run = Ledger(Limits(tokens=15))
    one, other = (Ledger(Limits(calls=5), parent=run, scope="prompt") for _ in range(2))
    reserved(one, CALL)
    shortage = refused(other, CALL)
    assert (shortage.scope, shortage.kind, shortage.waits) == ("run", "tokens", True)
    assert other.reserved == NOTHING
    assert run.reserved == CALL


def test_settling_reaches_every_ledger_above() -> None:
    run = Ledger(NO_LIMITS)
    group = Ledger(NO_LIMITS, parent=run)
    prompt = Ledger(NO_LIMITS, parent=group, scope="prompt")
    reserved(prompt, CALL).settle(Amount(tokens=3, calls=1))
    assert run.spent == group.spent == prompt.spent == Amount(tokens=3, calls=1)


def test_a_shortage_that_waits() -> None:
    ledger = Ledger(Limits(calls=2), spent=Amount(calls=1))
    reserved(ledger, CALL)
    shortage = refused(ledger, CALL)
    assert (shortage.limit, shortage.spent, shortage.reserved, shortage.wanted, shortage.waits) == (2, 1, 1, 1, True)
    assert str(shortage) == "the run's limit of 2 calls has no room for 1 call more: 1 call spent, 1 call reserved by calls in flight"


def test_a_shortage_for_good_is_told_before_one_that_waits() -> None:
    run = Ledger(Limits(usd=0.05))
    prompt = Ledger(Limits(tokens=15), parent=run, scope="prompt")
    reserved(prompt, Amount(tokens=10))
    shortage = refused(prompt, CALL)
    assert (shortage.kind, shortage.scope, shortage.waits) == ("usd", "run", False)
    assert shortage.message == "the run's limit of $0.0500 has no room for $0.10 more: $0.00 spent"


def test_an_overrun_is_counted_shown_and_stops_everything() -> None:
    run = Ledger(Limits(usd=0.15, calls=10))
    prompt = Ledger(NO_LIMITS, parent=run, scope="prompt")
    reserved(prompt, CALL).settle(Amount(flops=130, tokens=10, usd=0.2, calls=1))
    assert run.overrun == prompt.overrun == Amount(flops=30, usd=0.1)
    assert run.spent == Amount(130, 10, 0.2, 1)
    assert run.remaining.usd == 0
    # Also a call that costs no dollars.
    assert not refused(prompt, Amount(calls=1)).waits


def test_an_overrun_within_the_limit_goes_on() -> None:
    ledger = Ledger(Limits(tokens=100))
    reserved(ledger, CALL).settle(Amount(tokens=12))
    assert ledger.overrun == Amount(tokens=2)
    reserved(ledger, Amount(tokens=88))


def test_a_resumed_run_counts_what_was_spent() -> None:
    run = Ledger(Limits(calls=3), spent=Amount(calls=2))
    prompt = Ledger(Limits(calls=2), parent=run, spent=Amount(calls=1), scope="prompt")
    reserved(prompt, CALL)
    assert (run.spent.calls, prompt.spent.calls) == (2, 1)
    assert {refused(prompt, CALL).scope, refused(run, CALL).scope} == {"prompt", "run"}


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(InputError, match="a limit of 0 calls is no limit"):
        Ledger(Limits(calls=0))


AMOUNTS = st.builds(
    Amount,
    flops=st.integers(0, 10**6) | st.floats(0, 1e6),
    tokens=st.integers(0, 1000),
    usd=st.integers(0, 10**6).map(lambda millionths: millionths / 1e6),
    calls=st.integers(0, 3),
)
LIMITS = st.builds(
    Limits,
    flops=st.none() | st.integers(1, 3 * 10**6),
    tokens=st.none() | st.integers(1, 3000),
    usd=st.none() | st.integers(1, 3 * 10**6).map(lambda millionths: millionths / 1e6),
    calls=st.none() | st.integers(1, 10),
    seconds=st.none(),
)


class NestedLedgers(RuleBasedStateMachine):
    """Three levels, against sums over plain lists in millionths of a dollar."""

    reservations: Bundle[tuple[int, Amount, Reservation]] = Bundle("reservations")

    @initialize(limits=st.tuples(LIMITS, LIMITS, LIMITS))
    def start(self, limits: tuple[Limits, Limits, Limits]) -> None:
        run = Ledger(limits[0])
        group = Ledger(limits[1], parent=run)
        self.ledgers = [run, group, Ledger(limits[2], parent=group, scope="prompt")]
        self.open: list[tuple[int, Amount]] = []
        self.done: list[tuple[int, Amount]] = []

    @staticmethod
    def sums(rows: list[tuple[int, Amount]], level: int) -> tuple[int, int, int, int]:
        parts = [(-int(-amount.flops // 1), amount.tokens, round(amount.usd * 1e6), amount.calls) for depth, amount in rows if depth >= level]
        flops, tokens, millionths, calls = (sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0, 0, 0)
        return flops, tokens, millionths, calls

    def room(self, rows: list[tuple[int, Amount]], level: int) -> bool:
        limits = self.ledgers[level].limits
        maxima = (limits.flops, limits.tokens, None if limits.usd is None else round(limits.usd * 1e6), limits.calls)
        return all(most is None or total <= most for total, most in zip(self.sums(rows, level), maxima, strict=True))

    @rule(target=reservations, level=st.integers(0, 2), amount=AMOUNTS)
    def reserve(self, level: int, amount: Amount) -> tuple[int, Amount, Reservation] | MultipleResults[tuple[int, Amount, Reservation]]:
        taken = self.ledgers[level].reserve(amount)
        fits = all(self.room([*self.open, *self.done, (level, amount)], above) for above in range(level + 1))
        assert isinstance(taken, Reservation) == fits
        if isinstance(taken, Reservation):
            self.open.append((level, amount))
            return level, amount, taken
        assert taken.waits == all(self.room([*self.done, (level, amount)], above) for above in range(level + 1))
        return multiple()

    @rule(entry=consumes(reservations), part=st.sampled_from([0.0, 0.3, 1.0]))
    def settle(self, entry: tuple[int, Amount, Reservation], part: float) -> None:
        level, bound, reservation = entry
        actual = Amount(bound.flops * part, int(bound.tokens * part), int(bound.usd * 1e6 * part) / 1e6, int(bound.calls * part))
        reservation.settle(actual)
        self.open.remove((level, bound))
        self.done.append((level, actual))

    @invariant()
    def sums_agree(self) -> None:
        for level, ledger in enumerate(getattr(self, "ledgers", [])):
            for amount, rows in ((ledger.spent, self.done), (ledger.reserved, self.open)):
                assert (amount.flops, amount.tokens, round(amount.usd * 1e6), amount.calls) == self.sums(rows, level)
            assert self.room(self.done, level)
            assert ledger.overrun == NOTHING


NestedLedgers.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=40)
test_any_sequence_of_steps_keeps_the_sums = NestedLedgers.TestCase
