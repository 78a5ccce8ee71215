"""From timings to one value per seed, and the variance of these values.

Timings of one winner set a floor under the variance of the seeds, and are never counted as replicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.stats.two_sample import Floats, Integers, ascending, sizes

_NORMAL_MAD = 1.4826  # a normal sample's standard deviation over its median absolute deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedValues:
    """One value per seed in log seconds, and its variance over repeated measurement, shape (...)."""

    value: Floats  # NaN without timings
    measurement_variance: Floats  # NaN where there is only one timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Sizes, means and variances of the samples of many shapes, shape (shapes,)."""

    n: Integers
    mean: Floats  # NaN for an empty sample
    variance: Floats  # with n - 1 in the denominator; NaN below two values


def seed_values(log_latency: npt.ArrayLike) -> SeedValues:
    """Return one value per winner, from shape (..., rounds, repeats): the mean of the medians of rounds.

    The median ignores spikes, which come from the rest of the machine. The measurement variance is the
    variance between rounds over their number, or with one round that of a median, pi/2 sigma^2/m, with
    sigma from the median absolute deviation; that one is too small rather than too large.
    """
    timings = np.asarray(log_latency, dtype=np.float64)
    by_round = _median(timings)
    rounds = np.count_nonzero(~np.isnan(by_round), axis=-1)
    repeats = np.count_nonzero(~np.isnan(timings), axis=-1)
    value = mean_of_known(by_round)
    between = mean_of_known((by_round - value[..., np.newaxis]) ** 2) / np.maximum(rounds - 1, 1)
    deviation = _NORMAL_MAD * _median(np.abs(timings - by_round[..., np.newaxis]))
    within = np.where(repeats > 1, np.pi / 2 * deviation**2 / np.maximum(repeats, 1), np.nan)
    variance = np.where(rounds > 1, between, mean_of_known(within))
    return SeedValues(value=value, measurement_variance=variance)


def moments(values: npt.ArrayLike) -> Moments:
    """Return size, mean and variance of each row, without its NaN."""
    samples = ascending(values)
    n = sizes(samples)
    mean = mean_of_known(samples)
    largest = np.take_along_axis(samples, np.maximum(n - 1, 0)[:, np.newaxis], axis=1)[:, 0]
    # The mean of a constant sample is its value. Rounding would make two equal samples differ.
    mean = np.where(largest == samples[:, 0], largest, mean)
    scatter = np.nansum((samples - mean[:, np.newaxis]) ** 2, axis=1)
    variance = np.where(n > 1, scatter / np.maximum(n - 1, 1), np.nan)
    return Moments(n=n, mean=mean, variance=variance)


def floored(variance: Floats, floor: Floats) -> Floats:
    """Return variances of seed values raised to their measurement variance. NaN stands for no floor."""
    return np.where(np.isnan(floor), variance, np.maximum(variance, floor))


def welch_freedom(
    first: npt.ArrayLike, second: npt.ArrayLike, n_first: npt.ArrayLike, n_second: npt.ArrayLike
) -> Floats:
    """Return Welch's degrees of freedom (v1 + v2)^2/(v1^2/(n1 - 1) + v2^2/(n2 - 1)), v of the means.

    n1 + n2 - 2 if both are zero. DOI 10.1093/biomet/34.1-2.28.
    """
    v_one, v_two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n_one, n_two = np.asarray(n_first, dtype=np.float64), np.asarray(n_second, dtype=np.float64)
    total = v_one + v_two
    scale = np.where(total > 0, total, 1.0)  # squares of tiny variances would underflow
    spread = (v_one / scale) ** 2 / np.maximum(n_one - 1, 1) + (v_two / scale) ** 2 / np.maximum(n_two - 1, 1)
    freedom = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), n_one + n_two - 2)
    return np.where(np.isnan(total), np.nan, freedom)


def residuals(values: Floats) -> Floats:
    """Return deviations from the mean over the last axis; exactly zero for a constant sample."""
    constant = values.max(axis=-1, keepdims=True) == values.min(axis=-1, keepdims=True)
    return np.where(constant, 0.0, values - values.mean(axis=-1, keepdims=True))


def _median(values: Floats) -> Floats:
    """Return the median over the last axis without NaN. Unlike numpy's, it does not warn of empty rows."""
    ordered = np.sort(values, axis=-1)
    n = np.count_nonzero(~np.isnan(ordered), axis=-1)[..., np.newaxis]
    lower = np.take_along_axis(ordered, np.maximum(n - 1, 0) // 2, axis=-1)[..., 0]
    upper = np.take_along_axis(ordered, n // 2, axis=-1)[..., 0]
    return np.where(n[..., 0] % 2 == 1, lower, (lower + upper) / 2)


def mean_of_known(values: Floats) -> Floats:
    """Return the mean over the last axis without NaN; NaN for an empty row."""
    n = np.count_nonzero(~np.isnan(values), axis=-1)
    return np.where(n > 0, np.nansum(values, axis=-1) / np.maximum(n, 1), np.nan)
