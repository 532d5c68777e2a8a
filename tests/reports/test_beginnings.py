"""Prompts that were written for a raw completion: a mark of the beginning of a text is told once, sent as it is, and counted by the server alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.command import laid_out, one_each, openai, records_of, synth
from tests.reports.hostile_server import raw_server, replies

MARKS = ("<s>", "<bos>", "<|begin_of_text|>")
SAID_TOKENS = 41
"""What the server counts in every prompt, however long it is."""


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_mark_at_the_beginning_is_told_once_and_not_counted(tmp_path: Path, api: str) -> None:
    bodies: list[dict[str, Any]] = []

    def completed(body: dict[str, Any]) -> str:
        bodies.append(body)
        said = {"text": " Blue."} if api == "completions" else {"message": {"role": "assistant", "content": "Blue."}}
        choice = {"index": 0, "finish_reason": "stop", **said}
        return json.dumps({"choices": [choice], "usage": {"prompt_tokens": SAID_TOKENS, "completion_tokens": 3}})

    prompts = [f"{mark}Which colour is the sky?" for mark in MARKS]
    with raw_server(replies(completed)) as url:
        run = laid_out(tmp_path, f'{one_each()}[[reward.parts]]\nkind = "scripted"\n{openai(url, api=api)}', *prompts, "No mark <s> at the beginning")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert notes[0].startswith("note: 3 prompts")
    assert "begin with a mark that servers add themselves" in notes[0]
    sent = "\n".join(json.dumps(body, ensure_ascii=False) for body in bodies)
    assert all(prompt in sent for prompt in prompts), "a prompt was changed on its way"
    calls = [call for record in records_of(run) for call in record.calls.values()]
    assert len(calls) == 4
    for call in calls:
        assert (call.sample.usage.prompt_tokens, call.sample.usage.completion_tokens, call.sample.usage.estimated) == (SAID_TOKENS, 3, False)
        assert call.spent.tokens == SAID_TOKENS + 3


def test_prompts_without_a_mark_are_not_remarked_on(tmp_path: Path) -> None:
    laid_out(tmp_path, f'{one_each()}[[reward.parts]]\nkind = "scripted"\n[[models]]\nname = "a"\nkind = "scripted"\n', "<strong>Which</strong> colour?")
    assert "note" not in synth(tmp_path).err
