"""Runs the tests and gives the verdict. It imports nothing of the submission: every call crosses a pipe, and what comes back is a plain value or nothing.

The verdict goes to the report with the nonce of the job. Whatever the submission sends or leaves out, the worst it can do to this process is to fail.
"""

from __future__ import annotations

import builtins
import os
import sys

from multigraft.sandbox.inside import boot, lean_json, plain
from multigraft.sandbox.inside.cases import case_fault

MOST_REPLY_BYTES = 2 * plain.MOST_BYTES
MOST_TEXT = 300
_TESTS = "tests.py"
_NEVER_RAISED_AGAIN = {"Exception", "BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit"}


class SubmissionError(Exception):
    """The submission raised something that is no built-in exception."""


class EndedError(BaseException):
    """The submission can give no answer any more; no test may catch it and go on."""


TYPE_CHECKING = False
if TYPE_CHECKING:  # no import in the sandbox, where every millisecond counts
    from typing import NoReturn


class Submission:
    """The submission, as the tests see it: a function.

    Args:
        requests: descriptor on which calls go out.
        replies: descriptor on which answers come in.
    """

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self._unread = b""
        self.num_calls = 0
        self.fault: tuple[str, str] | None = None
        """Why the verdict is no, whatever the tests make of it: (reason, message)."""

    def __call__(self, *arguments: object, **keywords: object) -> object:
        """Call it with copies of the arguments."""
        if self.fault is not None:
            raise EndedError
        self.num_calls += 1
        try:
            boot.write_all(self._requests, plain.write((arguments, keywords)).encode("ascii") + b"\n")
        except OSError:
            self._end("ended", "it ended before it was called")
        reply = self.reply()
        if "raised" in reply:
            raise self._raised(reply["raised"])
        value = reply.get("value")
        if not isinstance(value, str):
            self._end("refused", str(reply.get("refused", "an answer without a value"))[:MOST_TEXT])
        try:
            return plain.read(value)
        except plain.RefusedError as error:
            self._end("refused", str(error))

    def load(self) -> None:
        """Wait until it is loaded."""
        reply = self.reply()
        if "raised" in reply:
            name, text = _name_and_text(reply["raised"])
            self._end("syntax" if name in {"SyntaxError", "IndentationError", "TabError"} else _reason_of(name), f"{name}: {text}")
        if reply.get("loaded") is not True:
            self._end("ended", "it sent something else before it was loaded")

    def reply(self) -> dict[str, object]:
        """Read one reply, bounded in size."""
        while b"\n" not in self._unread:
            part = os.read(self._replies, 1 << 16)
            if not part:
                self._end("ended", "it ended without an answer")
            self._unread += part
            if len(self._unread) > MOST_REPLY_BYTES:
                self._end("ended", f"an answer above {MOST_REPLY_BYTES} bytes")
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            reply = lean_json.loads(line.decode("ascii"))
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            self._end("refused", "an answer that cannot be read")
        return reply

    def _raised(self, described: object) -> Exception:
        name, text = _name_and_text(described)
        known = getattr(builtins, name, None)
        if not isinstance(known, type) or not issubclass(known, Exception) or name in _NEVER_RAISED_AGAIN:
            return SubmissionError(f"{name}: {text}")
        try:
            error = known(text)
        except TypeError:
            return SubmissionError(f"{name}: {text}")
        error.of_submission = True  # type: ignore[attr-defined]  # a mark for the message
        return error

    def _end(self, reason: str, message: str) -> NoReturn:
        self.fault = (reason, message)
        raise EndedError


def main() -> None:
    """Judge the job, and report."""
    job = boot.begin()
    submission = Submission(boot.channel(job, "requests"), boot.channel(job, "replies"))
    verdict = _verdict(submission, job)
    _report(job, verdict)
    # Nothing that the tests left behind (threads, exit handlers) may delay or undo the end.
    os._exit(0)


def _verdict(submission: Submission, job: dict[str, object]) -> dict[str, object]:
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as the process lives
    fault: tuple[str, str] | None = None
    passed: list[bool] = []
    try:
        submission.load()
        if isinstance(job.get("cases"), list):
            passed, fault = _run_cases(submission, job)
        else:
            _run_tests(submission, job)
    except BaseException as error:  # noqa: BLE001 - whatever tests raise, there is a verdict
        fault = _fault_of(error, boot.text(job, "tests"))
    fault = submission.fault or fault
    if fault is None and submission.num_calls == 0:
        fault = ("uncalled", "the tests never call the function")
    reason, message = fault or ("", "")
    return {"passed": fault is None, "cases": passed, "reason": reason, "message": message[:MOST_TEXT]}


def _run_tests(submission: Submission, job: dict[str, object]) -> None:
    namespace: dict[str, object] = {"__name__": "tests", "__builtins__": __builtins__}
    try:
        helpers = compile(boot.text(job, "prelude"), "prompt.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        # A prompt in plain words has nothing that tests could use.
        helpers = compile("", "prompt.py", "exec")
    exec(helpers, namespace)  # noqa: S102 - the prompt is the data set's, and this is behind the walls
    namespace[boot.text(job, "entry_point")] = submission
    exec(compile(boot.text(job, "tests"), _TESTS, "exec", dont_inherit=True), namespace)  # noqa: S102 - so are the tests
    check = namespace.get("check")
    if callable(check):
        check(submission)


def _run_cases(submission: Submission, job: dict[str, object]) -> tuple[list[bool], tuple[str, str] | None]:
    cases = job["cases"]
    passed: list[bool] = []
    first: tuple[str, str] | None = None
    for number, case in enumerate(cases if isinstance(cases, list) else []):
        fault: tuple[str, str] | None
        try:
            fault = case_fault(submission, case["input"], case["expected"])
        except EndedError:
            fault = submission.fault
        except Exception as error:  # noqa: BLE001 - the submission raises what it likes
            fault = _fault_of(error, "")
        passed.append(fault is None)
        # Told at once: when time runs out in a later case, the earlier ones still count.
        _report(job, {"case": fault is None})
        if fault is not None:
            first = first or (fault[0], f"case {number}: {fault[1]}")
        if submission.fault is not None and submission.fault[0] == "ended":
            break
        # A refused answer fails its own case; the submission is there for the next one.
        submission.fault = None
    submission.fault = None
    return passed, first


def _report(job: dict[str, object], news: dict[str, object]) -> None:
    boot.write_line(boot.report_descriptor(), {**news, "nonce": job["nonce"]})


def _fault_of(error: BaseException, tests: str) -> tuple[str, str]:
    name = type(error).__name__
    if isinstance(error, AssertionError) and not hasattr(error, "of_submission"):
        return "assertion", f"assertion failed: {_line_of(error, tests) or error}"
    described = str(error) if isinstance(error, SubmissionError) else f"{name}: {error}"
    whose = "" if hasattr(error, "of_submission") or isinstance(error, SubmissionError) else " in the tests"
    where = _line_of(error, tests)
    return _reason_of(name), f"{described}{whose}" + (f", at: {where}" if where else "")


def _reason_of(name: str) -> str:
    return "memory" if name == "MemoryError" else "exception"


def _line_of(error: BaseException, tests: str) -> str:
    number, trace = 0, error.__traceback__
    while trace is not None:
        number = trace.tb_lineno if trace.tb_frame.f_code.co_filename == _TESTS else number
        trace = trace.tb_next
    lines = tests.splitlines()
    return lines[number - 1].strip()[:160] if 0 < number <= len(lines) else ""


def _name_and_text(described: object) -> tuple[str, str]:
    if isinstance(described, list) and len(described) == 2 and all(isinstance(part, str) for part in described):
        return described[0][:MOST_TEXT], described[1][:MOST_TEXT]
    return "Exception", ""
