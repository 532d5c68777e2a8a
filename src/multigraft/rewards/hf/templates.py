"""A model's chat template, rendered in a process of its own with a limit on time, memory and length."""

import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from multigraft.errors import MultigraftError
from multigraft.types import Json, Message

_CHILD = Path(__file__).with_name("template_child.py")
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", "LD_LIBRARY_PATH")
"""What the process sees of the environment; no secret is among it."""


_START_S = 60.0
"""How long the process may take until it reads."""


class TemplateFailedError(MultigraftError):
    """A chat template that raises, writes too much, or takes too long."""


class ChatTemplate:
    """Renders conversations; from one thread at a time.

    Args:
        source: of the template.
        constants: what else it may read, such as `bos_token`.
        limit_s: for one request; > 0. Conversations that take longer together are rendered one by one, so that only what takes longer alone fails.
        growth: characters a text may have for each of the conversation's, over a thousand.
    """

    def __init__(self, source: str, *, constants: Mapping[str, Json], limit_s: float = 5.0, growth: int = 8) -> None:
        self._source = source
        self._constants = dict(constants)
        self._limit_s = limit_s
        self._growth = growth
        self._child: _Child | None = None

    def render(self, conversations: Sequence[Sequence[Message]], *, add_generation_prompt: bool = False) -> list[str | TemplateFailedError]:
        """Render conversations, with one request for all of them.

        Args:
            conversations: all turns of each.
            add_generation_prompt: whether the texts end where the assistant is to begin.

        Returns:
            For each its text, or how the template failed: it raises, writes too much, or takes too long.
        """
        values = [self._values(turns, add_generation_prompt=add_generation_prompt) for turns in conversations]
        most: list[Json] = [100_000 + self._growth * sum(len(turn.content) for turn in turns) for turns in conversations]
        if self._child is None:
            self._child = _Child()
        replies = self._child.ask({"template": self._source, "values": values, "most": most}, self._limit_s)
        if replies is not None:
            return [self._text(reply) for reply in replies]
        self.close()
        if len(conversations) > 1:
            # One of them takes too long, or all of them together do: alone, each has the whole limit, and none suffers for another.
            return [text for turns in conversations for text in self.render([turns], add_generation_prompt=add_generation_prompt)]
        message = f"the chat template of the model takes longer than {self._limit_s:g} s, or more memory than a template may"
        return [TemplateFailedError(message)]

    def _values(self, turns: Sequence[Message], *, add_generation_prompt: bool) -> Json:
        messages: list[Json] = [{"role": turn.role, "content": turn.content} for turn in turns]
        return self._constants | {"messages": messages, "add_generation_prompt": add_generation_prompt}

    @staticmethod
    def _text(reply: Mapping[str, Json]) -> str | TemplateFailedError:
        return str(reply["text"]) if "text" in reply else TemplateFailedError(f"the chat template of the model cannot be used: {reply.get('error')}")

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """One process, and a thread that reads what it writes, since a pipe cannot be waited for with a limit everywhere."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {"PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(  # noqa: S603 - a fixed program without a shell
            [sys.executable, "-P", str(_CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, encoding="utf-8"
        )
        self._started = False
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True, name="chat-template").start()
        self._end = weakref.finalize(self, _end, self._process)

    def ask(self, request: Json, limit_s: float) -> list[dict[str, Json]] | None:
        """Return the replies, or None when there are none in time."""
        assert self._process.stdin is not None  # noqa: S101 - for the type checker; it was opened as a pipe
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            if not self._started:
                self._lines.get(timeout=_START_S)
                self._started = True
            replies: list[dict[str, Json]] = json.loads(self._lines.get(timeout=limit_s))
        except (OSError, queue.Empty, ValueError):
            return None
        return replies

    def end(self) -> None:
        """Kill the process."""
        self._end()


def _read(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str]") -> None:
    assert process.stdout is not None  # noqa: S101 - for the type checker; it was opened as a pipe
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    # The reading thread holds the lock of the other pipe until it sees its end, and closes it then.
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
