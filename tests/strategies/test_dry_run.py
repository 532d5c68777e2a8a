from collections.abc import Iterator

import pytest

from multigraft.strategies.dry_run import Decision, dry_run
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.prs import Prs
from multigraft.strategies.toa import Toa


def test_decisions_stop_with_the_strategy_or_the_rewards() -> None:
    strategy = Prs(num_responses=4)
    everything = [Decision(0, "a", ()), Decision(1, "a", ()), Decision(2, "a", (1,)), Decision(3, "a", (1,))]
    assert list(dry_run(strategy, ["a"], [0.1, 0.2] * 9)) == everything
    assert list(dry_run(strategy, ["a"], [0.1, 0.2, 0.3])) == everything[:3]
    assert list(dry_run(strategy, ["a"], [])) == []


def test_one_call_at_a_time_whatever_the_setting_says() -> None:
    rewards = [0.1 * (index % 7) for index in range(30)]
    assert list(dry_run(Toa(num_responses=30, max_parallel=16), ["a", "b"], rewards)) == list(
        dry_run(Toa(num_responses=30, max_parallel=1), ["a", "b"], rewards)
    )


def test_rewards_are_drawn_one_at_a_time() -> None:
    drawn: list[float] = []

    def rewards() -> Iterator[float]:
        for reward in (0.1, 0.2, 0.3):
            drawn.append(reward)
            yield reward

    decisions = dry_run(Parallel(num_responses=5), ["a"], rewards())
    for count in (1, 2, 3):
        assert next(decisions).index == count - 1
        assert len(drawn) == count
    with pytest.raises(StopIteration):
        next(decisions)


def test_the_seed_decides_what_is_random() -> None:
    orders = {tuple(decision.model for decision in dry_run(Parallel(num_responses=12), ["a", "b", "c"], [0.0] * 12, seed=seed)) for seed in range(4)}
    assert len(orders) == 4
