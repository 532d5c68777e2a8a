"""Holds the submission and answers the judge's calls.

Once the submission runs, nothing this process says can be trusted beyond "this is what my function returns": it never holds the tests, the nonce,
or a way to the report.
"""

from __future__ import annotations

import os
import types

from multigraft.sandbox.inside import boot, plain

TYPE_CHECKING = False
if TYPE_CHECKING:  # no import in the sandbox, where every millisecond counts
    from collections.abc import Callable
    from typing import Any

MOST_TEXT = 300


def main() -> None:
    """Load the submission, then answer until the judge hangs up."""
    job = boot.begin()
    os.close(boot.report_descriptor())
    replies, requests = boot.channel(job, "replies"), boot.channel(job, "requests")
    try:
        function = _loaded(job)
    except BaseException as error:  # noqa: BLE001 - the submission raises what it likes
        boot.write_line(replies, {"raised": _described(error)})
        return
    boot.write_line(replies, {"loaded": True})
    with open(requests, "rb") as lines:  # noqa: PTH123 - a descriptor, not a path
        for line in lines:
            boot.write_line(replies, _answer(function, line))


def _loaded(job: dict[str, object]) -> Callable[..., object]:
    name = boot.text(job, "entry_point")
    namespace: dict[str, object] = {"__name__": "submission", "__builtins__": __builtins__}
    exec(_compiled(job), namespace)  # noqa: S102 - what this process is for, behind the walls
    function = namespace.get(name)
    if callable(function):
        return function
    message = f"no function {name}"
    raise NameError(message)


def _compiled(job: dict[str, object]) -> types.CodeType:
    """Compile the first reading of the submission that is a program; which of them it is, only a parser can say."""
    first: Exception | None = None
    sources = job["sources"]
    for source in sources if isinstance(sources, list) else []:
        try:
            return compile(source, "submission.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            first = first or error
    if first is None:
        first = ValueError("no code")
    raise first


def _answer(function: Callable[..., object], line: bytes) -> dict[str, object]:
    try:
        call: Any = plain.read(line.decode("ascii"))
        value = function(*call[0], **call[1])
    except BaseException as error:  # noqa: BLE001 - the submission raises what it likes
        return {"raised": _described(error)}
    try:
        return {"value": plain.write(value)}
    except plain.RefusedError as error:
        return {"refused": str(error)[:MOST_TEXT]}
    except BaseException as error:  # noqa: BLE001 - the submission raises what it likes
        return {"raised": _described(error)}


def _described(error: BaseException) -> list[str]:
    try:
        return [type(error).__name__[:MOST_TEXT], str(error)[:MOST_TEXT]]
    except BaseException:  # noqa: BLE001 - even its errors may raise when they are shown
        return ["Exception", ""]
