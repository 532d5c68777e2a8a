"""The columns of the datasets: their names, types and meanings, and where a prompt's own fields go."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import orjson

from multigraft.records.reader import PromptRecord
from multigraft.types import Completion, Json

Row: TypeAlias = dict[str, Json]
"""One row of a dataset, by column."""


class Kind(StrEnum):
    """The type of a column."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "true or false"
    MESSAGES = "list of {role, content}"
    TEXTS = "list of texts"
    INTEGERS = "list of integers"
    NUMBERS = "list of numbers"
    SCORES = "list of {scorer, version, value, reason, answer, details, truncated, external}"
    JSON = "JSON text"


class Column(NamedTuple):
    """One column of a dataset; any cell but the message lists may be null."""

    kind: Kind
    meaning: str


PROMPT: Mapping[str, Column] = {"prompt": Column(Kind.MESSAGES, "the conversation so far, the user's turn last")}

ABOUT_PROMPT: Mapping[str, Column] = {
    "prompt_id": Column(Kind.TEXT, "hash of the prompt's content, and its ordinal among equals"),
    "name": Column(Kind.TEXT, "the `id` of the prompt's row"),
    "reference": Column(Kind.TEXT, "the known answer"),
    "instruction_id_list": Column(Kind.TEXTS, "constraints, in the IFEval format"),
    "kwargs": Column(Kind.JSON, "their arguments, a list"),
    "num_responses": Column(Kind.INTEGER, "responses the prompt has in the run"),
    "num_scored": Column(Kind.INTEGER, "those with a reward"),
}

# What TRL's trainers and the Hub's loaders give a meaning of their own, beside the names of our columns.
_FOREIGN = frozenset(
    {
        "assistant_masks",
        "attention_mask",
        "chat_template",
        "chat_template_kwargs",
        "chosen",
        "chosen_attention_mask",
        "chosen_ids",
        "chosen_input_ids",
        "completion",
        "completion_ids",
        "completion_mask",
        "conversations",
        "image",
        "images",
        "input_ids",
        "labels",
        "margin",
        "messages",
        "position_ids",
        "prompt",
        "prompt_attention_mask",
        "prompt_ids",
        "prompt_input_ids",
        "ref_chosen_logps",
        "ref_rejected_logps",
        "rejected",
        "rejected_attention_mask",
        "rejected_ids",
        "rejected_input_ids",
        "seq_lengths",
        "tools",
    }
)
_PREFIX = "field_"


def own_field(name: str, taken: Iterable[str]) -> str:
    """Name the column of one of the prompt's own fields.

    Args:
        name: of the field.
        taken: names of the dataset's columns.

    Returns:
        The name itself, or `field_` before it where it means something else already. Two fields never share a column.
    """
    bare = name
    while bare.startswith(_PREFIX):
        bare = bare.removeprefix(_PREFIX)
    return _PREFIX + name if bare in _FOREIGN or bare in taken else name


def prompt_cells(record: PromptRecord) -> Row:
    """Fill the column `prompt`."""
    return {"prompt": [{"role": message.role, "content": message.content} for message in record.prompt.messages]}


def about_prompt_cells(record: PromptRecord) -> Row:
    """Fill the columns of `ABOUT_PROMPT`."""
    prompt = record.prompt
    kinds: list[Json] = [constraint.kind for constraint in prompt.constraints]
    arguments = [dict(constraint.arguments) for constraint in prompt.constraints]
    return {
        "prompt_id": prompt.prompt_id,
        "name": prompt.name,
        "reference": prompt.reference,
        "instruction_id_list": kinds,
        "kwargs": orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode(),
        "num_responses": sum(isinstance(call.sample, Completion) for call in record.calls.values()),
        "num_scored": sum(call.reward is not None for call in record.calls.values()),
    }


def field_cells(record: PromptRecord, columns: Mapping[str, Column]) -> Row:
    """Fill the columns of the prompt's own fields."""
    return {own_field(name, columns): value for name, value in record.prompt.fields.items()}
