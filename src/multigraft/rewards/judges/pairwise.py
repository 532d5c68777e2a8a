"""Two responses against each other: a judge that compares with a fixed opponent, and one that compares any two for a tournament."""

import asyncio
from collections.abc import Mapping, Sequence

from multigraft.randomness import key_of
from multigraft.rewards.judges.base import check_batch
from multigraft.rewards.judges.pair_asking import PairAsking, Read
from multigraft.rewards.judges.preference import Scale
from multigraft.rewards.rendering import places
from multigraft.rewards.scores import unscored
from multigraft.types import Ask, Candidate, FailureKind, Score

_REFERENCE = "reference"


class PairwiseJudge:
    """Value = how much the response is preferred to a fixed opponent, the mean over both orders; in [0, 1], and 0.5 is a tie.

    A written verdict counts 1, 0.5 or 0; with five verdicts 1, 0.75, 0.5, 0.25 or 0. Orders that disagree therefore come to 0.5, and `orders_agree` is 0.
    Without a verdict in each order there is no score. Two calls a response, none where response and opponent are the same.

    Args:
        ask: how the model is reached; by probability, it must return alternatives of the first token.
        against: what the opponent is: `reference`, or the name of a field of the prompts, such as `baseline`.
        baselines: opponents by prompt name or prompt id, in place of `against`.
        template: the message, with the places `{prompt}`, `{first}` and `{second}`; `{reference}` where that is not the opponent; None: the wording that fits.
        read: `text`: the one verdict the judge writes in double brackets. `probability`: P(A) / (P(A) + P(B)) of the first token, for small models.
        scale: `three`: `[[A]]`, `[[B]]` or `[[tie]]`. `five`: `[[A>>B]]`, `[[A>B]]`, `[[A=B]]`, `[[B>A]]` or `[[B>>A]]`.
        both_orders: ask twice, each text once in the first place; false: once, in an order drawn for the pair.
        temperature: of the judge.
        max_tokens: of a written reply; one by probability takes 4.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: a setting that is none, or a template without its places.

    Source:
        Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena" (arXiv 2306.05685), section 3.4: both orders against position bias. Departure:
        verdicts that disagree are averaged and marked rather than declared a tie.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        against: str = _REFERENCE,
        baselines: Mapping[str, str] | None = None,
        template: str | None = None,
        read: Read = "text",
        scale: Scale = "three",
        both_orders: bool = True,
        temperature: float = 0.0,
        max_tokens: int = 256,
        name: str = "pairwise",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        check_batch(max_batch, name)
        self._asking = PairAsking(
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
        self._against = against
        self._baselines = None if baselines is None else dict(baselines)
        self._shows_reference = baselines is not None or against != _REFERENCE
        if not self._shows_reference and _REFERENCE in places(self._asking.template):
            message = f"the template of {name} shows {{reference}}, which is the opponent: leave that place out, or name another opponent"
            raise ValueError(message)
        self._name = name
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of the judge's identity, settings and opponents."""
        opponents = self._against if self._baselines is None else repr(sorted(self._baselines.items()))
        return f"1-{key_of(self._asking.digest, opponents):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    @property
    def calls(self) -> int:
        """Calls a response takes."""
        return self._asking.calls

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Compare each candidate with its opponent, all at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._judged(candidate)) for candidate in candidates]
        return [task.result() for task in tasks]

    async def _judged(self, candidate: Candidate) -> Score:
        opponent = self._opponent(candidate)
        return opponent if isinstance(opponent, Score) else await self._asking.preference(candidate, opponent, show_reference=self._shows_reference)

    def _opponent(self, candidate: Candidate) -> str | Score:
        prompt = candidate.prompt
        if self._baselines is not None:
            found = self._baselines.get(prompt.prompt_id)
            found = self._baselines.get(prompt.name) if found is None and prompt.name is not None else found
            return unscored(FailureKind.UNSCORABLE, f"no baseline answer for prompt {prompt.name or prompt.prompt_id}") if found is None else found
        if self._against == _REFERENCE:
            return unscored(FailureKind.UNSCORABLE, "the prompt has no reference to compare with") if prompt.reference is None else prompt.reference
        field = prompt.fields.get(self._against)
        if isinstance(field, str):
            return field
        problem = "has no field" if field is None else "has no text in its field"
        return unscored(FailureKind.UNSCORABLE, f"the prompt {problem} '{self._against}' to compare with")


class JudgeComparer:
    """A chat model that compares any two responses; a `Comparer`.

    Args:
        asking: the question.
        name: what messages know it by.
    """

    def __init__(self, asking: PairAsking, *, name: str) -> None:
        self._asking = asking
        self._name = name

    @property
    def name(self) -> str:
        """The name messages know it by."""
        return self._name

    @property
    def version(self) -> str:
        """A digest of the question."""
        return f"1-{self._asking.digest:016x}"

    @property
    def calls(self) -> int:
        """Calls a pair takes."""
        return self._asking.calls

    async def compare(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Sequence[Score]:
        """Compare all pairs at the same time; the first of each pays."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._asking.preference(first, second.completion.text)) for first, second in pairs]
        return [task.result() for task in tasks]
