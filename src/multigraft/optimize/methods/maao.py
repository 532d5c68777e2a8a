"""MaaO: a gradient step and a language model that rewrites the tables of probabilities, by turns."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from multigraft.graphs.graph import Edge
from multigraft.optimize.agent.asking import asked
from multigraft.optimize.agent.edge_table import checked_table, number_of
from multigraft.optimize.agent.feedback import Amounts
from multigraft.optimize.agent.notes import Notes
from multigraft.optimize.agent.prompts import AMOUNTS, Style, tables_consult
from multigraft.optimize.agent.reading import read_object
from multigraft.optimize.agent.settings import check_settings
from multigraft.optimize.agent.trail import Trail, random_team
from multigraft.optimize.agent.validator import Refused, why_of
from multigraft.optimize.fitting import affordable_sinks
from multigraft.optimize.problem import Consult, MethodSearch, Problem, Proposal, Propose, proposed
from multigraft.types import Json


class Tables(NamedTuple):
    """What a reply makes of the distribution."""

    edges: Mapping[Edge, float]
    """Of every edge."""
    fusers: Mapping[str, float]
    """Of every agent that may be one."""
    notes: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Maao:
    """A language model as a complement to gradients: it sees the tables and what they led to, and rewrites them; the next gradient step starts there.

    Args:
        style: of the prompts: `full`, or `compact` for models of a few billion parameters or fewer; a search from a run file takes what suits its model.
        attempts: how often the model is asked for one thing before a REINFORCE step takes its place; >= 1.
        edge_probability: of each edge at the start; (0, 1).
        learning_rate: of a REINFORCE step, in logits per unit of utility; > 0.

    Raises:
        ValueError: a setting out of its range.

    Source: Guo et al., "LLM as a complementary optimizer to gradient descent" (arXiv 2405.19732); as a baseline in arXiv 2511.00086, appendix A.13. Departure:
    what the model writes is held between 0.01 and 0.99, as all of a distribution, not between 1e-6 and 1 - 1e-6.
    """

    consults: ClassVar[bool] = True

    style: Style = "full"
    attempts: int = 3
    edge_probability: float = 0.3
    learning_rate: float = 2.0

    def __post_init__(self) -> None:
        check_settings(self.style, self.attempts, self.edge_probability, self.learning_rate)

    def search(self, problem: Problem) -> MethodSearch:
        """Alternate a sample with its gradient step, and a rewriting of the tables with the sample it leads to."""
        team = random_team(problem, "maao")
        if team is None:
            # The budget has room for a sink alone.
            yield from proposed(Proposal(problem.space.smallest(affordable_sinks(problem.space)[0]), "single model"))
            return
        trail = Trail(problem, team, edge_probability=self.edge_probability, learning_rate=self.learning_rate, name="maao")
        heard = True
        while not trail.is_over:
            drawn = trail.sample()
            yield from trail.try_all((Proposal(drawn.graph, "sample", drawn.notes),))
            trail.learn()
            if not trail.is_over:
                heard = yield from self._rewrite(trail, self.attempts if heard else 1)

    def _rewrite(self, trail: Trail, attempts: int) -> Generator[Propose | Consult, Any, bool]:
        situation = trail.situation(tables=True, roles=True)
        usual = AMOUNTS[self.style]
        amounts = Amounts(tried=0, history=4, probabilities=max(16, usual.probabilities), task_characters=usual.task_characters)
        answer = yield from asked(
            lambda attempt, trouble: tables_consult(situation, amounts=amounts, style=self.style, attempt=attempt, trouble=trouble),
            lambda text: read_tables(text, situation.table, situation.fuser_probabilities),
            attempts=attempts,
        )
        if answer.read is None:
            # The gradient step has been taken, so that a sample is all there is to fall back on.
            found = trail.sample()
            proposal = Proposal(found.graph, "fallback", (*answer.notes, f"fallback=reinforce: {len(answer.notes)} replies of no use", *found.notes))
            yield from trail.try_all((proposal,))
            return answer.heard
        trail.believe(answer.read.edges)
        trail.distribution = trail.distribution.with_role_probabilities(answer.read.fusers)
        found = trail.sample()
        yield from trail.try_all((Proposal(found.graph, "model", (*answer.notes, *answer.read.notes, *found.notes)),), answer.read.why)
        return answer.heard


def read_tables(text: str, edges: Mapping[Edge, float], fusers: Mapping[str, float]) -> Tables | Refused:
    """Read new tables, each probability held between 0.01 and 0.99; what a reply leaves out stays.

    Args:
        text: what the model wrote; anything.
        edges: the table of edges so far.
        fusers: that of roles; empty where there are none.
    """
    read = read_object(text, "probs")
    if read.found is None:
        return Refused(read.problem)
    if not isinstance(read.found["probs"], list):
        return Refused("probs is no list")
    notes = Notes()
    table = checked_table(read.found["probs"], edges, sampled=edges, notes=notes, largest_change=1.0)
    roles = _roles(read.found.get("roles"), fusers, notes)
    return Tables(table, roles, notes.listed(), why_of(read.found))


def _roles(given: Json, before: Mapping[str, float], notes: Notes) -> dict[str, float]:
    table = dict(before)
    if given is not None and not isinstance(given, list):
        notes.add("role kept", "roles is no list")
    for entry in given if isinstance(given, list) else ():
        node_id = entry.get("id") if isinstance(entry, dict) else None
        value = number_of(entry.get("fuser")) if isinstance(entry, dict) else None
        if not isinstance(node_id, str) or node_id not in table or value is None:
            notes.add("role kept", entry)
        else:
            table[node_id] = value
    # Outside of [0, 1] nothing is known of what was meant but the direction.
    for node_id, value in table.items():
        if not 0 <= value <= 1:
            notes.add("p clipped", f"{node_id} {value:.6g}")
    return {node_id: min(1.0, max(0.0, value)) for node_id, value in table.items()}
