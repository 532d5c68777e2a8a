"""Numbers from the record of a run: totals, shares, winners (`summary`)."""
