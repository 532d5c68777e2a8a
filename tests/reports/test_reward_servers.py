"""Reward servers that see a part of a response, or score it by its company: what was cut never wins unseen, and the batch is part of who scored."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.command import laid_out, multigraft, one_each, records_of, synth
from tests.reports.hostile_server import head, raw_server, replies

from multigraft.records.reader import PromptRecord
from multigraft.types import FailureKind

SHORT, LONG = "A short answer.", "A long answer. " * 40
WINDOW_CHARACTERS = 300


def texts_in(body: dict[str, Any]) -> list[str]:
    asked = body["input"]
    return [text.rsplit("<|im_start|>assistant\n", 1)[-1].removesuffix("<|im_end|>\n") for text in asked]


def pooled(values: list[float]) -> str:
    return json.dumps({"data": [{"index": index, "data": [value]} for index, value in enumerate(values)]})


def by_length(body: dict[str, Any]) -> str:
    """The longer, the better."""
    return pooled([float(len(text)) for text in texts_in(body)])


def by_company(body: dict[str, Any]) -> str:
    """As padding does: the more texts at once, the lower."""
    return pooled([len(text) / len(body["input"]) for text in texts_in(body)])


def run_file(url: str, *, allow_truncated: bool = False, **settings: object) -> str:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in {"shape": "pooling", **settings}.items())
    allowed = "[reward]\nallow_truncated = true\n" if allow_truncated else ""
    writer = f'[[models]]\nname = "writer"\nkind = "scripted"\nanswers = {json.dumps([SHORT, LONG.strip()])}\n'
    return f'{one_each(8)}{writer}{allowed}[[reward.parts]]\nkind = "remote"\nendpoints = [{{ url = "{url}" }}]\n{lines}'


def best_text(record: PromptRecord) -> str | None:
    best = record.best()
    return None if best is None else best.text


@pytest.mark.parametrize(("too_long", "reason"), [("cut", FailureKind.PARTLY_SCORED), ("refuse", FailureKind.CONTEXT)])
def test_a_response_that_was_not_seen_whole_does_not_win(tmp_path: Path, too_long: str, reason: FailureKind) -> None:
    with raw_server(replies(by_length)) as url:
        run = laid_out(tmp_path, run_file(url, max_characters=WINDOW_CHARACTERS, too_long=too_long), "Which?")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    (record,) = records_of(run)
    assert best_text(record) == SHORT
    long = [call for call in record.calls.values() if call.text == LONG.strip()]
    assert long
    for call in long:
        assert (call.reward, call.reason) == (None, reason)
        score = call.scores["remote"].score
        assert score.truncated is (too_long == "cut")
        assert (score.value is not None and score.value > len(SHORT)) is (too_long == "cut")  # it would have won
    exported = multigraft(tmp_path, "export", run, "--sft", tmp_path / "best.jsonl", "--top-k", "0")
    assert exported.code == 0, exported.err
    assert {row["completion"][0]["content"] for row in map(json.loads, (tmp_path / "best.jsonl").read_text().splitlines())} == {SHORT}


def test_a_score_of_a_part_counts_where_it_was_asked_for(tmp_path: Path) -> None:
    with raw_server(replies(by_length)) as url:
        run = laid_out(tmp_path, run_file(url, allow_truncated=True, max_characters=WINDOW_CHARACTERS, too_long="cut"), "Which?")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    (record,) = records_of(run)
    best = record.best()
    assert best is not None
    assert best.text == LONG.strip()
    assert best.scores["remote"].score.truncated


def test_a_response_that_the_server_finds_too_long_has_no_score_and_spoils_no_other(tmp_path: Path) -> None:
    def bounded(body: bytes, out: Any) -> None:
        texts = texts_in(json.loads(body))
        if any(len(text) > WINDOW_CHARACTERS for text in texts):
            refusal = b'{"error": {"message": "This model\'s maximum context length is 64 tokens, but the input has 170", "code": 400}}'
            out(head(len(refusal)).replace(b"200 OK", b"400 Bad Request") + refusal)
        else:
            reply = pooled([float(len(text)) for text in texts]).encode()
            out(head(len(reply)) + reply)

    with raw_server(bounded) as url:
        run = laid_out(tmp_path, run_file(url, max_batch=8), "Which?")
        done = synth(tmp_path)
    assert done.code == 0, done.err
    (record,) = records_of(run)
    found = {(call.text, call.reward, call.reason) for call in record.calls.values()}
    assert found == {(SHORT, float(len(SHORT)), None), (LONG.strip(), None, FailureKind.CONTEXT)}


def test_the_batch_is_part_of_the_recorded_scorer(tmp_path: Path) -> None:
    versions: dict[int, set[str]] = {}
    rewards: dict[int, set[float | None]] = {}
    with raw_server(replies(by_company)) as url:
        for batch in (1, 4):
            folder = tmp_path / str(batch)
            folder.mkdir()
            run = laid_out(folder, run_file(url, max_batch=batch), "Which?")
            done = synth(folder)
            assert done.code == 0, done.err
            calls = [call for record in records_of(run) for call in record.calls.values()]
            versions[batch] = {call.scores["remote"].version for call in calls}
            rewards[batch] = {call.reward for call in calls}
        # Other settings are refused before any score of another batch could stand beside those of this one.
        laid_out(tmp_path / "1", run_file(url, max_batch=4), "Which?")
        changed = synth(tmp_path / "1")
    assert len(versions[1]) == len(versions[4]) == 1
    assert versions[1] != versions[4]
    assert rewards[1] == {float(len(SHORT)), float(len(LONG.strip()))}
    assert min(value for value in rewards[4] if value is not None) < len(SHORT)
    assert changed.code == 2
    assert "max_batch: 1 -> 4" in changed.err
