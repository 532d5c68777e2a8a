"""A folder with what runs inside the walls, and next to them, readable by every user of the places, compiled once."""

import shutil
import subprocess
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent


def make_code_folder(interpreter: str) -> Path:
    """Make the folder; whoever asked removes it.

    Args:
        interpreter: compiles the modules, as each Python reads its own form only.

    Returns:
        A folder that can be put on a module path.
    """
    folder = Path(tempfile.mkdtemp(prefix="multigraft-sandbox-"))
    inside = folder / "multigraft" / "sandbox" / "inside"
    shutil.copytree(_HERE / "inside", inside, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_HERE / "janitor.py", inside.parent)
    for package in (inside.parent, inside.parent.parent):
        (package / "__init__.py").write_text("", "utf-8")
    subprocess.run([interpreter, "-I", "-S", "-m", "compileall", "-q", str(folder)], check=False, env={}, stdin=subprocess.DEVNULL, capture_output=True)  # noqa: S603 - our own files
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
