"""Weights from the Hugging Face hub, by its own client and into its own cache; the only file that imports `huggingface_hub`."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from multigraft.errors import MultigraftError, WeightsError
from multigraft.models.local import download
from multigraft.models.local.sources import HubSource

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Told = TypeVar("Told")


async def fetch_hub(source: HubSource, *, name: str, endpoint: str | None = None, cache: Path | None = None) -> Path:
    """Fetch a file of a repository; the client resumes, locks and caches, and obeys `HF_ENDPOINT`, `HF_HOME` and `HF_TOKEN`.

    Args:
        source: repository, file and revision.
        name: what to call the weights in messages.
        endpoint: base URL of the hub; None: the client's own.
        cache: the client's cache folder; None: its own.

    Returns:
        The file in the client's cache.

    Raises:
        MultigraftError: the extra is not installed.
        WeightsError: the file cannot be had, or has another hash than the pinned one.
    """
    try:
        import huggingface_hub  # noqa: PLC0415 - an optional extra, slow to import
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = f"{name} comes from the Hugging Face hub, which needs the extra 'hub': pip install 'multigraft[hub]'"
        raise MultigraftError(message) from error
    try:
        found = await _leavable(
            huggingface_hub.hf_hub_download,
            repo_id=source.repo,
            filename=source.filename,
            revision=source.revision,
            endpoint=endpoint,
            cache_dir=cache,
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"fetching {source.filename} of {source.repo} at {source.revision}: {said[:400]}"
        raise WeightsError(message) from error
    path = Path(found)
    if source.sha256 is not None:
        sha256 = await download.sha256_of(path)
        if sha256 != source.sha256:
            _delete(path)
            message = f"the weights of {name} have SHA-256 {sha256}, but {source.sha256} is pinned; they were deleted"
            raise WeightsError(message)
    return path


async def _leavable(function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
    """Run a function in a thread of its own that is left behind when the caller is cancelled; a thread of the loop's pool would be waited for at the end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Result] = loop.create_future()

    def run() -> None:
        try:
            result = function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            tell(ended.set_exception, error)
        else:
            tell(ended.set_result, result)

    def tell(end: Callable[[Told], None], told: Told) -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits any more, and the loop is closed
            loop.call_soon_threadsafe(lambda: None if ended.done() else end(told))

    threading.Thread(target=run, daemon=True).start()
    return await ended


def _delete(path: Path) -> None:
    """Delete a file of the client's cache and the blob its link points to, or the client would take it for the right one next time."""
    path.resolve().unlink()
    path.unlink(missing_ok=True)
