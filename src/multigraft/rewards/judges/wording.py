"""The messages to judges: the wordings that come with the package, what a wording must hold, and the fences around what it shows."""

import re
from collections.abc import Mapping
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


def fenced_apart(texts: Mapping[str, str]) -> dict[str, str]:
    """Put texts between tags that occur in none of them, so that no text can end its own fence or counterfeit another's.

    Args:
        texts: by the tag each is to stand in; a tag that occurs in a text gets a number.

    Returns:
        The fenced texts, by tag as given.
    """
    fences: dict[str, str] = {}
    for tag, text in texts.items():
        pattern = re.compile(rf"<[\s/]*{re.escape(tag)}(?:-(\d{{1,9}}))?", re.IGNORECASE)
        taken = {int(found or 1) for shown in texts.values() for found in pattern.findall(shown)}
        number = next(number for number in range(1, len(taken) + 2) if number not in taken)
        name = tag if number == 1 else f"{tag}-{number}"
        fences[tag] = f"<{name}>\n{text}\n</{name}>"
    return fences
