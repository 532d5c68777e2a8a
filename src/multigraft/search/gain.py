"""What one more response is expected to add."""

from math import erf, exp, pi, sqrt


def expected_gain(mean: float, spread: float, best: float) -> float:
    """Return how far a normal draw is expected to exceed the best so far, counting draws below it as 0.

    With z = (mean - best) / spread that is `spread * (z * Phi(z) + phi(z))`.

    Args:
        mean: mean of the draw.
        spread: its standard deviation; > 0.
        best: the value to exceed.

    Returns:
        The expected improvement, > 0, in the unit of the arguments.

    Source:
        Jones, Schonlau and Welch, "Efficient Global Optimization of Expensive Black-Box Functions" (1998), equation 15.
    """
    z = (mean - best) / spread
    return spread * (z * 0.5 * (1.0 + erf(z / sqrt(2.0))) + exp(-0.5 * z * z) / sqrt(2.0 * pi))
