import textwrap
from typing import Any

import pytest

from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Case, Examination, Fault, Verdict
from multigraft.sandbox.reading import shortened, verdict_in
from multigraft.sandbox.sandbox import Sandbox
from multigraft.types import Json


async def judged(sandbox: Sandbox, source: str, tests: str = "", limits: Limits | None = None, **more: Any) -> Verdict:
    examination = Examination(sources=[textwrap.dedent(source)], entry_point="f", tests=textwrap.dedent(tests), **more)
    verdict = await sandbox.check(examination, limits=limits)
    assert isinstance(verdict, Verdict), verdict
    return verdict


async def test_every_plain_type_survives_both_ways(sandbox: Sandbox) -> None:
    tests = """
        def check(candidate):
            for value in (1, -0.0, 1.5, True, None, "é\\ud800\\n", (1, (2,)), [1, [2]], {1, "a"}, {1: (2,), "a": None}, 2j, 10**400, float("inf"), set(), {}):
                got = candidate(value)
                assert type(got) is type(value) and repr(got) == repr(value), value
            assert candidate(float("nan")) != candidate(float("nan"))
            assert candidate(value=[1]) == [1]
    """
    verdict = await judged(sandbox, "def f(value): return value", tests)
    assert verdict == Verdict(passed=True)


@pytest.mark.parametrize(
    ("source", "reason", "message"),
    [
        ("def f(x): return x + 1", "assertion", "assertion failed: assert candidate(1) == 1"),
        ("def f(x): return", "assertion", "assertion failed: assert candidate(1) == 1"),
        ("def f(x): return {}['k']", "exception", "KeyError: \"'k'\", at: assert candidate(1) == 1"),
        ("def f(x): raise type('Odd', (Exception,), {})('\\x1b[31m')", "exception", "Odd: \\x1b[31m, at: assert candidate(1) == 1"),
        ("def f(x): return bytes(2 << 30)", "memory", "MemoryError: , at: assert candidate(1) == 1"),
        ("def f(x):\nreturn x", "syntax", "IndentationError: expected an indented block after function definition on line 1 (submission.py, line 2)"),
        ("def g(x): return x", "exception", "NameError: no function f"),
        ("f = 3", "exception", "NameError: no function f"),
        ("import no_such_module\ndef f(x): return x", "exception", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(x): return type('T', (int,), {})(x)", "refused", "a value of type T, which is no plain built-in"),
        ("def f(x): return [iter([x])]", "refused", "a value of type list_iterator, which is no plain built-in"),
        ("def f(x):\n    y = []\n    y.append(y)\n    return y", "refused", "a value that cannot be written: maximum recursion depth exceeded"),
        ("def f(x): return 'x' * (2 << 20)", "refused", "a value of 2097154 bytes, at most 1048576 are read"),
        ("def f(x):\n    import os\n    os._exit(0)", "ended", "it ended without an answer"),
        ("def f(x):\n    import ctypes\n    ctypes.string_at(0)", "ended", "it ended without an answer"),
    ],
)
async def test_why_a_submission_fails(sandbox: Sandbox, source: str, reason: str, message: str) -> None:
    verdict = await judged(sandbox, source, "def check(candidate):\n    assert candidate(1) == 1\n")
    assert (verdict.passed, verdict.reason) == (False, reason)
    assert verdict.message.startswith(message)


async def test_time_that_runs_out(sandbox: Sandbox) -> None:
    verdict = await judged(sandbox, "def f(x):\n    while True: pass", "f(1)", Limits(wall_s=0.6))
    assert verdict == Verdict(passed=False, reason="timeout", message="no verdict within 0.6 s")


async def test_tests_see_the_exceptions_they_expect(sandbox: Sandbox) -> None:
    source = """
        def f(x):
            if x < 0:
                raise ValueError("negative")
            return x
    """
    tests = """
        try:
            f(-1)
        except ValueError as error:
            assert str(error) == "negative"
        else:
            raise AssertionError("no error")
    """
    assert (await judged(sandbox, source, tests)).passed
    verdict = await judged(sandbox, "def f(x): return x", tests)
    assert (verdict.reason, verdict.message) == ("assertion", 'assertion failed: raise AssertionError("no error")')


async def test_tests_that_catch_everything_do_not_pass_what_is_dead_or_refused(sandbox: Sandbox) -> None:
    tests = """
        for number in range(3):
            try:
                f(number)
            except BaseException:
                pass
    """
    assert (await judged(sandbox, "def f(x): raise SystemExit", tests)).passed
    assert (await judged(sandbox, "def f(x):\n    import os\n    os._exit(0)", tests)).reason == "ended"
    assert (await judged(sandbox, "def f(x): return object()", tests)).reason == "refused"


async def test_tests_take_helpers_of_the_prompt_and_not_of_the_submission(sandbox: Sandbox) -> None:
    prelude = 'def double(x):\n    return 2 * x\n\ndef f(x):\n    """Give the double."""\n'
    source = "def double(x): return 0\ndef f(x): return 0"
    tests = "def check(candidate):\n    assert candidate(4) == double(4)\n"
    verdict = await judged(sandbox, source, tests, prelude=prelude)
    assert (verdict.passed, verdict.reason) == (False, "assertion")
    assert (await judged(sandbox, "def f(x): return x + x", tests, prelude=prelude)).passed
    assert (await judged(sandbox, "def f(x): return x", "assert f(2) == 2", prelude="in plain words")).passed


async def test_arguments_are_copies(sandbox: Sandbox) -> None:
    tests = "items = [3, 1]\nassert f(items) == [1, 3]\nassert items == [3, 1]\n"
    assert (await judged(sandbox, "def f(x):\n    x.sort()\n    return x", tests)).passed


async def test_tests_that_never_call_the_function_say_nothing(sandbox: Sandbox) -> None:
    verdict = await judged(sandbox, "def f(x): return x", "def check(candidate):\n    assert True\n")
    assert (verdict.passed, verdict.reason) == (False, "uncalled")


async def test_the_first_reading_that_is_a_program_counts(sandbox: Sandbox) -> None:
    examination = Examination(sources=["Sure! def f", "def f(x): return x", "def f(x): return 0"], entry_point="f", tests="assert f(5) == 5")
    assert await sandbox.check(examination) == Verdict(passed=True)


async def test_what_a_module_hides_from_the_judge(sandbox: Sandbox) -> None:
    """A submission can change its own process only."""
    source = """
        import builtins, sys
        sys.modules["math"] = None
        builtins.sum = lambda values: 0
        def f(x): return 0
    """
    verdict = await judged(sandbox, source, "import math\nassert sum([1, 2]) == 3 and math.sqrt(4) == 2\nassert f(1) == 1\n")
    assert verdict.message == "assertion failed: assert f(1) == 1"


CASES: list[tuple[list[Json], Json]] = [([1, 2], 3), ([0.1, 0.2], 0.3), ([[1], [2]], [1, 2]), (["a", "b"], "ab"), ([1], "one argument")]


def cases() -> list[Case]:
    return [Case(arguments, expected) for arguments, expected in CASES]


async def test_cases_count_one_by_one(sandbox: Sandbox) -> None:
    verdict = await judged(sandbox, "def f(a, b): return a + b", cases=cases())
    assert verdict.cases == (True, True, True, True, False)
    assert not verdict.passed
    assert verdict.message.startswith("case 4: TypeError: f() missing 1 required positional argument")
    verdict = await judged(sandbox, "def f(a, b): return object() if a == 1 else a + b", cases=cases()[:4])
    assert verdict.cases == (False, True, True, True)
    assert (verdict.reason, verdict.message) == ("refused", "case 0: a value of type object, which is no plain built-in")


@pytest.mark.parametrize(("last", "reason"), [("while True: pass", "timeout"), ("import os; os._exit(0)", "ended")])
async def test_cases_before_the_end_still_count(sandbox: Sandbox, last: str, reason: str) -> None:
    source = f"def f(a, b):\n    if a == 'a':\n        {last}\n    return a + b"
    verdict = await judged(sandbox, source, limits=Limits(wall_s=1.0), cases=cases()[:4] + cases()[:1])
    assert verdict.cases == (True, True, True, False, False)
    assert verdict.reason == reason


@pytest.mark.parametrize(
    ("returned", "expected", "holds"),
    [
        ("(1, 2)", [1, 2], True),
        ("{1: 'a'}", {"1": "a"}, True),
        ("{True: None}", {"true": None}, True),
        ("{1: 'a', '1': 'b'}", {"1": "a"}, False),
        ("True", 1, False),
        ("1", True, False),
        ("2.0", 2, True),
        ("2", 2.0, True),
        ("0.1 + 0.2", 0.3, True),
        ("0.3001", 0.3, False),
        ("None", 0, False),
        ("None", None, True),
        ("'1'", 1, False),
        ("{1}", [1], False),
        ("float('nan')", 0.0, False),
    ],
)
async def test_a_case_is_compared_as_json_holds_it(sandbox: Sandbox, returned: str, expected: Json, holds: bool) -> None:
    verdict = await judged(sandbox, f"def f(): return {returned}", cases=[Case([], expected)])
    assert verdict.cases == (holds,)


def test_a_verdict_without_the_nonce_is_none() -> None:
    report = b'{"child-pid": 3}ready\n{"passed": true, "nonce": "wrong"}\nPASS\n[1]\n{"passed": true}\n'
    assert verdict_in(report, "right", 0) is None
    assert verdict_in(report, "right", 0, ended=True) == Fault("the judge ended without a verdict")
    assert verdict_in(report + b'{"passed": true, "nonce": "right"}', "right", 0) is None
    assert verdict_in(report + b'{"passed": true, "nonce": "right"}\n', "right", 0) == Verdict(passed=True)
    assert verdict_in(report + b'{"passed": 1, "nonce": "right"}\n', "right", 0) == Verdict(passed=False)


def test_hostile_text_is_one_short_line() -> None:
    assert shortened("a\n\tb  c") == "a b c"
    assert shortened("\x1b[31m\u202ered") == "\\x1b[31m\\u202ered"
    assert shortened("x" * 5000) == "x" * 299 + "…"
