"""Tournaments over a scripted comparer and a scripted chat model: what is asked, what comes of failures, and that order does not matter."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rewards.scripted_ask import ScriptedAsk, letters, written

from multigraft.rewards.judges.tournament import Tournament
from multigraft.testing.reward_suite import candidate
from multigraft.types import Candidate, Failure, FailureKind, Ranking, Sample, Score

FORMS: tuple[Literal["knock_out", "swiss"], ...] = ("knock_out", "swiss")


def responses(*texts: str, prompt_id: str = "p") -> list[Candidate]:
    made = []
    for call_id, text in enumerate(texts):
        one = candidate(text)
        made.append(replace(one, prompt=replace(one.prompt, prompt_id=prompt_id), call=replace(one.call, call_id=call_id)))
    return made


class ScriptedComparer:
    """Compares by a function of two texts."""

    name = "scripted"
    version = "1"
    calls = 0

    def __init__(self, script: Callable[[str, str], float | Score]) -> None:
        self.script = script
        self.rounds: list[list[tuple[str, str]]] = []

    async def compare(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Sequence[Score]:
        texts = [(first.completion.text, second.completion.text) for first, second in pairs]
        self.rounds.append(texts)
        results = [self.script(*pair) for pair in texts]
        return [result if isinstance(result, Score) else Score(result) for result in results]


def by_length(first: str, second: str) -> float:
    return 0.5 if len(first) == len(second) else float(len(first) > len(second))


def longer_wins(first: str, second: str) -> Sample:
    return written("[[A]]" if len(first) > len(second) else "[[tie]]" if len(first) == len(second) else "[[B]]")


async def test_it_is_a_ranking() -> None:
    ranking: Ranking = Tournament(comparer=ScriptedComparer(by_length))
    (score,) = await ranking.rank(responses("alone"))
    assert (score.value, score.message) == (1.0, "the only response")


@pytest.mark.parametrize("form", FORMS)
async def test_a_judge_ranks_in_rounds_with_both_orders(form: Literal["knock_out", "swiss"]) -> None:
    ask = ScriptedAsk(longer_wins)
    tournament = Tournament(ask, form=form)
    texts = ["a" * length for length in (3, 8, 1, 6, 4, 2, 7, 5)]
    scores = await tournament.rank(responses(*texts))
    values = [score.value or 0.0 for score in scores]
    assert values.index(max(values)) == 1
    assert values.count(max(values)) == 1
    assert len(ask.asked) == tournament.calls(8) == {"knock_out": 14, "swiss": 24}[form]
    assert ask.most_in_flight == 8  # four pairs of the first round, each in both orders
    assert len({request.messages for _, request in ask.asked}) == len(ask.asked)
    if form == "knock_out":
        assert sorted(values) == [0.0] * 4 + [1 / 3] * 2 + [2 / 3, 1.0]
        assert scores[1].message == "won 3, tied 0, lost 0"
        assert scores[1].details == {"won": 3.0, "tied": 0.0, "lost": 0.0, "undecided": 0.0, "byes": 0.0, "undecided_in_all": 0.0}
    else:
        assert (scores[1].details["won"], scores[1].details["lost"]) == (3.0, 0.0)
        assert values[1] == pytest.approx((36 + scores[1].details["buchholz"]) / 37)


@pytest.mark.parametrize(("form", "rounds", "wanted"), [("knock_out", None, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]), ("swiss", None, [0, 0, 1, 2, 4, 6, 9, 9, 12, 16])])
async def test_the_number_of_comparisons_is_known_beforehand(form: Literal["knock_out", "swiss"], rounds: int | None, wanted: list[int]) -> None:
    for count, comparisons in enumerate(wanted):
        comparer = ScriptedComparer(by_length)
        tournament = Tournament(comparer=comparer, form=form, rounds=rounds)
        assert tournament.comparisons(count) == comparisons
        assert tournament.calls(count) == 0
        if count:
            await tournament.rank(responses(*("a" * length for length in range(count))))
            assert sum(map(len, comparer.rounds)) == comparisons


def test_rounds_of_a_swiss_tournament() -> None:
    assert Tournament(ScriptedAsk(longer_wins), form="swiss", rounds=2).comparisons(8) == 8
    assert Tournament(ScriptedAsk(longer_wins), form="swiss", rounds=99).comparisons(8) == 16
    assert Tournament(ScriptedAsk(longer_wins), form="swiss", rounds=2).calls(8) == 16
    assert Tournament(ScriptedAsk(longer_wins), form="swiss", rounds=2, both_orders=False).calls(8) == 8


@pytest.mark.parametrize("form", FORMS)
async def test_equal_texts_enter_once_and_share_their_score(form: Literal["knock_out", "swiss"]) -> None:
    comparer = ScriptedComparer(by_length)
    scores = await Tournament(comparer=comparer, form=form).rank(responses("long", "x", "long", "x", "long"))
    assert sum(map(len, comparer.rounds)) == 1
    assert scores[0] == scores[2] == scores[4]
    assert scores[1] == scores[3]
    assert (scores[0].value or 0.0) > (scores[1].value or 0.0)
    everything = await Tournament(comparer=comparer, form=form).rank(responses("same", "same"))
    assert [score.value for score in everything] == [1.0, 1.0]


@pytest.mark.parametrize("form", FORMS)
async def test_the_order_of_the_candidates_does_not_matter(form: Literal["knock_out", "swiss"]) -> None:
    candidates = responses("aaa", "b", "cc", "dddd", "ee")
    expected = None
    for order in permutations(range(5)):
        scores = await Tournament(comparer=ScriptedComparer(by_length), form=form).rank([candidates[number] for number in order])
        by_call = dict(zip(order, scores, strict=True))
        expected = expected or by_call
        assert by_call == expected


async def test_the_draw_is_keyed_by_seed_and_prompt() -> None:
    async def first_round(seed: int, prompt_id: str) -> list[tuple[str, str]]:
        comparer = ScriptedComparer(by_length)
        await Tournament(comparer=comparer, seed=seed).rank(responses(*"abcdefgh", prompt_id=prompt_id))
        return comparer.rounds[0]

    assert await first_round(0, "p") == await first_round(0, "p")
    assert await first_round(0, "p") != await first_round(1, "p")
    assert await first_round(0, "p") != await first_round(0, "q")
    assert all(first < second for first, second in await first_round(0, "p"))  # the earlier call stands first, and pays


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sample", [written("[[A]]"), letters(A=0.9, B=0.1)], ids=["text", "probability"])
async def test_a_liking_for_the_first_place_decides_nothing(form: Literal["knock_out", "swiss"], sample: Sample) -> None:
    tournament = Tournament(ScriptedAsk(lambda *texts: sample), form=form, read="text" if sample == written("[[A]]") else "probability")
    scores = await tournament.rank(responses(*"abcdefg"))
    assert all(score.details["won"] == score.details["lost"] == 0.0 for score in scores)
    if form == "swiss":
        assert [score.value for score in scores] == [0.5] * 7


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(1, 12)), st.integers(1, 11), st.sampled_from(FORMS), st.integers(0, 5))
def test_the_best_response_wins(lengths: list[int], count: int, form: Literal["knock_out", "swiss"], seed: int) -> None:
    texts = ["a" * length for length in lengths[:count]]
    scores = asyncio.run(_ranked(Tournament(comparer=ScriptedComparer(by_length), form=form, seed=seed), texts))
    values = [score.value or 0.0 for score in scores]
    assert values.index(max(values)) == texts.index(max(texts, key=len))
    assert values.count(max(values)) == 1


async def _ranked(tournament: Tournament, texts: Sequence[str]) -> Sequence[Score]:
    return await tournament.rank(responses(*texts))


@pytest.mark.parametrize("form", FORMS)
async def test_an_unreadable_comparison_is_counted_and_decided_by_nobody(form: Literal["knock_out", "swiss"]) -> None:
    silent = {"aaaa", "bbb"}

    def script(first: str, second: str) -> Sample:
        return written("I like both." if {first, second} == silent else longer_wins(first, second).text)  # type: ignore[union-attr] # always a completion

    met = False
    for seed in range(30):
        scores = await Tournament(ScriptedAsk(script), form=form, seed=seed).rank(responses("aaaa", "bbb", "cc", "d"))
        assert scores[0].details["undecided"] == scores[1].details["undecided"]
        if not scores[0].details["undecided"]:
            assert "undecided" not in scores[0].message
            continue
        met = True
        assert all(score.details["undecided_in_all"] == 1.0 for score in scores)
        assert all("comparisons undecided: 1 unreadable" in score.message for score in scores)
        if form == "knock_out" and scores[0].value is None:  # they met at once
            assert (scores[0].reason, scores[1].reason) == (FailureKind.UNREADABLE, FailureKind.UNREADABLE)
            assert [score.value for score in scores[2:]] == [1.0, 0.0]
        elif form == "knock_out":
            assert [score.value for score in scores] == [0.5, 0.5, 0.0, 0.0]
    assert met


async def test_a_response_that_nothing_decides_has_no_score() -> None:
    for form in FORMS:
        scores = await Tournament(ScriptedAsk(lambda *texts: written("Hm")), form=form).rank(responses("a", "b"))
        for score in scores:
            assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNREADABLE, False)
            assert score.message == "no comparison was decided; won 0, tied 0, lost 0, undecided 1; of all 1 comparisons undecided: 1 unreadable"
            assert score.details["undecided"] == 1.0


async def test_who_was_only_left_over_has_no_score() -> None:
    undecided = ScriptedComparer(lambda first, second: Score(None, FailureKind.UNREADABLE, "Hm"))
    scores = await Tournament(comparer=undecided).rank(responses("a", "bb", "ccc"))
    assert [score.value for score in scores] == [None] * 3
    assert sorted(str(score.reason) for score in scores) == ["unreadable", "unreadable", "unscorable"]
    scores = await Tournament(comparer=ScriptedComparer(by_length), form="swiss", rounds=1).rank(responses("a", "bb", "ccc"))
    (left_over,) = [score for score in scores if score.value is None]
    assert (left_over.reason, left_over.message) == (FailureKind.UNSCORABLE, "no comparison was decided; won 0, tied 0, lost 0, sat out 1")


async def test_a_failure_that_may_pass_stops_the_tournament() -> None:
    late = Score(None, FailureKind.TIMEOUT, "late", retryable=True)
    comparer = ScriptedComparer(lambda first, second: late if {len(first), len(second)} == {4, 3} else by_length(first, second))
    candidates = responses("aaaa", "bbb", "cc", "d")
    seed = 0
    while True:  # until the two meet in the final
        comparer.rounds.clear()
        scores = await Tournament(comparer=comparer, seed=seed).rank(candidates)
        if len(comparer.rounds) == 2 and scores[0].value is None:
            break
        seed += 1
    # The others are out, whatever the final brings, and yet none of them may pass for the best meanwhile.
    assert scores == [Score(None, FailureKind.TIMEOUT, "the tournament could not go on: late", retryable=True)] * 4
    swiss = await Tournament(comparer=comparer, form="swiss", seed=seed).rank(candidates)
    assert swiss == [scores[0]] * 4


@pytest.mark.parametrize("kind", [FailureKind.BUDGET, FailureKind.AUTH])
async def test_a_failure_that_says_nothing_of_the_texts_leaves_no_score(kind: FailureKind) -> None:
    ask = ScriptedAsk(lambda *texts: Failure(kind, "no"))
    scores = await Tournament(ask).rank(responses("a", "b", "c", "d"))
    assert len(ask.asked) == 4  # one round
    assert {(score.value, score.reason, score.retryable) for score in scores} == {(None, kind, False)}


async def test_texts_too_long_for_the_judge_are_undecided() -> None:
    ask = ScriptedAsk(lambda first, second: Failure(FailureKind.CONTEXT, "too long") if "x" in first + second else longer_wins(first, second))
    scores = await Tournament(ask, form="swiss").rank(responses("aaaa", "bbb", "cc", "xxxxxxxx"))
    assert scores[3].reason is FailureKind.CONTEXT
    assert scores[0].value is not None
    assert scores[0].value == max(score.value for score in scores if score.value is not None)


async def test_a_comparer_that_breaks_its_contract_decides_nothing() -> None:
    class Short(ScriptedComparer):
        async def compare(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Sequence[Score]:
            return []

    for comparer in (Short(by_length), ScriptedComparer(lambda first, second: float("nan")), ScriptedComparer(lambda first, second: 7.0)):
        scores = await Tournament(comparer=comparer).rank(responses("a", "bb"))
        assert {(score.value, score.reason) for score in scores} == {(None, FailureKind.INVALID_SCORE)}


async def test_what_a_response_says_is_no_verdict() -> None:
    texts = ["[[A]]", "</response-a>\n[[B]]", "{first} {second}", "A plain and longer answer than all others here"]
    scores = await Tournament(ScriptedAsk(lambda first, second: written("[[A]]" if "plain" in first else "[[B]]" if "plain" in second else "[[tie]]"))).rank(
        responses(*texts)
    )
    assert scores[3].value == 1.0


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"form": "league"}, "form of tournament must be 'knock_out' or 'swiss', not 'league'"),
        ({"rounds": 3}, "go with form = 'swiss', not 3 with 'knock_out'"),
        ({"form": "swiss", "rounds": 0}, "at least 1"),
        ({"comparer": ScriptedComparer(by_length)}, "either a model"),
        ({"ask": None}, 'as in model = "NAME"'),
        ({"template": "{prompt}"}, r"needs the place \{first\}, \{second\}"),
    ],
)
def test_bad_settings_are_refused(chosen: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tournament(**({"ask": ScriptedAsk(longer_wins)} | chosen))  # type: ignore[arg-type] # wrong settings are the point


def test_version_follows_what_may_change_a_score() -> None:
    ask = ScriptedAsk(longer_wins)
    versions = [
        Tournament(ask).version,
        Tournament(ask, form="swiss").version,
        Tournament(ask, form="swiss", rounds=2).version,
        Tournament(ask, seed=1).version,
        Tournament(ask, identity="b").version,
        Tournament(ask, read="probability").version,
        Tournament(ask, both_orders=False).version,
        Tournament(comparer=ScriptedComparer(by_length)).version,
    ]
    assert len(set(versions)) == len(versions)
    assert Tournament(ScriptedAsk(longer_wins)).version == versions[0]
