"""Mathematical equivalence: answers of many kinds, the fast path against the workers, hostile answers, and workers that hang or die."""

import asyncio
import json
import os
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from multigraft.rewards.math_answer import MathAnswer
from multigraft.rewards.math_form import decided, form, is_readable, plain
from multigraft.rewards.math_pool import MathPool, MathWorker
from multigraft.testing.reward_suite import RewardSuite, candidate
from multigraft.types import Candidate, Completion, FailureKind, Finish, Message, Prompt, Score, Usage

pytest.importorskip("math_verify")

ITEMS = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "math" / "items.jsonl").read_text("utf-8").splitlines()]


SHARED = MathAnswer(workers=1, limit_s=20)


class TestMathAnswer(RewardSuite):
    def reward(self) -> MathAnswer:
        return SHARED


@pytest.fixture(scope="module")
def worker() -> Iterator[MathWorker]:
    made = MathWorker(limit_s=20, memory_mb=1024)
    yield made
    made.stop()


def scores(pairs: Sequence[tuple[str, str]], reward: MathAnswer | None = None) -> list[Score]:
    """Score by the reward all tests share, so that not every one starts workers, or by one of its own."""

    async def scored() -> Sequence[Score]:
        try:
            return await (reward or SHARED).score([candidate(response, reference=reference) for response, reference in pairs])
        finally:
            if reward is not None:
                await reward.close()

    return list(asyncio.run(scored()))


def test_answers_of_every_kind() -> None:
    found = scores([(item["response"], item["reference"]) for item in ITEMS])
    assert [score.value for score in found] == [float(item["correct"]) for item in ITEMS]
    assert len(ITEMS) >= 40


EQUAL_FORMS = [
    (r"\boxed{\frac12}", r"\boxed{0.5}", "1/2"),
    (r"\boxed{1,000}", "The answer is 1000.", "1000"),
    (r"\boxed{\sqrt{8}}", r"\boxed{2\sqrt{2}}", "2*sqrt(2)"),
    (r"\boxed{(x+1)^2}", r"\boxed{x^2+2x+1}", "x**2 + 2*x + 1"),
    (r"\boxed{\{3, 1\}}", r"\boxed{1, 3}", "{1, 3}"),
    (r"\boxed{\text{Yes}}", "The answer is yes.", "yes"),
    (r"\boxed{x = 5}", "#### 5", "5"),
]


def test_equal_answers_are_equal_texts_whatever_the_reference() -> None:
    pairs = [(text, reference) for one, other, _ in EQUAL_FORMS for text in (one, other) for reference in ("17", "x+1")]
    found = iter(scores(pairs))
    for _, _, written in EQUAL_FORMS:
        assert [next(found).answer for _ in range(4)] == [written] * 4


FAST: list[tuple[str, str]] = [
    ("1/2", "0.5"), ("0.5", "0.50"), (r"\frac{2}{4}", "1/2"), ("-3", "3"), ("1,000", "1000"), ("7", "8"), (r"\$5", "5"),
    ("2.5", "2.4"), ("1/3", "0.4"),
    ("x+1", "x+1"), (r"\dfrac{x}{2}", r"\frac{x}{2}"),
    ("90^\\circ", "90"), ("3.0", "3"), (".5", "0.5"), ("-0", "0"), (r"\frac12", r"\frac{1}{2}"), ("1/3", "2/6"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reference"), FAST)
def test_workers_agree_with_what_is_decided_without_them(worker: MathWorker, answer: str, reference: str) -> None:
    verdict = decided(answer, reference)
    assert verdict is not None
    assert worker.compare(answer, [reference]).equal is verdict


@pytest.mark.parametrize(("answer", "reference"), [("0.333333", "1/3"), ("50\\%", "0.5"), ("x+1", "1+x"), ("1e5", "100000"), ("2\\frac12", "2.5")])
def test_what_takes_algebra_is_left_to_the_workers(answer: str, reference: str) -> None:
    assert decided(answer, reference) is None


def test_words_are_no_products_of_letters() -> None:
    assert decided("neve", r"\text{even}") is False
    assert decided("Even", r"\text{even}") is True
    assert form("Even") == "even"
    assert form(r"\text{No Solution}") == "no solution"
    assert form("xy") is None
    assert plain(r"\left( 1 , \, 2 \right)") == "(1,2)"


HOSTILE = [
    r"\boxed{" + "{" * 10_000 + "}" * 10_000 + "}",
    r"\boxed{" * 10_000,
    "$" * 20_001,
    r"\(" * 20_000,
    "answer is " * 10_000,
    '{"answer": ' * 10_000,
    "####" * 10_000,
    r"\boxed{\frac{" * 3000 + "}" * 3000,
    r"\boxed{" + r"\sqrt{" * 200 + "2" + "}" * 201,
    r"\boxed{9**9**9**9}",
    r"\boxed{x^{999999999999}}",
    r"\boxed{\operatorname{exec}(1)}",
    r"\boxed{\input{/etc/passwd}}",
    r"\boxed{\def\a{\a\a}\a}",
    "\\boxed{" + "+".join(["1"] * 5000) + "}",
    r"\boxed{__import__('os').system('touch broken')}",
    r"\boxed{(lambda: exec('open(\"broken\", \"w\")'))()}",
    r"\boxed{1;import os}",
    "\\boxed{\u0000\ud800}",
    r"\boxed{" + "9" * 900 + "}",
]


def test_hostile_answers_are_wrong_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    began_s = time.process_time()
    found = scores([(text, "5") for text in HOSTILE])
    assert [score.value for score in found] == [0.0] * len(HOSTILE)
    assert time.process_time() - began_s < 10
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names are all that is wanted


ENDLESS = [r"\boxed{9^{9^{9^9}}}", r"\boxed{99999999!}", r"\boxed{\sum_{k=1}^{99999999999} \frac{1}{k}}"]


def test_an_endless_comparison_is_no_score_and_the_next_is_not_hurt() -> None:
    began_s = time.monotonic()
    found = scores([(ENDLESS[0], "5"), (r"\boxed{2+3}", "5"), (ENDLESS[1], "5"), (r"\boxed{2+4}", "5")], MathAnswer(workers=1, limit_s=1))
    assert [score.value for score in found] == [None, 1.0, None, 0.0]
    assert [score.reason for score in found] == [FailureKind.UNSCORABLE, None, FailureKind.UNSCORABLE, None]
    assert "not decided within 1 s" in found[0].message
    assert time.monotonic() - began_s < 60


def test_an_equal_text_is_right_however_hard_it_is() -> None:
    score = scores([(r"\boxed{10^{10^{10^{10}}}}", r"10^{10^{10^{10}}}")], MathAnswer(workers=1, limit_s=1))[0]
    assert score.value == 1.0
    assert score.answer


def test_nothing_that_came_in_is_compiled(worker: MathWorker) -> None:
    # The libraries integrate by compiling a function; the guard refuses, and a refusal is no verdict.
    said = worker.compare(r"\int_0^{10} e^{x^2} \sin(x^3) dx", ["5"])
    assert "not allowed (compile)" in said.undecided
    assert worker.is_alive
    assert worker.compare(r"\frac{1}{2}", ["0.5"]).equal


def test_memory_is_limited() -> None:
    small = MathWorker(limit_s=2, memory_mb=600)
    try:
        assert resource.prlimit(small._process.pid, resource.RLIMIT_AS) == (600 << 20, 600 << 20)
        assert resource.prlimit(small._process.pid, resource.RLIMIT_FSIZE) == (0, 0)
        # A number of a thousand million digits, to which one is added.
        assert not small.compare("10^{1000000000}+1", ["5"]).equal
    finally:
        small.stop()


def test_a_worker_that_died_while_it_waited_is_replaced() -> None:
    with MathPool(workers=1, limit_s=20, memory_mb=1024) as pool:
        pool.start()
        first = pool._worker()
        first._process.kill()
        first._process.wait()
        pool._idle.put(first)
        assert pool.compare("1", ["1"]).equal
        second = pool._worker()
        pool._idle.put(second)
    assert not second.is_alive


def test_a_worker_that_cannot_be_had_now_leaves_a_score_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_: MathPool) -> MathWorker:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(MathPool, "_worker", busy)
    (score,) = scores([(r"\boxed{x+1}", "1+x")], MathAnswer(workers=1))
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNAVAILABLE, True)


def test_close_ends_the_workers_and_score_starts_them_again() -> None:
    async def run() -> None:
        reward = MathAnswer(workers=1)
        await reward.start()
        assert reward._pool is not None
        made = reward._pool._worker()
        reward._pool._idle.put(made)
        assert (await reward.score([candidate(r"\boxed{x+1}", reference="1+x")]))[0].value == 1.0
        await reward.close()
        assert not made.is_alive
        assert (await reward.score([candidate(r"\boxed{x+1}", reference="1+x")]))[0].value == 1.0
        await reward.close()

    asyncio.run(run())


def with_fields(text: str, fields: dict[str, object], reference: str | None = None) -> Candidate:
    usual = candidate(text)
    prompt = Prompt("p", (Message("user", "?"),), reference=reference, fields=fields)  # type: ignore[arg-type] # JSON in the tests below
    return Candidate(prompt, usual.call, Completion(text, Finish.STOP, Usage()))


async def test_references_come_from_a_field_and_any_of_several_is_right() -> None:
    reward = MathAnswer(field="answers", workers=1)
    rows = [with_fields("#### 7", {"answers": ["8", "7"]}), with_fields("#### 7", {"answers": 7}), with_fields("#### 7", {}, reference="7")]
    assert [score.value for score in await reward.score(rows)] == [1.0, 1.0, None]
    solution = with_fields("#### 7", {}, reference=r"Thus $x = \boxed{7}$, as \frac{49}{7} is 7.")
    assert (await SHARED.score([solution]))[0].value == 1.0
    assert reward._pool is None, "plain numbers need no worker"


def test_bad_settings_are_refused_with_the_value() -> None:
    with pytest.raises(ValueError, match=r"places must name some of .*, not \['end'\]"):
        MathAnswer(places=["end"])  # type: ignore[list-item] # the mistake
    with pytest.raises(ValueError, match=r"not 0, 64, 5\.0 and 1024"):
        MathAnswer(workers=0)
    assert MathAnswer().version == MathAnswer(workers=7, name="other").version
    assert len({MathAnswer().version, MathAnswer(places=("boxed",)).version, MathAnswer(field="x").version, MathAnswer(limit_s=1).version}) == 4


def test_only_short_and_flat_texts_reach_a_worker() -> None:
    assert is_readable(r"\frac{\sqrt{2 + \sqrt{3}}}{2}")
    assert not is_readable("(" * 30 + ")" * 30)
    assert not is_readable("1+" * 600)
