"""`expr`: the value of a sum of numbers and, from four operands on, one product."""

from multigraft.puzzles.item import Family, Item
from multigraft.puzzles.number_words import check_number
from multigraft.randomness import Draws


def _make(draws: Draws, size: int) -> Item:
    text, value = "", 0
    product_at = draws.below(size - 1) if size >= 4 else -1
    operand = 0
    while operand < size:
        term, shown = 2 + draws.below(98), ""
        shown = str(term)
        if operand == product_at:
            factor = 2 + draws.below(8)
            term, shown = term * factor, f"{term} * {factor}"
            operand += 1
        minus = bool(text) and draws.below(2) == 1
        value += -term if minus else term
        text += f" {'-' if minus else '+'} {shown}" if text else shown
        operand += 1
    return Item(f"Calculate. Reply with the number only.\n\n{text}", str(value), {"number": value})


EXPRESSION = Family(name="expr", asks="the value of a sum", counts="operands", least=2, most=40, usual=3, make=_make, check=check_number)
