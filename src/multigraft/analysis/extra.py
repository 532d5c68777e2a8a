"""What the regressions need beyond the core of the package."""

from importlib.util import find_spec

from multigraft.errors import MultigraftError


def check_extra(what: str) -> None:
    """Check that numpy and scipy are there.

    Args:
        what: needs them; for the message.

    Raises:
        MultigraftError: one is missing.
    """
    missing = [name for name in ("numpy", "scipy") if find_spec(name) is None]
    if missing:
        message = f"{what} need {' and '.join(missing)}; type: pip install 'multigraft[analysis]'"
        raise MultigraftError(message)
