import subprocess
import sys
from pathlib import Path

import pytest


def ran(folder: Path, run_file: str, *flags: str, prompt: str = '{"prompt": "Tell me."}\n') -> subprocess.CompletedProcess[str]:
    (folder / "prompts.jsonl").write_text(prompt)
    (folder / "run.toml").write_text(run_file)
    command = [sys.executable, "-m", "multigraft", "synth", "prompts.jsonl", "-c", "run.toml", "-o", "run", "-q", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_a_run_without_any_reward_says_why_and_fails(tmp_path: Path) -> None:
    done = ran(tmp_path, '[[models]]\nname = "a"\nkind = "scripted"\n')
    assert done.returncode == 1
    assert "error: no response has a reward; one is without for: the prompt has neither constraints nor a reference" in done.stderr


@pytest.mark.parametrize(
    ("run_file", "message"),
    [
        ("models = 3\n", "field 'models'"),
        ('[models]\nname = "a"\n', "field 'models'"),
        ('[[models]]\nname = "a"\nkind = "scripted"\n[strategy]\nnum_responses = 5\n', "field 'strategy.num_responses': is called n"),
        ('[[models]]\nname = "a"\nkind = "scripted"\n[[reward.parts]]\nkind = "rules"\nrules = "constraints"\n', "must be a list of rules, not 'constraints'"),
        ('[[models]]\nname = "a"\nkind = "scripted"\n[[reward.parts]]\nkind = "rules"\nrules = [5]\n', "a rule is a name, or a table with its settings, not 5"),
        ('[[models]]\nname = "a"\nkind = "scripted"\n[[reward.parts]]\nkind = "rules"\nrules = ["pattern"]\n', "needs the setting 'pattern'"),
    ],
)
def test_mistakes_in_tables_are_named(run_file: str, message: str, tmp_path: Path) -> None:
    done = ran(tmp_path, run_file)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_flag_wins_over_a_setting_of_the_same_meaning(tmp_path: Path) -> None:
    run_file = '[[models]]\nname = "a"\nkind = "scripted"\n[[reward.parts]]\nkind = "scripted"\n'
    assert '"responses": 2,' in ran(tmp_path, run_file, "--set", "n=4", "-n", "2", "--json").stdout
