"""Conversations read back out of one text, as chat templates with unmistakable marks write them."""

import re
from collections.abc import Sequence

from multigraft.types import Message

_FORMS = (
    re.compile(r"<\|im_start\|>(?P<role>\w+)\n(?P<content>.*?)<\|im_end\|>\n?", re.DOTALL),
    re.compile(r"(?:<\|begin_of_text\|>)?<\|start_header_id\|>(?P<role>\w+)<\|end_header_id\|>\n\n(?P<content>.*?)<\|eot_id\|>", re.DOTALL),
)
"""ChatML, and the form of Llama 3."""


def turns_of(text: str) -> Sequence[Message] | None:
    """Read a conversation.

    Args:
        text: turns in the form of ChatML or of Llama 3, one after the other, and nothing else.

    Returns:
        The turns; None when the text is anything else. A form without marks, such as `user: ...`, cannot be read back: an answer may hold such lines.
    """
    for form in _FORMS:
        turns: list[Message] = []
        position = 0
        while match := form.match(text, position):
            turns.append(Message(match["role"], match["content"]))
            position = match.end()
        if turns and position == len(text):
            return turns
    return None
