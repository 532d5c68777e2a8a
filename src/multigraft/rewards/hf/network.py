"""A model on one device: rows in, readings out.

Rows are padded on the right, which no earlier position of a causal model can see, so that positions need no correction; encoders mask it.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch

from multigraft.rewards.hf.tokens import Row
from multigraft.rewards.hf.work import Readings

_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_LOW_PRECISION_TOLERANCE = 0.1


class TorchNetwork:
    """Runs a model and reads it at the marks of each row.

    Args:
        run: (ids, mask, types) to a tensor (rows, positions, features).
        project: (marks, features) of all rows to (marks / group, numbers).
        group: marks that make one reading.
        pad_id: token that fills rows up; masked, but encoders count positions by it.
        device: inputs go there.
        padded: whether rows of one batch may differ in length.
        threads: cores of a CPU that batches running at the same time share; None: off the CPU.
        small: the model's matrices are too small for a batch to gain from a second core.
    """

    def __init__(
        self,
        run: Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor],
        project: Callable[[torch.Tensor], torch.Tensor],
        *,
        group: int,
        pad_id: int,
        device: str,
        padded: bool = True,
        threads: int | None = None,
        small: bool = False,
    ) -> None:
        self._run, self._project, self._group = run, project, group
        self._pad_id, self._device = pad_id, device
        self.padded, self.threads, self._small = padded, threads, small

    def prepare(self, share: int) -> None:
        """Give this thread its share of the cores: batches side by side use them better than one batch on all."""
        if self.threads is not None:
            torch.set_num_threads(1 if self._small else max(1, self.threads // share))

    def read(self, rows: Sequence[Row]) -> list[Readings]:
        """Run one batch."""
        with torch.inference_mode():
            ids = self._filled([row.ids for row in rows], self._pad_id)
            mask = self._filled([(1,) * len(row.ids) for row in rows], 0)
            types = self._filled([row.types for row in rows], 0) if rows[0].types else None
            states = self._run(ids, mask, types)
            of_rows = [number for number, row in enumerate(rows) for _ in row.marks]
            marks = [mark for row in rows for mark in row.marks]
            numbers: list[list[float]] = self._project(states[of_rows, marks]).float().cpu().tolist()
        found, start = [], 0
        for row in rows:
            end = start + len(row.marks) // self._group
            found.append(numbers[start:end])
            start = end
        return found

    def _filled(self, rows: Sequence[Sequence[int]], filling: int) -> torch.Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*row, *[filling] * (width - len(row))] for row in rows], device=self._device)

    def agrees(self, row: Row, direct: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> bool:
        """Say whether a reading is what the model itself would say.

        Args:
            row: with one reading.
            direct: from ids, (1, positions), to the numbers.
            dtype: of the weights.
        """
        with torch.inference_mode():
            wanted = direct(torch.tensor([row.ids], device=self._device)).flatten().float().cpu().tolist()
        found = _flat(self.read([row]))
        return len(found) == len(wanted) and all(map(_close(dtype), found, wanted))

    def settle(self, short: Row, long: Row, dtype: torch.dtype) -> bool:
        """Find out whether padding changes a score, and give it up where it does.

        Args:
            short: a row.
            long: a longer row.
            dtype: of the weights.

        Returns:
            Whether rows may be padded.
        """
        if self.padded:
            alone = [*self.read([short]), *self.read([long])]
            with suppress(RuntimeError, ValueError, IndexError):
                self.padded = all(map(_close(dtype), _flat(alone), _flat(self.read([short, long]))))
                return self.padded
            self.padded = False
        return self.padded


def _close(dtype: torch.dtype) -> Callable[[float, float], bool]:
    tolerance = _TOLERANCE.get(dtype, _LOW_PRECISION_TOLERANCE)

    def close(one: float, other: float) -> bool:
        # A model that says NaN to anything is told by its scores; it is no matter of padding.
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(one) and math.isnan(other))

    return close


def _flat(rows: Sequence[Readings]) -> list[float]:
    return [number for readings in rows for reading in readings for number in reading]
