"""A grade written out."""

import re

from multigraft.rewards.judges.base import Judge
from multigraft.rewards.judges.grades import NUMBER, check_scale, goes_on
from multigraft.rewards.judges.wording import default_template
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Ask, Completion, FailureKind, Finish, Sampling, Score

TEMPLATE = default_template("graded")
_GRADE = re.compile(rf"\bscore\b[ \t*_]*:[ \t*_]*(?P<number>{NUMBER})(?P<rest>[^\n]{{0,6}})|\[\[\s*(?P<bracketed>{NUMBER})\s*\]\]", re.IGNORECASE)


class GradedJudge(Judge):
    """Value = (grade - low) / (high - low) of the grade the judge writes last, as `Score: 7` or `[[7]]`; in [0, 1].

    Args:
        ask: how the model is reached.
        template: as for every judge; `{low}` and `{high}` are the ends of the scale.
        scale: the lowest and the highest grade; a grade outside is no grade.
        temperature: of the judge.
        max_tokens: of its reply; a grade cut off by it is no grade.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: a scale whose ends are not in order.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        template: str = TEMPLATE,
        scale: tuple[int, int] = (1, 10),
        temperature: float = 0.0,
        max_tokens: int = 256,
        name: str = "judge",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        super().__init__(ask, template=template, sampling=sampling, name=name, identity=identity, max_batch=max_batch)
        self._low, self._high = check_scale(scale, name)

    def _settings(self) -> str:
        return repr((self._low, self._high))

    def _places(self) -> dict[str, str]:
        return {"low": str(self._low), "high": str(self._high)}

    def _read(self, reply: Completion) -> Score:
        grades = list(_GRADE.finditer(reply.text))
        if not grades:
            return unscored(FailureKind.UNREADABLE, f"no 'Score: <number>' in the judge's reply, which ends in {reply.text[-80:]!r}")
        last = grades[-1]
        # A reply that ran into its token limit may have lost the second digit.
        cut_off = reply.finish is Finish.LENGTH and last.end("number") == len(reply.text.rstrip())
        if cut_off or goes_on(last["rest"] or ""):
            return unscored(FailureKind.UNREADABLE, f"the grade is not one whole number: {reply.text[last.start() :][:80]!r}")
        written = last["number"] or last["bracketed"]
        grade = float(written)
        if not self._low <= grade <= self._high:
            return unscored(FailureKind.UNREADABLE, f"the grade {written[:20]} is outside {self._low} to {self._high}")
        return scored((grade - self._low) / (self._high - self._low), f"grade {written} of {self._low} to {self._high}")
