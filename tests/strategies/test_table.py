import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.strategies.graph import Collaboration
from multigraft.strategies.moa import Moa
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.prs import Prs
from multigraft.strategies.random_sampling import RandomSampling
from multigraft.strategies.sequential import Sequential
from multigraft.strategies.settings import parse_setting
from multigraft.strategies.table import STRATEGIES, strategy_from, strategy_named
from multigraft.strategies.toa import Toa


@dataclass(frozen=True, kw_only=True)
class Mine(Parallel):
    """A strategy of somebody else."""

    hops: int = 1


def test_the_table_names_all() -> None:
    assert dict(STRATEGIES) == {
        "random": RandomSampling,
        "prs": Prs,
        "parallel": Parallel,
        "sequential": Sequential,
        "moa": Moa,
        "toa": Toa,
        "graph": Collaboration,
    }
    assert all(strategy_named(name) is strategy for name, strategy in STRATEGIES.items())


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown strategy 'sequentail'. Did you mean 'sequential'\? Known: graph, moa, parallel, prs, random, sequential, toa"
    ):
        strategy_named("sequentail")


def offer(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    offered = EntryPoints([EntryPoint("mine", value, "multigraft.strategies")])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: offered.select(group=group))


def test_entry_points_are_looked_at_on_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mine_for_a_test", sys.modules[__name__])
    offer(monkeypatch, "mine_for_a_test:Mine")
    assert strategy_named("mine") is Mine
    assert strategy_from("mine", {"hops": 3}) == Mine(hops=3)
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        strategy_named("mime")


def test_an_entry_point_that_is_no_strategy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "json:dumps")
    with pytest.raises(InputError, match=r"entry point 'mine' of group multigraft\.strategies must name a dataclass"):
        strategy_named("mine")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("tau=0.1", "tau", 0.1),
        ("width=32", "width", 32),
        ("width=-1", "width", -1),
        ("alpha=1e-2", "alpha", 0.01),
        ("stop_gain=none", "stop_gain", None),
        ("x=True", "x", True),
        ("x=false", "x", False),
        ("tau=auto", "tau", "auto"),
        ("model='12'", "model", "12"),
        (' model = "a=b" ', "model", "a=b"),
        ("model=", "model", ""),
        ("model='", "model", "'"),
    ],
)
def test_settings_are_parsed(text: str, name: str, value: object) -> None:
    parsed = parse_setting(text)
    assert parsed == (name, value)
    assert type(parsed[1]) is type(value)


@pytest.mark.parametrize("text", ["tau", "=0.1", "", "  = 3"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no setting; write name=value"):
        parse_setting(text)


def test_a_strategy_is_built_from_settings() -> None:
    settings = dict(parse_setting(text) for text in ("num_responses=96", "tau=1", "alpha=0.3", "width=32", "topk=2", "stop_gain=none"))
    strategy = strategy_from("toa", settings)
    assert strategy == Toa(num_responses=96, tau=1.0, alpha=0.3, width=32, topk=2)
    assert isinstance(strategy, Toa)
    assert type(strategy.tau) is float
    assert strategy_from("toa", {"tau": "auto"}) == Toa()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "toa",
            {"taau": 1},
            r"unknown setting of strategy 'toa' 'taau'. Did you mean 'tau'\? Known: alpha, cost_weight, max_failures, max_parallel, num_responses",
        ),
        ("parallel", {"tau": 1.0}, "unknown setting of strategy 'parallel' 'tau'"),
        ("toa", {"tau": "high"}, "setting tau of strategy 'toa' must be a finite number or 'auto', not 'high'. Known settings: alpha, cost_weight"),
        ("toa", {"tau": True}, "must be a finite number or 'auto', not True"),
        ("toa", {"tau": float("inf")}, "must be a finite number or 'auto', not inf"),
        ("toa", {"width": 2.5}, "setting width of strategy 'toa' must be an integer or none, not 2.5"),
        ("toa", {"topk": "2"}, "must be an integer, not '2'"),
        ("random", {"model": 3}, "must be a string or none, not 3"),
        ("toa", {"tau": -1.0}, "strategy 'toa': tau must be above 0"),
        ("moa", {"num_responses": 0}, "strategy 'moa': num_responses must be at least 1, not 0"),
    ],
)
def test_a_wrong_setting_is_named_with_those_there_are(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        strategy_from(name, settings)
