import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.search_of_scripted import prompts

from multigraft.errors import InputError
from multigraft.optimize.splits import Sizes, dealt, default_sizes, digest_of_questions


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 60), st.integers(0, 5), st.randoms(use_true_random=False))
def test_questions_are_dealt_once_whatever_the_order_of_the_file(count: int, seed: int, random: object) -> None:
    questions = list(prompts("q", count))
    sizes = default_sizes(count)
    splits = dealt(questions, sizes, seed)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == list(sizes)
    together = [prompt.prompt_id for found in splits.values() for prompt in found]
    assert len(set(together)) == len(together)
    random.shuffle(questions)  # type: ignore[attr-defined]  # hypothesis' own generator
    assert dealt(questions, sizes, seed) == splits


def test_another_seed_deals_otherwise_and_the_test_questions_are_no_part_of_the_search() -> None:
    questions = prompts("q", 30)
    one, other = dealt(questions, Sizes(10, 10, 10), 0), dealt(questions, Sizes(10, 10, 10), 1)
    assert one != other
    assert digest_of_questions(one) != digest_of_questions(other)
    assert digest_of_questions(one) == digest_of_questions(dealt(questions, Sizes(10, 10, 0), 0))
    assert digest_of_questions(one) != digest_of_questions(dealt(questions, Sizes(10, 9, 0), 0))


def test_sizes_are_thirds_up_to_what_is_useful() -> None:
    assert default_sizes(2) == Sizes(1, 1, 0)
    assert default_sizes(90) == Sizes(30, 30, 30)
    assert default_sizes(1000) == Sizes(30, 50, 100)


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(InputError, match="there are 5 questions, and 3 \\+ 3 \\+ 0 are asked for"):
        dealt(prompts("q", 5), Sizes(3, 3), 0)
    with pytest.raises(InputError, match="at least one question is needed to train on"):
        dealt(prompts("q", 5), Sizes(0, 3), 0)
    with pytest.raises(InputError, match="too few"):
        default_sizes(1)
