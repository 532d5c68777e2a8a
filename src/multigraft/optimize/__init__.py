"""Find the collaboration graph that answers a task best within a budget.

Reading order: what is searched and what is asked of the world (`problem`); what goes before (`pilot`, `findings`); the algorithms (`methods`, with `agent` for
those that ask an optimiser model; `fitting` and `combinations` for all); the loop around any of them (`loop`); who answers it: real models (`real`), or a
simulated world (`simulated`).
"""
