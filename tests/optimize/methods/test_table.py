"""Search methods by name."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import pytest
from tests.optimize.toy_world import Listed

from multigraft.errors import InputError, MultigraftError, UnknownNameError
from multigraft.optimize.methods import table
from multigraft.optimize.methods.random_graphs import RandomGraphs
from multigraft.optimize.methods.reinforce import Reinforce
from multigraft.optimize.methods.table import METHODS, method_from, method_named


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_table_can_be_built(name: str) -> None:
    method = method_from(name, {})
    assert method.consults is (name in {"agent_reinforce", "maao", "textgrad"})
    assert method == method_from(name, {})


def test_settings_are_checked_by_name_type_and_range() -> None:
    assert method_from("reinforce", {"batch": 8, "learning_rate": 1}) == Reinforce(batch=8, learning_rate=1.0)
    with pytest.raises(UnknownNameError, match=r"unknown setting of method 'reinforce' 'batsh'\. Did you mean 'batch'"):
        method_from("reinforce", {"batsh": 8})
    with pytest.raises(InputError, match=r"setting batch of method 'reinforce' must be an integer, not 'many'"):
        method_from("reinforce", {"batch": "many"})
    with pytest.raises(InputError, match="method 'reinforce': batch must be at least 2 for the baseline leave_one_out, not 1"):
        method_from("reinforce", {"batch": 1})


def test_an_unknown_method_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown method 'reinforced'\. Did you mean 'reinforce'"):
        method_named("reinforced")


def test_a_method_of_ones_own_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleType("own_methods")
    own.Listed = Listed  # type: ignore[attr-defined]  # a module made up here
    own.number = 3  # type: ignore[attr-defined]  # as above
    monkeypatch.setitem(sys.modules, "own_methods", own)
    points = EntryPoints(EntryPoint(name, f"own_methods:{what}", table.ENTRY_POINT_GROUP) for name, what in (("listed", "Listed"), ("three", "number")))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    assert method_named("listed") is Listed
    with pytest.raises(InputError, match=r"entry point 'three' of group multigraft\.methods must name a dataclass"):
        method_named("three")


def test_a_missing_library_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "multigraft.optimize.methods.surrogate", None)
    monkeypatch.setattr(table, "METHODS", {"needy": "library_that_is_nowhere:Needy", "random": METHODS["random"]})
    with pytest.raises(MultigraftError, match=r"method 'needy' needs library_that_is_nowhere: pip install 'multigraft\[optimize\]'"):
        method_named("needy")
    assert method_named("random") is RandomGraphs
