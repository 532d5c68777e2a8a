from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.wire.breaker import LONGEST_COOLDOWN_S, Breaker, Condition


def _broken(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(now, probe=breaker.sent())
    return breaker


def test_five_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker.failed(0.0, probe=breaker.sent())
    assert breaker.opens_in_s(0.0) == 0.0
    breaker.failed(0.0, probe=breaker.sent())
    assert breaker.condition is Condition.OPEN
    assert breaker.opens_in_s(0.0) == 1.0


def test_ten_seconds_without_success_open_it() -> None:
    breaker = Breaker()
    breaker.failed(0.0, probe=False)
    breaker.failed(9.9, probe=False)
    assert breaker.opens_in_s(9.9) == 0.0
    breaker.failed(10.0, probe=False)
    assert breaker.condition is Condition.OPEN


def test_a_success_between_failures_keeps_it_closed() -> None:
    breaker = Breaker()
    for now in range(20):
        for _ in range(4):
            breaker.failed(float(now), probe=False)
        breaker.succeeded()
    assert breaker.condition is Condition.CLOSED


def test_one_probe_at_a_time() -> None:
    breaker = _broken()
    assert breaker.opens_in_s(1.0) == 0.0
    assert breaker.sent()
    assert breaker.opens_in_s(100.0) == inf


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = _broken()
    breaker.sent()
    breaker.succeeded()
    assert breaker.opens_in_s(1.0) == 0.0
    assert not breaker.sent()


def test_cooldowns_double_up_to_a_limit() -> None:
    breaker = _broken()
    now, waits = 1.0, []
    for _ in range(6):
        breaker.failed(now, probe=breaker.sent())
        waits.append(breaker.opens_in_s(now))
        now += waits[-1]
    assert waits == [2.0, 4.0, 8.0, 8.0, 8.0, 8.0]


def test_calls_sent_before_it_opened_say_nothing_new() -> None:
    breaker = _broken()
    for _ in range(50):
        breaker.failed(0.5, probe=False)
    assert breaker.opens_in_s(0.5) == 0.5


def test_a_cancelled_probe_gives_its_turn_to_the_next() -> None:
    breaker = _broken()
    breaker.dropped(2.0, probe=breaker.sent())
    assert breaker.opens_in_s(2.0) == 0.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["send", "good", "bad", "drop"]), st.floats(0.0, 5.0)), max_size=60))
def test_a_server_that_is_back_is_never_left_alone_for_longer_than_the_longest_cooldown(events: list[tuple[str, float]]) -> None:
    breaker, now, probes = Breaker(), 0.0, 0
    for event, wait_s in events:
        now += wait_s
        if event == "send" and breaker.opens_in_s(now) == 0.0:
            probes += breaker.sent()
        elif event == "good" and probes:
            breaker.succeeded()
            probes = 0
        elif event in {"bad", "drop"}:
            probe, probes = probes > 0, 0
            (breaker.failed if event == "bad" else breaker.dropped)(now, probe=probe)
        wait = breaker.opens_in_s(now)
        assert wait <= LONGEST_COOLDOWN_S or (wait == inf and probes)
