"""The difference of two means with Welch's standard error and degrees of freedom.

Equal variances are never assumed: a baseline and a candidate rarely have the same noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from abtune.stats.two_sample import Floats, TwoSample
from abtune.stats.variance import floored, moments, welch_freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardError:
    """A difference with its standard error; from it follow a t interval and the closed-form tests.

    Attributes
    ----------
    difference : ndarray, shape (shapes,)
        The first side minus the second, log scale.
    error : ndarray, shape (shapes,)
        Its standard error.
    freedom : ndarray, shape (shapes,)
        Degrees of freedom of the error; infinite for a normal distribution.
    """

    difference: Floats
    error: Floats
    freedom: Floats


def standard_error(samples: TwoSample) -> StandardError:
    """Return the difference of means with Welch's standard error.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.

    Notes
    -----
    se^2 = s1^2/n1 + s2^2/n2, with the degrees of freedom of :func:`abtune.stats.variance.welch_freedom`.
    Each variance is at least the floor.
    """
    one, two = moments(samples.first), moments(samples.second)
    first, second = variances_of_means(samples)
    freedom = welch_freedom(first, second, one.n, two.n)
    return StandardError(difference=one.mean - two.mean, error=np.sqrt(first + second), freedom=freedom)


def variances_of_means(samples: TwoSample) -> tuple[Floats, Floats]:
    """Return the variance of the mean of each side, shape (shapes,); NaN below two seeds."""
    one, two = (
        floored(side.variance, floor) / np.maximum(side.n, 1)
        for side, floor in zip(
            (moments(samples.first), moments(samples.second)), samples.floor.T, strict=True
        )
    )
    return one, two


def quantile(freedom: Floats, level: float) -> Floats:
    """Return the upper two-sided quantile of Student's t."""
    upper: Floats = special.stdtrit(freedom, 0.5 + level / 2)
    return upper
