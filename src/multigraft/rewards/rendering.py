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


def fenced(tag: str, text: str) -> str:
    """Put a text between tags that do not occur in it, so that it cannot end its own fence."""
    name, number = tag, 1
    while f"<{name}>" in text or f"</{name}>" in text:
        number += 1
        name = f"{tag}-{number}"
    return f"<{name}>\n{text}\n</{name}>"
