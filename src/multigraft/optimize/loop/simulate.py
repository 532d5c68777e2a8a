"""Answer a search on the spot: with a simulated world, or with what a record holds."""

from collections.abc import Callable, Generator
from typing import Any

from multigraft.optimize.loop.report import Found
from multigraft.optimize.problem import Consult, Evaluate, Evaluation, Reply, Run


def drive(
    steps: Generator[Evaluate | Consult, Any, Found],
    evaluate: Callable[[Run], Evaluation],
    consult: Callable[[Consult], Reply] | None = None,
) -> Found:
    """Run a search to its end.

    Args:
        steps: what `search.search` returned, not started.
        evaluate: runs a graph on the questions asked, of which the evaluation holds a trial each.
        consult: the optimiser model; None: the method has none.

    Returns:
        What was found.

    Raises:
        ValueError: the method asks an optimiser model, and there is none.
    """
    answer: tuple[Evaluation, ...] | Reply | None = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as ended:
            found: Found = ended.value
            return found
        if isinstance(step, Evaluate):
            answer = tuple(evaluate(run) for run in step.runs)
        elif consult is not None:
            answer = consult(step)
        else:
            message = "the method asks an optimiser model; pass one as `consult`"
            raise ValueError(message)
