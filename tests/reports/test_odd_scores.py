"""Scores that are no numbers: they never win, whoever sent them, and no file or line of output holds one."""

import json
import re
from collections.abc import Callable, Sequence
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reports.command import laid_out, multigraft, one_each, openai, records_of, synth
from tests.reports.hostile_server import raw_server, replies
from tests.reports.odd_scorers import installed
from tests.reports.strictness import check_everything, strict

from multigraft.engine.scoring import checked
from multigraft.knowledge import Knowledge
from multigraft.rewards.combine import Combination, Part
from multigraft.types import FailureKind, Score

INVALID = ("nan", "plus infinity", "minus infinity", "a text", "truth", "beyond", "a list", "a table", "complex")
SENT = {
    "a plain answer": "0.25",
    "nan": "NaN",
    "plus infinity": "Infinity",
    "minus infinity": "-Infinity",
    "null": "null",
    "a text": '"0.9"',
    "truth": "true",
    "beyond": "1e400",
    "beyond any integer": "1" + "0" * 400,
    "a table": '{"value": 0.9}',
    "a vector": "[0.9, 0.8]",
    "nested": "[[0.9, 0.8]]",
    "an empty vector": "[]",
    "null in a vector": "[null]",
    "whole": "1",
}
"""What a reward server writes in place of the score, by the text it is to score."""


def scripted(*answers: str) -> str:
    return f'[[models]]\nname = "writer"\nkind = "scripted"\nanswers = {json.dumps(answers)}\n'


def rewards_of(run: Path) -> dict[str, float | None]:
    return {call.text or "": call.reward for record in records_of(run) for call in record.calls.values()}


@pytest.mark.parametrize("normalise", ["none", "run"])
def test_what_a_plug_in_returns_wins_only_as_a_finite_number(tmp_path: Path, normalise: str) -> None:
    answers = ("a plain answer", *INVALID, "nothing", "whole")
    reward = f'[[reward.parts]]\nkind = "odd"\nnormalise = "{normalise}"\n'
    run = laid_out(tmp_path, one_each(100) + scripted(*answers) + reward, "Which of them?")
    done = synth(tmp_path, "--json", environment=installed(tmp_path))
    assert done.code == 0, done.err
    strict(done.out)
    rewards = rewards_of(run)
    assert rewards.keys() == set(answers), "not every answer was drawn"
    assert {text for text, reward in rewards.items() if reward is not None} == {"a plain answer", "whole"}
    (record,) = records_of(run)
    best = record.best()
    assert best is not None
    assert best.text == "whole"
    assert {call.reason for call in record.calls.values() if call.text in INVALID} == {FailureKind.INVALID_SCORE}
    assert {tuple(found.score.details.items()) for call in record.calls.values() for found in call.scores.values() if found.score.value is not None} == {
        (("sound", 0.5),)
    }
    if normalise == "none":
        assert check_everything(run) > 1000


@pytest.mark.parametrize("table", ["reward", "judge"])
@pytest.mark.parametrize("kind", ["odd_ranking", "short_ranking"])
def test_what_a_ranking_returns_wins_only_as_a_finite_number_for_each(tmp_path: Path, kind: str, table: str) -> None:
    guide = "" if table == "reward" else '[[reward.parts]]\nkind = "scripted"\n'
    run = laid_out(tmp_path, f'{one_each(60)}{scripted("a plain answer", *INVALID, "whole")}{guide}[[{table}.parts]]\nkind = "{kind}"\n', "Which of them?")
    done = synth(tmp_path, environment=installed(tmp_path))
    assert "Traceback" not in done.err
    assert done.code == (0 if table == "judge" or kind == "odd_ranking" else 1)
    scores = {call.text: call.scores[kind].score for record in records_of(run) for call in record.calls.values()}
    expected = {"a plain answer": 0.25, "whole": 1.0} if kind == "odd_ranking" else {}
    assert {text: score.value for text, score in scores.items() if score.value is not None} == expected
    assert {score.reason for score in scores.values() if score.value is None} == {FailureKind.INVALID_SCORE}


@pytest.mark.parametrize("strategy", ["toa", "moa"])
def test_huge_rewards_neither_stop_a_run_nor_reach_a_file_as_infinity(tmp_path: Path, strategy: str) -> None:
    settings_of = f'[strategy]\nname = "{strategy}"\nn = 9\n{scripted("huge", "deep", "a plain answer")}'
    run = laid_out(tmp_path, f'{settings_of}[[reward.parts]]\nkind = "odd"\n', "One?", "Two?", "Three?", "Four?")
    done = synth(tmp_path, "--json", environment=installed(tmp_path))
    assert done.code == 0, done.err
    assert strict(done.out)["responses"] == 36
    assert rewards_of(run) == {"huge": 1e308, "deep": -1e308, "a plain answer": 0.25}
    if strategy == "toa":
        for command in (("curve",), ("score", "--with", "scripted", "--at", "all"), ("score", "--with", "odd", "--name", "outside", "--at", "all")):
            said = multigraft(tmp_path, command[0], run, *command[1:], "--json", environment=installed(tmp_path))
            assert said.code == 0, said.err
            assert strict(said.out)
        check_everything(run)


@pytest.mark.parametrize("together", ["1", "4"])
def test_what_a_reward_server_writes_wins_only_as_a_finite_number(tmp_path: Path, together: str) -> None:
    def pooled(body: dict[str, Any]) -> str:
        texts = [text.rsplit("<|im_start|>assistant\n", 1)[-1].removesuffix("<|im_end|>\n") for text in body["input"]]
        items = ", ".join(f'{{"index": {index}, "data": {SENT[text]}}}' for index, text in enumerate(texts))
        return f'{{"data": [{items}]}}'

    with raw_server(replies(pooled)) as url:
        reward = f'[[reward.parts]]\nkind = "remote"\nshape = "pooling"\nmax_batch = {together}\nendpoints = [{{ url = "{url}" }}]\n'
        run = laid_out(tmp_path, one_each(120) + scripted(*SENT) + reward, "Which of them?")
        done = synth(tmp_path, "--json")
    assert done.code == 0, done.err
    strict(done.out)
    rewards = rewards_of(run)
    assert rewards.keys() == SENT.keys(), "not every answer was drawn"
    assert {text: reward for text, reward in rewards.items() if reward is not None} == {"a plain answer": 0.25, "whole": 1.0}


VERDICTS = ("Score: NaN", "Score: Infinity", "Score: 1e400", "Score: -inf", "[[nan]]", "Score: null", "Score: 1" + "0" * 400, "Score: true", "Score: [7]")
LOGPROBS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "null", '"-0.1"', "true")


def number_in(body: dict[str, Any]) -> int | None:
    """Which odd answer a judge is shown, if it is one."""
    found = re.search(r"odd answer (\d+)", str(body["messages"]))
    return None if found is None else int(found[1])


def judged_run(folder: Path, kind: str, count: int, serve: Callable[[dict[str, Any]], str]) -> dict[str, float | None]:
    """Make a run under a judge, and return the rewards of the odd answers, which are to be none, and of the plain one."""
    with raw_server(replies(serve)) as url:
        answers = ("a plain answer", *(f"odd answer {number}" for number in range(count)))
        reward = f'[[reward.parts]]\nkind = "{kind}"\nmodel = "critic"\n'
        run = laid_out(folder, one_each(80) + scripted(*answers) + openai(url, "critic") + reward, "Which?")
        done = synth(folder)
    assert done.code == 0, done.err
    rewards = rewards_of(run)
    assert rewards.keys() == set(answers), "not every answer was drawn"
    return rewards


def test_what_a_judge_writes_wins_only_as_a_grade(tmp_path: Path) -> None:
    def judged(body: dict[str, Any]) -> str:
        number = number_in(body)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Score: 2" if number is None else VERDICTS[number]}}
        return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 5}})

    rewards = judged_run(tmp_path, "graded_judge", len(VERDICTS), judged)
    assert {text: reward for text, reward in rewards.items() if reward is not None} == {"a plain answer": pytest.approx(1 / 9)}


def test_what_a_judge_says_by_its_probabilities_wins_only_as_one(tmp_path: Path) -> None:
    def judged(body: dict[str, Any]) -> str:
        number = number_in(body)
        yes, no = ("-1.5", "-0.5") if number is None else (LOGPROBS[number], "null")
        top = f'[{{"token": "Yes", "logprob": {yes}}}, {{"token": "No", "logprob": {no}}}]'
        logprobs = f'{{"content": [{{"token": "Yes", "logprob": {yes}, "top_logprobs": {top}}}]}}'
        choice = f'{{"index": 0, "finish_reason": "stop", "message": {{"role": "assistant", "content": "Yes"}}, "logprobs": {logprobs}}}'
        return f'{{"choices": [{choice}], "usage": {{"prompt_tokens": 5, "completion_tokens": 1}}}}'

    rewards = judged_run(tmp_path, "judge", len(LOGPROBS), judged)
    assert {text: reward for text, reward in rewards.items() if reward is not None} == {"a plain answer": pytest.approx(0.2689, abs=1e-3)}


NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([1e308, -1e308, 1e200, 5e-324])


@settings(deadline=None, max_examples=200)
@given(
    scores=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6),
    how=st.sampled_from(["sum", "min", "lower_bound"]),
    normalise=st.sampled_from(["none", "run", "model"]),
    optional=st.booleans(),
)
def test_no_combination_of_any_numbers_is_other_than_finite(
    scores: Sequence[tuple[float, ...]], how: Literal["sum", "min", "lower_bound"], normalise: Literal["none", "run", "model"], optional: bool
) -> None:
    combination = Combination(parts=tuple(Part(name=name, normalise=normalise, optional=optional) for name in "abc"), how=how)
    knowledge = Knowledge()
    for values in scores:
        raw = {name: checked(Score(value)) for name, value in zip("abc", values, strict=True)}
        combination.learn(raw, "m", knowledge)
        value = combination.value(raw, "m", knowledge)
        assert value.reason is not None if value.value is None else isfinite(value.value)


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("how", ["sum", "min", "lower_bound"])
def test_a_part_that_is_no_number_is_missing(value: float, how: Literal["sum", "min", "lower_bound"]) -> None:
    combination = Combination(parts=(Part(name="a"), Part(name="b")), how=how)
    found = combination.value({"a": Score(value), "b": Score(1.0)}, "m", Knowledge())
    assert (found.value, found.reason) == (None, FailureKind.INVALID_SCORE)
