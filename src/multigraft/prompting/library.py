"""The templates that come with the package, one folder a task family."""

from importlib.resources import files

from multigraft.errors import UnknownNameError
from multigraft.prompting.render import Templates

FAMILIES: tuple[str, ...] = ("default", "translation")
"""Names of the folders in `templates/`."""


def load_templates(
    family: str = "default", *, refine: str | None = None, aggregate: str | None = None, fuse: str | None = None, conclude: str | None = None
) -> Templates:
    """Load the templates of a task family.

    Args:
        family: one of `FAMILIES`.
        refine: wording to use instead of the family's; None keeps it.
        aggregate: likewise.
        fuse: likewise.
        conclude: likewise.

    Returns:
        The templates.

    Raises:
        UnknownNameError: there is no such family.
        InputError: a wording given lacks a placeholder, or has one too many.
    """
    if family not in FAMILIES:
        what = "family of templates"
        raise UnknownNameError(what, family, FAMILIES)
    return Templates(
        refine=_read(family, "refine") if refine is None else refine,
        aggregate=_read(family, "aggregate") if aggregate is None else aggregate,
        fuse=_read(family, "fuse") if fuse is None else fuse,
        conclude=_read(family, "conclude") if conclude is None else conclude,
    )


def _read(family: str, role: str) -> str:
    return files("multigraft.prompting").joinpath("templates", family, f"{role}.txt").read_text(encoding="utf-8").rstrip("\n")
