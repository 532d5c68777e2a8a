"""Preference data: a chosen and a rejected response of each prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose, isfinite
from typing import ClassVar

from multigraft.datasets.columns import ABOUT_PROMPT, PROMPT, Column, Kind, Row, about_prompt_cells, field_cells, prompt_cells
from multigraft.datasets.pick import Filters, Rule, rank, reward_of, squeezed
from multigraft.datasets.selection import Counts
from multigraft.datasets.sft import NO_RESPONSE
from multigraft.errors import InputError
from multigraft.randomness import Draws
from multigraft.records.lineage import Lineage
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Json

REJECTED_RANK = 30
SINGLE = "single"
"""Only one response counts."""
NO_MARGIN = "no_margin"
"""No response lies far enough below the best."""

_SIDE: Mapping[str, Column] = {
    "model": Column(Kind.TEXT, "the model that wrote it"),
    "reward": Column(Kind.NUMBER, "its reward"),
    "rank": Column(Kind.INTEGER, "its place among the responses that count, from 1"),
    "depth": Column(Kind.INTEGER, "refinements and aggregations on the longest way to it; 0: answered afresh"),
    "path": Column(Kind.TEXT, "models from the root to it"),
    "call_id": Column(Kind.INTEGER, "its call in the run"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencePairs:
    """Rows of `prompt`, `chosen` and `rejected` in TRL's conversational format; `chosen` is the best response.

    Args:
        rejected_rank: reject the response of this rank, or the last when there are fewer; >= 2. None without a margin: 30.
        margin: instead, reject a response whose reward lies at least this far below; > 0.
        random: with a margin, reject a random one of those, not the highest ranked.
        seed: of those draws; a prompt's draw depends on nothing else of the run.
        filters: which responses count, and whether a tie may become a pair.

    Raises:
        InputError: a setting out of its range, or both ways of rejecting.

    Source:
        Tree Search-based Orchestrated Agents (arXiv 2412.17061), data synthesis: the response ranked 30th of 160 is rejected. Filters and margins are ours.
    """

    rejected_rank: int | None = None
    margin: float | None = None
    random: bool = False
    seed: int = 0
    filters: Filters = field(default_factory=Filters)

    name: ClassVar[str] = "preference"
    columns: ClassVar[Mapping[str, Column]] = {
        **PROMPT,
        "chosen": Column(Kind.MESSAGES, "the better response, one message of the assistant"),
        "rejected": Column(Kind.MESSAGES, "the worse response, one message of the assistant"),
        **ABOUT_PROMPT,
        **{f"chosen_{name}": column for name, column in _SIDE.items()},
        **{f"rejected_{name}": column for name, column in _SIDE.items()},
        "reward_margin": Column(Kind.NUMBER, "reward of the chosen less that of the rejected"),
    }

    def __post_init__(self) -> None:
        if self.rejected_rank is not None and self.rejected_rank < 2:
            message = f"must be at least 2, not {self.rejected_rank}; the first is the chosen one"
            raise InputError(message, field="rejected_rank")
        if self.margin is not None and not (isfinite(self.margin) and self.margin > 0):
            message = f"must be a number above 0, not {self.margin}"
            raise InputError(message, field="margin")
        if self.margin is not None and self.rejected_rank is not None:
            message = f"either a rank ({self.rejected_rank}) or a margin ({self.margin:g}) says what is rejected; give one of them"
            raise InputError(message, field="margin")
        if self.random and self.margin is None:
            message = "needs a margin: a random response is drawn from those that lie so far below"
            raise InputError(message, field="random")
        self.filters.require(Rule.FAILED, Rule.UNSCORED)

    @property
    def rule(self) -> str:
        """For people: which responses become rows."""
        if self.margin is None:
            return f"the best response of each prompt against the one ranked {self.rejected_rank or REJECTED_RANK}, or the last when there are fewer"
        which = f"a random response (seed {self.seed})" if self.random else "the highest ranked response"
        return f"the best response of each prompt against {which} at least {self.margin:g} below it"

    def rows(self, record: PromptRecord, counts: Counts) -> Sequence[Row]:
        """Make the row of one prompt, if it has a pair."""
        picked = rank(record, self.filters)
        counts.dropped.update(picked.dropped)
        found = self._pair(record.prompt.prompt_id, picked.calls)
        if isinstance(found, str):
            counts.skipped[found] += 1
            return []
        best, place = picked.calls[0], found
        worse = picked.calls[place]
        lineage = Lineage(record)
        counts.winners_by_model[best.call.model] += 1
        counts.winners_by_depth[lineage.depth(best.call.call_id)] += 1
        row: Row = {
            **prompt_cells(record),
            "chosen": [{"role": "assistant", "content": best.text}],
            "rejected": [{"role": "assistant", "content": worse.text}],
            **about_prompt_cells(record),
            **_side("chosen", best, 1, lineage),
            **_side("rejected", worse, place + 1, lineage),
            "reward_margin": _reward(best) - _reward(worse),
            **field_cells(record, self.columns),
        }
        return [row]

    def _pair(self, prompt_id: str, calls: Sequence[CallRecord]) -> int | str:
        """Find the index of the rejected response, or the reason why there is none."""
        if len(calls) < 2:
            return SINGLE if calls else NO_RESPONSE
        best = calls[0]
        ties = Rule.TIE in self.filters.keep
        if self.margin is None:
            index = min(self.rejected_rank or REJECTED_RANK, len(calls)) - 1
            return index if ties or _differ(best, calls[index]) else Rule.TIE.value
        places = [index for index in range(1, len(calls)) if self._far_below(best, calls[index]) and (ties or _differ(best, calls[index]))]
        if not places:
            return Rule.TIE.value if _reward(best) == _reward(calls[-1]) else NO_MARGIN
        return places[Draws(self.seed, prompt_id, "rejected").below(len(places))] if self.random else places[0]

    def _far_below(self, best: CallRecord, other: CallRecord) -> bool:
        margin, distance = self.margin or 0.0, _reward(best) - _reward(other)
        # 1.0 lies 0.1 above 0.9, though the floats say a little less.
        return distance >= margin or isclose(distance, margin, rel_tol=1e-9)


def _reward(call: CallRecord) -> float:
    return reward_of(call) or 0.0


def _differ(best: CallRecord, other: CallRecord) -> bool:
    return _reward(best) > _reward(other) and squeezed(best.text or "") != squeezed(other.text or "")


def _side(side: str, call: CallRecord, place: int, lineage: Lineage) -> dict[str, Json]:
    call_id = call.call.call_id
    cells: dict[str, Json] = {
        "model": call.call.model,
        "reward": reward_of(call),
        "rank": place,
        "depth": lineage.depth(call_id),
        "path": lineage.model_path(call_id),
        "call_id": call_id,
    }
    return {f"{side}_{name}": value for name, value in cells.items()}
