"""The whole run file: every table that is no model's, once, with defaults and meanings."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from multigraft.config.base import Positive, Table, Whole, validated
from multigraft.config.models import EndpointTable, ModelTable, SamplingTable
from multigraft.config.optimize import OptimizeTable, PilotTable


class StrategyTable(BaseModel):
    """The strategy and its settings, which the strategy itself checks."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, str | int | float | bool]

    name: str = "toa"
    """A name of the strategies' reference, or of an entry point."""
    n: Whole = 16
    """Responses wanted for each prompt."""


class ScorerTable(BaseModel):
    """One scorer and its settings, which the scorer itself checks."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, object]

    kind: str
    """A name of the rewards' reference, or of an entry point."""
    name: str | None = None
    """Name in the record; default: the kind."""
    model: str | None = None
    """Judges: name of a model of this file. Reward models: a folder, or a name on the hub."""
    endpoints: tuple[EndpointTable, ...] = ()
    """remote: its servers."""


class RewardPartTable(ScorerTable):
    """A scorer as a part of the reward."""

    weight: float = 1.0
    """How much it counts in a sum; negative for what is to be kept low."""
    normalise: Literal["none", "run", "model"] | None = None
    """Default: `model` for confidence, else `none`."""
    optional: bool = False
    """A response this part cannot score still has a reward."""


class RewardTable(Table):
    """What guides the search."""

    combine: Literal["sum", "min", "lower_bound"] = "sum"
    """How several parts become one reward."""
    deviations: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """lower_bound: how many standard deviations over the parts below their mean."""
    allow_truncated: bool = False
    """Whether a score whose scorer saw only a part of the response counts."""
    parts: tuple[RewardPartTable, ...] = (RewardPartTable(kind="rules"),)


class JudgePartTable(ScorerTable):
    """One scorer that the search does not see, and what it scores."""

    at: Literal["doubling", "best", "all"] | tuple[Whole, ...] = "doubling"
    """Of each prompt: the best response so far, by the reward, when there were 1, 2, 4, ... and all; only the best of all; every response; or the best so far
    at these numbers of responses."""

    @model_validator(mode="after")
    def _scores_something(self) -> Self:
        if not self.at:
            message = "at names no number of responses, so nothing would be scored; write at = [1, 4, 16], or leave it out"
            raise ValueError(message)
        return self


class LimitsTable(Table):
    """The most that may be spent; what is not set is not limited."""

    flops: Positive | None = None
    """Floating-point operations, of judges as well; needs the size of every model."""
    tokens: Whole | None = None
    """Prompt and completion tokens."""
    usd: Positive | None = None
    """US dollars; needs the price of every model."""
    calls: Whole | None = None
    """Requests, failed ones and those of judges included."""
    seconds: Positive | None = None
    """Wall-clock seconds, over all sessions."""


class BudgetTable(LimitsTable):
    """Limits of the run, and of each prompt."""

    prompt: LimitsTable = LimitsTable()
    cost_form: Literal["paper", "exact"] = "paper"
    """How FLOPs are counted: by the papers' closed form, or matrix by matrix."""


class JudgeTable(Table):
    """What scores the responses without being seen by the search."""

    when: Literal["alongside", "afterwards"] = "alongside"
    """As soon as a prompt has ended, or only by `multigraft score RUN`."""
    parts: tuple[JudgePartTable, ...] = ()
    """Each has a name of its own; none is combined with another."""
    budget: LimitsTable = LimitsTable()
    """The most that their models may spend, apart from the run's budget; `seconds` is not one of them."""

    @model_validator(mode="after")
    def _spends_no_time(self) -> Self:
        if self.budget.seconds is not None:
            message = "judges cannot be limited in seconds; limit flops, tokens, usd or calls"
            raise ValueError(message)
        return self


class TaskTable(Table):
    """Where the prompts come from, when they are no file of your own."""

    name: str
    """A name of `multigraft task list`, or the path of a task file."""
    items: str | None = None
    """File with its items; default: from the hub, a package or a generator, as the task says."""
    options: Mapping[str, str | int | tuple[str | int, ...]] = Field(default_factory=dict)
    """Settings of the task, as `multigraft task show NAME` lists them."""


class TemplatesTable(Table):
    """How refining, aggregating and concluding are asked; a family, and single templates of your own."""

    family: str | None = None
    """`default` or `translation`; default: the task's own wording, else `default`."""
    refine: str | None = None
    """Wording of a refinement, with the places `{{prompt}}` and `{{response}}`."""
    aggregate: str | None = None
    """Wording of an aggregation, with the place `{{responses}}`."""
    fuse: str | None = None
    """Wording of a condensation, with the places `{{prompt}}` and `{{responses}}`."""
    conclude: str | None = None
    """Wording of the final answer of a graph that ends in a model, with the places `{{prompt}}` and `{{responses}}`."""


class ConcurrencyTable(Table):
    """How fast; never what. These may differ when a run is resumed."""

    prompts_in_flight: Whole | None = None
    """Default: enough to keep the endpoints busy."""
    max_in_flight: Whole | None = None
    """Requests of the run at once; default: the endpoints' own limits."""
    max_attempts: Whole = 6
    """Tries of one call, the first included."""
    attempt_timeout_s: Positive = 600.0
    """How long one try may take."""
    total_timeout_s: Positive = 3600.0
    """How long a call may take with all its tries."""
    give_up_s: Positive = 600.0
    """How long a call waits while no endpoint takes calls."""
    drain_s: Positive = 8.0
    """How long calls in flight may end after an interruption."""


class RunFile(Table):
    """A whole run file."""

    prompts: str | None = None
    """Path of the prompts; relative to the working directory."""
    task: TaskTable | None = None
    """In place of `prompts`: a benchmark, a generator, or a task file of your own."""
    limit: Whole | None = None
    """Only so many of them, from the beginning."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Every draw of the run follows from it."""
    strategy: StrategyTable = StrategyTable()
    sampling: SamplingTable = SamplingTable()
    models: tuple[ModelTable, ...] = ()
    reward: RewardTable = RewardTable()
    judge: JudgeTable = JudgeTable()
    unsafe_no_sandbox: bool = False
    """Generated code runs without walls around it. Only the flag `--unsafe-no-sandbox` sets it, and a run file that holds it is refused without the flag."""
    budget: BudgetTable = BudgetTable()
    templates: TemplatesTable = TemplatesTable()
    concurrency: ConcurrencyTable = ConcurrencyTable()
    optimize: OptimizeTable | None = None
    pilot: PilotTable | None = None

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "RunFile":
        names = [model.name for model in self.models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"models named twice: {', '.join(twice)}"
            raise ValueError(message)
        return self


def checked(settings: Mapping[str, object], file: str | None = None) -> RunFile:
    """Check the settings of a run.

    Args:
        settings: as read from a run file, changed by the command line.
        file: where they come from, for messages.

    Raises:
        InputError: names the first field that does not fit, and how many more there are.
    """
    return validated(RunFile, settings, file)
