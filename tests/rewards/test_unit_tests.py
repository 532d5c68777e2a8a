import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.needed import need_walls

from multigraft.rewards.unit_tests import UnitTests
from multigraft.sandbox.outcomes import Examination, Fault
from multigraft.sandbox.sandbox import Sandbox
from multigraft.testing.reward_suite import TEXTS, RewardSuite, candidate
from multigraft.types import Call, Candidate, Completion, FailureKind, Finish, Json, Message, Prompt, Role, Score, Usage

DATA = Path(__file__).resolve().parents[1] / "data" / "humaneval"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


PROBLEMS = {row["id"]: row for row in rows("problems.jsonl")}
FIRST = PROBLEMS["HumanEval/0"]
ADD: dict[str, Json] = {
    "entry_point": "add",
    "cases": [{"input": [1, 2], "expected": 3}, {"input": [0, 0], "expected": 0}, {"input": ["a", "b"], "expected": "ab"}, {"input": [-1, 1], "expected": 0}],
}


def answered(text: str, fields: Mapping[str, Json], *, asked: str = "Write `add(a, b)`.", number: int = 0) -> Candidate:
    prompt = Prompt(f"prompt-{number}", (Message("user", asked),), fields=fields)
    return Candidate(prompt, Call(0, "model", (), Role.ANSWER, number), Completion(text, Finish.STOP, Usage()))


def of_problem(problem: dict[str, Any], text: str) -> Candidate:
    return answered(text, {"test": problem["test"], "entry_point": problem["entry_point"]}, asked=problem["prompt"])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    need_walls()
    opened = Sandbox(slots=4)
    asyncio.run(opened.start())
    yield opened
    asyncio.run(opened.close())


async def scores_of(reward: UnitTests, candidates: Sequence[Candidate]) -> list[Score]:
    return list(await reward.score(candidates))


class TestUnitTestsSuite(RewardSuite):
    @pytest.fixture(autouse=True)
    def opened(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def reward(self) -> UnitTests:
        return UnitTests(sandbox=self.sandbox, form="partial")

    def candidates(self) -> Sequence[Candidate]:
        texts = ["```python\ndef add(a, b):\n    return a + b\n```", "def add(a, b): return 0", *TEXTS]
        return [*(answered(text, ADD, number=number) for number, text in enumerate(texts)), candidate("no tests here", ordinal=20)]


@pytest.mark.slow
async def test_every_canonical_solution_passes(sandbox: Sandbox) -> None:
    assert len(PROBLEMS) == 164
    scores = await scores_of(UnitTests(sandbox=sandbox, wall_s=20.0), [of_problem(problem, problem["canonical_solution"]) for problem in PROBLEMS.values()])
    assert [(name, score) for name, score in zip(PROBLEMS, scores, strict=True) if score != Score(1.0, message="all tests hold")] == []


async def test_samples_are_graded_as_they_were(sandbox: Sandbox) -> None:
    samples = rows("samples.jsonl")
    reward = UnitTests(sandbox=sandbox, where="completion", wall_s=3.0)
    scores = await scores_of(reward, [of_problem(PROBLEMS[row["prompt_id"]], row["response"]) for row in samples])
    assert sum(row["correct"] for row in samples) == 30
    assert [(row["prompt_id"], score) for row, score in zip(samples, scores, strict=True) if score.value != float(row["correct"])] == []


@pytest.mark.parametrize("name", ["HumanEval/32", "HumanEval/38", "HumanEval/50"])
async def test_tests_that_use_a_helper_of_the_prompt(sandbox: Sandbox, name: str) -> None:
    problem = PROBLEMS[name]
    right = of_problem(problem, problem["canonical_solution"])
    wrong = of_problem(problem, "    return None\n")
    assert [score.value for score in await scores_of(UnitTests(sandbox=sandbox), [right, wrong])] == [1.0, 0.0]


BODY = FIRST["canonical_solution"]
WHOLE = "def has_close_elements(numbers: List[float], threshold: float) -> bool:\n" + BODY
UNINDENTED = "ordered = sorted(numbers)\nreturn any(b - a < threshold for a, b in zip(ordered, ordered[1:]))\n"


@pytest.mark.parametrize(
    "answer",
    [
        BODY,
        BODY.lstrip(),
        UNINDENTED,
        FIRST["prompt"] + BODY,
        WHOLE,
        f"```python\n{WHOLE}```",
        f"Here it is:\n\n```python\n{FIRST['prompt']}{BODY}```\nIt compares all pairs.",
        f"```python\nreturn 1 +\n```\nNo, rather:\n```python\n{WHOLE}```\n```python\nprint(has_close_elements([1.0], 2.0))\n```",
        f"```\n{BODY}```",
        f"   ```py\n   {WHOLE.replace(chr(10), chr(10) + '   ')}\n   ```",
        f"```python\n{WHOLE}",
        f"~~~~python\n{WHOLE}~~~~",
        f"Sure. The function:\n\n{FIRST['prompt']}{BODY}\n\nThis runs in quadratic time.",
        f"{BODY}\n\nThis compares all pairs, and that's enough.",
        f"{BODY}\n\ndef test():\n    pass\n\nThat is all.",
        WHOLE.replace("\n", "\r\n"),
        f"```bash\npip install nothing-at-all-needed-for-this\n```\n```python\n{WHOLE}```",
    ],
)
async def test_code_is_found_in_the_usual_forms(sandbox: Sandbox, answer: str) -> None:
    (score,) = await scores_of(UnitTests(sandbox=sandbox), [of_problem(FIRST, answer)])
    assert score == Score(1.0, message="all tests hold")


async def test_the_prompt_may_hold_the_code_in_a_block_or_a_field(sandbox: Sandbox) -> None:
    fields: dict[str, Json] = {"test": FIRST["test"], "entry_point": FIRST["entry_point"]}
    asked = f"Complete this function:\n```python\n{FIRST['prompt']}```\nReply with the body only."
    in_block = answered(BODY, fields, asked=asked)
    in_field = answered(f"```python\n{BODY}```", {**fields, "code": FIRST["prompt"]}, asked="Complete the function.")
    nowhere = answered(BODY, fields, asked="Complete the function.")
    scores = await scores_of(UnitTests(sandbox=sandbox), [in_block, in_field, nowhere])
    assert [score.value for score in scores] == [1.0, 1.0, 0.0]
    assert scores[2].message.startswith("syntax: IndentationError")


async def test_where_code_stands_can_be_said(sandbox: Sandbox) -> None:
    fenced = of_problem(FIRST, f"```python\n{WHOLE}```")
    chat, completion = UnitTests(sandbox=sandbox, where="chat"), UnitTests(sandbox=sandbox, where="completion")
    assert [score.value for score in await scores_of(chat, [fenced])] == [1.0]
    assert [score.value for score in await scores_of(completion, [fenced])] == [0.0]


@pytest.mark.parametrize(
    ("source", "strict", "partial", "message"),
    [
        ("def add(a, b): return a + b", 1.0, 1.0, "4 of 4 cases hold"),
        ("def add(a, b): return abs(a) + b", 0.0, 0.5, "2 of 4 cases hold; exception: case 2: TypeError: bad operand type for abs(): 'str'"),
        ("def add(a, b): return 0", 0.0, 0.5, "2 of 4 cases hold; assertion: case 0: expected 3, got 0"),
        ("def add(a, b):\n    while a == 'a': pass\n    return a + b", 0.0, 0.5, "2 of 4 cases hold; timeout: no verdict within 1 s"),
        ("nothing", 0.0, 0.0, "0 of 4 cases hold; exception: NameError: name 'nothing' is not defined"),
        ("def add(a, b): return type('N', (int,), {'__eq__': lambda *_: True})()", 0.0, 0.0, "0 of 4 cases hold; refused: case 0: a value of type N, which"),
    ],
)
async def test_cases_in_both_forms(sandbox: Sandbox, source: str, strict: float, partial: float, message: str) -> None:
    for form, value in (("strict", strict), ("partial", partial)):
        (score,) = await scores_of(UnitTests(sandbox=sandbox, form=form, wall_s=1.0), [answered(source, ADD)])  # type: ignore[arg-type]  # one of the two
        assert score.value == value
        assert score.message.startswith(message)
        assert score.details == {"cases": 4.0, "cases_passed": partial * 4}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "no unit tests"),
        ({"entry_point": "add"}, "no unit tests"),
        ({"entry_point": "add", "cases": []}, "no unit tests"),
        ({"entry_point": "a b", "cases": ADD["cases"]}, "no unit tests"),
        ({"entry_point": "add", "cases": [{"input": 1, "expected": 2}]}, 'case 0 of the prompt must be {"input": [arguments], "expected": value}'),
        ({"entry_point": "add", "cases": [{"input": [1]}]}, "case 0 of the prompt must be"),
        ({"entry_point": "add", "test": "def check(candidate): pass"}, "the tests never call the function"),
    ],
)
async def test_prompts_without_tests_have_no_score(sandbox: Sandbox, fields: dict[str, Json], said: str) -> None:
    (score,) = await scores_of(UnitTests(sandbox=sandbox), [answered("def add(a, b): return a + b", fields)])
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNSCORABLE, False)
    assert said in score.message


async def test_hostile_text_in_a_message_is_short_and_plain(sandbox: Sandbox) -> None:
    (score,) = await scores_of(UnitTests(sandbox=sandbox), [answered("def add(a, b): raise ValueError('\\x1b[2J\\n' + 'x' * 9999)", ADD)])
    assert score.value == 0.0
    assert score.message.startswith("0 of 4 cases hold; exception: case 0: ValueError: \\x1b[2J xxx")
    assert len(score.message) <= 300
    assert score.message.isprintable()


class Broken(Sandbox):
    """A sandbox whose walls never stand."""

    async def check(self, examination: Examination, **_: object) -> Any:
        return Fault("bwrap: Resource temporarily unavailable")


async def test_what_the_sandbox_could_not_do_is_no_zero() -> None:
    (score,) = await scores_of(UnitTests(sandbox=Broken()), [answered("def add(a, b): return a + b", ADD)])
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNAVAILABLE, True)
    assert score.message == "the sandbox could not run it: bwrap: Resource temporarily unavailable"


async def test_scorers_share_a_sandbox() -> None:
    need_walls()
    sandbox = Sandbox(slots=2)
    one, other = UnitTests(sandbox=sandbox), UnitTests(sandbox=sandbox, form="partial", name="share")
    await one.start()
    await other.start()
    await one.close()
    (score,) = await scores_of(other, [answered("def add(a, b): return a + b", ADD)])
    assert score.value == 1.0
    await other.close()
    assert sandbox._open is None


def test_the_version_follows_what_may_change_a_score() -> None:
    walled, unsafe = Sandbox(slots=1), Sandbox(slots=1, unsafe=True)
    rewards = [
        UnitTests(sandbox=walled),
        UnitTests(sandbox=walled, form="partial"),
        UnitTests(sandbox=walled, where="chat"),
        UnitTests(sandbox=walled, wall_s=3.0),
        UnitTests(sandbox=walled, memory_bytes=1 << 28),
        UnitTests(sandbox=unsafe),
    ]
    assert len({reward.version for reward in rewards}) == len(rewards)
    assert UnitTests(sandbox=Sandbox(slots=3), name="other").version == rewards[0].version


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"form": "loose"}, "form of unit_tests must be one of strict, partial, not 'loose'"),
        ({"where": "here"}, "where of unit_tests must be one of auto, chat, completion, not 'here'"),
        ({"wall_s": -1.0}, "wall_s must be a finite number of seconds above 0, not -1.0"),
        ({"max_batch": 0}, "max_batch of unit_tests must be at least 1, not 0"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        UnitTests(sandbox=Sandbox(), **settings)
