"""Series of values that may depend on each other: timings of one process, and seeds in their order."""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from abtune.stats.estimates import StandardError
from abtune.stats.two_sample import Floats, sizes
from abtune.stats.variance import mean_of_known, moments, residuals


def cosine_mean(series: Floats) -> StandardError:
    """Return the mean with a standard error that allows for dependence: equally weighted cosines (EWC).

    The long-run variance is the mean square of the first B cosine transforms. The mean over its error has
    Student's t with B = 0.4 n^(2/3) degrees of freedom (Lazarus et al. 2018, DOI
    10.1080/07350015.2018.1506926).
    """
    n = series.shape[-1]
    freedom = max(round(0.4 * n ** (2 / 3)), 1)
    # The first coefficient is that of the mean, which the residuals lack.
    cosines = fft.dct(residuals(series), norm="ortho")[..., 1 : freedom + 1]
    error = np.sqrt((cosines**2).mean(axis=-1) / n)
    return StandardError(difference=series.mean(axis=-1), error=error, freedom=np.array(float(freedom)))


def independent_worth(series: Floats) -> float:
    """Return the independent values whose mean is as precise as that of a series: n (1 - r)/(1 + r)."""
    from statsmodels.tsa.stattools import acf  # its import takes half a second

    r = float(acf(series, nlags=1)[1])  # of neighbours, as if the series were an autoregression
    return len(series) * (1 - r) / (1 + r)


# A series needs as many values for its neighbours to be told from the others.
_FEWEST = 4
# p is a multiple of 1/300, which meets levels of 1, 2 and 5 % exactly.
_RESAMPLES = 299


def compare_neighbours(values: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean correlation of neighbours in series, and one-sided p against random orders.

    NaN stands for a missing seed, and is returned if no series is long enough.
    """
    kept = values[sizes(values) >= _FEWEST]
    kept = kept[moments(kept).variance > 0]
    kept = kept - mean_of_known(kept)[:, np.newaxis]
    kept = kept / np.sqrt(mean_of_known(kept**2))[:, np.newaxis]
    if not len(kept):
        return math.nan, math.nan
    observed = _correlation(kept)
    # One order for all series: what the runs of a seed share must not look like a resemblance of neighbours.
    orders = (rng.permutation(kept.shape[1]) for _ in range(_RESAMPLES))
    by_chance = np.array([_correlation(kept[:, order]) for order in orders])
    # Orders with the same neighbours, such as the observed one backwards, differ by rounding.
    at_least = int(np.count_nonzero(by_chance >= observed - 1e-12))
    # Values about their own mean have a correlation of -1/(n - 1) by chance, which is taken off.
    return observed - float(by_chance.mean()), (at_least + 1) / (_RESAMPLES + 1)


def _correlation(series: Floats) -> float:
    products = series[:, 1:] * series[:, :-1]  # NaN beside a missing seed; an order may leave no neighbours
    pairs = int(np.count_nonzero(~np.isnan(products)))
    return float(np.nansum(products)) / max(pairs, 1)
