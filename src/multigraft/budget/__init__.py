"""Compute budgets: what a call costs (`cost`, `flops`), what may be spent (`amount`), and the ledger that never lets a limit be exceeded (`ledger`)."""
