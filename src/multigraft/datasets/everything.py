"""Every response of every prompt with its rewards and costs, failed calls included: for analysis, reward models and selections of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from multigraft.datasets.columns import ABOUT_PROMPT, PROMPT, Column, Kind, Row, about_prompt_cells, field_cells, prompt_cells
from multigraft.datasets.pick import Filters, Rule, rank, reward_of
from multigraft.datasets.selection import Counts
from multigraft.records.lineage import Lineage
from multigraft.records.reader import CallRecord, PromptRecord, ScoreRecord
from multigraft.types import Completion, Json, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class AllResponses:
    """One row for each call, in the order of asking.

    Args:
        filters: which responses count; none is left out unless a rule is turned on.
        guiding: names of the scorers that made the reward; all others are external. None: not known.
    """

    filters: Filters = field(default_factory=lambda: Filters(keep=frozenset(Rule)))
    guiding: frozenset[str] | None = None

    name: ClassVar[str] = "all"
    columns: ClassVar[Mapping[str, Column]] = {
        **PROMPT,
        "completion": Column(Kind.MESSAGES, "the response, one message of the assistant; empty for a failed call"),
        **ABOUT_PROMPT,
        "model": Column(Kind.TEXT, "the model called"),
        "role": Column(Kind.TEXT, "what was asked of it: answer, refine, aggregate, fuse or conclude"),
        "call_id": Column(Kind.INTEGER, "the call's number within its prompt"),
        "parents": Column(Kind.INTEGERS, "calls whose responses were shown to it"),
        "depth": Column(Kind.INTEGER, "refinements and aggregations on the longest way to it; 0: answered afresh"),
        "path": Column(Kind.TEXT, "models from the root to it"),
        "path_call_ids": Column(Kind.INTEGERS, "calls from the root to it"),
        "reward": Column(Kind.NUMBER, "the reward that counts"),
        "scores": Column(
            Kind.SCORES,
            "what each scorer said: its value or why there is none, the answer it read, the numbers behind the value as a list of {name, value}; "
            "truncated: it saw only a part; external: the search did not see it",
        ),
        "best": Column(Kind.FLAG, "it is the best of its prompt: the answer, where the strategy says which it is, else the highest reward"),
        "failed": Column(Kind.FLAG, "the call brought no response"),
        "failure": Column(Kind.TEXT, "why it failed, or why its response has no reward"),
        "attempts": Column(Kind.TEXTS, "failed attempts before this outcome"),
        "finish": Column(Kind.TEXT, "why the response ended: stop or length"),
        "flags": Column(Kind.TEXTS, "what was changed or odd about it"),
        "reasoning": Column(Kind.TEXT, "the model's reasoning, apart from its answer"),
        "mean_logprob": Column(Kind.NUMBER, "mean log-probability of its tokens under the model that wrote it"),
        "prompt_tokens": Column(Kind.INTEGER, "tokens the call was charged for its prompt"),
        "completion_tokens": Column(Kind.INTEGER, "tokens of the response, reasoning included"),
        "cached_tokens": Column(Kind.INTEGER, "those of the prompt that were cached"),
        "reasoning_tokens": Column(Kind.INTEGER, "those of the response that are reasoning"),
        "usage_estimated": Column(Kind.FLAG, "the server reported no tokens; these are upper bounds"),
        "flops": Column(Kind.NUMBER, "floating-point operations of the call, all attempts, scoring not included"),
        "usd": Column(Kind.NUMBER, "dollars, likewise"),
        "latency_s": Column(Kind.NUMBER, "seconds the last attempt took"),
    }

    @property
    def rule(self) -> str:
        """For people: which responses become rows."""
        return (
            "every call of each prompt, failed ones included" if Rule.FAILED in self.filters.keep else "every response of each prompt that passes the filters"
        )

    def rows(self, record: PromptRecord, counts: Counts) -> Sequence[Row]:
        """Make the rows of one prompt."""
        picked = rank(record, self.filters)
        dropped = picked.dropped.copy()
        failed_kept = Rule.FAILED in self.filters.keep
        if failed_kept:
            dropped.pop(Rule.FAILED, None)
        counts.dropped.update(dropped)
        kept = {call.call.call_id for call in picked.calls}
        lineage = Lineage(record)
        best = record.best()
        if best is not None:
            counts.winners_by_model[best.call.model] += 1
            counts.winners_by_depth[lineage.depth(best.call.call_id)] += 1
        calls = [call for call_id, call in record.calls.items() if call_id in kept or (failed_kept and call.text is None)]
        if not calls:
            counts.skipped["no_response"] += 1
        shared, fields = {**prompt_cells(record), **about_prompt_cells(record)}, field_cells(record, self.columns)
        rows = [{**shared, **_response(call), "scores": self._scores(call), **_place(call, lineage), "best": call is best} for call in calls]
        return [{**{name: row[name] for name in self.columns}, **fields} for row in rows]

    def _scores(self, call: CallRecord) -> Json:
        return [_said(found) | {"external": None if self.guiding is None else found.scorer not in self.guiding} for found in call.scores.values()]


def _said(found: ScoreRecord) -> dict[str, Json]:
    score = found.score
    # Names of details differ by scorer and response, so they are values here: every row has the same columns.
    details: list[Json] = [{"name": name, "value": number} for name, number in score.details.items()]
    return {
        "scorer": found.scorer,
        "version": found.version,
        "value": score.value,
        "reason": None if score.reason is None else score.reason.value,
        "answer": score.answer,
        "details": details,
        "truncated": score.truncated,
    }


def _place(call: CallRecord, lineage: Lineage) -> Row:
    call_id = call.call.call_id
    parents: list[Json] = [*call.call.parents]
    path: list[Json] = [*lineage.call_ids(call_id)]
    return {
        "model": call.call.model,
        "role": call.call.role.value,
        "call_id": call_id,
        "parents": parents,
        "depth": lineage.depth(call_id),
        "path": lineage.model_path(call_id),
        "path_call_ids": path,
    }


def _response(call: CallRecord) -> Row:
    sample = call.sample
    attempts: list[Json] = [kind.value for kind in call.attempts]
    failure = call.reason if isinstance(sample, Completion) else sample.kind
    return {
        **_answer(sample),
        "reward": reward_of(call),
        "failed": not isinstance(sample, Completion),
        "failure": None if failure is None else failure.value,
        "attempts": attempts,
        "prompt_tokens": sample.usage.prompt_tokens,
        "completion_tokens": sample.usage.completion_tokens,
        "cached_tokens": sample.usage.cached_tokens,
        "reasoning_tokens": sample.usage.reasoning_tokens,
        "usage_estimated": sample.usage.estimated,
        "flops": call.spent.flops,
        "usd": call.spent.usd,
        "latency_s": sample.latency_s,
    }


def _answer(sample: Sample) -> Row:
    if not isinstance(sample, Completion):
        return {"completion": [], "finish": None, "flags": [], "reasoning": None, "mean_logprob": None}
    flags: list[Json] = [*sample.flags]
    return {
        "completion": [{"role": "assistant", "content": sample.text}],
        "finish": sample.finish.value,
        "flags": flags,
        "reasoning": sample.reasoning,
        "mean_logprob": sample.mean_logprob,
    }
