"""Corrections for testing many shapes."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from abtune.stats.ragged import Floats


class Correction(StrEnum):
    """What is done about the many shapes, by name."""

    HOLM = "holm"
    MAX_T = "max-t"
    BH = "bh"
    NONE = "none"


def adjust(p: npt.ArrayLike, correction: Correction) -> Floats:
    """Adjust a family of p-values, shape (shapes,), by name.

    Notes
    -----
    Max-T is not a function of p-values: see :func:`abtune.stats.stepdown.max_t`. The tests beside it are
    adjusted by Holm's procedure.
    """
    if correction is Correction.NONE:
        return np.array(p, dtype=np.float64)
    return benjamini_hochberg(p) if correction is Correction.BH else holm(p)


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Adjust p-values so that of those at or below alpha a share of alpha is expected to be false.

    Parameters
    ----------
    p : array_like, shape (shapes,)
        One family of p-values, independent or positively dependent. NaN are not tests.

    Returns
    -------
    ndarray, shape (shapes,)
        min over j >= i of min(1, m p_(j)/j), for the i-th smallest of m.

    Notes
    -----
    A screen: with 15 of 29 shapes truly different, some false claim comes in a quarter of analyses.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, Journal of the Royal
       Statistical Society B 57, 289-300 (1995). DOI 10.1111/j.2517-6161.1995.tb02031.x
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    scaled = raw[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust p-values so that rejecting those at or below alpha keeps the family-wise error at alpha.

    Parameters
    ----------
    p : array_like, shape (shapes,)
        One family of p-values. NaN are not tests: they do not count, and stay NaN.

    Returns
    -------
    ndarray, shape (shapes,)
        max over j <= i of min(1, (m - j + 1) p_(j)), for the i-th smallest of m.

    Notes
    -----
    Difference and equivalence tests are two families: one Holm over the smaller of both p-values rejects
    falsely in 11 % instead of 5 % of analyses, because a true equivalence eases the threshold for others.

    References
    ----------
    .. [1] S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
       Statistics 6, 65-70 (1979). https://www.jstor.org/stable/4615733
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * raw[order]), 1.0)
    return adjusted
