"""What holds for the whole code base."""

import ast
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.reports.bans import violations

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "multigraft"
FILES = sorted(SOURCE.rglob("*.py"))
PAGE = ROOT / "docs" / "design" / "0001-architecture.md"
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
HEAVY = ("aiohttp", "pydantic", "typer", "rich", "orjson", "sqlite3", "langdetect", "pysbd", "pyarrow", "xllamacpp", "uvloop", "multiprocessing")
# Put together here, so that this file does not hold what it looks for.
PACKAGE_HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("static", "crates", "io"))]
PLACES = ["/".join(parts) for parts in (("", "work", "main"), ("", "work", "shared"), ("..", "shared"), ("", "tmp", "venv"))]
BEHIND_WALLS = SOURCE / "sandbox" / "inside"
"""The programs that run generated code, in processes of their own behind the walls of the sandbox; running it is what they are for."""


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_and_functions_are_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES
    long = [node.name for node in functions(path) if (node.end_lineno or node.lineno) - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION and not is_a_command(node)]
    assert long == []


def is_a_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A command of the command line is as long as its flags are many; its body is held to the bound by itself."""
    body_lines = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
    return any(isinstance(decorator, ast.Name) and decorator.id == "reported" for decorator in node.decorator_list) and body_lines <= MOST_LINES_OF_A_FUNCTION


@pytest.mark.parametrize("path", [path for path in FILES if "__all__" in path.read_text("utf-8")], ids=relative)
def test_all_names_what_is_public(path: Path) -> None:
    listed: list[str] = []
    defined: set[str] = set()
    taken: set[str] = set()
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            if "__all__" in names:
                listed = ast.literal_eval(node.value) if node.value is not None else []
            defined |= names - {"__all__"}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("multigraft"):
            taken |= {alias.asname or alias.name for alias in node.names}
    assert len(set(listed)) == len(listed)
    assert {name for name in defined if not name.startswith("_")} <= set(listed), "a public name is not listed"
    assert set(listed) <= defined | taken, "a name is listed that is not here"


def test_nothing_runs_what_it_reads() -> None:
    found = [violation for path in FILES for violation in violations(path.read_text("utf-8"), path.relative_to(SOURCE).as_posix())]
    assert found == []


def test_commands_print_json_by_the_one_function_that_leaves_out_what_is_no_number() -> None:
    own = SOURCE / "cli" / "json_line.py"
    found = [
        relative(path) for path in (SOURCE / "cli").rglob("*.py") if path != own and re.search(r"\bjson\.dumps?\(|from json import", path.read_text("utf-8"))
    ]
    assert found == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, multigraft; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_help_loads_no_client_and_no_schema() -> None:
    code = (
        "import sys\nfrom multigraft.cli.main import main\nsys.argv = ['multigraft', '--help']\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('aiohttp', 'pydantic', 'langdetect', 'sqlite3', 'asyncio') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "[]"


def cpu_seconds(command: list[str]) -> float:
    """The least of several runs, since a busy machine makes each slower."""
    least = float("inf")
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def test_importing_the_package_takes_little_time() -> None:
    assert cpu_seconds([sys.executable, "-c", "import multigraft"]) <= 0.3


def test_help_takes_little_time() -> None:
    assert cpu_seconds([str(Path(sys.executable).with_name("multigraft")), "--help"]) <= 0.4


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_the_repository_names_no_package_host_and_no_place_of_one_machine() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "ignore")
        found += [f"{relative(path)}: {word}" for word in (*PACKAGE_HOSTS, *PLACES) if word in text]
    assert found == []


def test_no_file_is_large_or_binary() -> None:
    assert [relative(path) for path in tracked() if path.stat().st_size > 500_000] == []
    assert [relative(path) for path in tracked() if b"\0" in path.read_bytes() and path.suffix not in {".parquet", ".png"}] == []


def bands() -> list[set[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [{name.strip() for name in layer.split("|")} for layer in layers]


def listed_bands() -> list[set[str]]:
    section = PAGE.read_text("utf-8").split("## Bands")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| ((?:`\w+`(?:, )?)+) \|$", section, flags=re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", row)) for row in rows]


def test_the_architecture_page_shows_the_bands_that_are_checked() -> None:
    assert listed_bands() == bands()


def test_the_architecture_page_describes_every_package_that_exists() -> None:
    section = PAGE.read_text("utf-8").split("## Packages")[1].split("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__"}
    assert sorted(described) == sorted(packages)


def test_the_architecture_page_names_the_pure_packages() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    pure = next(contract for contract in contracts if contract["name"].startswith("pure core"))["source_modules"]
    named = PAGE.read_text("utf-8").split("**Pure packages** (")[1].split(")")[0]
    assert sorted(re.findall(r"`([\w.]+)`", named)) == sorted(name.removeprefix("multigraft.") for name in pure)


def test_every_package_says_what_it_is() -> None:
    assert [relative(path) for path in FILES if not ast.get_docstring(tree_of(path))] == []
