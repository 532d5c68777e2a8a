"""Rows of made-up puzzles, for the source `generator = "puzzles"`."""

from collections.abc import Iterator

from multigraft.puzzles.generate import generate
from multigraft.tasks.files import Row
from multigraft.tasks.options import Chosen
from multigraft.types import Json


def puzzle_rows(options: Chosen) -> Iterator[Row]:
    """Make puzzles.

    Args:
        options: `family` (names, or `all`), `count`, `difficulty` (none: usual of each family) and `seed`.

    Raises:
        InputError: no such family, or a size that it does not come in.
    """
    families = [str(name) for name in options.values["family"]]
    count, seed = int(options.values["count"][0]), int(options.values["seed"][0])
    difficulty = options.values["difficulty"]
    for number, puzzle in enumerate(generate(families, count, seed, int(difficulty[0]) if difficulty else None), start=1):
        values: dict[str, Json] = {
            "id": puzzle.name,
            "question": puzzle.item.question,
            "reference": puzzle.item.solution if puzzle.item.only_solution else None,
            "solution": puzzle.item.solution,
            "example_question": puzzle.example.question,
            "example_answer": puzzle.example.solution,
            "family": puzzle.family,
            "difficulty": puzzle.difficulty,
            "puzzle": dict(puzzle.item.facts),
        }
        yield Row(f"puzzles, seed {seed}", number, values | dict(puzzle.item.tests))
