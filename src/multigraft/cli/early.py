"""Ctrl-C before a run heeds it: while its packages are loaded and its prompts are read."""

import functools
import os
import signal
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
EXIT_CODE = 130


def leaving_at_once(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """End the process at once at Ctrl-C, until the command listens itself: nothing is under way that could be lost.

    Python's own way, an exception, is swallowed where it strikes in a callback of an import or of the garbage collector, and a run would start all the same.
    """

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if threading.current_thread() is not threading.main_thread():
            return command(*args, **kwargs)
        before = signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(EXIT_CODE))
        try:
            return command(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, before)

    return run
