"""`pylambda`: a one-line Python function over lists of numbers, judged by running it on cases."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from multigraft.puzzles.item import Family, Item
from multigraft.randomness import Draws
from multigraft.types import Json

ENTRY_POINT = "f"
_CASES = 6


class _Step(NamedTuple):
    """One thing done to a list: in words, as a Python expression of `xs` or `x`, and as a function."""

    words: str
    code: str
    apply: Callable[[int], int]


class _End(NamedTuple):
    """What becomes of the list at last."""

    words: str
    code: str
    apply: Callable[[Sequence[int]], Json]


def _sum(numbers: Sequence[int]) -> Json:
    return sum(numbers)


def _listed(numbers: Sequence[int]) -> Json:
    return list(numbers)


def _sorted(numbers: Sequence[int]) -> Json:
    return list[Json](sorted(numbers))


_MAPS: tuple[Callable[[int], _Step], ...] = (
    lambda k: _Step(f"multiply each number by {k}", f"x * {k}", lambda x: x * k),
    lambda k: _Step(f"add {k} to each number", f"x + {k}", lambda x: x + k),
    lambda k: _Step(f"subtract {k} from each number", f"x - {k}", lambda x: x - k),
    lambda _: _Step("square each number", "x * x", lambda x: x * x),
)
_FILTERS: tuple[Callable[[int], _Step], ...] = (
    lambda _: _Step("keep the even numbers", "x % 2 == 0", lambda x: x % 2 == 0),
    lambda _: _Step("keep the odd numbers", "x % 2 == 1", lambda x: x % 2 == 1),
    lambda k: _Step(f"keep the numbers above {k}", f"x > {k}", lambda x: x > k),
    lambda k: _Step(f"keep the numbers below {k}", f"x < {k}", lambda x: x < k),
    lambda k: _Step(f"keep the numbers that {k} divides", f"x % {k} == 0", lambda x: x % k == 0),
)
_ENDS: tuple[_End, ...] = (
    _End("return the sum", "sum({})", _sum),
    _End("return how many there are", "len({})", len),
    _End("return them as a list", "{}", _listed),
    _End("return them sorted from small to large", "sorted({})", _sorted),
    _End("return the largest, or 0 if there is none", "max({}, default=0)", lambda numbers: max(numbers, default=0)),
    _End("return the smallest, or 0 if there is none", "min({}, default=0)", lambda numbers: min(numbers, default=0)),
)


def _make(draws: Draws, size: int) -> Item:
    words: list[str] = []
    code = "xs"
    steps: list[tuple[bool, _Step]] = []
    for number in range(size):
        filtering = (number + draws.below(2)) % 2 == 0
        makers = _FILTERS if filtering else _MAPS
        step = makers[draws.below(len(makers))](2 + draws.below(8))
        steps.append((filtering, step))
        words.append(step.words)
        code = f"[x for x in {code} if {step.code}]" if filtering else f"[{step.code} for x in {code}]"
    end = _ENDS[draws.below(len(_ENDS))]
    words.append(end.words)
    lists = [[], *([draws.below(41) - 10 for _ in range(3 + draws.below(6))] for _ in range(_CASES - 1))]
    cases: list[Json] = [{"input": [list(numbers)], "expected": end.apply(_applied(numbers, steps))} for numbers in lists]
    question = (
        f"Write a Python lambda named {ENTRY_POINT} that takes a list of whole numbers and does this: {', then '.join(words)}."
        f" Reply with one line of code that begins with {ENTRY_POINT} = lambda xs:"
    )
    solution = f"{ENTRY_POINT} = lambda xs: {end.code.format(code)}"
    return Item(question, solution, {"entry_point": ENTRY_POINT}, only_solution=False, tests={"entry_point": ENTRY_POINT, "cases": cases})


def _applied(numbers: list[int], steps: list[tuple[bool, _Step]]) -> list[int]:
    for filtering, step in steps:
        numbers = [number for number in numbers if step.apply(number)] if filtering else [step.apply(number) for number in numbers]
    return numbers


LAMBDA = Family(
    name="pylambda", asks="a one-line Python function, judged by tests", counts="steps before the result", least=1, most=8, usual=1, make=_make, check=None
)  # fmt: skip
