"""Prompts and responses put into a text for a judge or a reward model. What they hold is never read as a template or as markup of the text around it."""

import re
from collections.abc import Mapping, Sequence

from multigraft.types import Message

_PLACE = re.compile(r"\{(\w+)\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into the places of a template, in one pass: a value that looks like a place stays as it is.

    Args:
        template: with places such as `{prompt}`; braces around anything that is not a name of `values` are plain text.
        values: by name.

    Returns:
        The text.
    """
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), template)


def places(template: str) -> frozenset[str]:
    """Return the names of the places in a template."""
    return frozenset(_PLACE.findall(template))


def conversation(messages: Sequence[Message]) -> str:
    """Write a prompt as text: one message as it is, several with their roles."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)


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
