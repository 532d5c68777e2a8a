import pytest

from multigraft.types import Failure, FailureKind
from multigraft.wire.retry import NEVER, RetryPolicy, delay_s

POLICY = RetryPolicy(max_attempts=6, total_timeout_s=100.0, base_s=0.5, max_s=30.0)


def _server(**fields: float) -> Failure:
    return Failure(FailureKind.SERVER, "x", retryable=True, retry_after_s=fields.get("retry_after_s"))


def test_waits_double_with_a_spread_below() -> None:
    policy = RetryPolicy(max_attempts=99, total_timeout_s=1e9)
    waits = [delay_s(policy, attempt, _server(), key=("p", 1)) for attempt in range(1, 10)]
    for wait, full in zip(waits, (0.5, 1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert wait is not None
        assert 0.75 * full <= wait <= full


def test_the_spread_depends_on_the_key_alone() -> None:
    waits = {delay_s(POLICY, 3, _server(), key=("p", call)) for call in range(50)}
    assert len(waits) == 50
    assert delay_s(POLICY, 3, _server(), key=("p", 7)) == delay_s(POLICY, 3, _server(), key=("p", 7))


def test_attempts_end() -> None:
    assert delay_s(POLICY, 5, _server()) is not None
    assert delay_s(POLICY, 6, _server()) is None


@pytest.mark.parametrize("asked", [1.0, 5.0, 20.0])
def test_the_server_s_time_is_obeyed(asked: float) -> None:
    limited = Failure(FailureKind.RATE_LIMIT, "x", retryable=True, retry_after_s=asked)
    assert delay_s(POLICY, 4, limited) == asked
    wait = delay_s(POLICY, 1, _server(retry_after_s=asked))
    assert wait == asked


def test_a_short_time_of_the_server_does_not_shorten_the_wait_after_a_breakdown() -> None:
    wait = delay_s(POLICY, 4, _server(retry_after_s=0.0))
    assert wait is not None
    assert wait >= 3.0


def test_nothing_begins_after_the_total_timeout() -> None:
    assert delay_s(POLICY, 1, _server(), elapsed_s=99.9) is None
    assert delay_s(POLICY, 1, _server(retry_after_s=101.0)) is None


@pytest.mark.parametrize("kind", sorted(NEVER))
def test_some_kinds_are_never_tried_again(kind: FailureKind) -> None:
    assert delay_s(POLICY, 1, Failure(kind, "x", retryable=True)) is None


def test_what_is_not_retryable_is_not_retried() -> None:
    assert delay_s(POLICY, 1, Failure(FailureKind.SERVER, "x")) is None
    assert delay_s(POLICY, 1, Failure(FailureKind.QUOTA, "x")) is None


def test_another_endpoint_is_tried_at_once() -> None:
    assert delay_s(POLICY, 1, Failure(FailureKind.QUOTA, "x", retryable=True)) == 0.0


@pytest.mark.parametrize("settings", [{"max_attempts": 0}, {"base_s": 0.0}, {"max_s": -1.0}, {"total_timeout_s": float("nan")}])
def test_settings_are_checked(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(settings.values())))):
        RetryPolicy(**settings)  # type: ignore[arg-type] # wrong values on purpose
