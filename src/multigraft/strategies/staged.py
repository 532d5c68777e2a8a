"""Strategies that are known in advance but for their rewards: chains of stages.

A chain is a list of stages, a stage a list of models that each answer once. A stage starts when every response of the stage before it in its chain was
told; chains do not depend on one another. With one call in flight the chains are worked off one after the other; with more, whatever is ready is offered,
earlier chains first.

A failed place is asked again under a new call id. When its model is left out, the model that was asked least so far takes the place, so that the next
stage finds as many responses as planned; where a strategy is bound to one model, it ends.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import ClassVar, NamedTuple

from multigraft.knowledge import Knowledge
from multigraft.strategies.base import Plan, PlannedStrategy, State
from multigraft.types import Call, Outcome, Role


class Place(NamedTuple):
    """Where one response belongs."""

    chain: int
    stage: int
    member: int


@dataclass(slots=True, kw_only=True)
class StagedState(State):
    """Which places are filled, in flight, and ready."""

    chains: list[list[list[str]]]
    """The model of every place, by chain, stage and member."""
    ready: list[Place]
    """A heap of the places that may be asked now."""
    place_of: dict[int, Place] = field(default_factory=dict)
    """Place of every call in flight, by call id."""
    filled: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    """Call id of the response of every member, by chain and stage; stages not started are absent."""
    num_asked: dict[str, int] = field(default_factory=dict)
    """Calls asked of each model."""


@dataclass(frozen=True, kw_only=True)
class StagedStrategy(PlannedStrategy[StagedState]):
    """A strategy told as chains of stages; see the module's docstring."""

    may_substitute: ClassVar[bool] = True
    """Whether another model takes the place of one that is left out."""
    later_role: ClassVar[Role] = Role.REFINE
    """Role of a call that is shown earlier responses."""

    @abstractmethod
    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """Lay out the chains; `num_responses` places in all, no stage empty."""

    @abstractmethod
    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """Choose what a call is shown.

        Args:
            state: the state; not to be changed.
            place: place of the call, in the second stage of its chain or later.
            before: call ids of the responses of the stage before it, in the order of its members.

        Returns:
            Call ids of the parents; may be empty.
        """

    def start(self, prompt_id: str, models: tuple[str, ...], seed: int) -> StagedState:
        """Lay out the chains and make every first stage ready."""
        chains = self.chains(prompt_id, models, seed)
        ready = [Place(chain, 0, member) for chain, stages in enumerate(chains) for member in range(len(stages[0]))]
        heapify(ready)
        return StagedState(prompt_id, models, seed, chains=chains, ready=ready, num_asked=dict.fromkeys(models, 0))

    def plan(self, state: StagedState) -> Plan | None:
        """Offer the first place that is ready."""
        if not state.ready:
            return None
        place = state.ready[0]
        planned = state.chains[place.chain][place.stage][place.member]
        model = planned if self.usable(state, planned) else self._substitute(state)
        if model is None:
            return None
        before = state.filled[place.chain, place.stage - 1] if place.stage else {}
        parents = self.shown(state, place, [before[member] for member in sorted(before)]) if before else ()
        return Plan(model, parents, self.later_role if parents else Role.ANSWER)

    def asked(self, state: StagedState, call: Call, plan: Plan) -> None:
        """Take the place out of those that are ready."""
        state.place_of[call.call_id] = heappop(state.ready)
        state.num_asked[plan.model] += 1

    def told(self, state: StagedState, call: Call, outcome: Outcome, knowledge: Knowledge) -> None:
        """Fill the place, and make the next stage ready when its stage is complete; make a failed place ready again."""
        place = state.place_of.pop(call.call_id)
        if outcome.failure is not None:
            heappush(state.ready, place)
            return
        stages = state.chains[place.chain]
        filled = state.filled.setdefault((place.chain, place.stage), {})
        filled[place.member] = call.call_id
        following = place.stage + 1
        if len(filled) == len(stages[place.stage]) and following < len(stages):
            for member in range(len(stages[following])):
                heappush(state.ready, Place(place.chain, following, member))

    def _substitute(self, state: StagedState) -> str | None:
        usable = [model for model in state.models if self.usable(state, model)]
        return min(usable, key=state.num_asked.__getitem__) if usable and self.may_substitute else None
