"""Results for programs, as one line of JSON that every reader takes."""

import json
from collections.abc import Mapping
from math import isfinite


def json_line(value: object) -> str:
    """Write JSON.

    Args:
        value: of texts, numbers, lists and mappings; a number that is not finite, as sums of huge rewards may be, becomes null.

    Returns:
        ASCII alone, on one line.
    """
    return json.dumps(_strict(value), allow_nan=False)


def _strict(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else None
