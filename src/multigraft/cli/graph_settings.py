"""What a graph adds to the settings of a run: its text, how many responses it gives, its models, and a reward by which its votes can be counted."""

from collections.abc import Callable, Mapping
from pathlib import Path

from multigraft.build.graphs import graph_text
from multigraft.errors import InputError
from multigraft.graphs.graph import Graph, NodeRole
from multigraft.graphs.graph_file import graph_of

NAME = "graph"
"""Of the strategy."""
_FORMS = {"number": "number", "math": "math", "letter": "letter"}
"""How `final_answer` reads the answers of a task, by how the task reads them; others are texts."""


def add_graph(chosen: dict[str, object], graph: Path | None, n: int | None, note: Callable[[str], None]) -> Graph:
    """Put a graph into the table of its strategy.

    Args:
        chosen: the table of the strategy; changed.
        graph: file of the graph; None: the table names it.
        n: responses wanted for each prompt, as typed; None: not typed.
        note: told what was chosen for the user.

    Returns:
        The graph.

    Raises:
        InputError: no graph, or one that cannot be read; or another number of responses was typed than the graph gives.
    """
    found = graph_text(str(graph) if graph is not None else chosen.get("graph"))
    read = graph_of(found)
    callers = [node for node in read.live_nodes if not node.selects]
    if n is not None and n != len(callers):
        message = f"this graph gives {len(callers)} responses to each prompt, one for each live node that calls a model; leave -n out"
        raise InputError(message, field="-n")
    if n is None and chosen.get("n", len(callers)) != len(callers):
        note(f"n = {chosen['n']} says nothing here: the graph gives {len(callers)} responses to each prompt")
    chosen["graph"], chosen["n"] = found, len(callers)
    return read


def models_called(graph: Graph) -> str:
    """Name the models that a graph calls, as `--models` has them."""
    return ",".join(dict.fromkeys(node.model for node in graph.live_nodes if not node.selects))


def add_counting(settings: dict[str, object], graph: Graph, note: Callable[[str], None]) -> None:
    """Add a reward that votes can be counted by, where the sink votes and the user named no reward.

    Args:
        settings: of the run; changed.
        graph: of the run.
        note: told what was chosen.
    """
    if graph.node(graph.sink).role is NodeRole.VOTE and "reward" not in settings:
        form = answer_form(settings)
        settings["reward"] = {"parts": [{"kind": "final_answer", "form": form}]}
        note(f"the sink's votes are counted by final_answer (form {form}); --reward names another scorer that reads answers")


def answer_form(settings: Mapping[str, object]) -> str:
    """Say how `final_answer` is to read the answers of a run: as its task does, or as texts."""
    task = settings.get("task")
    if not isinstance(task, Mapping) or not isinstance(task.get("name"), str):
        return "text"
    from multigraft.tasks.task import load_task  # only runs of a task load what tasks are made of

    return _FORMS.get(load_task(task["name"]).table.read.form, "text")
