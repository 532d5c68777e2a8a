"""Records of prompts, made by hand."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from multigraft.budget.amount import Amount
from multigraft.records.reader import CallRecord, PromptRecord, ScoreRecord
from multigraft.types import Call, Completion, Constraint, Failure, FailureKind, Finish, Message, Prompt, Role, Sample, Score, Usage


def _call(call_id: int, given: Mapping[str, Any]) -> CallRecord:
    parents = tuple(given.get("parents", ()))
    role = Role.ANSWER if not parents else Role.REFINE if len(parents) == 1 else Role.AGGREGATE
    call = Call(call_id, given.get("model", f"m{call_id % 3 + 1}"), parents, role, seed=call_id)
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    sample: Sample
    if "failure" in given:
        sample = Failure(given["failure"], "the server said so", usage=usage)
        reason: FailureKind | None = given["failure"]
    else:
        sample = Completion(given["text"], given.get("finish", Finish.STOP), usage, reasoning=given.get("reasoning"), mean_logprob=given.get("mean_logprob"))
        reason = given.get("reason")
    found = CallRecord(call_id, call, sample, Amount(2e9, 15, 0.25, 1), (), "digest", given.get("reward"), reason)
    for scorer, score in given.get("scores", {}).items():
        found.scores[scorer] = ScoreRecord(scorer, "1", score if isinstance(score, Score) else Score(score))
    return found


def _record(*calls: object, prompt: str = "Question?", number: int = 0, ended: str | None = "done", **of_prompt: Any) -> PromptRecord:
    """Make a record; a call is (text, reward), or the parts of a call by name. Call 0 is of model m1, 1 of m2, 2 of m3, 3 of m1 ..."""
    constraints = of_prompt.pop("constraints", (Constraint("punctuation:no_comma", {}),))
    made = Prompt(of_prompt.pop("prompt_id", f"p{number}-0"), of_prompt.pop("messages", (Message("user", prompt),)), constraints=constraints, **of_prompt)
    record = PromptRecord(number, made, ended=ended)
    for call_id, given in enumerate(calls):
        if isinstance(given, tuple):
            given = {"text": given[0], "reward": given[1]}
        assert isinstance(given, dict)
        record.calls[call_id] = _call(call_id, given)
    return record


@pytest.fixture(scope="session")
def make_record() -> Callable[..., PromptRecord]:
    return _record
