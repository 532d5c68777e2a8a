"""Agent-REINFORCE: a language model reads what the last graphs achieved, and says which graph to try next and how likely each edge is to be useful."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from multigraft.graphs.graph import Graph, Node
from multigraft.optimize.agent.asking import asked
from multigraft.optimize.agent.feedback import Tried, shape_data
from multigraft.optimize.agent.options import counted, halved, options_of, side_by_side
from multigraft.optimize.agent.picks import Picks, best_listed, validated_picks
from multigraft.optimize.agent.prompts import Style, graph_consult, picks_consult
from multigraft.optimize.agent.settings import check_settings
from multigraft.optimize.agent.team import Team, team_of
from multigraft.optimize.agent.trail import Trail
from multigraft.optimize.agent.validator import validated
from multigraft.optimize.combinations import Combination
from multigraft.optimize.fitting import affordable_sinks, fitted_graph
from multigraft.optimize.problem import Consult, MethodSearch, Problem, Proposal, Propose, proposed

_MOST_REPEATS = 2


class _Start(NamedTuple):
    """A team, and its best trial."""

    team: Team
    tried: Tried


@dataclass(frozen=True, kw_only=True)
class AgentReinforce:
    """The paper's search: models are chosen first and tried, then a language model rewrites the graph from turn to turn, guided by feedback and insights.

    Args:
        style: of the prompts: `full`, or `compact` for models of a few billion parameters or fewer; a search from a run file takes what suits its model.
        attempts: how often the model is asked for one thing before a REINFORCE step takes its place; >= 1.
        picks: combinations of models that are tried at the start; >= 1.
        smaller_variants: of each, each with half the agents of the one before, that are tried too; >= 0.
        edge_probability: of each edge at the start; (0, 1).
        learning_rate: of a REINFORCE step, in logits per unit of utility; > 0.
        stale: graphs without a better one after which another combination of models is tried, as also after two replies in a row with known graphs; >= 1.

    Raises:
        ValueError: a setting out of its range.

    Source: Wang et al., arXiv 2511.00086, section 5.2 and appendix A.11. Departures: trials are agents side by side, which every budget has room for; the best
    of them is the first graph, in place of a random one; agents may rest, so that a team's smaller graphs stay in reach; what the model believes of edges
    becomes the distribution's; a search that is stuck tries another combination; and the best graph is kept, not the last.
    """

    consults: ClassVar[bool] = True

    style: Style = "full"
    attempts: int = 3
    picks: int = 2
    smaller_variants: int = 1
    edge_probability: float = 0.3
    learning_rate: float = 2.0
    stale: int = 5

    def __post_init__(self) -> None:
        check_settings(self.style, self.attempts, self.edge_probability, self.learning_rate)
        for name, least in (("picks", 1), ("smaller_variants", 0), ("stale", 1)):
            if getattr(self, name) < least:
                message = f"{name} must be at least {least}, not {getattr(self, name)}"
                raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Choose models, try them, then have the model propose graph after graph."""
        sinks = affordable_sinks(problem.space)
        options = list(options_of(problem.space, sinks[0]))
        if not options:
            # The budget has room for a sink alone.
            yield from proposed(*(Proposal(problem.space.smallest(sink), "single model") for sink in sinks))
            return
        team = team_of(problem.space, counted(problem.space, options[0]), sinks[0])
        trail = Trail(problem, team, edge_probability=self.edge_probability, learning_rate=self.learning_rate, name="agent reinforce")
        start = yield from self._begin(trail, options, sinks)
        trail.start_from(start.team, start.tried)
        heard = True
        while not trail.is_over:
            if options and (trail.since_better >= self.stale or trail.repeats >= _MOST_REPEATS):
                yield from self._other_team(trail, options, sinks)
                continue
            # A model that has said nothing at all is not asked over and over.
            heard = yield from self._turn(trail, self.attempts if heard else 1)

    def _begin(self, trail: Trail, options: list[Combination], sinks: Sequence[Node]) -> Generator[Propose | Consult, Any, _Start]:
        """Have combinations picked, try each with each sink's turn, smaller ones, and the sink alone; return the best."""
        picked = yield from self._picks(trail, options, self.picks)
        pairs = [(combination, sinks[index % len(sinks)]) for index, combination in enumerate(picked.combinations)]
        pairs += [(picked.combinations[0], sink) for sink in sinks if sink not in {used for _, used in pairs}]
        trials: list[tuple[Team, Graph]] = []
        for variant in range(self.smaller_variants + 1):
            for combination, sink in pairs:
                team = team_of(trail.problem.space, counted(trail.problem.space, combination), sink)
                acting = combination
                for _ in range(variant):
                    acting = halved(acting)
                trials.append((team, side_by_side(team, acting)))
            if variant == 0 and not sinks[0].selects:
                trials.append((trials[0][0], trail.problem.space.smallest(sinks[0])))
        # At least a half of the budget is for what comes after.
        trials = trials[: max(1, trail.problem.max_evaluations // 2)]
        tried = yield from _tried(trail, [graph for _, graph in trials], picked.notes)
        starts = [_Start(team, found) for (team, _), found in zip(trials, tried, strict=True)]
        return max(starts, key=lambda start: start.tried.utility)

    def _other_team(self, trail: Trail, options: list[Combination], sinks: Sequence[Node]) -> Generator[Propose | Consult, Any, None]:
        """Try one combination more, and go on with it if nothing was better so far, else from the best of the team there is."""
        picked = yield from self._picks(trail, options, 1)
        sink = sinks[len(trail.tried) % len(sinks)]
        team = team_of(trail.problem.space, counted(trail.problem.space, picked.combinations[0]), sink)
        best = trail.best
        (found,) = yield from _tried(trail, [side_by_side(team)], picked.notes)
        better = found.utility > best.utility
        trail.start_from(team if better else trail.team, found if better else best)

    def _picks(self, trail: Trail, options: list[Combination], picks: int) -> Generator[Propose | Consult, Any, Picks]:
        """Have combinations picked, by the model or without it, and take them off the list."""
        problem, models, names = trail.problem, trail.problem.space.models, trail.team.names
        tried = [shape_data(found, trail.team) for found in trail.tried]
        answer = yield from asked(
            lambda attempt, trouble: picks_consult(problem, trail.team, options, tried=tried, picks=picks, style=self.style, attempt=attempt, trouble=trouble),
            lambda text: validated_picks(text, options, models, names, most=picks),
            attempts=self.attempts,
        )
        if answer.read is None:
            scores = {model: found.mean for model, found in problem.findings.singles.items()} if problem.findings is not None else {}
            chosen = best_listed(options, models, scores, most=picks)
            picked = Picks(chosen, (*answer.notes, f"fallback=pilot: {len(chosen)} combinations chosen without the model"))
        else:
            picked = Picks(answer.read.combinations, (*answer.notes, *answer.read.notes))
        options[:] = [option for option in options if option not in picked.combinations]
        return picked

    def _turn(self, trail: Trail, attempts: int) -> Generator[Propose | Consult, Any, bool]:
        """Have one graph proposed and evaluated; says whether the model was heard."""
        situation, standing = trail.situation(tables=True), trail.standing(whole=self.style == "full")
        answer = yield from asked(
            lambda attempt, trouble: graph_consult(situation, style=self.style, attempt=attempt, trouble=trouble),
            lambda text: validated(text, standing),
            attempts=attempts,
        )
        yield from trail.follow(answer)
        return answer.heard


def _tried(trail: Trail, graphs: Sequence[Graph], notes: Sequence[str]) -> Generator[Propose | Consult, Any, tuple[Tried, ...]]:
    """Try graphs, the notes on the first of them."""
    fits = [fitted_graph(graph, trail.problem.space, draws=trail.draws) for graph in graphs]
    return (yield from trail.try_all(tuple(Proposal(found.graph, "trial", (*(notes if place == 0 else ()), *found.notes)) for place, found in enumerate(fits))))
