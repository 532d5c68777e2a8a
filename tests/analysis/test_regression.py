"""The logistic regression against values of another program and against its own conditions."""

import numpy
import pytest

from multigraft.analysis.regression import best_penalty, covariance, fit, logistic

FEATURES = numpy.array([[1.0, 0.5], [1.0, -0.25], [1.0, 0.75], [1.0, -0.5], [1.0, 0.0], [1.0, 1.0], [1.0, 0.25], [1.0, -1.0]])
TARGETS = numpy.array([1.0, 0.0, 0.8, 0.4, 0.5, 1.0, 0.0, 0.1])
ONES = numpy.ones(8)


def test_an_intercept_alone_is_the_log_odds_of_the_mean() -> None:
    found = fit(numpy.ones((4, 1)), numpy.array([1.0, 1.0, 1.0, 0.0]), numpy.ones(4))
    assert found[0] == pytest.approx(numpy.log(3.0))


@pytest.mark.parametrize(("strength", "expected"), [(0.5, (0.0, 0.0)), (2.0, (0.0, 1.27722484)), (100.0, (-0.42421077, 2.50977426))])
def test_it_agrees_with_liblinear(strength: float, expected: tuple[float, float]) -> None:
    """Values of scikit-learn 1.9.1: LogisticRegression(penalty="l1", solver="liblinear", fit_intercept=False, tol=1e-12), each row a win and a loss."""
    assert tuple(fit(FEATURES, TARGETS, ONES, penalty=1.0 / strength)) == pytest.approx(expected, abs=1e-6)


def test_a_weight_of_two_is_a_row_given_twice() -> None:
    weights = numpy.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    twice = numpy.concatenate([FEATURES[:7], FEATURES[:1]]), numpy.concatenate([TARGETS[:7], TARGETS[:1]])
    assert fit(FEATURES, TARGETS, weights) == pytest.approx(fit(*twice, ONES), abs=1e-8)


def test_separable_data_end_and_stay_finite() -> None:
    found = fit(numpy.ones((5, 1)), numpy.ones(5), numpy.ones(5))
    assert numpy.isfinite(found).all()
    assert logistic(found)[0] > 0.999


def test_a_large_penalty_leaves_nothing() -> None:
    assert fit(FEATURES, TARGETS, ONES, penalty=100.0).tolist() == [0.0, 0.0]


def test_the_order_of_the_rows_says_nothing_for_the_penalty() -> None:
    generator = numpy.random.default_rng(3)
    features = numpy.stack([numpy.ones(60), generator.normal(size=60)], axis=1)
    targets = (generator.random(60) < logistic(features @ numpy.array([0.4, 1.0]))).astype(float)
    names = [f"prompt-{index}" for index in range(60)]
    order = generator.permutation(60)
    assert best_penalty(features, targets, names) == best_penalty(features[order], targets[order], [names[index] for index in order])


def test_the_covariance_of_a_share_is_that_of_the_binomial() -> None:
    targets = numpy.array([1.0] * 30 + [0.0] * 10)
    features = numpy.ones((40, 1))
    # Of the log-odds: 1 / (n p (1 - p)).
    assert covariance(features, targets, fit(features, targets, numpy.ones(40)))[0, 0] == pytest.approx(1 / (40 * 0.75 * 0.25))
