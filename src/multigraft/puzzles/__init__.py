"""Seeded generators of short tasks of any size and difficulty (`generate`), each with a checker that gives partial credit; `table` names the families. Pure."""
