"""The ways of reading a model: from the states of its backbone at a few positions, or from its whole output."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import torch

from multigraft.rewards.hf.recipes import Head
from multigraft.rewards.hf.tokens import Row

Run: TypeAlias = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
Project: TypeAlias = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of reading a model; see `TorchNetwork`."""

    run: Run
    project: Project
    group: int = 1
    at_token: bool = True
    """Whether it has an output for each token, rather than one for the whole row."""
    check: Project | None = None
    """What the model itself makes of the ids of a single row, which the reading must agree with."""


def ways_of(model: "torch.nn.Module", head: Head, groups: tuple[tuple[int, ...], ...], probe: Row) -> Iterator[Way]:
    """List the ways a model may be read, the cheapest first.

    Args:
        model: of transformers, or one of the native heads.
        head: what is wanted of it.
        groups: for `causal`, the token ids of each group whose log-probability is read.
        probe: a row to try it with.
    """
    if hasattr(model, "project"):
        for masked in (False, True):
            yield Way(_states(model.model, masked=masked), model.project, group=model.group)
    elif head == "causal":
        masses = log_masses(groups)
        for masked in (False, True):
            yield Way(
                _states(model.base_model, masked=masked),
                lambda states: masses(_logits(model, states)),
                check=lambda ids: masses(model(input_ids=ids).logits[0, -1:]),
            )
        yield Way(_logits_of(model), masses)
    else:
        score = getattr(model, "score", None)
        if isinstance(score, torch.nn.Linear):
            for masked in (False, True):
                yield Way(_states(model.base_model, masked=masked), score, check=lambda ids: model(input_ids=ids).logits[0])
        yield _whole(model, head, probe)


def log_masses(groups: tuple[tuple[int, ...], ...]) -> Project:
    """Make what turns logits into the log-probability of each group of tokens."""

    def masses(logits: torch.Tensor) -> torch.Tensor:
        logits = logits.float()
        total = logits.logsumexp(dim=-1)
        return torch.stack([logits[..., list(group)].logsumexp(dim=-1) - total for group in groups], dim=-1)

    return masses


def _states(backbone: "torch.nn.Module", *, masked: bool) -> Run:
    """Read the backbone.

    A causal model sees nothing to the right, so padding there needs no mask, and attention without one is quicker. Whether a model is causal is tried at the
    start.
    """

    def run(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> torch.Tensor:
        del types
        return backbone(input_ids=ids, **({"attention_mask": mask} if masked else {})).last_hidden_state

    return run


def _logits_of(model: "torch.nn.Module") -> Run:
    def run(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=mask, **({} if types is None else {"token_type_ids": types})).logits

    return run


def _logits(model: "torch.nn.Module", states: torch.Tensor) -> torch.Tensor:
    """Apply the language head to a few states only; the vocabulary at every position would fill the memory."""
    logits = model.get_output_embeddings()(states)
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else torch.tanh(logits / cap) * cap


def _whole(model: "torch.nn.Module", head: Head, probe: Row) -> Way:
    run = _logits_of(model)
    with torch.inference_mode():
        ids = torch.tensor([probe.ids], device=model.device)
        types = torch.tensor([probe.types], device=model.device) if probe.types else None
        shape = run(ids, torch.ones_like(ids), types).shape
    if len(shape) == 3:
        project: Project = (lambda logits: torch.log_softmax(logits.float(), dim=-1).flip(-1)) if head == "qwen2_process" else torch.nn.Identity()
        return Way(run, project)

    def rows(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> torch.Tensor:
        return run(ids, mask, types).reshape(len(ids), 1, -1)

    return Way(rows, torch.nn.Identity(), at_token=False)
