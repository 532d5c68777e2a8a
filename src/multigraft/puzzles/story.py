"""`story`: a word problem of several steps with whole numbers that never fall below zero."""

from multigraft.puzzles.item import Family, Item
from multigraft.puzzles.number_words import check_number
from multigraft.puzzles.words import NAMES, THINGS
from multigraft.randomness import Draws


def _make(draws: Draws, size: int) -> Item:
    name, *others = draws.shuffled(NAMES)
    thing = THINGS[draws.below(len(THINGS))]
    value = 5 + draws.below(46)
    sentences = [f"{name} has {value} {thing}."]
    for step in range(size):
        other = others[step % len(others)]
        kind = draws.below(4)
        if kind == 0:
            boxes, each = 2 + draws.below(4), 2 + draws.below(8)
            value += boxes * each
            sentences.append(f"{name} buys {boxes} boxes of {each} {thing} each.")
        elif kind == 1 and value >= 4:
            given = 1 + draws.below(value - 1)
            value -= given
            sentences.append(f"{name} gives {given} of them to {other}.")
        elif kind == 2 and value % 2 == 0 and value >= 4:
            value //= 2
            sentences.append(f"{name} sells half of them.")
        else:
            more = 2 + draws.below(20)
            value += more
            sentences.append(f"{other} gives {name} {more} more.")
    sentences.append(f"How many {thing} does {name} have now?")
    return Item(f"{' '.join(sentences)} Reply with the number only.", str(value), {"number": value})


STORY = Family(name="story", asks="a word problem", counts="steps", least=1, most=20, usual=2, make=_make, check=check_number)
