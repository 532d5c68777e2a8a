"""Answers and names that would steer a terminal, or look like markup: shown escaped and whole, stored byte for byte."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.reports.command import laid_out, multigraft, one_each, openai, records_of, synth
from tests.reports.hostile_server import head, raw_server, replies

from multigraft.cli.text import shown_lines
from multigraft.cli.tree import details, draw
from multigraft.records.reader import RunRecord

HOSTILE = {
    "tags": "<scratchpad>think</scratchpad> then </scratchpad>",
    "markup": "[bold red]alarm[/bold red] [link=http://evil.example]here[/link] [/] [@click=app.quit]x[/] \\[b]",
    "emoji code": ":skull: :warning:",
    "colours": "\x1b[31mred\x1b[0m \x1b[2J\x1b[H",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x07",
    "eight bit": "\x9b31mred\x9d0;owned\x9c",
    "direction": "user\u202e\u2066 resu\u2069 \u200fabc\u061c",
    "unseen": "a\u200bb\u2060c\ufeffd\u00ade\U000e0041",
    "nul": "before\x00after",
    "return": "good answer\rbad\x08\x08\x7f\x0b\x0c",
    "line ends": "one\u2028two\u2029three\x85four\x1cfive",
}
HOSTILE["all"] = " ".join(HOSTILE.values())
ALLOWED_SEQUENCES = {"0", "1", "2", "32", "1;32", "2;32", "33", "31"}
"""Styles of our own."""
PLAIN = dict.fromkeys([*range(0x2400, 0x2422), 0x2423, 0x23CE], "?")
"""What stands for unseen characters."""


def name_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"]).removeprefix("Say: ")


def answered(body: dict[str, Any]) -> str:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"{HOSTILE[name_of(body)]} end of answer"}}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 5}})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    model = "evil\x1b[31m[bold]\u202e"
    with raw_server(replies(answered)) as url:
        settings = f'{one_each()}[[reward.parts]]\nkind = "scripted"\nname = {json.dumps("score[red]" + chr(27) + "[5m")}\n{openai(url, model)}'
        made = laid_out(folder, settings, *({"prompt": f"Say: {name}", "id": name} for name in HOSTILE))
        done = synth(folder)
    assert done.code == 0, done.err
    check_harmless(done.out)
    return made


def check_harmless(text: str) -> None:
    """Nothing in it does anything to a terminal but start a line."""
    odd = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Co", "Zl", "Zp"} and char != "\n"}
    assert odd == set()


@pytest.mark.parametrize("name", list(HOSTILE))
def test_an_answer_is_shown_whole_and_does_nothing(run: Path, name: str) -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    with RunRecord(run) as found:
        record = found.find(name)
    console.print(draw(record, 100))
    head, told = details(record)
    console.print(head)
    console.print(told)
    assert isinstance(console.file, io.StringIO)
    check_harmless(console.file.getvalue())
    # Escaped and not stripped: every character has one that stands for it.
    assert told.plain == shown_lines(f"{HOSTILE[name]} end of answer")
    assert len(told.plain) == len(f"{HOSTILE[name]} end of answer")
    assert told.plain.translate(PLAIN) == "".join(char if char.isprintable() else "?" for char in HOSTILE[name]) + " end of answer"
    printed = "".join(console.file.getvalue().split())
    assert "".join(told.plain.split()) in printed


@pytest.mark.parametrize("what", [["all"], []])
def test_on_a_terminal_only_our_own_styles_are_sent(run: Path, what: list[str]) -> None:
    seen = on_a_terminal("show", str(run), *what)
    assert "\x1b[" in seen, "no terminal was seen, so this shows nothing"
    check_harmless(own_styles_taken_out(seen))
    assert "[bold]" in seen
    if what:
        assert "".join(shown_lines(HOSTILE["all"]).split()) in "".join(own_styles_taken_out(seen).split())


def own_styles_taken_out(seen: str) -> str:
    return re.sub(rf"\x1b\[(?:{'|'.join(ALLOWED_SEQUENCES)})m", "", seen.replace("\r\n", "\n"))


def on_a_terminal(*arguments: str) -> str:
    """Run a command on a terminal, and return all that is sent to it."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    command = [sys.executable, "-m", "multigraft", *arguments]
    with subprocess.Popen(command, stdout=secondary, stdin=subprocess.DEVNULL, stderr=secondary, env=environment) as process:
        os.close(secondary)
        seen = read_all(primary)
        process.wait()
    os.close(primary)
    return seen.decode()


def read_all(primary: int) -> bytes:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(primary, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            return b"".join(parts)
        if not part:
            return b"".join(parts)
        parts.append(part)


def test_what_is_stored_is_what_was_said(run: Path) -> None:
    texts = {record.prompt.name: call.text for record in records_of(run) for call in record.calls.values()}
    # White space at the ends is not part of an answer; nothing else is changed.
    assert texts == {name: f"{text} end of answer" for name, text in HOSTILE.items()}
    done = multigraft(run.parent, "show", run, "colours", "--json")
    assert json.loads(done.out)["calls"][0]["text"] == texts["colours"]
    check_harmless(done.out)
    exported = multigraft(run.parent, "export", run, "--all", run.parent / "all.jsonl")
    assert exported.code == 0, exported.err
    rows = [json.loads(line) for line in (run.parent / "all.jsonl").read_bytes().split(b"\n")[:-1]]
    assert {row["name"]: row["completion"][0]["content"] for row in rows} == texts


def test_totals_and_errors_do_nothing_either(run: Path) -> None:
    check_harmless(multigraft(run.parent, "show", run).out)
    missing = on_a_terminal("show", str(run), "no\x1b[31m such [red]prompt\u202e")
    check_harmless(missing.replace("\r\n", "\n"))
    assert "[red]prompt" in missing


def run_against(folder: Path, status: bytes) -> Iterator[str]:
    """What commands say on a terminal whose server fails with a hostile message."""
    message = HOSTILE["colours"] + HOSTILE["link"] + HOSTILE["direction"] + HOSTILE["markup"]
    refusal = json.dumps({"error": {"message": message}}).encode()

    def refused(body: bytes, out: Any) -> None:
        out(head(len(refusal)).replace(b"200 OK", status) + refusal)

    with raw_server(refused) as url:
        limits = "[concurrency]\nmax_attempts = 1\n"
        run = laid_out(folder, f'{one_each()}[[reward.parts]]\nkind = "scripted"\n{openai(url)}{limits}', "Say: tags")
        yield on_a_terminal("synth", str(folder / "prompts.jsonl"), "-c", str(folder / "run.toml"), "-o", str(run), "-q")
        yield multigraft(folder, "models", "check", f"m@{url}/v1").out
        yield multigraft(folder, "show", run, "0").out


@pytest.mark.parametrize("status", [b"400 Bad Request", b"401 Unauthorized"])
def test_what_a_server_says_as_it_fails_does_nothing(tmp_path: Path, status: bytes) -> None:
    said = list(run_against(tmp_path, status))
    assert all("[boldred]alarm" in "".join(text.split()) for text in said[:2])
    for text in said:
        check_harmless(own_styles_taken_out(text))
