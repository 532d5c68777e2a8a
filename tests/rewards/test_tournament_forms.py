"""Knock-out and Swiss by hand, and what holds for any number of entrants."""

from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.randomness import Draws
from multigraft.rewards.judges.bracket import UNDECIDED, Form, Pair, Result, rounds_for
from multigraft.rewards.judges.knock_out import KnockOut
from multigraft.rewards.judges.swiss import Swiss, swiss_rounds

OUTCOMES: st.SearchStrategy[Result] = st.sampled_from([0.0, 0.5, 1.0, 0.3, UNDECIDED])


def knock_out(entrants: int) -> KnockOut:
    return KnockOut(entrants, Draws("lots"))


def played(form: Form, result: Callable[[int, int], Result]) -> list[list[Pair]]:
    """Play to the end; returns the pairs of each round."""
    rounds: list[list[Pair]] = []
    while pairs := form.pairs():
        rounds.append(list(pairs))
        form.tell([result(first, second) for first, second in pairs])
    return rounds


def by_strength(strengths: Sequence[int]) -> Callable[[int, int], Result]:
    def result(first: int, second: int) -> Result:
        difference = strengths[first] - strengths[second]
        return 0.5 if difference == 0 else float(difference > 0)

    return result


def lower_number_wins(first: int, second: int) -> Result:
    return float(first < second)


@pytest.mark.parametrize(("entrants", "rounds"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 3), (8, 3), (9, 4)])
def test_rounds(entrants: int, rounds: int) -> None:
    assert rounds_for(entrants) == rounds
    assert swiss_rounds(entrants, None) == rounds
    assert len(played(knock_out(entrants), lower_number_wins)) == rounds
    assert len(played(Swiss(entrants), lower_number_wins)) == rounds


# Who sits out in each round, worked out by hand with the lower number winning.
BYES = [
    (1, []),
    (2, []),
    (3, [2]),  # 0-1, 2 sits out; 0-2
    (4, []),
    (5, [4, 2]),  # 0-1 2-3, 4 sits out; of 0 2 4 only 0 and 2 have not: 2 sits out, 0-4; 0-2
    (6, [4]),  # 0-1 2-3 4-5; 4 sits out, 0-2; 0-4
    (7, [6]),  # 0-1 2-3 4-5, 6 sits out; 0-2 4-6; 0-4
    (8, []),
    (9, [8, 6, 4]),  # 0-1 2-3 4-5 6-7, 8 out; of 0 2 4 6 8: 6 out, 0-2 4-8; of 0 4 6: 4 out, 0-6; 0-4
]


@pytest.mark.parametrize(("entrants", "byes"), BYES)
def test_byes_of_a_knock_out(entrants: int, byes: list[int]) -> None:
    form = knock_out(entrants)
    played(form, lower_number_wins)
    assert sorted(entrant for entrant, tally in enumerate(form.tallies) for _ in range(tally.byes)) == sorted(byes)


def test_a_knock_out_by_hand() -> None:
    form = knock_out(5)
    assert played(form, lower_number_wins) == [[(0, 1), (2, 3)], [(0, 4)], [(0, 2)]]
    assert form.values() == [1.0, 0.0, 2 / 3, 0.0, 1 / 3]


def test_a_tie_of_a_knock_out_is_drawn_and_counts_half_a_round() -> None:
    form = knock_out(4)
    rounds = played(form, lambda first, second: 0.5)
    assert [len(pairs) for pairs in rounds] == [2, 1]
    assert sorted(value for value in form.values() if value is not None) == [0.25, 0.25, 0.75, 1.0]
    winners = set()
    for key in range(20):
        other = KnockOut(2, Draws(key))
        played(other, lambda first, second: 0.5)
        winners.add(other.values().index(1.0))
    assert winners == {0, 1}


def test_nobody_goes_on_from_an_undecided_pair() -> None:
    form = knock_out(8)
    # 0-1 is undecided; 2, 4 and 6 go on; of three the last sits out; 2 beats 4, then 2 beats 6.
    rounds = played(form, lambda first, second: UNDECIDED if (first, second) == (0, 1) else lower_number_wins(first, second))
    assert rounds == [[(0, 1), (2, 3), (4, 5), (6, 7)], [(2, 4)], [(2, 6)]]
    assert form.values() == [None, None, 1.0, 0.0, 1 / 3, 0.0, 2 / 3, 0.0]


def test_an_undecided_final_has_no_winner() -> None:
    form = knock_out(4)
    played(form, lambda first, second: UNDECIDED if (first, second) == (0, 2) else lower_number_wins(first, second))
    assert form.values() == [0.5, 0.0, 0.5, 0.0]


def test_one_who_is_left_without_a_decided_comparison_has_not_won() -> None:
    form = knock_out(3)
    played(form, lambda first, second: UNDECIDED)
    assert form.values() == [None, None, None]


def test_a_swiss_tournament_by_hand() -> None:
    form = Swiss(4)
    # 0 beats 1, 2 beats 3; then the winners meet and the losers.
    assert played(form, lower_number_wins) == [[(0, 1), (2, 3)], [(0, 2), (1, 3)]]
    # Means 1, 1/2, 1/2, 0. Buchholz: 0 met 1 and 2: 1/2; 1 met 0 and 3: 1/2; 2 met 3 and 0: 1/2; 3 met 2 and 1: 1/2. R = 2, so 4 R^2 = 16.
    assert [form.buchholz(entrant) for entrant in range(4)] == [0.5, 0.5, 0.5, 0.5]
    assert form.values() == pytest.approx([16.5 / 17, 8.5 / 17, 8.5 / 17, 0.5 / 17])


def test_buchholz_breaks_a_tie() -> None:
    form = Swiss(6)
    # Round 1: 0>1 2>3 4>5. Points 0:1 2:1 4:1 1:0 3:0 5:0.
    # Round 2: 0>2, 4-1 tie, 3-5 tie. Points 0:2 4:1.5 2:1 1:0.5 3:0.5 5:0.5.
    # Round 3: 0>4, 2>1 (2 has met 0 and 3), 3-5 have met: 3 and 5 are left, so 2-1 is parted, 2-5 (2 has met 3) and 1-3.
    results = {(0, 1): 1.0, (2, 3): 1.0, (4, 5): 1.0, (0, 2): 1.0, (4, 1): 0.5, (3, 5): 0.5, (0, 4): 1.0, (2, 5): 1.0, (1, 3): 0.5, (3, 1): 0.5, (5, 2): 0.0}
    rounds = played(form, lambda first, second: results[first, second])
    assert rounds[:2] == [[(0, 1), (2, 3), (4, 5)], [(0, 2), (4, 1), (3, 5)]]
    assert [sorted(pair) for pair in sorted(rounds[2], key=min)] == [[0, 4], [1, 3], [2, 5]]
    assert [tally.points for tally in form.tallies] == [3.0, 1.0, 2.0, 1.0, 1.5, 0.5]
    # Opponents of 1: 0 (3 of 3), 4 (1.5 of 3), 3 (1 of 3). Opponents of 3: 2 (2 of 3), 5 (0.5 of 3), 1 (1 of 3).
    assert form.buchholz(1) == pytest.approx((3 + 1.5 + 1) / 9)
    assert form.buchholz(3) == pytest.approx((2 + 0.5 + 1) / 9)
    values = form.values()
    # R = 3, so 4 R^2 = 36.
    assert values[1] == pytest.approx((36 / 3 + 5.5 / 9) / 37)
    assert values[3] == pytest.approx((36 / 3 + 3.5 / 9) / 37)


def test_who_sits_out_of_a_swiss_round_is_not_judged_by_it() -> None:
    form = Swiss(3)
    # 0 beats 1, 2 sits out with a point; then 0 meets 2 and 1 sits out.
    assert played(form, lower_number_wins) == [[(0, 1)], [(0, 2)]]
    assert [tally.byes for tally in form.tallies] == [0, 1, 1]
    # Means 1, 0, 0; Buchholz of 0 is 0, of the others 1.
    assert form.values() == pytest.approx([16 / 17, 1 / 17, 1 / 17])


@pytest.mark.parametrize(("entrants", "byes"), [(1, 0), (2, 0), (3, 2), (4, 0), (5, 3), (6, 0), (7, 3), (8, 0), (9, 4)])
def test_byes_of_a_swiss_tournament(entrants: int, byes: int) -> None:
    form = Swiss(entrants)
    played(form, lower_number_wins)
    assert [tally.byes for tally in form.tallies].count(1) == byes == sum(tally.byes for tally in form.tallies)


def test_undecided_swiss_comparisons_do_not_count() -> None:
    form = Swiss(4)
    played(form, lambda first, second: UNDECIDED if (first, second) == (0, 1) else lower_number_wins(first, second))
    # 2 beats 3; with a half each for pairing, 2 meets 0 and loses; 1 beats 3.
    assert [tally.undecided for tally in form.tallies] == [1, 1, 0, 0]
    # Means 1, 1, 1/2, 0; Buchholz 1/2 (2), 0 (3), 1/2 (3 and 0), 3/4 (2 and 1).
    assert form.values() == pytest.approx([16.5 / 17, 16 / 17, 8.5 / 17, 0.75 / 17])
    nothing = Swiss(4)
    played(nothing, lambda first, second: UNDECIDED)
    assert nothing.values() == [None] * 4


@pytest.mark.parametrize("entrants", [2, 3, 4, 5, 8, 9])
def test_all_ties_are_worth_a_half_in_a_swiss_tournament(entrants: int) -> None:
    form = Swiss(entrants)
    played(form, lambda first, second: 0.5)
    assert form.values() == [0.5] * entrants


@pytest.mark.parametrize("entrants", range(1, 8))
def test_the_best_of_every_order_wins(entrants: int) -> None:
    for strengths in permutations(range(entrants)):
        for form in (knock_out(entrants), Swiss(entrants)):
            played(form, by_strength(strengths))
            values = form.values()
            best = max(range(entrants), key=lambda entrant: values[entrant] or 0.0)
            assert strengths[best] == entrants - 1
            assert sum(value == values[best] for value in values) == 1


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(8, 40))
def test_the_best_of_many_wins(data: st.DataObject, entrants: int) -> None:
    strengths = data.draw(st.permutations(range(entrants)))
    for form in (knock_out(entrants), Swiss(entrants), Swiss(entrants, entrants)):
        played(form, by_strength(strengths))
        values = [value or 0.0 for value in form.values()]
        assert strengths[max(range(entrants), key=values.__getitem__)] == entrants - 1


@settings(deadline=None, max_examples=100)
@given(st.data(), st.integers(1, 17), st.integers(1, 12))
def test_a_swiss_round_pairs_everybody_with_somebody_new(data: st.DataObject, entrants: int, rounds: int) -> None:
    form = Swiss(entrants, rounds)
    met: set[frozenset[int]] = set()
    all_rounds = played(form, lambda first, second: data.draw(OUTCOMES))
    assert len(all_rounds) == swiss_rounds(entrants, rounds)
    for pairs in all_rounds:
        assert len({entrant for pair in pairs for entrant in pair}) == 2 * (entrants // 2)
        met |= {frozenset(pair) for pair in pairs}
    assert len(met) == sum(map(len, all_rounds))
    assert max(tally.byes for tally in form.tallies) <= 1
    for one, value in zip(form.tallies, form.values(), strict=True):
        assert value is None or 0.0 <= value <= 1.0
        for other, other_value in zip(form.tallies, form.values(), strict=True):
            if one.decided and other.decided and one.points * other.decided > other.points * one.decided:
                assert value is not None
                assert other_value is not None
                assert value > other_value


@settings(deadline=None, max_examples=100)
@given(st.data(), st.integers(1, 17))
def test_the_winner_of_a_decided_knock_out_pair_has_the_higher_value(data: st.DataObject, entrants: int) -> None:
    form = knock_out(entrants)
    decided: list[tuple[int, int]] = []

    def result(first: int, second: int) -> Result:
        drawn: Result = data.draw(OUTCOMES)
        if drawn is not UNDECIDED and drawn != 0.5:
            decided.append((first, second) if drawn > 0.5 else (second, first))
        return drawn

    rounds = played(form, result)
    assert sum(map(len, rounds)) <= max(0, entrants - 1)
    assert len(rounds) <= rounds_for(entrants)
    values = form.values()
    assert all(value is None or 0.0 <= value <= 1.0 for value in values)
    for winner, loser in decided:
        assert (values[winner] or 0.0) > (values[loser] or 0.0)
