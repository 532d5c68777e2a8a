"""The child process that serves one GGUF file on loopback: `python -m multigraft.models.local.host`.

Its settings come as one JSON line on standard input, with the key that requests must carry, so that no process list shows it. It answers with one JSON line
on standard output, `{"address": "http://127.0.0.1:PORT"}` or `{"error": "..."}`, and ends when standard input closes: whatever ends the parent closes it.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from typing import BinaryIO, Protocol, TypedDict

PR_SET_PDEATHSIG = 1


class _Server(Protocol):
    """The part of `xllamacpp.Server` used here."""

    listening_address: str


class Settings(TypedDict):
    """What the parent sends."""

    path: str
    api_key: str
    parent_pid: int
    threads: int
    poll: int
    slots: int
    context_tokens: int
    prompt_cache_mib: int
    min_p: float
    top_k: int
    repeat_penalty: float


def main() -> None:
    """Serve until standard input closes."""
    # The terminal sends its Ctrl-C to everybody; when this process ends is for the parent to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings: Settings = json.loads(sys.stdin.buffer.readline())
    _die_with(settings["parent_pid"])
    answers = _private_output()
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
    # What the library raises has no common base, and an exception that leaves this function would leave its threads running for ever.
    try:
        server = _serve(settings)
        address = server.listening_address
    except BaseException as error:  # noqa: BLE001 - see above
        _answer(answers, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _answer(answers, {"address": address})
    threading.Event().wait()


def _serve(settings: Settings) -> _Server:
    """Load the file and start listening; the server's threads go on by themselves.

    Args:
        settings: what the parent sent.

    Returns:
        The server, which listens on a port the system chose for as long as it is referenced.
    """
    import xllamacpp  # noqa: PLC0415 - an optional extra; its absence is reported to the parent

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context_tokens"]
    # Or it would take as much less context as the memory suggests, without a word.
    params.fit_params = False
    params.cache_prompt = True
    params.cache_ram_mib = settings["prompt_cache_mib"]
    for group in (params.cpuparams, params.cpuparams_batch):
        group.n_threads = settings["threads"]
        group.poll = settings["poll"]
    # The wire format of OpenAI knows temperature and top_p only: everything else is off unless set here.
    params.sampling.top_p = 1.0
    params.sampling.top_k = settings["top_k"]
    params.sampling.min_p = settings["min_p"]
    params.sampling.penalty_repeat = settings["repeat_penalty"]
    # Errors only; the library's own log would hold prompts.
    params.verbosity = 1
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = ""
    server: _Server = xllamacpp.Server(params)
    return server


def _die_with(parent_pid: int) -> None:
    """Ask the kernel to end this process with its parent, where it can (Linux); the closing of standard input does it elsewhere."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent_pid:
            os._exit(1)


def _private_output() -> BinaryIO:
    """Keep standard output for the one answer; whatever the library prints goes to standard error."""
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb", buffering=0)


def _answer(answers: BinaryIO, message: dict[str, str]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.close()


def _exit_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
