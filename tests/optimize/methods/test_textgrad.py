import json
from collections import Counter

import pytest
from tests.optimize.methods.agent_driving import OPTIMISERS, garbage, origins, problem_in, searched, sensible, silent

from multigraft.errors import InputError
from multigraft.models.simulated.tasks import TASKS
from multigraft.models.simulated.world import World
from multigraft.optimize.methods.table import method_from


def _asked(consults: list[object]) -> list[str]:
    return ["critique" if "critique" in json.loads(consult.json_schema)["properties"] else "graph" for consult in consults]  # type: ignore[attr-defined]  # consults


@pytest.mark.parametrize("name", list(OPTIMISERS))
def test_whatever_the_optimiser_says_the_search_ends_within_the_budget(name: str) -> None:
    archive = searched("textgrad", OPTIMISERS[name]())
    assert archive.best is not None
    assert archive.num_evaluations <= 12
    assert archive.notes["over budget"] == 0


def test_each_turn_criticises_and_then_rewrites_with_the_critique_as_data() -> None:
    optimiser = sensible()
    searched("textgrad", optimiser)
    kinds = _asked([*optimiser.consults])
    assert kinds[:4] == ["critique", "graph", "critique", "graph"]
    for consult in optimiser.consults:
        text = consult.messages[1].content
        assert '"source":' not in text, "no insights"
        assert '"probs":' not in text, "no table"
        assert '"tried":' not in text, "no archive"
        assert '"best":' not in text
    assert '<data>{"critique":"It is' in optimiser.consults[1].messages[1].content


def test_the_counters_of_a_useless_optimiser_add_up() -> None:
    for optimiser, kind in ((garbage(), "reply refused"), (silent(), "reply failed")):
        archive = searched("textgrad", optimiser)
        assert archive.notes[kind] == archive.num_consults == len(optimiser.consults) > 0
        assert archive.notes["fallback=reinforce"] >= Counter(origins(archive))["fallback"] > 0
        assert set(_asked([*optimiser.consults])) == {"critique"}, "without a critique nothing is rewritten"


@pytest.mark.parametrize("name", ["textgrad", "maao"])
def test_a_budget_without_room_for_agents_has_the_sink_alone(name: str) -> None:
    archive = searched(name, sensible(), problem_in(World(TASKS["math"], 0), units=1.01))
    assert archive.num_evaluations == 1
    assert archive.best is not None
    assert archive.best.graph.edges == ()


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="attempts must be at least 1, not 0"):
        method_from("textgrad", {"attempts": 0})
