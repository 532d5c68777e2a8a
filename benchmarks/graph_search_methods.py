"""The methods compared, each with its own defaults, and who answers those that ask an optimiser model."""

from collections.abc import Callable
from typing import Final

from benchmarks.graph_search_cases import space_of
from multigraft.optimize.agent.sensible import sensible_reply
from multigraft.optimize.findings import Findings
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.pilot.plan import planned
from multigraft.optimize.pilot.runs import pilot
from multigraft.optimize.pilot.settings import PilotSettings
from multigraft.optimize.pilot.verdict import verdict_of
from multigraft.optimize.problem import Consult, Evaluation, Method, Reply
from multigraft.optimize.simulated import SimulatedEvaluator

COMPARED: Final = ("random", "reinforce", "bayes", "surrogate", "agent_reinforce", "textgrad", "maao", "exhaustive")
SMALL_CASES: Final = frozenset({"math-tiny"})
"""Those that can be tried out in full."""
PILOTED: Final = "+pilot"
"""Ending of a method's name that has it told a pilot's findings. A pilot is paid apart: its graphs are no evaluations of the search."""


def method_of(name: str) -> Method:
    """Build a method with its defaults."""
    return method_from(name.removesuffix(PILOTED), {})


def takes_part(method: str, case: str) -> bool:
    """Whether a method is run on a case."""
    return method != "exhaustive" or case in SMALL_CASES


def findings_of(method: str, case: str, evaluator: SimulatedEvaluator, num_questions: int) -> Findings | None:
    """Make a pilot where the method is to be told one, on the training questions."""
    if not method.endswith(PILOTED):
        return None
    steps = pilot(planned(space_of(case), PilotSettings(num_questions=num_questions)))
    answer: tuple[Evaluation, ...] | None = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as ended:
            return verdict_of(ended.value).findings
        answer = tuple(evaluator.evaluate(run) for run in step.runs)


def consult_of(name: str) -> Callable[[Consult], Reply] | None:
    """Return the optimiser of a method that asks one: a program that reads the prompt and nothing else."""
    return sensible_reply if method_of(name).consults else None
