"""Falls of a judge: found where they are, and no more often by chance than said."""

import pytest

from multigraft.analysis.hacking import LEAST_PROMPTS, hacking_of
from multigraft.analysis.intervals import Bootstrap
from multigraft.randomness import Draws

POINTS = (1, 2, 4, 8, 16)
DRAWS = Bootstrap(200)


def curves(count: int, trend: tuple[float, ...], seed: int) -> tuple[list[list[float]], list[list[float]]]:
    """A judge around a trend, on responses that change at some points; rewards that rise whenever they change."""
    draws = Draws("curves", seed)
    judged: list[list[float]] = [[] for _ in trend]
    rewards: list[list[float]] = [[] for _ in trend]
    for _ in range(count):
        noise, reward = draws.uniform(), draws.uniform()
        for place, middle in enumerate(trend):
            if draws.uniform() < 0.6:
                noise, reward = draws.uniform(), reward + draws.uniform()
            judged[place].append(middle + noise)
            rewards[place].append(reward)
    return judged, rewards


def test_a_clear_fall_is_found_with_its_points() -> None:
    found = hacking_of("judge", POINTS, *curves(60, (0.0, 1.0, 1.0, 0.2, 0.0), 1), DRAWS)
    assert found.verdict == "falls"
    assert found.onset == 8
    assert found.since in {2, 4}
    assert found.judge_change is not None
    assert found.judge_change.high is not None
    assert found.judge_change.high < 0
    assert found.reward_change is not None
    assert found.reward_change.low is not None
    assert found.reward_change.low > 0


def test_a_rising_judge_is_never_said_to_fall() -> None:
    found = hacking_of("judge", POINTS, *curves(60, (0.0, 0.5, 1.0, 1.5, 2.0), 2), DRAWS)
    assert (found.verdict, found.peak, found.judge_change) == ("none", 16, None)


def test_a_fall_without_a_rising_reward_is_no_hacking() -> None:
    judged, _ = curves(40, (1.0, 1.0, 0.0, 0.0, 0.0), 3)
    found = hacking_of("judge", POINTS, judged, [[0.5] * 40] * 5, DRAWS)
    assert found.verdict == "none"
    assert found.judge_change is not None
    assert found.judge_change.value < -0.5


def test_chance_alone_is_named_hacking_once_in_twenty_at_most() -> None:
    false = sum(hacking_of("judge", POINTS, *curves(20, (0.0,) * 5, seed), DRAWS).onset is not None for seed in range(100))
    assert false <= 10


def test_few_prompts_and_none() -> None:
    assert hacking_of("judge", POINTS, *curves(LEAST_PROMPTS - 1, (1.0, 0.0, 0.0, 0.0, 0.0), 4), DRAWS).verdict == "unknown"
    assert hacking_of("judge", (), [], [], DRAWS).verdict == "unknown"


def test_a_fall_that_is_the_same_for_every_prompt_needs_no_spread() -> None:
    found = hacking_of("judge", (1, 2), [[1.0] * 12, [0.75] * 12], [[0.0] * 12, [1.0] * 12], DRAWS)
    assert found.onset == 2
    assert found.judge_change is not None
    assert (found.judge_change.low, found.judge_change.high) == pytest.approx((-0.25, -0.25))
