from collections import Counter
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multigraft.randomness import Draws, key_of, nth_seed, seed_of


def test_keys_are_told_apart_by_type_and_by_boundaries() -> None:
    keys = [key_of("a", "b"), key_of("ab"), key_of("ab", ""), key_of("", "ab"), key_of("1"), key_of(1), key_of(), key_of(1, 1), key_of(11), key_of(-1)]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**64 for key in keys)


def test_keys_and_draws_are_the_same_for_ever() -> None:
    # Fixed values: a run started today must draw the same numbers in years.
    assert key_of("prompt", 7) == int.from_bytes(blake2b(b"str6:promptint1:7", digest_size=8).digest(), "little") == 7532009647111435487
    assert seed_of("prompt", 7) == 7532009647111435487 >> 33
    assert Draws("x", 1).shuffled("abcdef") == list("eabfdc")
    assert Draws("x", 1).sample("abcdef", 3) == list("abe")


def test_splitmix_gives_the_published_stream() -> None:
    # The first outputs of SplitMix64 seeded with 0, as in its reference implementation; a seed is the upper 31 bits.
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [nth_seed(0, index) for index in range(3)] == [value >> 33 for value in published]


def test_seeds_of_a_stream_do_not_repeat_soon() -> None:
    key = key_of("run", "prompt")
    seeds = [nth_seed(key, index) for index in range(2_000)]
    assert len(set(seeds)) == 2_000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert nth_seed(2**64 - 1, 10**12) >= 0


def test_a_surrogate_in_a_key_is_no_error() -> None:
    assert key_of("\udcff") != key_of("\udcfe")


def test_uniform_covers_its_range() -> None:
    draws = Draws("uniform")
    drawn = [draws.uniform() for _ in range(4_000)]
    assert 0.0 <= min(drawn) < 0.01
    assert 0.99 < max(drawn) < 1.0
    assert abs(sum(drawn) / 4_000 - 0.5) < 0.02


def test_below_is_even_and_refuses_nothing_to_draw_from() -> None:
    draws = Draws("below")
    counts = Counter(draws.below(3) for _ in range(6_000))
    assert set(counts) == {0, 1, 2}
    assert all(abs(count - 2_000) < 200 for count in counts.values())
    with pytest.raises(ValueError, match="bound must be at least 1, not 0"):
        draws.below(0)


def test_all_orders_are_drawn_equally_often() -> None:
    counts = Counter("".join(Draws("order", index).shuffled("abc")) for index in range(6_000))
    assert len(counts) == 6
    assert all(abs(count - 1_000) < 150 for count in counts.values())


@given(st.lists(st.integers(), max_size=12), st.integers(0, 15), st.integers())
def test_a_sample_keeps_order_and_takes_positions_once(items: list[int], count: int, key: int) -> None:
    positions = Draws(key).sample(range(len(items)), count)
    assert positions == sorted(set(positions))
    assert len(positions) == min(count, len(items))
    assert Draws(key).sample(items, count) == [items[position] for position in positions]
    assert sorted(Draws(key).shuffled(items)) == sorted(items)
