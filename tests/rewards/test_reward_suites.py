"""Every reward of the package through the conformance suite, and the suite itself against rewards that break the contract."""

from collections.abc import Mapping, Sequence
from math import nan

import pytest

from multigraft.rewards.confidence import Confidence
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.judges.yes_no import YesNoJudge
from multigraft.rewards.remote import Remote
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.scripted import Scripted
from multigraft.testing.reward_suite import RewardSuite
from multigraft.types import Candidate, Completion, Failure, FailureKind, Finish, Json, Request, Reward, Sample, Score, TokenLogprob, Usage
from multigraft.wire.exchange import Reply


async def hearing(candidate: Candidate, request: Request) -> Sample:
    """Answer by a hash of what is asked; one in five says nothing of use."""
    heard = sum(map(ord, request.messages[0].content)) % 10
    text = "Hm." if heard % 5 == 4 else f"Score: {heard + 1}"
    first = (TokenLogprob("Yes", -0.1 * heard), TokenLogprob("No", -0.5)) if heard % 5 != 4 else (TokenLogprob("Hm", 0.0),)
    return Completion(text, Finish.STOP, Usage(10, 2), first_token=first)


class LengthServer:
    """Returns the length of each text, NaN as null for the longest kind."""

    async def post(self, path: str, body: Mapping[str, Json]) -> Reply | Failure:
        texts = body["input"]
        assert isinstance(texts, list)
        data: list[Json] = [{"index": index, "data": [float(len(str(text)))] if len(str(text)) < 3000 else None} for index, text in enumerate(texts)]
        return Reply(200, {}, {"data": data[::-1]}, "http://test", 0.0)


class TestRules(RewardSuite):
    def reward(self) -> Reward:
        return Rules()


class TestYesNoJudge(RewardSuite):
    def reward(self) -> Reward:
        return YesNoJudge(hearing)


class TestGradedJudge(RewardSuite):
    def reward(self) -> Reward:
        return GradedJudge(hearing)


class TestRemote(RewardSuite):
    def reward(self) -> Reward:
        return Remote(LengthServer(), shape="pooling", model="m", max_batch=3)


class TestConfidence(RewardSuite):
    def reward(self) -> Reward:
        return Confidence()


class TestScripted(RewardSuite):
    def reward(self) -> Reward:
        return Scripted(faults=lambda candidate: Score(None, FailureKind.TIMEOUT, "late") if candidate.completion.text == "42" else None)


class Broken(Scripted):
    """Breaks the contract in the way it is told."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        scores = list(await super().score(candidates))
        if self.how == "count":
            return scores[1:]
        if self.how == "order":
            return scores[::-1]
        if self.how == "batch":
            return [Score((score.value or 0.0) / len(scores)) for score in scores]
        if self.how == "random":
            return [Score((score.value or 0.0) + len(self.batches)) for score in scores]
        return [Score(nan) if self.how == "nan" else Score(None)] * len(scores)


@pytest.mark.parametrize(
    ("how", "test"),
    [
        ("count", "test_order_is_kept"),
        ("order", "test_a_score_does_not_depend_on_its_batch"),
        ("batch", "test_a_score_does_not_depend_on_its_batch"),
        ("random", "test_the_same_input_gets_the_same_score"),
        ("nan", "test_every_candidate_gets_a_value_or_a_reason"),
        ("no reason", "test_every_candidate_gets_a_value_or_a_reason"),
        ("no reason", "test_something_is_scored"),
    ],
)
def test_the_suite_catches_it(how: str, test: str) -> None:
    class Suite(RewardSuite):
        def reward(self) -> Reward:
            return Broken(how)

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()
