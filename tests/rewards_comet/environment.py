"""A second virtual environment with unbabel-comet, made once for a set of requirements and kept in the user's cache."""

import hashlib
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "constraints-comet.txt"
NO_INDEX = ("No matching distribution found", "Could not find a version", "Failed to establish a new connection", "Temporary failure in name resolution")


def comet_python() -> Path:
    """Return the interpreter of the environment, which is made where it is not there yet: about a minute, 1.5 GB.

    The package itself is installed into it as well, so that what a user types is what is tested; `environment()` puts the code of today before it.
    """
    if sys.version_info >= (3, 13):
        pytest.skip("unbabel-comet needs numpy below 2, which is not built for Python 3.13 and newer")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = (project["dependencies"], project["optional-dependencies"]["comet"], PINS.read_text("utf-8"), sys.version_info[:3], sys.base_prefix)
    folder = user_cache_path("multigraft") / "test-environments" / f"comet-{hashlib.sha256(repr(asked).encode()).hexdigest()[:16]}"
    python = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "complete").is_file():
            venv.create(folder, with_pip=True, clear=True)
            done = subprocess.run([python, "-m", "pip", "install", "-q", "-c", PINS, f"{ROOT}[comet]"], capture_output=True, text=True, check=False)
            if done.returncode and any(words in done.stderr for words in NO_INDEX):
                pytest.skip(f"pip has no index that holds unbabel-comet and what it needs: {done.stderr.strip().splitlines()[-1]}")
            assert done.returncode == 0, done.stderr
            (folder / "complete").touch()
    return python


def environment() -> dict[str, str]:
    """Return the variables of its processes: the code under test, and no hub."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
