"""All graphs of a search, what is known of each, and which is the best so far. Whoever drives a search owns its archive, which outlives a search cut short."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from multigraft.budget.amount import NOTHING, Amount
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Graph
from multigraft.optimize.loop.objectives import SharedKind, cost_in, shared_kind
from multigraft.optimize.loop.paired import Paired
from multigraft.optimize.loop.pareto import Point, front_of, knee_of
from multigraft.optimize.problem import Evaluation, Objective, Reply, Split


@dataclass(frozen=True, slots=True)
class Entry:
    """A graph, and what is known of it."""

    number: int
    """From 0, in the order in which graphs were first proposed."""
    graph: Graph
    """In its canonical form, so that equal graphs are run alike whatever their nodes were called."""
    graph_id: str
    origin: str
    """Of the first proposal."""
    notes: tuple[str, ...]
    """Of the first proposal."""
    train: Evaluation
    """On the training questions asked so far."""
    validation: Evaluation | None
    """None: never asked."""
    cost: GraphCost
    """Expected, of one answer."""
    reference: bool = False
    """Run for comparison, not proposed: no evaluation of the budget."""
    trained: bool = False
    """Whether it has been asked all training questions."""
    validated: bool = False
    """Whether it has been asked all validation questions."""
    worse_than: int | None = None
    """Number of the entry that it was found worse than, so that it was asked no more."""

    def on(self, split: Split) -> Evaluation | None:
        """Return the evaluation on a split; None: never asked."""
        return self.train if split == "train" else self.validation


@dataclass(frozen=True, slots=True)
class Change:
    """A new incumbent."""

    num_evaluations: int
    """Graphs evaluated until then."""
    number: int
    """Of its entry."""
    previous: int | None
    """Of the former incumbent's; None: the first."""
    paired: Paired | None
    """Against the former incumbent, on validation questions; None where there was none, or no question that both have a score on."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What was known once so many graphs had been evaluated."""

    num_evaluations: int
    train: float | None
    """Highest utility on all training questions so far; None: none yet."""
    best: int | None
    """Number of the best entry by validation then."""
    validation: float | None
    """Its utility on the validation questions."""


@dataclass(slots=True)
class Archive:
    """What a search has found out.

    Args:
        objective: what is maximised.
    """

    objective: Objective
    entries: list[Entry] = field(default_factory=list)
    incumbent: int | None = None
    """Number of the best entry by validation."""
    changes: list[Change] = field(default_factory=list)
    curve: list[CurvePoint] = field(default_factory=list)
    """A point for each batch that a method proposed, in order."""
    num_proposals: int = 0
    """Graphs proposed, repeated ones too."""
    num_challenges: int = 0
    """Graphs compared with an incumbent on validation questions."""
    num_consults: int = 0
    optimiser_spent: Amount = NOTHING
    """By the optimiser model, all its replies together."""
    spent: Amount = NOTHING
    """By the graphs, newly paid calls of all splits together."""
    notes: Counter[str] = field(default_factory=Counter)
    """How often each kind of note came with a proposal: its text up to the first colon."""
    _by_id: dict[str, int] = field(default_factory=dict)

    @property
    def best(self) -> Entry | None:
        """The best by validation; while none is validated, the one of highest utility in training; None: nothing is scored."""
        if self.incumbent is not None:
            return self.entries[self.incumbent]
        return max(
            (entry for entry in self.entries if self.objective.utility(entry.train) is not None),
            key=lambda entry: (entry.trained, self.objective.utility(entry.train) or 0.0, -entry.number),
            default=None,
        )

    @property
    def num_evaluations(self) -> int:
        """Distinct graphs evaluated on training questions."""
        return sum(1 for entry in self.entries if not entry.reference and entry.train.trials)

    @property
    def cost_kind(self) -> SharedKind:
        """The kind that the costs of all entries are compared in."""
        return shared_kind(entry.cost for entry in self.entries)

    @property
    def validated(self) -> tuple[Entry, ...]:
        """Entries that were asked all validation questions and have scores, in order."""
        return tuple(entry for entry in self.entries if entry.validated and utility_of(self.objective, entry.validation) is not None)

    def find(self, identity: str) -> Entry | None:
        """Return the entry of a graph by its `graph_id`; None: there is none."""
        number = self._by_id.get(identity)
        return None if number is None else self.entries[number]

    def add(self, identity: str, graph: Graph, cost: GraphCost, *, origin: str, notes: tuple[str, ...] = (), reference: bool = False) -> Entry:
        """Take in a graph that is not there yet.

        Args:
            identity: its `graph_id`.
            graph: in its canonical form.
            cost: expected, of one answer.
            origin: of the proposal.
            notes: of the proposal.
            reference: whether it is run for comparison only.
        """
        entry = Entry(len(self.entries), graph, identity, origin, notes, Evaluation(graph, "train", (), cost), None, cost, reference)
        self.entries.append(entry)
        self._by_id[identity] = entry.number
        return entry

    def learn(self, number: int, found: Evaluation) -> Entry:
        """Add the trials of an evaluation to an entry."""
        entry = self.entries[number]
        for trial in found.trials:
            self.spent = self.spent.plus(trial.spent)
        known = entry.train if found.split == "train" else entry.validation
        merged = replace(found if known is None else known.with_trials(found.trials), graph=entry.graph, cost=found.cost)
        return self.put(replace(entry, train=merged, cost=found.cost) if found.split == "train" else replace(entry, validation=merged, cost=found.cost))

    def put(self, entry: Entry) -> Entry:
        """Replace what is known of a graph by what is known now."""
        self.entries[entry.number] = entry
        return entry

    def note(self, notes: tuple[str, ...]) -> None:
        """Count the notes of a proposal by their kinds."""
        self.notes.update(note.partition(":")[0].strip() for note in notes)

    def hear(self, reply: Reply) -> None:
        """Count a reply of the optimiser model."""
        self.num_consults += 1
        self.optimiser_spent = self.optimiser_spent.plus(reply.spent)

    def mark(self) -> CurvePoint:
        """Add a point to the curve, of what is known now."""
        best = None if self.incumbent is None else self.entries[self.incumbent]
        utilities = [utility_of(self.objective, entry.train) for entry in self.entries if entry.trained]
        train = max((utility for utility in utilities if utility is not None), default=None)
        validation = None if best is None else utility_of(self.objective, best.validation)
        point = CurvePoint(self.num_evaluations, train, None if best is None else best.number, validation)
        self.curve.append(point)
        return point

    def front(self) -> tuple[Entry, ...]:
        """Return the validated entries that no other dominates in quality, cost and latency: by falling quality."""
        known, kind = self.validated, self.cost_kind
        return tuple(known[place] for place in front_of([point_of(entry, kind) for entry in known]))

    def knee(self) -> Entry | None:
        """Return the knee of the front; None while it is empty."""
        front = self.front()
        kind = self.cost_kind
        place = knee_of([point_of(entry, kind) for entry in front])
        return None if place is None else front[place]

    def counts(self) -> Mapping[str, int]:
        """Return how much was done, by name."""
        return {
            "proposals": self.num_proposals,
            "evaluations": self.num_evaluations,
            "found_worse_early": sum(1 for entry in self.entries if entry.worse_than is not None),
            "validated": sum(1 for entry in self.entries if entry.validated),
            "train_questions": sum(len(entry.train.trials) for entry in self.entries),
            "validation_questions": sum(len(entry.validation.trials) for entry in self.entries if entry.validation is not None),
            "without_a_score": sum(1 for trial in self._trials() if trial is None),
            "consults": self.num_consults,
        }

    def _trials(self) -> list[float | None]:
        evaluations = [evaluation for entry in self.entries for evaluation in (entry.train, entry.validation) if evaluation is not None]
        return [trial.score for evaluation in evaluations for trial in evaluation.trials]


def utility_of(objective: Objective, evaluation: Evaluation | None) -> float | None:
    """Return the utility of an evaluation there may be none of; None: there is none, or no score in it."""
    return None if evaluation is None or not evaluation.scores else objective.utility(evaluation)


def point_of(entry: Entry, kind: SharedKind) -> Point:
    """Return where an entry lies: quality by validation where it has one, else by training; its expected cost; its critical path, expected or measured.

    Args:
        entry: any.
        kind: of cost, known of all that it is compared with.
    """
    evaluation = entry.validation if entry.validation is not None and entry.validation.scores else entry.train
    latency_s = entry.cost.latency_s
    if latency_s is None and evaluation.trials:
        latency_s = sum(trial.latency_s for trial in evaluation.trials) / len(evaluation.trials)
    return Point(evaluation.mean or 0.0, cost_in(entry.cost, kind), latency_s)
