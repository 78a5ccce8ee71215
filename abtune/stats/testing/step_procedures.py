"""Adjusted p-values of many shapes by step-down and step-up procedures.

``statsmodels.stats.multitest.multipletests`` gives the same p-values, and its import takes half a second.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from abtune.stats.two_sample import Floats


def unadjusted(p: npt.ArrayLike) -> Floats:
    """Return a copy of the p-values."""
    return np.array(p, dtype=np.float64)


def holm(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted to control the family-wise error rate; NaN are no tests and stay NaN.

    max over j <= i of min(1, (m - j + 1) p_(j)), for the i-th smallest of m
    (https://www.jstor.org/stable/4615733).
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * raw[order]), 1.0)
    return adjusted


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted to control the false discovery rate; NaN are no tests and stay NaN.

    min over j >= i of min(1, m p_(j)/j), for the i-th smallest of m (DOI
    10.1111/j.2517-6161.1995.tb02031.x).
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    scaled = raw[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted
