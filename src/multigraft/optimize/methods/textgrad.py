"""TextGrad: a language model criticises the graph in words, then rewrites it as the critique says."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

from multigraft.optimize.agent.asking import Asked, asked
from multigraft.optimize.agent.feedback import Amounts
from multigraft.optimize.agent.prompts import AMOUNTS, Style, critique_consult, rewrite_consult
from multigraft.optimize.agent.reading import read_object
from multigraft.optimize.agent.settings import check_settings
from multigraft.optimize.agent.trail import Trail, random_team
from multigraft.optimize.agent.validator import Refused, Sound, validated, why_of
from multigraft.optimize.fitting import affordable_sinks
from multigraft.optimize.problem import Consult, MethodSearch, Problem, Proposal, Propose, proposed

_CRITIQUE_CHARACTERS = 1200


@dataclass(frozen=True, kw_only=True)
class TextGrad:
    """Textual refinement: criticise, then rewrite. What is refined is the last graph, written out; no insights, no table, and one turn of history.

    Args:
        style: of the prompts: `full`, or `compact` for models of a few billion parameters or fewer; a search from a run file takes what suits its model.
        attempts: how often the model is asked for one thing before a REINFORCE step takes its place; >= 1.
        edge_probability: of each edge of the first graph, and of those drawn where the model fails; (0, 1).
        learning_rate: of a REINFORCE step, in logits per unit of utility; > 0.

    Raises:
        ValueError: a setting out of its range.

    Source: Yuksekgonul et al., "TextGrad" (arXiv 2406.07496); as a baseline in arXiv 2511.00086, appendix A.13.
    """

    consults: ClassVar[bool] = True

    style: Style = "full"
    attempts: int = 3
    edge_probability: float = 0.5
    learning_rate: float = 2.0

    def __post_init__(self) -> None:
        check_settings(self.style, self.attempts, self.edge_probability, self.learning_rate)

    def search(self, problem: Problem) -> MethodSearch:
        """Draw a graph, then criticise and rewrite the last one again and again."""
        team = random_team(problem, "textgrad")
        if team is None:
            # The budget has room for a sink alone.
            yield from proposed(Proposal(problem.space.smallest(affordable_sinks(problem.space)[0]), "single model"))
            return
        trail = Trail(problem, team, edge_probability=self.edge_probability, learning_rate=self.learning_rate, name="textgrad")
        first = trail.sample()
        yield from trail.try_all((Proposal(first.graph, "sample", first.notes),))
        heard = True
        while not trail.is_over:
            heard = yield from self._turn(trail, self.attempts if heard else 1)

    def _turn(self, trail: Trail, attempts: int) -> Generator[Propose | Consult, Any, bool]:
        situation, amounts = trail.situation(tables=False), self._amounts()
        critique = yield from asked(
            lambda attempt, trouble: critique_consult(situation, amounts=amounts, style=self.style, attempt=attempt, trouble=trouble),
            _critique,
            attempts=attempts,
        )
        words = critique.read
        if words is None:
            yield from trail.follow(Asked[Sound](None, critique.notes, critique.heard))
            return critique.heard
        standing = trail.standing(whole=self.style == "full", tables=False)
        answer = yield from asked(
            lambda attempt, trouble: rewrite_consult(situation, words, amounts=amounts, style=self.style, attempt=attempt, trouble=trouble),
            lambda text: validated(text, standing),
            attempts=attempts,
        )
        yield from trail.follow(Asked(answer.read, (*critique.notes, *answer.notes), answer.heard))
        return answer.heard

    def _amounts(self) -> Amounts:
        return Amounts(tried=0, history=1, probabilities=0, task_characters=AMOUNTS[self.style].task_characters, best=False)


def _critique(text: str) -> str | Refused:
    read = read_object(text, "critique")
    words = why_of(read.found, "critique", _CRITIQUE_CHARACTERS) if read.found is not None else ""
    return words or Refused(read.problem or "critique is no text")
