"""What the tests of whole runs share: a counting server, the command line as a process, and a look into the record from outside."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "from multigraft.cli.main import main; main()")


@dataclass(frozen=True)
class Row:
    """What one experiment showed."""

    name: str
    hold: str
    """The numbers to hold."""
    seen: str
    failed: tuple[str, ...] = ()
    """Which of them did not hold; empty when all is well."""
    facts: Mapping[str, object] = field(default_factory=dict)


class Checks:
    """Collects what does not hold, so that an experiment is shown as a whole."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def hold(self, name: str, truth: object) -> None:
        if not truth:
            self.failed.append(name)


class Server:
    """A counting server that runs."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def count(self) -> Any:
        return self._asked("/count", None)

    def stats(self) -> Any:
        return self._asked("/stats", None)

    def control(self, **settings: Any) -> None:
        self._asked("/control", settings)

    def forget(self) -> None:
        self._asked("/forget", {})

    def forget_first(self) -> None:
        """Tell `first_at_s` from now on."""
        self._asked("/forget_first", {})

    def wait_until(self, holds: Callable[[Any], bool], *, within_s: float = 30.0, every_s: float = 0.01) -> bool:
        """Look at the counts until something holds."""
        deadline_s = time.monotonic() + within_s
        while time.monotonic() < deadline_s:
            if holds(self.count()):
                return True
            time.sleep(every_s)
        return False

    def wait_for_calls(self, before: int) -> bool:
        """Wait until more calls were asked than before."""
        return self.wait_until(lambda count: count["asked"] > before)

    def _asked(self, path: str, body: object) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=30) as reply:  # noqa: S310 - our own loopback server
            return json.load(reply)


@contextmanager
def counting_server(**settings: Any) -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.servers.counting_server", json.dumps(settings)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(int(process.stdout.readline()))
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str
    wall_s: float


def _heed_interrupts() -> None:
    """Undo what a shell does to the commands it starts in the background, which is to have them ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Started:
    """One `multigraft` process, in a session of its own."""

    def __init__(
        self, arguments: Sequence[str], *, command: Sequence[str] = COMMAND, prelude: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        self.began_s = time.monotonic()
        self.process = subprocess.Popen(
            [*prelude, *command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no threads here
            env={**os.environ, "COLUMNS": "200", **(environment or {})},
        )

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.communicate()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def cpu_s(self) -> float:
        """CPU seconds of the process so far."""
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def line(self) -> str:
        """The next line of its stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().decode()

    def ended(self, within_s: float = 300.0) -> Ended:
        out, err = self.process.communicate(timeout=within_s)
        return Ended(self.process.returncode, out.decode(), err.decode(), time.monotonic() - self.began_s)


@dataclass(frozen=True)
class Job:
    """A run to be made: its prompts and run file in a folder, and the command lines for it."""

    folder: Path
    prompts: Path
    run_file: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def arguments(self) -> list[str]:
        """Of `synth`: the same command goes on where the run was stopped."""
        return ["synth", str(self.prompts), "-c", str(self.run_file), "-o", str(self.run), "-q"]

    @property
    def resuming(self) -> list[str]:
        return ["resume", str(self.run), "-q"]

    def start(self, arguments: Sequence[str] | None = None, *, prelude: Sequence[str] = ()) -> Started:
        return Started(self.arguments if arguments is None else arguments, prelude=prelude, environment=self.environment)

    def finish(self, arguments: Sequence[str] | None = None, within_s: float = 300.0) -> Ended:
        return self.start(arguments).ended(within_s)


def job_at(folder: Path, server: Server, *, num_prompts: int, settings: str, models: Sequence[str] = ("m0",), max_in_flight: int = 16) -> Job:
    """Lay out a run over models of the counting server.

    Args:
        folder: made where it is missing.
        server: where the models are.
        num_prompts: how many prompts.
        settings: the rest of the run file, from the top.
        models: names; each has the server as its endpoint.
        max_in_flight: of the run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prompts, run_file = folder / "prompts.jsonl", folder / "settings.toml"
    prompts.write_text("".join(json.dumps({"prompt": f"Say something about the number {number}."}) + "\n" for number in range(num_prompts)))
    tables = "".join(
        f'[[models]]\nname = "{name}"\nkind = "openai"\nendpoints = [{{ url = "{server.url}/v1", max_in_flight = {max_in_flight} }}]\n' for name in models
    )
    concurrency = "" if "[concurrency]" in settings else f"[concurrency]\nmax_in_flight = {max_in_flight}\n"
    run_file.write_text(f"{settings}\n[sampling]\nmax_tokens = 64\n{tables}{concurrency}")
    return Job(folder, prompts, run_file)


SCRIPTED = '[reward]\nparts = [{ kind = "scripted" }]\n'


def strategy(name: str, n: int, **settings: object) -> str:
    """A `[strategy]` table, and scripted rewards."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    return f'[strategy]\nname = "{name}"\nn = {n}\n{lines}{SCRIPTED}'


def rows_of(run: Path, query: str) -> list[Any]:
    """Ask the record, read-only."""
    path = run / "log.db"
    if not path.is_file() or path.stat().st_size == 0:
        return []
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        try:
            return database.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise


def recorded_calls(run: Path) -> set[tuple[str, int, str]]:
    """Prompt, call id and text of every response of the record."""
    return set(rows_of(run, "SELECT p.prompt_id, r.call_id, r.text FROM responses r JOIN prompts p USING (number) WHERE r.text IS NOT NULL"))


def integrity(run: Path) -> str:
    return str(rows_of(run, "PRAGMA integrity_check")[0][0])


def duplicates(run: Path) -> int:
    """Calls with more than one response, and prompts recorded twice."""
    return len(rows_of(run, "SELECT 1 FROM responses GROUP BY number, call_id HAVING count(*) > 1")) + len(
        rows_of(run, "SELECT 1 FROM prompts GROUP BY prompt_id HAVING count(*) > 1")
    )


def responses_by_prompt(run: Path) -> Counter[int]:
    return Counter(dict(rows_of(run, "SELECT number, count(*) FROM responses WHERE text IS NOT NULL GROUP BY number")))


def tree_of(run: Path) -> list[tuple[Any, ...]]:
    """Everything a run made that must not depend on how often it was interrupted, by prompt and call id."""
    return rows_of(
        run,
        "SELECT p.prompt_id, s.call_id, s.model, s.parents, s.role, s.seed, r.text, r.failure, o.reward, o.reason FROM responses r "
        "JOIN prompts p USING (number) JOIN outcomes o USING (number, call_id) "
        "JOIN sent s ON s.sequence = (SELECT max(sequence) FROM sent WHERE number = r.number AND call_id = r.call_id) ORDER BY 1, 2",
    )


def files_of(run: Path) -> set[str]:
    return {path.name for path in run.iterdir()} if run.is_dir() else set()
