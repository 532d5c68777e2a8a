"""FLOPs of a forward pass, from the shape of a model.

Two forms. `paper` is the closed form of the paper, which needs three numbers of a model and is what published curves are drawn in. `exact` counts the
matrices a decoder really multiplies: grouped keys and values, heads that do not add up to the width, sliding windows, and the output head. Both give whole
numbers, so that a ledger can add them up without rounding. Both charge every prompt token, cached by a server or not: strategies are compared on equal terms,
whatever a cache happened to hold.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Form: TypeAlias = Literal["paper", "exact"]

FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What the exact form needs to know of a decoder; all counts >= 1 where nothing else is said."""

    heads: int
    """Query heads of a layer."""
    kv_heads: int
    """Key and value heads of a layer; at most `heads`."""
    head_size: int
    """Width of one head; `heads * head_size` need not be the model's width."""
    feed_forward: int
    """Inner width of the feed-forward block; in a mixture of experts, of all the experts one token passes, shared ones included."""
    vocabulary: int
    """Rows of the output head; >= 0."""
    gated: bool = True
    """Three feed-forward matrices (gate, up, down) rather than two."""
    window: int = 0
    """Positions a windowed layer sees; 0: no layer has a window."""
    windowed_layers: int = 0
    """How many layers see no more than `window` positions; >= 0."""

    def __post_init__(self) -> None:
        for name in ("heads", "kv_heads", "head_size", "feed_forward"):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; give a whole number of at least 1"
                raise ValueError(message)
        for name in ("vocabulary", "window", "windowed_layers"):
            if getattr(self, name) < 0:
                message = f"{name} is {getattr(self, name)}; give a whole number of at least 0"
                raise ValueError(message)

    def parameters(self, layers: int, width: int) -> int:
        """Parameters of all layers that one token passes: no embeddings, head, norms, biases or routers, which are below 1% of the work.

        Args:
            layers: number of layers; >= 1.
            width: width of the residual stream; >= 1.

        Returns:
            Parameters, each used in one multiply-add a token.
        """
        queries_and_output = 2 * width * self.heads * self.head_size
        keys_and_values = 2 * width * self.kv_heads * self.head_size
        feed_forward = (3 if self.gated else 2) * width * self.feed_forward
        return layers * (queries_and_output + keys_and_values + feed_forward)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The numbers of a model that its FLOPs follow from."""

    parameters: int
    """Non-embedding parameters one token passes (`M`); in a mixture of experts the active ones; >= 1."""
    layers: int
    """Number of layers (`L`); >= 1."""
    width: int
    """Width of the residual stream (`D`); >= 1."""
    architecture: Architecture | None = None
    """What only the exact form needs; None: not known."""

    def __post_init__(self) -> None:
        for name in ("parameters", "layers", "width"):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; give a whole number of at least 1"
                raise ValueError(message)


def shape_of_architecture(layers: int, width: int, architecture: Architecture) -> ModelShape:
    """Make a shape whose parameters are counted from the architecture.

    Args:
        layers: number of layers; >= 1.
        width: width of the residual stream; >= 1.
        architecture: the rest.

    Returns:
        The shape, fit for both forms.
    """
    return ModelShape(architecture.parameters(layers, width), layers, width, architecture)


def prefill_flops(shape: ModelShape, prompt_tokens: int, form: Form = "paper") -> int:
    """Count the FLOPs of reading a prompt.

    Args:
        shape: of the model.
        prompt_tokens: Np; >= 0.
        form: `paper` or `exact`.

    Returns:
        FLOPs, a multiply-add counting as 2: `2 M Np + 2 L D Np (Np + 1)` in the paper's form.

    Raises:
        ValueError: the exact form is asked for and the shape has no architecture.

    Source:
        arXiv 2511.00086, appendix A.7. The exact form is ours: the output head is computed for the last position only.
    """
    if prompt_tokens == 0:
        return 0
    if form == "paper":
        return 2 * shape.parameters * prompt_tokens + 2 * shape.layers * shape.width * prompt_tokens * (prompt_tokens + 1)
    return _exact_flops(shape, 0, prompt_tokens, heads=1)


def decode_flops(shape: ModelShape, context_tokens: int, completion_tokens: int, form: Form = "paper") -> int:
    """Count the FLOPs of writing a completion after a prompt whose keys and values are kept.

    Args:
        shape: of the model.
        context_tokens: tokens before the completion, Np; >= 0.
        completion_tokens: tokens written, Nd; >= 0.
        form: `paper` or `exact`.

    Returns:
        FLOPs, a multiply-add counting as 2: `2 M Nd + 2 L D Nd (2 Np + Nd + 1)` in the paper's form.

    Raises:
        ValueError: the exact form is asked for and the shape has no architecture.

    Source:
        arXiv 2511.00086, appendix A.7. Both forms charge Nd passes, one more than a decoder makes, as the paper does.
    """
    if form == "paper":
        attention = 2 * shape.layers * shape.width * completion_tokens * (2 * context_tokens + completion_tokens + 1)
        return 2 * shape.parameters * completion_tokens + attention
    return _exact_flops(shape, context_tokens, completion_tokens, heads=completion_tokens)


def call_flops(shape: ModelShape, prompt_tokens: int, completion_tokens: int, form: Form = "paper") -> int:
    """Count the FLOPs of one sample: reading the prompt and writing the completion.

    Args:
        shape: of the model.
        prompt_tokens: Np; >= 0.
        completion_tokens: Nd; >= 0.
        form: `paper` or `exact`.

    Returns:
        FLOPs: `2 M N + 2 L D N (N + 1)` with N = Np + Nd in the paper's form.
    """
    return prefill_flops(shape, prompt_tokens, form) + decode_flops(shape, prompt_tokens, completion_tokens, form)


def _exact_flops(shape: ModelShape, seen: int, new: int, heads: int) -> int:
    architecture = shape.architecture
    if architecture is None:
        message = "the exact form of FLOPs needs heads, head size, feed-forward width and vocabulary; give them, or use the form 'paper'"
        raise ValueError(message)
    windowed = min(architecture.windowed_layers, shape.layers) if architecture.window else 0
    full_keys = _keys_seen(seen + new, 0) - _keys_seen(seen, 0)
    window_keys = _keys_seen(seen + new, architecture.window) - _keys_seen(seen, architecture.window)
    keys = (shape.layers - windowed) * full_keys + windowed * window_keys
    # Query-key and weight-value products: 2 * 2 FLOPs for each key, head and component. Grouped keys and values save memory, not these.
    attention = 4 * architecture.heads * architecture.head_size * keys
    return 2 * shape.parameters * new + attention + 2 * shape.width * architecture.vocabulary * heads


def _keys_seen(positions: int, window: int) -> int:
    if not window or positions <= window:
        return positions * (positions + 1) // 2
    return window * (window + 1) // 2 + (positions - window) * window
