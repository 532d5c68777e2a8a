import json

import pytest
from tests.optimize.agent.teams import space_of

from multigraft.graphs.graph import NodeRole
from multigraft.optimize.agent.options import counted, halved, options_of, side_by_side
from multigraft.optimize.agent.picks import Picks, best_listed, validated_picks
from multigraft.optimize.agent.team import Names, team_of
from multigraft.optimize.agent.validator import Refused

MODELS = ("small", "large")
NAMES = Names(MODELS)
LISTED = ((4, 0), (0, 1), (2, 1))


def _picked(candidates: object, most: int = 2) -> Picks | Refused:
    return validated_picks(json.dumps({"candidates": candidates}), LISTED, MODELS, NAMES, most=most)


@pytest.mark.parametrize(
    ("candidates", "combinations", "kinds"),
    [
        ([{"counts": {"small": 4}}, {"counts": {"small": 2, "large": 1}}], ((4, 0), (2, 1)), []),
        ([{"counts": {"small": 9}}], ((4, 0),), ["pick moved"]),
        ([{"counts": {"small": 3, "large": 1}}], ((2, 1),), ["pick moved"]),
        ([{"counts": {"small": 4, "huge": 1}}], ((4, 0),), ["model unknown"]),
        ([{"counts": {"small": 4, "large": -1}}], ((4, 0),), ["count malformed"]),
        ([{"counts": {"small": 4, "large": 1.5}}], ((4, 0),), ["count malformed"]),
        ([{"counts": {"small": 4, "large": True}}], ((4, 0),), ["count malformed"]),
        ([{"counts": {"small": 4, "large": 10**300}}], ((4, 0),), ["count malformed"]),
        ([{"counts": {}}, {"counts": {"large": 1}}], ((0, 1),), ["pick empty"]),
        ([3, {"counts": {"large": 1}}], ((0, 1),), ["pick malformed"]),
        ([{"counts": {"large": 1}}] * 2, ((0, 1),), ["pick twice"]),
        ([{"counts": {"small": 4}}, {"counts": {"large": 1}}, {"counts": {"small": 2, "large": 1}}], ((4, 0), (0, 1)), ["pick dropped"]),
    ],
)
def test_picks_become_listed_combinations(candidates: object, combinations: object, kinds: list[str]) -> None:
    picks = _picked(candidates)
    assert isinstance(picks, Picks)
    assert picks.combinations == combinations
    assert [note.partition(":")[0] for note in picks.notes] == kinds


@pytest.mark.parametrize("candidates", [[], "all", None, [{"counts": {"small": 0}}], [{"counts": 4}], {"counts": {"small": 4}}])
def test_without_a_count_of_any_model_there_are_no_picks(candidates: object) -> None:
    assert isinstance(_picked(candidates), Refused)


def test_without_the_model_the_pilot_chooses_and_without_a_pilot_what_differs_most() -> None:
    assert best_listed(LISTED, MODELS, {"small": 0.6, "large": 0.5}, most=2) == ((4, 0), (2, 1))
    assert best_listed(LISTED, MODELS, {"small": 0.2, "large": 0.5}, most=1) == ((0, 1),)
    assert best_listed(LISTED, MODELS, {}, most=2) == ((4, 0), (2, 1))


def test_options_fill_the_budget_and_all_of_them_fit_side_by_side() -> None:
    space = space_of(units=12.0)
    options = options_of(space, space.sinks[0])
    assert (6, 0) in options, "as many small ones as there may be"
    assert (0, 2) in options, "4 + 4 + a sink of 1.2 leave no room for a third"
    assert (2, 2) in options
    for option in options:
        assert 1 <= sum(option) <= 6
        assert space.fits(side_by_side(team_of(space, counted(space, option), space.sinks[0])))
    assert len(set(options)) == len(options)


def test_a_sink_that_takes_it_all_leaves_no_options() -> None:
    space = space_of(units=1.05)
    assert options_of(space, space.sinks[0]) == ()
    voting = space_of(units=3.0, role=NodeRole.VOTE)
    assert options_of(voting, voting.sinks[0]) == ((3, 0),)


def test_halving_takes_the_small_ones_first() -> None:
    assert halved((4, 1)) == (2, 1)
    assert halved((1, 3)) == (0, 2)
    assert halved((0, 1)) == (0, 1)


def test_smaller_variants_leave_agents_out() -> None:
    space = space_of()
    team = team_of(space, {"small": 3, "large": 1}, space.sinks[0])
    assert [node.model for node in side_by_side(team).nodes] == ["small", "small", "small", "large", "small"]
    assert [node.node_id for node in side_by_side(team, (1, 1)).nodes] == ["a3", "a4", "sink"]
