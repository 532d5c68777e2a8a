"""The process that renders chat templates: one line of JSON in, one out. Started by its path, so it imports nothing of the project.

A chat template comes with a model and is code. jinja's immutable sandbox keeps it from everything but the conversation; this process keeps it from taking the
memory or the time of the run: the parent kills it when it takes too long, and the limits below hold even where the parent is gone.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

MEMORY_BYTES = 1 << 30
"""Address space of this process."""
CPU_S = 30
"""Processor time for one line of input."""


class Generation(jinja2.ext.Extension):
    """`{% generation %}` marks what the assistant wrote; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 - jinja declares it as an instance attribute

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        """Return the marked statements as they are."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """Make the environment transformers renders in, less the clock: a score must not depend on the day."""
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = _to_json
    made.globals["raise_exception"] = _refuse
    return made


def _to_json(value: object, *, ensure_ascii: bool = False, indent: int | None = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, sort_keys=sort_keys)


def _refuse(message: object) -> None:
    raise jinja2.exceptions.TemplateError(str(message))


def answers(line: str, compiled: dict[str, jinja2.Template]) -> list[dict[str, str]]:
    """Render conversations.

    Args:
        line: JSON with `template`, and for each conversation one of `values` and one of `most`, the characters its text may have.
        compiled: templates seen before; changed.

    Returns:
        For each, `{"text": ...}` or `{"error": ...}`.
    """
    request = json.loads(line)
    try:
        return [answer(request["template"], values, most, compiled) for values, most in zip(request["values"], request["most"], strict=True)]
    except MemoryError:
        if len(request["values"]) > 1:
            # One alone may have enough of it: the parent sees this process end, and asks one by one.
            raise
        return [{"error": "it takes more memory than a template may"}]


def answer(source: str, values: dict[str, object], most: int, compiled: dict[str, jinja2.Template]) -> dict[str, str]:
    """Render one conversation; see `answers`."""
    try:
        if source not in compiled:
            compiled[source] = environment().from_string(source)
        pieces, size = [], 0
        for piece in compiled[source].generate(**values):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                return {"error": f"it writes more than {most} characters"}
        return {"text": "".join(pieces)}
    except jinja2.exceptions.SecurityError as error:
        return {"error": f"it reaches for what a template may not touch: {error}"}
    except MemoryError:
        raise
    # A template may call anything with anything, so anything may be raised; the parent reports it.
    except Exception as error:  # noqa: BLE001 - see above
        return {"error": f"{type(error).__name__}: {error}"[:400]}


def limited() -> Callable[[], None]:
    """Limit the memory of this process.

    Returns:
        What grants processor time for one more line.
    """
    try:
        import resource  # noqa: PLC0415 - there is none on Windows, where the parent's deadline is the only limit
    except ImportError:
        return lambda: None
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    def grant() -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU_S, resource.RLIM_INFINITY))

    return grant


def main() -> None:
    """Say that all is imported, then answer line by line until the input ends."""
    grant = limited()
    compiled: dict[str, jinja2.Template] = {}
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        grant()
        sys.stdout.write(json.dumps(answers(line, compiled)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
