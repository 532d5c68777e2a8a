"""Which scorers the settings of a run name."""

from collections.abc import Mapping

from multigraft.types import Json


def name_of(part: Mapping[str, object]) -> str:
    """Return what the record calls a scorer: its name, else its kind."""
    return str(part.get("name") or part.get("kind"))


def guiding_scorers(settings: Mapping[str, Json]) -> frozenset[str]:
    """Name the scorers that made the reward of a run; all others judge from outside.

    Args:
        settings: of the run, as its folder keeps them.
    """
    table = settings.get("reward")
    parts = table.get("parts") if isinstance(table, Mapping) else None
    return frozenset(name_of(part) for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else frozenset()
