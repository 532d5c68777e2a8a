"""What is in the files a user installs."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import multigraft

ROOT = Path(__file__).resolve().parents[1]
DATA = [
    "multigraft/py.typed",
    "multigraft/cli/run_template.toml",
    *(f"multigraft/prompting/templates/{family}/{role}.txt" for family in ("default", "translation") for role in ("refine", "aggregate", "fuse")),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_all_modules_and_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"multigraft-{multigraft.__version__}.dist-info/METADATA").decode()
        points = archive.read(f"multigraft-{multigraft.__version__}.dist-info/entry_points.txt").decode()
    modules = [str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "multigraft").rglob("*.py")]
    assert set(modules) | set(DATA) <= set(names)
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
