"""One command for each way to score: real embedded models answer, and the code that scores is the one users run."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from multigraft.records.reader import PromptRecord, RunRecord

pytestmark = [pytest.mark.real, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "tasks"
PROMPTS = ["Name two fruits.", "What is 12 + 30? Reply with the number."]
SHORT = "[sampling]\nmax_tokens = 24\n"


def multigraft(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "multigraft", *map(str, arguments), "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    totals: dict[str, Any] = json.loads(done.stdout)
    return totals


def prompts_of(folder: Path) -> list[PromptRecord]:
    with RunRecord(folder) as record:
        return list(record.prompts())


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    rows = [{"prompt": PROMPTS[0]}, {"prompt": PROMPTS[1], "reference": "42"}]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "run.toml").write_text(SHORT, "utf-8")
    return tmp_path / "prompts.jsonl"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny("classifier", tmp_path_factory.mktemp("weights") / "classifier")


def tiny(kind: str, folder: Path) -> Path:
    pytest.importorskip("torch", reason="reward models want the extra hf")
    subprocess.run([sys.executable, "-m", "tests.rewards_hf.tiny_models", kind, str(folder)], check=True, timeout=300, cwd=ROOT, capture_output=True)
    return folder


def test_a_classifier_in_this_process_guides_a_tree(prompts: Path, classifier: Path) -> None:
    run = prompts.parent / "run"
    totals = multigraft(
        "synth", prompts, "-c", prompts.parent / "run.toml", "--models", "smollm2-135m", "--reward", f"classifier:{classifier}", "-n", 4, "-o", run
    )
    assert totals["scorers"]["classifier"]["scored"] == 8
    assert totals["unscored"] == {}
    rewards = {call.reward for prompt in prompts_of(run) for call in prompt.calls.values()}
    assert len(rewards) > 4


@contextmanager
def served(reward: str) -> Iterator[str]:
    command = [sys.executable, "-m", "multigraft", "reward", "serve", "--reward", reward, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["address"]
        finally:
            server.terminate()
            assert server.wait(30) == 0


def test_two_runs_at_once_share_a_served_classifier(prompts: Path, classifier: Path) -> None:
    here = prompts.parent
    with served(f"classifier:{classifier}") as url:
        (here / "served.toml").write_text(
            f'{SHORT}[[models]]\nname = "smollm2-135m"\nthreads = 1\n'  # two hosts on all cores would each be slowed tenfold
            f'[[reward.parts]]\nkind = "remote"\nshape = "multigraft"\nendpoints = [{{ url = "{url}" }}]\n',
            "utf-8",
        )
        command = [sys.executable, "-m", "multigraft", "synth", str(prompts), "-c", str(here / "served.toml"), "-n", "4", "-q"]
        runs = [
            subprocess.Popen([*command, "-o", str(here / f"run{seed}"), "--seed", str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for seed in (1, 2)
        ]
        for run in runs:
            _, errors = run.communicate(timeout=600)
            assert run.returncode == 0, errors
    for seed in (1, 2):
        scored = multigraft("score", here / f"run{seed}", "--with", f"classifier:{classifier}", "--name", "local")
        assert scored["scorers"]["local"]["scored"] == 8
        for prompt in prompts_of(here / f"run{seed}"):
            for call in prompt.calls.values():
                assert call.reward == pytest.approx(call.scores["local"].score.value, rel=1e-4)


def test_a_process_reward_sees_the_steps(prompts: Path) -> None:
    folder, run = tiny("prm", prompts.parent / "weights"), prompts.parent / "run"
    totals = multigraft(
        "synth",
        prompts,
        "-c",
        prompts.parent / "run.toml",
        "--models",
        "smollm2-135m",
        "--reward",
        f"process:{folder}",
        "-n",
        2,
        "--strategy",
        "parallel",
        "-o",
        run,
    )
    assert totals["scorers"]["process"]["scored"] == 4
    scores = [call.scores["process"].score for prompt in prompts_of(run) for call in prompt.calls.values()]
    assert all(0 < (score.value or 0) < 1 for score in scores)
    assert all("step 1" in score.details for score in scores)


def test_a_tournament_of_an_embedded_judge_picks_the_best_of_four(prompts: Path) -> None:
    here, run = prompts.parent, prompts.parent / "run"
    (here / "run.toml").write_text(
        f'{SHORT}[[reward.parts]]\nkind = "tournament"\nmodel = "qwen2.5-coder-0.5b"\nread = "probability"\n[[models]]\nname = "smollm2-135m"\n'
        '[[models]]\nname = "qwen2.5-coder-0.5b"\n',
        "utf-8",
    )
    totals = multigraft("synth", prompts, "-c", here / "run.toml", "-n", 4, "--strategy", "parallel", "-o", run)
    assert totals["ends"] == {"done": 2}
    assert totals["scorers"]["tournament"]["spent"]["calls"] >= 2 * 2  # at most 3 comparisons a prompt, in both orders; fewer where texts are equal
    for prompt in prompts_of(run):
        best = prompt.best()
        assert best is not None
        assert best.reward == 1.0
    again = multigraft("synth", prompts, "-c", here / "run.toml", "-n", 4, "--strategy", "parallel", "-o", run)
    assert again["spent"] == totals["spent"]


def test_rules_of_ifeval_grade_real_instructions(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(SHORT, "utf-8")
    totals = multigraft(
        *(
            "synth",
            ROOT / "tests" / "data" / "ifeval" / "items.jsonl",
            "--task",
            "ifeval",
            "-c",
            tmp_path / "run.toml",
            "--models",
            "smollm2-135m",
            "--limit",
            4,
        ),
        *("-n", 2, "--strategy", "parallel", "-o", tmp_path / "run"),
    )
    assert totals["scorers"]["ifeval_strict"]["scored"] == totals["scorers"]["ifeval_loose"]["scored"] == 8
    assert totals["scorers"]["ifeval_strict"]["mean"] <= totals["scorers"]["ifeval_loose"]["mean"]


def test_mathematics_is_compared_as_mathematics(prompts: Path) -> None:
    pytest.importorskip("math_verify", reason="wants the extra checkers")
    rows = [{"prompt": "What is 1 / 2 as a fraction?", "reference": "\\frac{1}{2}"}, {"prompt": PROMPTS[1], "reference": "42"}]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = prompts.parent / "run"
    totals = multigraft("synth", prompts, "-c", prompts.parent / "run.toml", "--models", "qwen2.5-coder-0.5b", "--reward", "math", "-n", 4, "-o", run)
    assert totals["scorers"]["math"]["scored"] == 8
    right = [call for prompt in prompts_of(run) for call in prompt.calls.values() if call.reward == 1.0]
    assert right
    assert all("42" in (call.text or "") or "frac" in (call.text or "") or "1/2" in (call.text or "") or "0.5" in (call.text or "") for call in right)


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is built of Linux's walls")
def test_generated_code_is_run_in_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[sampling]\nmax_tokens = 160\ntemperature = 0.2\n", "utf-8")
    totals = multigraft(
        *("synth", DATA / "humaneval.jsonl", "--task", "humaneval", "-c", tmp_path / "run.toml", "--models", "qwen2.5-coder-0.5b", "--limit", 3),
        *("--reward", "unit_tests", "--judge", "none", "-n", 2, "-o", tmp_path / "run"),
    )
    assert totals["scorers"]["unit_tests"]["scored"] == 6
    assert 0 < totals["scorers"]["unit_tests"]["mean"] <= 1
    with RunRecord(tmp_path / "run") as record:
        facts = [json.loads(text) for (text,) in record._database.execute("SELECT facts FROM sessions WHERE seconds = 0")]
    assert "bubblewrap" in facts[0]["sandbox"]
