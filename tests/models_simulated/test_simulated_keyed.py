import numpy
import pytest

from multigraft.models.simulated.keyed import PURPOSES, Places, normal
from multigraft.randomness import Draws, key_of


def test_a_draw_is_that_of_the_scalar_stream() -> None:
    key = key_of("world", 3)
    drawn = Places(numpy.array([0, 1], numpy.int64)).uniforms(key)
    stream = Draws("world", 3)
    expected = [(stream.bits() >> 11) * 2.0**-53 + 2.0**-54 for _ in range(2 * PURPOSES)]
    assert drawn.T.ravel().tolist() == pytest.approx(expected, abs=1e-15)


def test_a_question_draws_the_same_whichever_are_asked_with_it() -> None:
    alone, among = Places(numpy.array([5], numpy.int64)), Places(numpy.array([9, 5, 0], numpy.int64))
    assert alone.uniforms(77)[:, 0].tolist() == among.uniforms(77)[:, 1].tolist()
    assert alone.uniforms(77, 2, 4).tolist() == alone.uniforms(77)[2:4].tolist()


def test_draws_are_uniform_and_independent() -> None:
    drawn = Places(numpy.arange(40_000)).uniforms(key_of("spread"), 0, 4)
    assert drawn.min() > 0
    assert drawn.max() < 1
    # Four standard errors of a mean, of a variance, and of a correlation of 40,000 draws.
    assert drawn.mean(axis=1).tolist() == pytest.approx([0.5] * 4, abs=0.006)
    assert drawn.var(axis=1).tolist() == pytest.approx([1 / 12] * 4, abs=0.0015)
    assert numpy.abs(numpy.corrcoef(drawn) - numpy.eye(4)).max() < 0.02


def test_normal_draws_have_mean_zero_and_variance_one() -> None:
    drawn = normal(Places(numpy.arange(40_000)).uniforms(key_of("bell"), 0, 2))
    assert float(drawn.mean()) == pytest.approx(0, abs=0.02)
    assert float(drawn.var()) == pytest.approx(1, abs=0.03)
    assert float((numpy.abs(drawn) > 1.96).mean()) == pytest.approx(0.05, abs=0.005)
