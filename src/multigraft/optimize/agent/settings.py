"""Settings that all methods with an optimiser model share."""

from dataclasses import fields, is_dataclass, replace
from typing import cast, get_args

from multigraft.budget.flops import ModelShape
from multigraft.optimize.agent.prompts import Style, style_for
from multigraft.optimize.problem import Method


def check_settings(style: str, attempts: int, edge_probability: float, learning_rate: float) -> None:
    """Refuse settings out of their range.

    Raises:
        ValueError: names the setting, its value and its range.
    """
    known = get_args(Style)
    rules = (
        ("style", style, style in known, f"one of {', '.join(known)}"),
        ("attempts", attempts, attempts >= 1, "at least 1"),
        ("edge_probability", edge_probability, 0 < edge_probability < 1, "between 0 and 1"),
        ("learning_rate", learning_rate, 0 < learning_rate < float("inf"), "above 0 and finite"),
    )
    for name, value, holds, wanted in rules:
        if not holds:
            message = f"{name} must be {wanted}, not {value!r}"
            raise ValueError(message)


def styled(method: Method, shape: ModelShape | None) -> Method:
    """Give a method the style that suits the size of its optimiser model.

    Args:
        method: returned as it is where it has no style.
        shape: of the optimiser model; None: not known.
    """
    settings: object = method
    if not is_dataclass(settings) or isinstance(settings, type) or "style" not in {field.name for field in fields(settings)}:
        return method
    return cast("Method", replace(settings, style=style_for(None if shape is None else shape.parameters)))
