"""Questions dealt out: to train on, to choose by, and to compare on at the end."""

from collections.abc import Mapping, Sequence
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


def default_sizes(count: int) -> Sizes:
    """Choose how many questions each split gets: a third to train on, at most 30, a third to choose by, at most 50, and of the rest at most 100 to compare on.

    Args:
        count: of questions there are.

    Raises:
        InputError: fewer than two.
    """
    if count < 2:
        message = f"{count} question is too few: one is needed to train on, and another one to choose by"
        raise InputError(message)
    train, validation = max(1, min(30, count // 3)), max(1, min(50, count // 3))
    return Sizes(train, validation, min(100, count - train - validation))


def dealt(prompts: Sequence[Prompt], sizes: Sizes, seed: int) -> Mapping[Split, tuple[Prompt, ...]]:
    """Deal out questions in a random order; no question is in two splits.

    Args:
        prompts: all of them.
        sizes: of the splits; the first two at least 1.
        seed: of the order.

    Raises:
        InputError: there are fewer questions than that.
    """
    if min(sizes.train, sizes.validation) < 1:
        message = f"at least one question is needed to train on, and one to choose by, not {sizes.train} and {sizes.validation}"
        raise InputError(message, field="--split")
    if sizes.total > len(prompts):
        message = f"there are {len(prompts)} questions, and {sizes.train} + {sizes.validation} + {sizes.test} are asked for"
        raise InputError(message, field="--split")
    # By content and not by place, so that the order of a file does not matter.
    ordered = Draws(seed, "splits").shuffled(sorted(prompts, key=lambda prompt: prompt.prompt_id))
    first, second = sizes.train, sizes.train + sizes.validation
    return {"train": tuple(ordered[:first]), "validation": tuple(ordered[first:second]), "test": tuple(ordered[second : sizes.total])}


def digest_of_questions(questions: Mapping[Split, Sequence[Prompt]]) -> str:
    """Hash which questions a search goes by, and in which order; those that it never sees are left out."""
    text = "\n".join(f"{split} {prompt.prompt_id}" for split, prompts in sorted(questions.items()) if split != "test" for prompt in prompts)
    return blake2b(text.encode(), digest_size=12).hexdigest()
