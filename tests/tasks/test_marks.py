import subprocess
import sys
from pathlib import Path

import pytest

from multigraft.tasks.marks import begins_with_a_mark
from multigraft.types import Message, Prompt


@pytest.mark.parametrize(
    ("text", "marked"), [("<s>Hello", True), (" <|begin_of_text|>Hi", True), ("<bos>x", True), ("<strong>no</strong>", False), ("Explain <s> in HTML", False)]
)
def test_marks_of_raw_prompts_are_seen(text: str, marked: bool) -> None:
    assert begins_with_a_mark(Prompt("p", (Message("user", text),))) is marked


def test_the_command_warns_once(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "<s>one", "id": "first"}\n{"prompt": "<s>two"}\n{"prompt": "three"}\n')
    command = [
        sys.executable,
        "-m",
        "multigraft",
        "synth",
        str(prompts),
        "--models",
        "scripted:a",
        "--reward",
        "scripted",
        "-n",
        "1",
        "-o",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("note: ") == 1
    assert "2 prompts, such as 'first', begin with a mark" in done.stderr
