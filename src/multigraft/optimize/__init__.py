"""Find the collaboration graph that answers a task best within a budget.

Reading order: what is searched and what is asked of the world (`problem`); the algorithms (`methods`, pure, one file each); the loop around any of them, which
keeps the archive and decides what is really better (`search`); who answers it with real models (`evaluator`, `store`, `drive`).
"""
