"""The tables of a graph search and of the pilot before it."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multigraft.config.base import Positive, Scalar, Table, Whole


class CapsTable(Table):
    """The most one answer of a graph may cost; what is not set is not limited."""

    units: Positive | None = None
    """FLOPs, in calls of the pool's smallest model; needs the size of every model."""
    flops: Positive | None = None
    """Floating-point operations."""
    usd: Positive | None = None
    """US dollars; needs the price of every model."""
    latency_s: Positive | None = None
    """Seconds along the critical path."""
    calls: Whole | None = None
    """Model calls."""


class OptimizeTable(Table):
    """A search for the graph that answers a task best; `multigraft optimize` fills this in."""

    method: str = "agent_reinforce"
    """A name of the methods' reference, or of an entry point."""
    settings: Mapping[str, Scalar] = Field(default_factory=dict)
    """Of the method, which checks them."""
    objective: str = "quality"
    """`quality`, `latency:WEIGHT`, `cost:WEIGHT` or `pareto`."""
    caps: CapsTable = CapsTable()
    models: tuple[str, ...] = ()
    """The pool; default: all models of the file that neither judge nor optimise."""
    sinks: tuple[str, ...] = ()
    """What may give the answer: models, `vote` or `best`; default: every model of the pool."""
    evaluations: Whole = 30
    """Distinct graphs that are evaluated at most."""
    patience: Whole = 8
    """The search ends after so many graphs in a row that were no better."""
    max_agents: Annotated[int, Field(ge=0, le=100)] = 8
    """Nodes beside the sink at most."""
    max_in_degree: Whole = 8
    """Nodes that one node reads at most."""
    train: Annotated[int, Field(ge=0)] = 0
    """Questions that graphs are compared on while the search goes on; 0: chosen by how many there are."""
    validation: Annotated[int, Field(ge=0)] = 0
    """Questions that decide which graph is the best; 0: likewise."""
    test: Annotated[int, Field(ge=0)] = 0
    """Questions that the search never sees, to compare what it found; 0: none."""
    optimizer: str | None = None
    """Name of the model that methods with an optimiser model ask."""
    optimizer_max_tokens: Whole = 2048
    """The most one reply of it may have."""
    optimizer_temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    """How it samples."""
    tokens: tuple[Positive, Positive] | None = None
    """Mean tokens of a question and of an answer; default: measured."""
    measured_questions: Whole = 8
    """Training questions that every model is asked alone to measure them."""
    pilot: str | None = None
    """Path of a `pilot.json`."""
    scorer: str | None = None
    """Name of the judge whose score counts; default: the first."""
    score_range: tuple[float, float] = (0.0, 1.0)
    """What it gives the worst and the best answer."""
    node_scores: Literal["auto", "all", "sink"] = "auto"
    """Whether every node's answer is graded, or only what may be the final one; auto: every one where the grader is a rule."""

    @model_validator(mode="after")
    def _range_is_one(self) -> Self:
        if self.score_range[0] == self.score_range[1]:
            message = "score_range needs two different scores: of the worst and of the best answer"
            raise ValueError(message)
        return self


class PilotTable(Table):
    """A pilot: what a task rewards, measured before a search; `multigraft pilot` fills this in. Its pool and what grades are those of `[optimize]`."""

    questions: Annotated[int, Field(ge=0)] = 0
    """Training questions that every graph is run on; 0: 100, or a third of all where there are fewer than 300."""
    parts: tuple[Literal["singles", "replicate", "mix", "width", "depth", "grid"], ...] = ("singles", "replicate", "mix", "width", "depth", "grid")
    """What is measured: copies of each model, mixes at one budget, width, depth, and both; single models always are."""
    copies: tuple[Whole, ...] = (1, 2, 4, 8)
    """Numbers of copies of each model side by side."""
    widths: tuple[Whole, ...] = (1, 2, 4, 8, 16)
    """Numbers of agents side by side."""
    depths: tuple[Whole, ...] = (1, 2, 4, 8, 16)
    """Lengths of a chain of agents."""
    max_grid: Whole = 24
    """Width times depth at most, where both are more than 1."""
    block_model: str | None = None
    """Model of the agents in widths, depths and grid; default: the cheapest."""
    mix_nodes: Whole | None = None
    """Nodes of a mix beside its sink, a dearer model counting as several of the cheapest; default: what one node of the dearest counts as."""
    graphs_per_mix: Whole = 3
    """Random graphs run of each mix."""
    max_mixes: Whole = 12
    """Of more mixes, this many are run, spread evenly over all."""
    sink: str | None = None
    """What ends every graph but single models: a model, `vote` or `best`; default: the middle one by cost, of two the cheaper."""
