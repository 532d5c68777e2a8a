"""From tables of limits to limits."""

from multigraft.budget.amount import Limits
from multigraft.config import LimitsTable


def limits_of(table: LimitsTable) -> Limits:
    """Read the limits of a table."""
    return Limits(table.flops, table.tokens, table.usd, table.calls, table.seconds)
