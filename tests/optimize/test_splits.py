import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.search_of_scripted import prompts

from multigraft.errors import InputError
from multigraft.optimize.real.splits import Sizes, dealt, default_sizes, digest_of_questions, pilot_size


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


@settings(deadline=None, max_examples=50)
@given(st.integers(6, 60), st.data())
def test_what_a_pilot_has_seen_is_trained_on_and_nothing_else(count: int, data: st.DataObject) -> None:
    questions = list(prompts("q", count))
    seen = data.draw(st.sets(st.sampled_from([prompt.prompt_id for prompt in questions]), max_size=count - 2))
    sizes = default_sizes(count, len(seen))
    splits = dealt(questions, sizes, 1, seen)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == list(sizes)
    assert sizes.validation >= 1
    train = {prompt.prompt_id for prompt in splits["train"]}
    apart = {prompt.prompt_id for prompt in (*splits["validation"], *splits["test"])}
    assert not apart & (seen | train)
    assert len(train & seen) == min(len(seen), sizes.train), "what was paid for comes first"


def test_the_questions_of_a_pilot_are_those_a_search_of_its_seed_trains_on() -> None:
    questions = prompts("q", 60)
    pilot = dealt(questions, Sizes(20, 0, 0), 3)["train"]
    search = dealt(questions, Sizes(30, 15, 15), 3, [prompt.prompt_id for prompt in pilot])
    assert search == dealt(questions, Sizes(30, 15, 15), 3)
    assert search["train"][:20] == pilot


def test_a_pilot_that_saw_too_much_leaves_no_search() -> None:
    questions = prompts("q", 10)
    seen = [prompt.prompt_id for prompt in questions[:8]]
    assert default_sizes(10, 8) == Sizes(3, 1, 1)
    with pytest.raises(InputError, match="the pilot has seen 8 of 10 questions, and 2 \\+ 1 others are asked for"):
        dealt(questions, Sizes(3, 2, 1), 0, seen)


def test_a_pilot_leaves_questions_for_a_search() -> None:
    assert [pilot_size(count) for count in (2, 5, 90, 299, 300, 5000)] == [2, 2, 30, 99, 100, 100]
    with pytest.raises(InputError, match="too few"):
        pilot_size(1)
