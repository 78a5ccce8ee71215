"""Corrections for testing many shapes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from abtune.stats.ragged import Floats


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
