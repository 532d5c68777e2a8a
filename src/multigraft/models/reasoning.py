"""Keeping an answer apart from the thinking that led to it."""

from typing import NamedTuple


class ThinkingTags(NamedTuple):
    """The marks a model puts around its thinking when it writes it into the answer."""

    opening: str = "<think>"
    closing: str = "</think>"


class Parted(NamedTuple):
    """A text in its two parts."""

    answer: str
    """Without surrounding white space."""
    reasoning: str | None
    """None when there is none."""
    finished: bool
    """False: the thinking was opened and never closed, so there is no answer."""


def part(text: str, tags: ThinkingTags | None, field: str | None) -> Parted:
    """Split thinking off an answer.

    A closing mark without an opening one counts too: some chat templates write the opening mark into the prompt.

    Args:
        text: the content as the server gave it.
        tags: the marks; None: the text is all answer.
        field: thinking the server gave apart from the content, None when it gave none.

    Returns:
        The parts.
    """
    given = field.strip() if field is not None and field.strip() else None
    if tags is None:
        return Parted(text.strip(), given, finished=True)
    body = text.lstrip()
    opened = body.startswith(tags.opening)
    end = body.find(tags.closing)
    if opened and end < 0:
        return Parted("", _joined(given, body[len(tags.opening) :]), finished=False)
    if end < 0 or (not opened and tags.opening in body[:end]):
        return Parted(body.rstrip(), given, finished=True)
    thinking = body[len(tags.opening) if opened else 0 : end]
    return Parted(body[end + len(tags.closing) :].strip(), _joined(given, thinking), finished=True)


def _joined(given: str | None, thinking: str) -> str | None:
    inner = thinking.strip()
    if given is None:
        return inner or None
    return f"{given}\n{inner}" if inner else given
