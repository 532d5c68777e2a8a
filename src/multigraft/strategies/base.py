"""The contract of a strategy: `init`, `ask`, `tell`, `best`.

A strategy is frozen settings. Its state is a separate value that the caller owns; `ask` and `tell` change it in place and depend on nothing else, so the
same asks and tells in the same order always give the same state. That is what makes a record enough to resume from the middle of a tree.

The life of a call: `ask` returns a `Call` and counts it as in flight; the engine sends it, scores the response, records both, and tells the `Outcome`.
`ask` is repeated while it returns calls. `WAIT` means: nothing until another call in flight is told. `DONE` means: nothing is in flight and nothing will
ever be asked again. Neither changes the state. A call that the budget leaves no room for is simply never told.

A failure is an outcome. It takes no place in any count of responses; the same thing may be asked again under a new call id. A model that failed
`max_failures` times on one prompt is left out of the rest of that prompt, so every strategy ends.

The ask/tell split follows treequest (SakanaAI), the equality of state and replayed record is ours.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from typing import ClassVar, Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from multigraft.knowledge import Knowledge
from multigraft.randomness import key_of, nth_seed
from multigraft.types import Call, Outcome, Role


class Signal(Enum):
    """What `ask` says instead of a call."""

    WAIT = "wait"
    DONE = "done"


WAIT: Final = Signal.WAIT
DONE: Final = Signal.DONE

Asked: TypeAlias = Call | Literal[Signal.WAIT, Signal.DONE]


class Plan(NamedTuple):
    """What a strategy wants next, before the call gets its id and seed."""

    model: str
    parents: tuple[int, ...] = ()
    role: Role = Role.ANSWER
    place: int = -1
    """Where the strategy will put the response, in a numbering of its own; handed back to `asked`."""
    seed: int | None = None
    """[0, 2**31). None: drawn from the run's seed, the prompt and the id of the call."""


@dataclass(slots=True)
class State:
    """The bookkeeping every strategy needs; subclasses add their own."""

    prompt_id: str
    models: tuple[str, ...]
    """Distinct, in the order of the run file."""
    seed: int
    calls: list[Call] = field(default_factory=list)
    """Every call asked, by call id."""
    in_flight: set[int] = field(default_factory=set)
    rewards: dict[int, float | None] = field(default_factory=dict)
    """Reward of every response by call id, in the order told; None when not scored."""
    failures: dict[str, int] = field(default_factory=dict)
    """Failed calls by model."""
    seed_key: int = field(init=False, repr=False)
    """Where the seeds of the calls start."""

    def __post_init__(self) -> None:
        self.seed_key = key_of(self.seed, self.prompt_id)


StateT = TypeVar("StateT", bound=State)


class Strategy(Protocol[StateT]):
    """What the engine needs of a strategy."""

    def init(self, prompt_id: str, models: Sequence[str], seed: int) -> StateT:
        """Start a prompt."""
        ...

    def ask(self, state: StateT) -> Asked:
        """Say what to call next."""
        ...

    def tell(self, state: StateT, call_id: int, outcome: Outcome, knowledge: Knowledge) -> None:
        """Take in what came of a call."""
        ...

    def best(self, state: StateT) -> int | None:
        """Return the call id of the best response, None while nothing is scored."""
        ...


@dataclass(frozen=True, kw_only=True)
class PlannedStrategy(ABC, Generic[StateT]):
    """A strategy told as one question: given the responses so far, which plan is next?

    Args:
        num_responses: N, responses wanted for each prompt; >= 1.
        max_parallel: calls in flight for one prompt at most; >= 1.
        max_failures: failures of one model on one prompt after which it is left out; >= 1.

    Raises:
        ValueError: a setting out of its range.
    """

    guided: ClassVar[bool] = True
    """Whether a choice depends on rewards told so far; only then does a scorer that compares at the end come too late."""
    concludes: ClassVar[bool] = False
    """Whether `best` is an answer of the strategy's own making, which is recorded as such, and not simply the highest reward."""

    num_responses: int = 16
    max_parallel: int = 8
    max_failures: int = 3

    def __post_init__(self) -> None:
        for name in ("num_responses", "max_parallel", "max_failures"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, not {getattr(self, name)}"
                raise ValueError(message)

    def init(self, prompt_id: str, models: Sequence[str], seed: int) -> StateT:
        """Start a prompt.

        Args:
            prompt_id: identity of the prompt; part of the key of every draw.
            models: names of the models, at least one, distinct.
            seed: the seed of the run.

        Raises:
            ValueError: no model, or one named twice.
        """
        if not models or len(set(models)) != len(models):
            message = f"models must be distinct and at least one, not {list(models)}"
            raise ValueError(message)
        return self.start(prompt_id, tuple(models), seed)

    def ask(self, state: StateT) -> Asked:
        """Return the next call, `WAIT`, or `DONE`; see the module's docstring."""
        plan = self.plan(state) if len(state.in_flight) < self.max_parallel else None
        if plan is None:
            return WAIT if state.in_flight else DONE
        call_id = len(state.calls)
        seed = nth_seed(state.seed_key, call_id) if plan.seed is None else plan.seed
        call = Call(call_id, plan.model, plan.parents, plan.role, seed)
        state.calls.append(call)
        state.in_flight.add(call_id)
        self.asked(state, call, plan)
        return call

    def tell(self, state: StateT, call_id: int, outcome: Outcome, knowledge: Knowledge) -> None:
        """Take in what came of a call.

        Args:
            state: the state that asked for it.
            call_id: id of a call in flight.
            outcome: response or failure.
            knowledge: what the run knew when this outcome was recorded, this outcome included.

        Raises:
            KeyError: the call is not in flight (never asked, or told already).
        """
        state.in_flight.remove(call_id)
        call = state.calls[call_id]
        if outcome.failure is None:
            reward = outcome.reward
            state.rewards[call_id] = reward if reward is not None and isfinite(reward) else None
        else:
            state.failures[call.model] = state.failures.get(call.model, 0) + 1
        self.told(state, call, outcome, knowledge)

    def best(self, state: StateT) -> int | None:
        """Return the call id with the highest reward; ties go to the earliest call, unscored responses never win."""
        scored = [(reward, -call_id) for call_id, reward in state.rewards.items() if reward is not None]
        return -max(scored)[1] if scored else None

    def usable(self, state: StateT, model: str) -> bool:
        """Whether the model may still be asked on this prompt."""
        return state.failures.get(model, 0) < self.max_failures

    @property
    def calls_at_once(self) -> int:
        """How many calls of one prompt are in flight most of the time; >= 1. So many prompts are worked on at once that the models stay busy."""
        return min(self.max_parallel, self.num_responses)

    @property
    def waits_for_rewards(self) -> bool:
        """Whether a choice depends on rewards told so far; as `guided`, for strategies whose settings decide it."""
        return self.guided

    @property
    def counts_answers(self) -> bool:
        """Whether a choice depends on the answers that scorers read (`Outcome.answer`); a reward that reads none is then refused."""
        return False

    @abstractmethod
    def start(self, prompt_id: str, models: tuple[str, ...], seed: int) -> StateT:
        """Build the first state."""

    @abstractmethod
    def plan(self, state: StateT) -> Plan | None:
        """Say what is next; None: nothing now. It may be asked any number of times, so it must not change what any later plan will be."""

    def asked(self, state: StateT, call: Call, plan: Plan) -> None:
        """Take note that the plan became this call."""

    def told(self, state: StateT, call: Call, outcome: Outcome, knowledge: Knowledge) -> None:
        """Take in an outcome; the common bookkeeping is done already."""
