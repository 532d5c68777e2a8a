from collections.abc import Callable
from math import inf

import pytest
from tests.wire.rate_servers import RateServer, SlidingWindow, TokenBucket, asks_exactly, asks_nothing, asks_whole_seconds, simulate

from multigraft.wire.throttle import Throttle

ASKS = (asks_whole_seconds, asks_exactly, asks_nothing)


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("make", [lambda: TokenBucket(10, 10), lambda: TokenBucket(10, 1), lambda: TokenBucket(10, 40), lambda: SlidingWindow(10)])
def test_ten_calls_a_second(make: Callable[[], RateServer], asks: Callable[[float], float | None]) -> None:
    log = simulate(make(), until_s=150, asks=asks, changes=((90, 20),))
    assert log.share_refused(20, 90) <= 0.05
    assert log.goodput(20, 90) >= 0.85 * 10
    assert log.goodput(120, 150) >= 0.85 * 20
    assert log.too_soon == 0


@pytest.mark.parametrize("latency_s", [0.05, 1.0, 5.0])
def test_the_latency_of_answers_does_not_matter(latency_s: float) -> None:
    log = simulate(TokenBucket(10, 10), until_s=120, latency_s=latency_s)
    assert log.share_refused(20, 120) <= 0.05
    assert log.goodput(20, 120) >= 0.85 * 10


def test_a_limit_of_200_a_second() -> None:
    log = simulate(SlidingWindow(200), until_s=120, latency_s=0.1)
    assert log.share_refused(20, 120) <= 0.05
    assert log.goodput(40, 120) >= 0.8 * 200


def test_a_limit_that_falls_is_followed() -> None:
    log = simulate(TokenBucket(40, 10), until_s=160, changes=((60, 10),))
    assert log.share_refused(100, 160) <= 0.05
    assert log.goodput(100, 160) >= 0.8 * 10


def test_refusals_at_random_are_no_limit() -> None:
    class Noise:
        rate = 0.0
        count = 0

        def take(self, now: float) -> float | None:
            self.count += 1
            return 0.05 if self.count % 97 == 0 else None

    log = simulate(Noise(), until_s=10, latency_s=0.1, asks=asks_exactly)
    assert log.goodput(2, 10) > 0.8 * 256 / 0.1 * 0.6
    assert log.too_soon == 0


def test_a_healthy_server_is_not_slowed() -> None:
    throttle = Throttle(max_in_flight=256)
    log = simulate(TokenBucket(1e9, 1e9), until_s=1.0, latency_s=0.1, throttle=throttle)
    assert throttle.limit == 256
    assert throttle.rate == inf
    assert len(log.accepted) >= 64 + 128 + 7 * 256  # full after two round trips


def test_a_user_s_limit_is_never_exceeded() -> None:
    throttle = Throttle(max_in_flight=3, start_in_flight=64)
    assert throttle.opens_in_s(0.0, 2) == 0.0
    assert throttle.opens_in_s(0.0, 3) == inf
    for _ in range(100):
        throttle.sent(0.0, 3)
        throttle.succeeded()
    assert throttle.limit == 3


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    throttle = Throttle(max_in_flight=256, start_in_flight=64)
    for _ in range(1000):
        throttle.sent(0.0, 5)
        throttle.succeeded()
    assert throttle.limit == 64


def test_nothing_is_sent_before_the_server_s_time_even_after_one_stray_refusal() -> None:
    throttle = Throttle()
    throttle.sent(10.0, 1)
    throttle.refused(10.1, 10.0, 1, 2.0)
    assert throttle.opens_in_s(10.1, 0) == pytest.approx(2.0)
    assert throttle.opens_in_s(12.1, 0) == 0.0
    assert throttle.rate == inf


def test_one_episode_shrinks_the_number_in_flight_once() -> None:
    throttle = Throttle(max_in_flight=100, start_in_flight=100)
    for in_flight in range(100):
        throttle.sent(0.0, in_flight + 1)
    for left in range(100, 0, -1):
        throttle.refused(0.01, 0.0, left, 1.0)
    assert throttle.limit == pytest.approx(0.8 * 93)  # the eighth refusal in a row makes it an episode
    assert throttle.opens_in_s(0.5, 0) == pytest.approx(0.51)
