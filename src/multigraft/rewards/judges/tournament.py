"""The responses of a prompt against each other, for scorers that only compare."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from multigraft.randomness import Draws, key_of
from multigraft.rewards.judges.bracket import UNDECIDED, Form, Result, Tally
from multigraft.rewards.judges.comparer import Comparer
from multigraft.rewards.judges.knock_out import KnockOut
from multigraft.rewards.judges.pair_asking import PairAsking, Read
from multigraft.rewards.judges.pairwise import JudgeComparer
from multigraft.rewards.judges.preference import Scale
from multigraft.rewards.judges.swiss import Swiss, swiss_rounds
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Ask, Candidate, FailureKind, Score

FormName: TypeAlias = Literal["knock_out", "swiss"]

_NOT_OF_THE_PAIR = frozenset({FailureKind.BUDGET, FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND, FailureKind.UNAVAILABLE, FailureKind.ABORTED})
"""Failures that say nothing about the two texts, so that the comparison is still to be made."""


@dataclass(slots=True)
class _Course:
    """How the comparisons of one tournament went."""

    stopped: Score | None = None
    """Why no more rounds are played: a comparison failed for a reason that has nothing to do with its texts."""
    undecided: Counter[str] = field(default_factory=Counter)
    """Comparisons without a verdict, by reason."""
    reasons: dict[int, FailureKind] = field(default_factory=dict)
    """Why an entrant's last undecided comparison was."""
    comparisons: int = 0


class Tournament:
    """Ranks all responses of a prompt by comparing pairs of them, all pairs of a round at once.

    Knock-out: value = rounds survived / ceil(log2(k)), 1 for the winner, half a round more for who lost by lot after a tie; k - 1 comparisons of k responses.
    Swiss: value = points / decided comparisons, with Buchholz to break ties, so slightly that more points always count more; k / 2 comparisons a round.
    A judge takes two calls a comparison. A comparison without a readable verdict is counted and decided by nobody; a response without any decided one has no
    score. Equal texts enter once and share their score. Details: comparisons `won`, `tied`, `lost` and `undecided`, `byes`, `undecided_in_all`, and of Swiss
    `buchholz`.

    Args:
        ask: how the model that compares is reached; None where `comparer` is given.
        comparer: whatever else compares pairs, in place of a chat model.
        form: `knock_out` or `swiss`.
        rounds: of `swiss`, >= 1; None: ceil(log2(k)). At most half of the responses, rounded up, so that nobody must meet anybody twice.
        seed: of the draw, which is made for each prompt apart.
        template: the message, with the places `{prompt}`, `{first}` and `{second}`, and `{reference}` where there is one; None: the wording that fits.
        read: `text`: the one verdict the judge writes in double brackets. `probability`: P(A) / (P(A) + P(B)) of the first token, for small models.
        scale: `three`: `[[A]]`, `[[B]]` or `[[tie]]`. `five`: `[[A>>B]]`, `[[A>B]]`, `[[A=B]]`, `[[B>A]]` or `[[B>>A]]`.
        both_orders: ask twice, each text once in the first place; false: once, in an order drawn for the pair.
        temperature: of the judge.
        max_tokens: of a written reply; one by probability takes 4.
        name: what records know it by.
        identity: of the judge model, part of the version.

    Raises:
        ValueError: a setting that is none, or neither or both of `ask` and `comparer`.
    """

    revision = 1
    """Raised with every change that may change a score."""

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        comparer: Comparer | None = None,
        form: FormName = "knock_out",
        rounds: int | None = None,
        seed: int = 0,
        template: str | None = None,
        read: Read = "text",
        scale: Scale = "three",
        both_orders: bool = True,
        temperature: float = 0.0,
        max_tokens: int = 256,
        name: str = "tournament",
        identity: str = "",
    ) -> None:
        if form not in {"knock_out", "swiss"}:
            message = f"form of {name} must be 'knock_out' or 'swiss', not {form!r}"
            raise ValueError(message)
        if rounds is not None and (form != "swiss" or rounds < 1):
            message = f"rounds of {name} must be at least 1 and go with form = 'swiss', not {rounds} with {form!r}"
            raise ValueError(message)
        if ask is not None and comparer is None:
            asking = PairAsking(
                ask,
                template=template,
                read=read,
                scale=scale,
                both_orders=both_orders,
                temperature=temperature,
                max_tokens=max_tokens,
                name=name,
                identity=identity,
            )
            comparer = JudgeComparer(asking, name=name)
        elif ask is not None or comparer is None:
            message = f'{name} needs either a model that compares, as in model = "NAME", or a comparer of its own'
            raise ValueError(message)
        self._comparer = comparer
        self._form, self._rounds, self._seed, self._name = form, rounds, seed, name

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of who compares and how."""
        return f"{self.revision}-{key_of(self._comparer.version, self._form, str(self._rounds), self._seed):016x}"

    def comparisons(self, responses: int) -> int:
        """Return how many comparisons so many different responses take at most; undecided ones make it fewer in a knock-out."""
        if self._form == "knock_out":
            return max(0, responses - 1)
        return swiss_rounds(responses, self._rounds) * (responses // 2) if responses else 0

    def calls(self, responses: int) -> int:
        """Return how many paid calls so many different responses take at most."""
        return self.comparisons(responses) * self._comparer.calls

    async def rank(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score all responses of one prompt.

        Args:
            candidates: at least one; distinct call ids.

        Returns:
            One score for each candidate, in order.
        """
        by_text: dict[str, Candidate] = {}
        for candidate in sorted(candidates, key=lambda candidate: candidate.call.call_id):
            by_text.setdefault(candidate.completion.text, candidate)
        prompt_id = candidates[0].prompt.prompt_id
        entrants = Draws(self._seed, "draw", prompt_id).shuffled(list(by_text.values()))
        form: Form = Swiss(len(entrants), self._rounds) if self._form == "swiss" else KnockOut(len(entrants), Draws(self._seed, "lots", prompt_id))
        course = await self._played(form, entrants)
        if course.stopped is not None:
            # Nobody has a score then, also not who is out already: they would pass for the best as long as the better ones have none.
            return [replace(course.stopped, message=f"the tournament could not go on: {course.stopped.message}")] * len(candidates)
        values = form.values()
        scores = {entrant.completion.text: _score(form, course, number, values[number]) for number, entrant in enumerate(entrants)}
        return [scores[candidate.completion.text] for candidate in candidates]

    async def _played(self, form: Form, entrants: Sequence[Candidate]) -> _Course:
        course = _Course()
        while pairs := form.pairs():
            # The earlier response stands first, so that a pair is asked the same whatever round it meets in.
            ordered = [(first, second) if entrants[first].call.call_id < entrants[second].call.call_id else (second, first) for first, second in pairs]
            verdicts = await self._verdicts([(entrants[first], entrants[second]) for first, second in ordered])
            failed = [verdict for verdict in verdicts if verdict.value is None and (verdict.retryable or verdict.reason in _NOT_OF_THE_PAIR)]
            if failed:
                course.stopped = max(failed, key=lambda verdict: verdict.retryable)
                return course
            results: list[Result] = []
            for pair, order, verdict in zip(pairs, ordered, verdicts, strict=True):
                if verdict.value is None:
                    reason = verdict.reason or FailureKind.INVALID_SCORE
                    course.undecided[reason.value] += 1
                    course.reasons.update(dict.fromkeys(pair, reason))
                    results.append(UNDECIDED)
                else:
                    results.append(verdict.value if order == pair else 1.0 - verdict.value)
            course.comparisons += len(pairs)
            form.tell(results)
        return course

    async def _verdicts(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Sequence[Score]:
        verdicts = await self._comparer.compare(pairs)
        if len(verdicts) != len(pairs):
            problem = unscored(FailureKind.INVALID_SCORE, f"{self._comparer.name} returned {len(verdicts)} verdicts for {len(pairs)} pairs")
            return [problem] * len(pairs)
        return [verdict if verdict.value is None or 0.0 <= verdict.value <= 1.0 else _no_preference(verdict.value) for verdict in verdicts]


def _score(form: Form, course: _Course, number: int, value: float | None) -> Score:
    tally = form.tallies[number]
    details = _details(tally, course)
    if isinstance(form, Swiss):
        details["buchholz"] = form.buchholz(number)
    said = _in_words(tally, course)
    if value is None:
        # Who was only ever left over, as when nobody else went on, has no undecided comparison either.
        reason = course.reasons.get(number, FailureKind.UNSCORABLE)
        return replace(unscored(reason, f"no comparison was decided; {said}"), details=details)
    return scored(value, "the only response" if len(form.tallies) == 1 else said, details=details)


def _details(tally: Tally, course: _Course) -> dict[str, float]:
    counts = {"won": tally.won, "tied": tally.tied, "lost": tally.lost, "undecided": tally.undecided, "byes": tally.byes}
    return {name: float(count) for name, count in counts.items()} | {"undecided_in_all": float(course.undecided.total())}


def _in_words(tally: Tally, course: _Course) -> str:
    said = f"won {tally.won}, tied {tally.tied}, lost {tally.lost}"
    said += f", sat out {tally.byes}" if tally.byes else ""
    said += f", undecided {tally.undecided}" if tally.undecided else ""
    if not course.undecided:
        return said
    kinds = ", ".join(f"{count} {reason}" for reason, count in sorted(course.undecided.items()))
    return f"{said}; of all {course.comparisons} comparisons undecided: {kinds}"


def _no_preference(value: float) -> Score:
    return unscored(FailureKind.INVALID_SCORE, f"a preference must lie in 0 to 1, not {value}")
