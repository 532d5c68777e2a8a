"""A prompt's place in the record."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from multigraft.records.log import RunLog
from multigraft.records.rows import PromptRow
from multigraft.types import Completion, Prompt


@dataclass(slots=True)
class Entry:
    """A prompt's place in the record. A prompt is entered when its first call is about to be sent, so one that no budget is left for leaves no trace."""

    prompt: Prompt
    numbers: Iterator[int]
    """Where the next number comes from."""
    number: int | None = None
    """None while it is not entered."""
    replies: dict[str, Completion] = field(default_factory=dict)
    """What judges' models replied so far, by the digest of what they were asked."""

    def enter(self, log: RunLog) -> int:
        """Enter the prompt, the first time; return its number."""
        if self.number is None:
            self.number = next(self.numbers)
            log.append(PromptRow(self.number, self.prompt))
        return self.number
