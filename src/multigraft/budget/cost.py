"""What a request to one model may cost at most, and what it did cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multigraft.budget.amount import Amount, Limits
from multigraft.budget.flops import FORMS, Form, ModelShape, decode_flops, prefill_flops
from multigraft.budget.limits import check_limit_values
from multigraft.budget.price import PICODOLLARS, Price, picodollars_per_token
from multigraft.errors import BudgetError, InputError
from multigraft.types import Message, Request, Usage

MESSAGE_TOKENS = 16
"""Margin for what a chat template puts around one message: the marks of its start and end and line breaks, five to seven tokens in the common ones."""

TEMPLATE_TOKENS = 128
"""Margin for what a chat template adds once: begin of text, the opening of the answer, and a system text of its own (20 to 30 tokens in Qwen2.5, Llama 3.1
and SmolLM2, about 70 in gpt-oss). Templates with a longer one, such as those of recent Mistral Small models, need a higher number."""


def prompt_tokens_bound(messages: Sequence[Message], *, message_tokens: int = MESSAGE_TOKENS, template_tokens: int = TEMPLATE_TOKENS) -> int:
    """Bound the tokens of a conversation from above without a tokenizer.

    A byte-level tokenizer makes at most one token of each UTF-8 byte, and so does one that falls back to bytes. (One that first rewrites its text, as NFKC
    does, could make more of rare characters; chat models have none such.)

    Args:
        messages: the conversation.
        message_tokens: margin for each message; >= 0.
        template_tokens: margin for the whole; >= 0.

    Returns:
        Tokens, no fewer than any server will count; about four times as many in English text.
    """
    # A lone surrogate takes three bytes, as does the replacement character some servers make of it.
    text_bytes = sum(len(message.content.encode("utf-8", "surrogatepass")) + len(message.role) for message in messages)
    return text_bytes + message_tokens * len(messages) + template_tokens


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model costs. A part that is not known counts as 0; `check_limits` refuses a limit on such a part before the first call."""

    shape: ModelShape | None = None
    """None: its FLOPs are not known."""
    price: Price | None = None
    """None: its price is not known."""
    form: Form = "paper"
    """Of the FLOPs."""
    message_tokens: int = MESSAGE_TOKENS
    """Margin of `prompt_tokens_bound` for each message."""
    template_tokens: int = TEMPLATE_TOKENS
    """Margin of `prompt_tokens_bound` for the whole prompt; raise it for a chat template with a long system text of its own."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            message = f"'{self.form}' is no form of FLOPs; choose one of {', '.join(FORMS)}"
            raise InputError(message)
        if self.form == "exact" and self.shape is not None and self.shape.architecture is None:
            message = "the exact form of FLOPs needs heads, kv_heads, head_size, feed_forward and vocabulary; add them, or choose the form 'paper'"
            raise InputError(message)
        for name in ("message_tokens", "template_tokens"):
            if getattr(self, name) < 0:
                message = f"{name} is {getattr(self, name)}; give a whole number of at least 0"
                raise InputError(message)

    def bound(self, prompt_tokens: int, max_tokens: int, samples: int = 1, *, requests: int = 1) -> Amount:
        """Bound the cost of asking for some samples of one prompt.

        Args:
            prompt_tokens: upper bound of the prompt's tokens; >= 0.
            max_tokens: the most tokens a sample may have; >= 0.
            samples: how many; >= 1.
            requests: how many requests they take: `samples` where a server gives one a request, and reads the prompt anew for each.

        Returns:
            An upper bound, with `requests` calls.
        """
        flops = 0
        if self.shape is not None:
            flops = requests * prefill_flops(self.shape, prompt_tokens, self.form) + samples * decode_flops(self.shape, prompt_tokens, max_tokens, self.form)
        picodollars = 0
        if self.price is not None:
            # A cached token should be the cheaper one; the bound holds if it is not.
            dearest = max(self.price.usd_per_million_prompt, self.price.usd_per_million_cached or 0.0)
            picodollars = requests * prompt_tokens * picodollars_per_token(dearest)
            picodollars += samples * max_tokens * picodollars_per_token(self.price.usd_per_million_completion)
        tokens = requests * prompt_tokens + samples * max_tokens
        return Amount(flops=flops, tokens=tokens, usd=picodollars / PICODOLLARS, calls=requests)

    def bound_of(self, request: Request, *, requests: int = 1) -> Amount:
        """Bound the cost of a request from its texts.

        Args:
            request: what would be sent.
            requests: as in `bound`.

        Returns:
            An upper bound, with `requests` calls.
        """
        prompt_tokens = prompt_tokens_bound(request.messages, message_tokens=self.message_tokens, template_tokens=self.template_tokens)
        return self.bound(prompt_tokens, request.sampling.max_tokens, len(request.seeds), requests=requests)

    def actual(self, usages: Sequence[Usage], *, requests: int = 1) -> Amount:
        """Sum up what a request did cost.

        Args:
            usages: of its samples, in order. Each one that carries prompt tokens pays for reading them; each pays for its own completion.
            requests: how many were sent; >= 1.

        Returns:
            The cost, with `requests` calls; those of the samples' shares add up to it.
        """
        flops, tokens, picodollars = 0, 0, 0
        for usage in usages:
            flops += self._flops(usage)
            tokens += usage.prompt_tokens + usage.completion_tokens
            picodollars += self._picodollars(usage)
        return Amount(flops=flops, tokens=tokens, usd=picodollars / PICODOLLARS, calls=requests)

    def shares(self, usages: Sequence[Usage], *, requests: int = 1) -> tuple[Amount, ...]:
        """Divide the cost of a request over its samples.

        Args:
            usages: as in `actual`.
            requests: as in `actual`; the first sample's share holds them all.

        Returns:
            One amount a sample. FLOPs, tokens and calls add up exactly; dollars do once rounded to picodollars, as a ledger does.
        """
        return tuple(self.actual((usage,), requests=0 if place else requests) for place, usage in enumerate(usages))

    def _flops(self, usage: Usage) -> int:
        if self.shape is None:
            return 0
        context_tokens = max(usage.context_tokens, usage.prompt_tokens)
        return prefill_flops(self.shape, usage.prompt_tokens, self.form) + decode_flops(self.shape, context_tokens, usage.completion_tokens, self.form)

    def _picodollars(self, usage: Usage) -> int:
        price = self.price
        if price is None:
            return 0
        cached_tokens = min(usage.cached_tokens, usage.prompt_tokens) if price.usd_per_million_cached is not None else 0
        return (
            (usage.prompt_tokens - cached_tokens) * picodollars_per_token(price.usd_per_million_prompt)
            + cached_tokens * picodollars_per_token(price.usd_per_million_cached or 0.0)
            + usage.completion_tokens * picodollars_per_token(price.usd_per_million_completion)
        )


def check_limits(limits: Limits, costs: Mapping[str, ModelCost]) -> None:
    """Refuse a limit that nobody could hold, before the first call.

    Args:
        limits: of the run, or of each prompt.
        costs: of every model and judge that may be called, by name.

    Raises:
        InputError: a limit is not a positive finite number.
        BudgetError: dollars are limited and a model has no price, or FLOPs and a model has no shape; names all such models and what to add.
    """
    check_limit_values(limits)
    problems: list[str] = []
    if limits.usd is not None:
        unpriced = sorted(name for name, cost in costs.items() if cost.price is None)
        if unpriced:
            problems.append(f"dollars are limited, and the price of {_quoted(unpriced)} is not known: {_PRICE_REMEDY}")
    if limits.flops is not None:
        unsized = sorted(name for name, cost in costs.items() if cost.shape is None)
        if unsized:
            problems.append(f"FLOPs are limited, and the size of {_quoted(unsized)} is not known: {_SHAPE_REMEDY}")
    if problems:
        raise BudgetError("; ".join(problems))


_PRICE_REMEDY = (
    "add price = { prompt = ..., completion = ... } to its table in the run file (dollars a million tokens; 0 for a model that costs nothing), "
    "or drop the limit"
)
_SHAPE_REMEDY = "add shape = { parameters = ..., layers = ..., width = ... }, or the name of a known model, to its table in the run file, or drop the limit"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
