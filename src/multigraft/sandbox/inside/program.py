"""Runs one program as `__main__`; its output and exit code are its own."""

from __future__ import annotations

import os

from multigraft.sandbox.inside.boot import begin, report_descriptor, text


def main() -> None:
    """Run the program of the job."""
    job = begin()
    os.close(report_descriptor())
    code = compile(text(job, "source"), "program.py", "exec", dont_inherit=True)
    exec(code, {"__name__": "__main__", "__builtins__": __builtins__})  # noqa: S102 - what this process is for, behind the walls
