"""The graph of a run: from a path to its text, and whether the run has what it takes."""

from collections.abc import Collection
from pathlib import Path

from multigraft.build.rewards import Built
from multigraft.errors import InputError, boundary
from multigraft.graphs.graph_file import graph_of, text_of
from multigraft.strategies.graph import Collaboration
from multigraft.strategies.table import AnyStrategy

FIELD = "strategy.graph"


def graph_text(given: object) -> str:
    """Return the text of a graph, so that a run's folder holds the whole of it.

    Args:
        given: the text itself, or the path of a file that holds it, relative to the working directory.

    Returns:
        The text in its one form; what the file says of where the graph comes from is left out.

    Raises:
        InputError: no such file, or no graph in it.
    """
    if not isinstance(given, str) or not given.strip():
        message = "names the file of a graph, such as graph.json"
        raise InputError(message, field=FIELD)
    if given.lstrip().startswith("{"):
        return text_of(graph_of(given, file=FIELD))
    with boundary(InputError, f"reading the graph {given}", OSError, UnicodeDecodeError):
        text = Path(given).read_text("utf-8")
    return text_of(graph_of(text, file=given))


def refuse_unfit_graph(strategy: AnyStrategy, models: Collection[str], rewards: Built) -> None:
    """Refuse a graph that the run cannot carry out, before anything is paid.

    Args:
        strategy: of the run, any.
        models: names of those that answer.
        rewards: of the run.

    Raises:
        InputError: a node's model is none of them; or the sink votes and no part of the reward reads answers.
    """
    if not isinstance(strategy, Collaboration):
        return
    missing = [f"'{name}'" for name in strategy.models if name not in models]
    if missing:
        message = f"nodes call {', '.join(missing)}, and the models of the run that answer are {', '.join(models)}; name them with --models, or in [[models]]"
        raise InputError(message, field=FIELD)
    if strategy.counts_answers and not any(getattr(reward, "reads_answers", False) for reward in rewards.rewards):
        message = 'the sink votes, and no part of the reward reads answers that could be counted; add one: --reward final_answer, or kind = "final_answer"'
        raise InputError(message, field="reward.parts")
