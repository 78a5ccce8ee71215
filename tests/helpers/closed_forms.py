"""Statistics written out plainly: tests from an estimate and its standard error, and the best of subsets."""

from __future__ import annotations

import itertools

import numpy as np
from noise_kinds import Array

from abtune.stats.estimates import standard_error
from abtune.stats.testing.significance import OneSided, split_share
from abtune.stats.two_sample import TwoSample


def welch_test(samples: TwoSample) -> Array:
    return _plain_welch(samples).difference_p()


def mean_best(values: Array, k: int) -> float:
    """Return the mean, over all subsets of k values, of the smallest value."""
    return float(np.mean([min(subset) for subset in itertools.combinations(values.tolist(), k)]))


def equivalence_test(samples: TwoSample, *, margin: float) -> Array:
    return _plain_welch(samples).equivalence_p(margin=margin)


def _plain_welch(samples: TwoSample) -> OneSided:
    return OneSided(estimate=standard_error(samples), one_split=split_share(samples))
