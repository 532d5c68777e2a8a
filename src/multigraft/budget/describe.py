"""Budgets as people read them."""

from collections.abc import Callable, Mapping

from multigraft.budget.amount import Amount, Limits

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SPANS_S = ((86_400, "d"), (3_600, "h"), (60, "min"))


def flops_text(flops: float) -> str:
    """Write FLOPs with a metric prefix, such as `20 TFLOPs`; from 1000 E on in powers of ten."""
    if flops >= 1e21:
        return f"{flops:.3g} FLOPs"
    for factor, prefix in _PREFIXES:
        # 999,500 would otherwise read as 1e+03 k.
        if flops >= factor * 0.9995:
            return f"{_three_digits(flops / factor)} {prefix}FLOPs"
    return f"{flops:.0f} FLOPs"


def usd_text(usd: float) -> str:
    """Write dollars: cents from ten cents on, three significant digits below."""
    if usd == 0 or usd >= 0.0995:
        return f"${usd:,.2f}"
    return f"${usd:.3g}" if usd < 1e-4 else f"${usd:.{_decimals(usd)}f}"


def tokens_text(tokens: float) -> str:
    """Write tokens with separators of thousands."""
    return f"{tokens:,.0f} {'token' if tokens == 1 else 'tokens'}"


def calls_text(calls: float) -> str:
    """Write calls with separators of thousands."""
    return f"{calls:,.0f} {'call' if calls == 1 else 'calls'}"


def seconds_text(seconds: float) -> str:
    """Write a time in its largest fitting unit, such as `10 min`."""
    for span, unit in _SPANS_S:
        if seconds >= span:
            return f"{_three_digits(seconds / span)} {unit}"
    return f"{_three_digits(seconds)} s"


_TEXTS: Mapping[str, Callable[[float], str]] = {
    "flops": flops_text,
    "usd": usd_text,
    "tokens": tokens_text,
    "calls": calls_text,
    "seconds": seconds_text,
}


def quantity(kind: str, value: float) -> str:
    """Write an amount of one kind.

    Args:
        kind: `flops`, `usd`, `tokens`, `calls` or `seconds`.
        value: how much; >= 0.

    Returns:
        The number with its unit.
    """
    return _TEXTS[kind](value)


def describe(budget: Limits | Amount) -> str:
    """Write limits, or an amount spent, in one line.

    Args:
        budget: what to write; limits that are None and parts of an amount that are 0 are left out.

    Returns:
        Such as `20 TFLOPs, $1.00, 1,000,000 tokens, 500 calls, 10 min`; `no limit` or `nothing` when all are left out.
    """
    values = budget._asdict()
    parts = [text(values[kind]) for kind, text in _TEXTS.items() if values.get(kind)]
    return ", ".join(parts) or ("no limit" if isinstance(budget, Limits) else "nothing")


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def _decimals(value: float) -> int:
    digits = 2
    while value < 0.995:
        value *= 10
        digits += 1
    return digits
