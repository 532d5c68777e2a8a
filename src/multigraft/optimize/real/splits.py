"""Questions dealt out: to train on, to choose by, and to compare on at the end."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from multigraft.errors import InputError
from multigraft.optimize.problem import Split
from multigraft.randomness import Draws
from multigraft.types import Prompt


class Sizes(NamedTuple):
    """Numbers of questions."""

    train: int
    validation: int
    test: int = 0

    @property
    def total(self) -> int:
        """All together."""
        return self.train + self.validation + self.test


def default_sizes(count: int, num_seen: int = 0) -> Sizes:
    """Choose how many questions each split gets: a third to train on, at most 30, a third to choose by, at most 50, and of the rest at most 100 to compare on.

    Args:
        count: of questions there are.
        num_seen: of them that a pilot has seen, which are only to be trained on.

    Raises:
        InputError: fewer than two.
    """
    if count < 2:
        message = f"{count} question is too few: one is needed to train on, and another one to choose by"
        raise InputError(message)
    train = max(1, min(30, count // 3))
    left = count - max(train, num_seen)
    validation = max(1, min(50, count // 3, left - left // 2))
    return Sizes(train, validation, max(0, min(100, left - validation)))


def pilot_size(count: int) -> int:
    """Choose how many questions a pilot gets: 100, or a third where there are fewer than 300, so that a search has questions that nothing has seen.

    Args:
        count: of questions there are.

    Raises:
        InputError: fewer than two.
    """
    if count < 2:
        message = f"{count} question is too few to tell one graph from another; give at least two"
        raise InputError(message)
    return max(2, min(100, count // 3))


def dealt(prompts: Sequence[Prompt], sizes: Sizes, seed: int, seen: Collection[str] = ()) -> Mapping[Split, tuple[Prompt, ...]]:
    """Deal out questions in a random order; no question is in two splits.

    Args:
        prompts: all of them.
        sizes: of the splits; the first at least 1.
        seed: of the order.
        seen: identities of questions that a pilot was made on: they are trained on, or left out, as what was chosen with them must not be judged by them.

    Raises:
        InputError: there are fewer questions than that.
    """
    if sizes.train < 1:
        message = f"at least one question is needed to train on, not {sizes.train}"
        raise InputError(message, field="--split")
    if sizes.total > len(prompts):
        message = f"there are {len(prompts)} questions, and {sizes.train} + {sizes.validation} + {sizes.test} are asked for"
        raise InputError(message, field="--split")
    # By content and not by place, so that the order of a file does not matter.
    ordered = Draws(seed, "splits").shuffled(sorted(prompts, key=lambda prompt: prompt.prompt_id))
    known = [prompt for prompt in ordered if prompt.prompt_id in seen]
    new = [prompt for prompt in ordered if prompt.prompt_id not in seen]
    # Those of a pilot come first, so that what it paid for is of use.
    train, rest = (*known, *new)[: sizes.train], new[max(0, sizes.train - len(known)) :]
    if sizes.validation + sizes.test > len(rest):
        asked = f"{sizes.validation} + {sizes.test} others are asked for to choose by and to compare on"
        message = f"the pilot has seen {len(known)} of {len(prompts)} questions, and {asked}; give more questions, or a smaller --split"
        raise InputError(message, field="--split")
    return {"train": train, "validation": tuple(rest[: sizes.validation]), "test": tuple(rest[sizes.validation : sizes.validation + sizes.test])}


def digest_of_questions(questions: Mapping[Split, Sequence[Prompt]]) -> str:
    """Hash which questions a search goes by, and in which order; those that it never sees are left out."""
    text = "\n".join(f"{split} {prompt.prompt_id}" for split, prompts in sorted(questions.items()) if split != "test" for prompt in prompts)
    return blake2b(text.encode(), digest_size=12).hexdigest()
