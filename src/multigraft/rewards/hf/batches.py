"""Which texts run together: sorted by length, as many as a budget of padded tokens holds. Pure."""

from collections.abc import Sequence


def planned(lengths: Sequence[int], batch_tokens: int, *, padded: bool) -> list[list[int]]:
    """Put items into batches.

    Args:
        lengths: tokens of each item; >= 1.
        batch_tokens: rows x longest row of a batch, unless a single row has more; >= 1.
        padded: whether rows of a batch may differ in length.

    Returns:
        Positions in `lengths`, each once; batches of the longest items first, so that memory that suffices for the first suffices for all.
    """
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda position: (-lengths[position], position)):
        batch = batches[-1] if batches else None
        if batch is not None:
            longest = lengths[batch[0]]
            if (len(batch) + 1) * longest <= batch_tokens and (padded or lengths[position] == longest):
                batch.append(position)
                continue
        batches.append([position])
    return batches
