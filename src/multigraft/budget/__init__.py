"""Compute budgets. Pure.

What may be spent: `amount`, `limits`, `parse`, `describe`. What a call costs: `cost`, from `flops`, `shapes`, `described_shapes` and `price`.
The ledger that never lets a limit be exceeded: `ledger`, `shortage`.
"""
