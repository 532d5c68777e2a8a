"""What makes a prompt the same prompt in another run of the same file, whatever the order of its rows.

Its id is the hash of its content (messages, reference, constraints) and its ordinal among equals: `3f2a...9c-0`. Position, name and further fields do not
count, so that a file may be sorted, shuffled or annotated without a paid call being repeated.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from multigraft.types import Constraint, Json, Message, Prompt

_ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def content_hash(messages: Sequence[Message], reference: str | None, constraints: Sequence[Constraint]) -> str:
    """Hash what a prompt asks and how its answers are checked.

    Args:
        messages: the conversation.
        reference: the known answer, if any.
        constraints: in their order; the order of the arguments of one does not matter.

    Returns:
        128 bits as 32 hexadecimal digits.
    """
    content = [
        [[message.role, message.content] for message in messages],
        reference,
        [[constraint.kind, dict(constraint.arguments)] for constraint in constraints],
    ]
    return blake2b(_ENCODE(content).encode(), digest_size=16).hexdigest()


def _surroundings(prompt: Prompt) -> str:
    fields: Mapping[str, Json] = prompt.fields
    return _ENCODE([prompt.name, dict(fields)])


def number_equals(prompts: list[Prompt]) -> None:
    """Give each prompt, in place, its ordinal among those of equal content.

    Equal prompts are numbered in the order of their names and further fields, so that each keeps its own number when the file is shuffled.

    Args:
        prompts: each with `content_hash(...) + "-0"` as its id.
    """
    first: dict[str, int] = {}
    equals: dict[str, list[int]] = {}
    for index, prompt in enumerate(prompts):
        earliest = first.setdefault(prompt.prompt_id, index)
        if earliest != index:
            equals.setdefault(prompt.prompt_id, [earliest]).append(index)
    for prompt_id, indexes in equals.items():
        digest = prompt_id.rpartition("-")[0]
        ordered = sorted(indexes, key=lambda index: _surroundings(prompts[index]))
        for ordinal, index in enumerate(ordered):
            prompts[index] = replace(prompts[index], prompt_id=f"{digest}-{ordinal}")
