"""Chat models as judges: yes or no by the probability of the first token, or a grade written out.

What the response says cannot be read as a verdict: only the judge's own reply is parsed, and a reply without a verdict is no score, never a middle one.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import exp

from multigraft.randomness import key_of, seed_of
from multigraft.rewards.rendering import conversation, fenced, fill, places
from multigraft.rewards.scores import of_failure, scored, unscored
from multigraft.types import Ask, Candidate, Completion, Failure, FailureKind, Finish, Message, Request, Sampling, Score

YES_NO_TEMPLATE = """Read a task and a response to it.

{prompt}

{response}

Does the response do what the task asks, correctly and completely? Reply with one word, Yes or No."""

GRADE_TEMPLATE = """Read a task and a response to it.

{prompt}

{response}

How good is the response, from {low} (useless) to {high} (could not be better)? Weigh correctness first, then completeness, then style, in two sentences. \
Then end with your grade on a line of its own, in this form:
Score: <number>"""

_EDGES = " \t\r\n\u2581\u0120\u010a*_`\"'.,:;!()[]"
"""Also the signs that tokenizers write for a space or a line end."""
_GRADE = re.compile(
    r"\bscore\b[ \t*_]*:[ \t*_]*(?P<number>[-+]?\d+(?:\.\d+)?)(?P<rest>[^\n]{0,6})|\[\[\s*(?P<bracketed>[-+]?\d+(?:\.\d+)?)\s*\]\]", re.IGNORECASE
)
_NUMBER_GOES_ON = re.compile(r"\s?(?:[-\u2013]|to|or)\s?\d|[\w,.]?\w")
"""What makes a number no single grade: a range such as 7-8, a decimal comma, a letter."""


class Judge(ABC):
    """A chat model that is shown the prompt and one response at a time.

    Args:
        ask: how the model is reached; the run's budget pays.
        template: the message to the judge, with the places `{prompt}` and `{response}`, both put between tags; `{reference}` where there is one.
        sampling: of the judge.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: a template without the two places, or a batch below 1.
    """

    revision = 1
    """Raised with every change that may change a score."""

    def __init__(self, ask: Ask, *, template: str, sampling: Sampling, name: str, identity: str, max_batch: int) -> None:
        if missing := {"prompt", "response"} - places(template):
            message = f"the template of {name} needs the place {{{min(missing)}}}"
            raise ValueError(message)
        if max_batch < 1:
            message = f"max_batch of {name} must be at least 1, not {max_batch}"
            raise ValueError(message)
        self._ask = ask
        self._template = template
        self._sampling = sampling
        self._name = name
        self._identity = identity
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of the judge's identity and settings."""
        return f"{self.revision}-{key_of(self._identity, self._template, repr(self._sampling), self._settings()):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Ask once for each candidate, all at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._judged(candidate)) for candidate in candidates]
        return [task.result() for task in tasks]

    async def _judged(self, candidate: Candidate) -> Score:
        prompt = candidate.prompt
        # Keyed by what is judged, not by when: the same response gets the same seed in a resumed run.
        seed = seed_of(self._name, prompt.prompt_id, candidate.call.call_id)
        sample = await self._ask(candidate, Request((Message("user", self._message(candidate)),), self._sampling, (seed,)))
        return of_failure(sample) if isinstance(sample, Failure) else self._read(sample)

    def _message(self, candidate: Candidate) -> str:
        reference = candidate.prompt.reference
        values = {
            "prompt": fenced("task", conversation(candidate.prompt.messages)),
            "response": fenced("response", candidate.completion.text),
            "reference": "" if reference is None else fenced("reference", reference),
        }
        return fill(self._template, values | self._places())

    def _places(self) -> dict[str, str]:
        return {}

    def _settings(self) -> str:
        return ""

    @abstractmethod
    def _read(self, reply: Completion) -> Score:
        """Find the verdict in the judge's reply."""


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
        template: str = YES_NO_TEMPLATE,
        yes: Sequence[str] = ("yes",),
        no: Sequence[str] = ("no",),
        max_tokens: int = 4,
        name: str = "judge",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        sampling = Sampling(temperature=0.0, max_tokens=max_tokens, logprobs=True, top_logprobs=20)
        super().__init__(ask, template=template, sampling=sampling, name=name, identity=identity, max_batch=max_batch)
        self._yes, self._no = frozenset(map(_plain, yes)), frozenset(map(_plain, no))
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
        yes, no = self._mass(reply, self._yes), self._mass(reply, self._no)
        if yes + no <= 0.0:
            return unscored(FailureKind.UNREADABLE, f"neither yes nor no among the first tokens of {reply.text[:80]!r}")
        return scored(yes / (yes + no), f"P(yes) {yes:.3g}, P(no) {no:.3g}")

    @staticmethod
    def _mass(reply: Completion, words: frozenset[str]) -> float:
        # A log-probability above 0 or NaN is no probability; rounding may leave one a little above 0.
        return sum(exp(min(token.logprob, 0.0)) for token in reply.first_token if token.logprob <= 0.01 and _plain(token.token) in words)


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
        template: str = GRADE_TEMPLATE,
        scale: tuple[int, int] = (1, 10),
        temperature: float = 0.0,
        max_tokens: int = 256,
        name: str = "judge",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        super().__init__(ask, template=template, sampling=sampling, name=name, identity=identity, max_batch=max_batch)
        if scale[0] >= scale[1]:
            message = f"scale of {name} must go from a lower to a higher grade, not {scale[0]} to {scale[1]}"
            raise ValueError(message)
        self._low, self._high = scale

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
        if cut_off or _NUMBER_GOES_ON.match(last["rest"] or ""):
            return unscored(FailureKind.UNREADABLE, f"the grade is not one whole number: {reply.text[last.start() :][:80]!r}")
        written = last["number"] or last["bracketed"]
        grade = float(written)
        if not self._low <= grade <= self._high:
            return unscored(FailureKind.UNREADABLE, f"the grade {written[:20]} is outside {self._low} to {self._high}")
        return scored((grade - self._low) / (self._high - self._low), f"grade {written} of {self._low} to {self._high}")


def _plain(token: str) -> str:
    return token.strip(_EDGES).casefold()
