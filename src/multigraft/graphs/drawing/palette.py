"""Colours of models, told apart by people with any colour vision.

Source: Okabe and Ito, "Color Universal Design" (2008); black, which is lost on a dark page, gives way to grey.
"""

from collections.abc import Iterable, Mapping
from typing import Final

PALETTE: Final = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#999999")
NO_MODEL: Final = "#ffffff"


def colours_of(models: Iterable[str]) -> Mapping[str, str]:
    """Give each model a colour, in the order of their names, so that graphs over the same models look alike; a ninth begins anew.

    Args:
        models: names; an empty one, of a node that calls none, has no colour.
    """
    return {model: PALETTE[index % len(PALETTE)] for index, model in enumerate(sorted({name for name in models if name}))}


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour.

    Args:
        colour: `#rrggbb`.
    """
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return "#111111" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
