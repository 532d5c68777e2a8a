"""Supervised fine-tuning data: the best responses of each prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar

from multigraft.datasets.columns import ABOUT_PROMPT, PROMPT, Column, Kind, Row, about_prompt_cells, field_cells, prompt_cells
from multigraft.datasets.pick import Filters, Rule, rank, reward_of
from multigraft.datasets.selection import Counts
from multigraft.errors import InputError
from multigraft.records.lineage import Lineage
from multigraft.records.reader import PromptRecord
from multigraft.types import Completion, Json

BELOW_THRESHOLD = "below_threshold"
NO_RESPONSE = "no_response"
NO_ANSWER = "no_answer"
"""The strategy says itself which response is the answer, and there is none, or it was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestResponses:
    """Rows of `prompt` and `completion` in TRL's conversational format.

    Where the strategy itself says which response is the answer (`graph`), that one is the best, and the others follow by reward.

    Args:
        top_k: so many of the best responses of each prompt, >= 1; None: all of them (with `min_reward`: rejection sampling).
        min_reward: only responses with at least this reward.
        filters: which responses count.

    Raises:
        InputError: a setting out of its range.
    """

    top_k: int | None = 1
    min_reward: float | None = None
    filters: Filters = field(default_factory=Filters)

    name: ClassVar[str] = "sft"
    columns: ClassVar[Mapping[str, Column]] = {
        **PROMPT,
        "completion": Column(Kind.MESSAGES, "the response, one message of the assistant"),
        **ABOUT_PROMPT,
        "model": Column(Kind.TEXT, "the model that wrote the response"),
        "reward": Column(Kind.NUMBER, "its reward"),
        "rank": Column(Kind.INTEGER, "its place among the responses that count, from 1"),
        "depth": Column(Kind.INTEGER, "refinements and aggregations on the longest way to it; 0: answered afresh"),
        "path": Column(Kind.TEXT, "models from the root to it"),
        "call_id": Column(Kind.INTEGER, "its call in the run"),
        "path_call_ids": Column(Kind.INTEGERS, "calls from the root to it"),
        "finish": Column(Kind.TEXT, "why it ended: stop or length"),
        "prompt_tokens": Column(Kind.INTEGER, "tokens the call was charged for its prompt"),
        "completion_tokens": Column(Kind.INTEGER, "tokens of the response, reasoning included"),
    }

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k < 1:
            message = f"must be at least 1, not {self.top_k}; leave it out for the best alone"
            raise InputError(message, field="top_k")
        if self.min_reward is not None and not isfinite(self.min_reward):
            message = f"must be a finite number, not {self.min_reward}"
            raise InputError(message, field="min_reward")
        self.filters.require(Rule.FAILED)

    @property
    def rule(self) -> str:
        """For people: which responses become rows."""
        how_many = {None: "all responses", 1: "the best response"}.get(self.top_k, f"the {self.top_k} best responses")
        return f"{how_many} of each prompt" + ("" if self.min_reward is None else f", with a reward of at least {self.min_reward:g}")

    def rows(self, record: PromptRecord, counts: Counts) -> Sequence[Row]:
        """Make the rows of one prompt."""
        picked = rank(record, self.filters, answer_first=True)
        counts.dropped.update(picked.dropped)
        if record.concludes and self.top_k == 1 and not any(call.call.call_id == record.answer for call in picked.calls):
            counts.skipped[NO_ANSWER if picked.calls else NO_RESPONSE] += 1
            return []
        counting = picked.calls[:1] if record.concludes and self.top_k == 1 else picked.calls
        passing = [call for call in counting if self._passes(reward_of(call))]
        below = len(counting) - len(passing)
        if below:
            counts.dropped[BELOW_THRESHOLD] += below
        if not passing:
            counts.skipped[BELOW_THRESHOLD if below else NO_RESPONSE] += 1
            return []
        lineage = Lineage(record)
        counts.winners_by_model[passing[0].call.model] += 1
        counts.winners_by_depth[lineage.depth(passing[0].call.call_id)] += 1
        rows: list[Row] = []
        for place, call in enumerate(passing[: self.top_k], start=1):
            sample = call.sample
            assert isinstance(sample, Completion)  # noqa: S101 - the filters keep no failure
            call_id = call.call.call_id
            path: list[Json] = [*lineage.call_ids(call_id)]
            rows.append(
                {
                    **prompt_cells(record),
                    "completion": [{"role": "assistant", "content": sample.text}],
                    **about_prompt_cells(record),
                    "model": call.call.model,
                    "reward": reward_of(call),
                    "rank": place,
                    "depth": lineage.depth(call_id),
                    "path": lineage.model_path(call_id),
                    "call_id": call_id,
                    "path_call_ids": path,
                    "finish": sample.finish.value,
                    "prompt_tokens": sample.usage.prompt_tokens,
                    "completion_tokens": sample.usage.completion_tokens,
                    **field_cells(record, self.columns),
                }
            )
        return rows

    def _passes(self, reward: float | None) -> bool:
        return self.min_reward is None or (reward is not None and reward >= self.min_reward)
