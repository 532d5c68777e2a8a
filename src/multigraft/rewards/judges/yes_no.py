"""Yes or no, by the probability of the first token of the reply."""

from collections.abc import Sequence

from multigraft.rewards.judges.base import Judge
from multigraft.rewards.judges.first_token import mass, plain
from multigraft.rewards.judges.wording import default_template
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Ask, Completion, FailureKind, Sampling, Score

TEMPLATE = default_template("yes_no")


class YesNoJudge(Judge):
    """Value = P(yes) / (P(yes) + P(no)), from the alternatives of the first token of the reply; in [0, 1].

    Args:
        ask: how the model is reached; it must return alternatives of the first token.
        template: as for every judge; it must make the model answer with one word.
        yes: words that count as yes, without regard to case, spaces and marks at their ends.
        no: words that count as no.
        max_tokens: of the reply, whose first token decides; more than one, so that a reply that opens with a space still has a visible character.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: no word for yes or no, or a word that is both.

    Source:
        Kadavath et al., "Language Models (Mostly) Know What They Know" (arXiv 2207.05221): P(True).
    """

    def __init__(
        self,
        ask: Ask,
        *,
        template: str = TEMPLATE,
        yes: Sequence[str] = ("yes",),
        no: Sequence[str] = ("no",),
        max_tokens: int = 4,
        name: str = "judge",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        sampling = Sampling(temperature=0.0, max_tokens=max_tokens, logprobs=True, top_logprobs=20)
        super().__init__(ask, template=template, sampling=sampling, name=name, identity=identity, max_batch=max_batch)
        self._yes, self._no = frozenset(map(plain, yes)), frozenset(map(plain, no))
        if not self._yes or not self._no or self._yes & self._no or "" in self._yes | self._no:
            message = f"{name} needs words for yes and for no that differ, not {list(yes)} and {list(no)}"
            raise ValueError(message)

    def _settings(self) -> str:
        return repr((sorted(self._yes), sorted(self._no)))

    def _read(self, reply: Completion) -> Score:
        if not reply.first_token:
            return unscored(
                FailureKind.UNREADABLE, "the judge's server returned no alternatives of the first token: use one with top_logprobs, or a graded judge"
            )
        yes, no = mass(reply, self._yes), mass(reply, self._no)
        if yes + no <= 0.0:
            return unscored(FailureKind.UNREADABLE, f"neither yes nor no among the first tokens of {reply.text[:80]!r}")
        return scored(yes / (yes + no), f"P(yes) {yes:.3g}, P(no) {no:.3g}")
