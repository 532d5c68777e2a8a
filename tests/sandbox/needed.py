"""What tests of the sandbox need of the machine."""

import shutil
import sys

import pytest

from multigraft.sandbox.walls import INSTALL


def need_walls() -> None:
    """Skip where walls cannot be; fail where they only were not installed, as a test that is silently left out protects nobody."""
    if sys.platform != "linux":
        pytest.skip("walls need Linux")
    if shutil.which("bwrap") is None:
        pytest.fail(f"bubblewrap is not installed: {INSTALL}")
