"""`multigraft score` with judges that take no calls."""

import json
from pathlib import Path

from tests.runs.driver import counting_server
from typer.testing import CliRunner

from multigraft.cli.main import app
from multigraft.records.reader import RunRecord

NUM_PROMPTS = 300


def test_scoring_stops_once_its_judge_is_down_and_goes_on_with_the_same_command(tmp_path: Path) -> None:
    prompts, run = tmp_path / "prompts.jsonl", tmp_path / "run"
    prompts.write_text("".join(json.dumps({"prompt": f"Say {number}.", "reference": str(number)}) + "\n" for number in range(NUM_PROMPTS)), "utf-8")
    made = CliRunner().invoke(app, ["synth", str(prompts), "--models", "scripted:ann", "--reward", "rules", "-n", "1", "-o", str(run), "-q"])
    assert made.exit_code == 0, made.stderr
    with counting_server(down=["critic"]) as server:
        command = ["score", str(run), "--with", f"graded_judge:critic@{server.url}/v1", "-q"]
        stopped = CliRunner().invoke(app, command)
        assert stopped.exit_code == 1
        assert "stopped: no model takes calls any more; the last said: HTTP 401" in stopped.stderr
        with RunRecord(run) as record:
            assert not any("graded_judge" in call.scores for prompt in record.prompts() for call in prompt.calls.values())
            assert record.spent_apart().calls < NUM_PROMPTS / 3
        server.control(down=[])
        again = CliRunner().invoke(app, command)
        assert again.exit_code == 0, again.stderr
    with RunRecord(run) as record:
        assert all("graded_judge" in call.scores for prompt in record.prompts() for call in prompt.calls.values())
