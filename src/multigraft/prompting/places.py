"""Places in a template, such as `{{prompt}}`, and what is put into them. One pass: a value that looks like a place stays as it is."""

import re
from collections.abc import Mapping

_PLACE = re.compile(r"\{\{([^{}]*)\}\}")


def places(template: str) -> frozenset[str]:
    """Return the names of the places in a template."""
    return frozenset(match[1].strip() for match in _PLACE.finditer(template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into the places of a template.

    Args:
        template: any text.
        values: by name; one for every place.

    Returns:
        The text; what a value holds stands in it character by character.

    Raises:
        KeyError: a place without a value.
    """
    return _PLACE.sub(lambda match: values[match[1].strip()], template)
