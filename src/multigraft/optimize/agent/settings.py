"""Settings that all methods with an optimiser model share."""

from typing import get_args

from multigraft.optimize.agent.prompts import Style


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
