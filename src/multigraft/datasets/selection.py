"""The contract of a selection: from the record of one prompt to rows, with a count of everything that was left out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from multigraft.datasets.columns import Column, Row
from multigraft.records.reader import PromptRecord


@dataclass(slots=True)
class Counts:
    """What one dataset holds, and what it leaves out and why."""

    prompts: int = 0
    """Prompts seen."""
    rows: int = 0
    """Rows written."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Responses left out, by rule."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Prompts without a row, by reason."""
    winners_by_model: Counter[str] = field(default_factory=Counter)
    """Prompts by the model of their best (or chosen) response."""
    winners_by_depth: Counter[int] = field(default_factory=Counter)
    """Prompts by the depth of that response."""
    normalised: int = 0
    """Rows in which half a surrogate pair became U+FFFD."""


class Selection(Protocol):
    """What becomes of a prompt in one kind of dataset."""

    @property
    def name(self) -> str:
        """What the dataset is called: `sft`, `preference`, `all`."""
        ...

    @property
    def columns(self) -> Mapping[str, Column]:
        """Its columns in order, without the prompt's own fields."""
        ...

    @property
    def rule(self) -> str:
        """For people: which responses become rows."""
        ...

    def rows(self, record: PromptRecord, counts: Counts) -> Sequence[Row]:
        """Make the rows of one prompt.

        Args:
            record: of the prompt.
            counts: what is left out is added; `prompts`, `rows` and `normalised` are the exporter's.
        """
        ...
