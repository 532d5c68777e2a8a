"""How a response came about: which models answered, refined and aggregated on the way to it."""

from multigraft.records.reader import CallRecord, PromptRecord

ARROW = " -> "
BESIDE = " + "


class Lineage:
    """Depths and paths of the responses of one prompt.

    Args:
        record: of the prompt. Parents come before their children in it.
    """

    def __init__(self, record: PromptRecord) -> None:
        self._calls = record.calls
        self._depths: dict[int, int] = {}
        for call_id, found in record.calls.items():
            above = [self._depths[parent] for parent in found.call.parents if parent in self._depths]
            self._depths[call_id] = max(above, default=-1) + 1

    def depth(self, call_id: int) -> int:
        """Count the refinements and aggregations on the longest way to a response; 0 for one that was shown no other."""
        return self._depths[call_id]

    def path(self, call_id: int) -> list[CallRecord]:
        """Return a response after all its ancestors, by depth and then by call id."""
        found: set[int] = set()
        waiting = [call_id]
        while waiting:
            current = waiting.pop()
            if current not in found and current in self._depths:
                found.add(current)
                waiting.extend(self._calls[current].call.parents)
        return [self._calls[current] for current in sorted(found, key=lambda current: (self._depths[current], current))]

    def line(self, call_id: int) -> list[CallRecord]:
        """Return a response after one ancestor of each generation: the parent with the highest reward, the earliest of equals."""
        line = [self._calls[call_id]]
        while parents := [self._calls[parent] for parent in line[-1].call.parents if parent in self._calls]:
            line.append(max(parents, key=lambda parent: (parent.reward is not None, parent.reward or 0.0, -parent.call.call_id)))
        return line[::-1]

    def model_path(self, call_id: int) -> str:
        """Name the models from the root to a response: `m1 -> m3`, or `m1 + m2 -> m1` where several were shown at once."""
        layers: dict[int, list[str]] = {}
        for found in self.path(call_id):
            layers.setdefault(self._depths[found.call.call_id], []).append(found.call.model)
        return ARROW.join(BESIDE.join(models) for models in layers.values())

    def call_ids(self, call_id: int) -> list[int]:
        """Return the call ids of `path`."""
        return [found.call.call_id for found in self.path(call_id)]
