"""A prompt's tree for the terminal, the path to its best response marked."""

from collections.abc import Mapping

from rich.text import Text
from rich.tree import Tree

from multigraft.cli.text import shown, shown_lines
from multigraft.records.lineage import Lineage
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Completion, Json


def draw(record: PromptRecord, width: int) -> Tree:
    """Draw every call under the response it was made from.

    A call that saw several responses hangs under the best of them, and says how many more it saw.

    Args:
        record: the prompt.
        width: of the terminal, in characters.
    """
    best, lineage = record.best(), Lineage(record)
    winners = {call.call.call_id for call in lineage.line(best.call.call_id)} if best else set()
    root = Tree(Text(shown(record.prompt.messages[-1].content, max(20, width - 4)), style="bold"), guide_style="dim")
    places: dict[int, Tree] = {}
    for call_id, call in record.calls.items():
        line = lineage.line(call_id)
        parent = places.get(line[-2].call.call_id, root) if len(line) > 1 else root
        is_best = best is not None and call is best
        places[call_id] = parent.add(_label(call, won=call_id in winners, best=is_best, width=max(20, width - 4 * len(line) - 30)))
    for cut_off in record.interrupted:
        root.add(Text(f"{cut_off.call_id} {shown(cut_off.model)} (no answer recorded: cut off, or still in flight)", style="dim"))
    return root


def details(record: PromptRecord) -> list[Text]:
    """Tell the best response in full, and how it came about."""
    best = record.best()
    if best is None:
        return [Text("this prompt has no answer" if record.concludes else "no response of this prompt has a reward", style="yellow")]
    steps = " -> ".join(f"{shown(call.call.model)} ({_number(call.reward)})" for call in Lineage(record).line(best.call.call_id))
    return [Text(f"best: {steps}", style="green"), Text(shown_lines(best.text or ""))]


def prompt_json(record: PromptRecord, nodes: Mapping[int, str] | None = None) -> dict[str, Json]:
    """Return a prompt with all its calls as a JSON object.

    Args:
        record: of the prompt.
        nodes: of a run of a graph: the node of every call, by call id.
    """
    best = record.best()
    return {
        "number": record.number,
        "prompt_id": record.prompt.prompt_id,
        "name": record.prompt.name,
        "messages": [{"role": message.role, "content": message.content} for message in record.prompt.messages],
        "ended": record.ended,
        "best": best.call.call_id if best else None,
        "path": [call.call.call_id for call in Lineage(record).line(best.call.call_id)] if best else [],
        "calls": [_call_json(call) | ({} if nodes is None else {"node": nodes.get(call_id)}) for call_id, call in record.calls.items()],
        "interrupted": [call.call_id for call in record.interrupted],
    }


def _label(call: CallRecord, *, won: bool, best: bool, width: int) -> Text:
    label = Text(f"{call.call.call_id} {shown(call.call.model)} ", style="green" if won else "", no_wrap=True, overflow="ellipsis")
    if isinstance(call.sample, Completion):
        label.append(_number(call.reward) if call.reward is not None else f"no reward: {call.reason or 'not scored yet'}", style="bold")
        label.append("  best" if best else "", style="bold green")
        label.append("  cut off" if call.sample.finish == "length" else "", style="yellow")
        label.append(f"  {shown(call.sample.text, width)}", style="dim")
    else:
        label.append(f"failed: {call.sample.kind}  {shown(call.sample.message, width)}", style="red")
    if len(call.call.parents) > 1:
        label.append(f"  saw {len(call.call.parents)} responses", style="dim")
    return label


def _number(reward: float | None) -> str:
    return "-" if reward is None else f"{reward:.4g}"


def _call_json(call: CallRecord) -> dict[str, Json]:
    sample = call.sample
    completion, failure = (sample, None) if isinstance(sample, Completion) else (None, sample)
    return {
        "call_id": call.call.call_id,
        "model": call.call.model,
        "parents": list(call.call.parents),
        "role": call.call.role,
        "seed": call.call.seed,
        "reward": call.reward,
        "reason": call.reason,
        "text": call.text,
        "reasoning": sample.reasoning,
        "finish": completion.finish if completion else None,
        "failure": failure.kind if failure else None,
        "message": failure.message if failure else None,
        "prompt_tokens": sample.usage.prompt_tokens,
        "completion_tokens": sample.usage.completion_tokens,
        "tokens": call.spent.tokens,
        "flops": call.spent.flops,
        "usd": call.spent.usd,
        "scores": {name: found.score.value for name, found in call.scores.items()},
    }
