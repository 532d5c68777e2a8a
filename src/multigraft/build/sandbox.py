"""The place where a run's generated code is run."""

from typing import TYPE_CHECKING

from multigraft.config import RunFile

if TYPE_CHECKING:
    from multigraft.sandbox.sandbox import Sandbox


class SandboxOfRun:
    """Makes the sandbox of a run when the first scorer asks for it; the same for all of them.

    Args:
        run_file: says whether it is to have walls.
    """

    def __init__(self, run_file: RunFile) -> None:
        self._unsafe = run_file.unsafe_no_sandbox
        self._made: Sandbox | None = None

    def __call__(self) -> "Sandbox":
        """Return it; it is tried when it is started."""
        if self._made is None:
            from multigraft.sandbox.sandbox import Sandbox  # noqa: PLC0415 - only runs that run code load it

            self._made = Sandbox(unsafe=self._unsafe)
        return self._made

    def facts(self) -> dict[str, str]:
        """Say, for the record, what walls stand around generated code; nothing where none is run."""
        return {} if self._made is None else {"sandbox": self._made.description}
