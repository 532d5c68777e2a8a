import json
from pathlib import Path
from typing import NamedTuple

import pytest

from multigraft.strategies.dry_run import Decision, dry_run
from multigraft.strategies.table import strategy_from
from multigraft.strategies.toa import Toa


class Trace(NamedTuple):
    models: list[str]
    strategy: Toa
    decisions: list[Decision]
    rewards: list[float]


def traces() -> list[Trace]:
    lines = (Path(__file__).parents[1] / "golden" / "toa_traces.jsonl").read_text(encoding="utf-8").splitlines()
    return [trace(json.loads(line)) for line in lines]


def trace(row: dict[str, object]) -> Trace:
    calls = row["calls"]
    assert isinstance(calls, list)
    settings = {name: row[name] for name in ("tau", "alpha", "width", "topk")}
    strategy = strategy_from("toa", {"num_responses": row["budget"], **settings})
    assert isinstance(strategy, Toa)
    decisions = [Decision(call["index"], call["model"], () if call["parent"] is None else (call["parent"],)) for call in calls]
    models = row["models"]
    assert isinstance(models, list)
    return Trace(models, strategy, decisions, [call["reward"] for call in calls])


TRACES = traces()


def test_there_are_46_traces_with_2012_decisions() -> None:
    assert len(TRACES) == 46
    assert sum(len(trace.decisions) for trace in TRACES) == 2012


@pytest.mark.parametrize("index", range(len(TRACES)))
def test_toa_decides_as_the_reference(index: int) -> None:
    models, strategy, decisions, rewards = TRACES[index]
    assert list(dry_run(strategy, models, rewards)) == decisions


def test_the_traces_pin_the_seed_down_to_nothing() -> None:
    models, strategy, decisions, rewards = TRACES[0]
    assert list(dry_run(strategy, models, rewards, seed=12345)) == decisions


def test_the_default_width_is_the_published_third() -> None:
    published = [trace for trace in TRACES if trace.strategy.width == trace.strategy.num_responses // 3 > 1]
    assert len(published) >= 5
    for models, strategy, decisions, rewards in published:
        by_default = Toa(num_responses=strategy.num_responses, tau=strategy.tau, alpha=strategy.alpha, topk=strategy.topk)
        assert list(dry_run(by_default, models, rewards)) == decisions
