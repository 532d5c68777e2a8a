"""The messages to judges: the wordings that come with the package, and what a wording must hold."""

from collections.abc import Set as AbstractSet
from importlib.resources import files

from multigraft.rewards.rendering import places


def default_template(name: str) -> str:
    """Read the wording of a kind of judge: `templates/NAME.txt`."""
    return files("multigraft.rewards.judges").joinpath("templates", f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def check_template(template: str, needed: AbstractSet[str], name: str) -> None:
    """See that a wording has the places a judge cannot do without.

    Args:
        template: the wording.
        needed: names of places.
        name: of the judge.

    Raises:
        ValueError: a place is missing.
    """
    if missing := sorted(needed - places(template)):
        written = ", ".join(f"{{{place}}}" for place in missing)
        message = f"the template of {name} needs the place {written}: write it where the judge is to read that text"
        raise ValueError(message)
