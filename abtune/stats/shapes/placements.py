"""How often a run of one side beats a run of the other."""

from __future__ import annotations

import numpy as np

from abtune.stats.two_sample import Floats, TwoSample


def placements(samples: TwoSample) -> Floats:
    """Return, for each value of the first side, the share of the second side's values above it.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides. The floor is not used.

    Returns
    -------
    ndarray, shape of ``samples.first``
        Ties count half. The mean of a row is the probability that a value of the second side is above one of
        the first: Mann-Whitney's U over the product of the sizes.
    """
    difference = samples.second[:, np.newaxis, :] - samples.first[:, :, np.newaxis]
    known = ~np.isnan(difference)
    wins = (np.where(known, np.sign(difference), 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1) + 1) / 2
    share: Floats = np.where(known.any(axis=2), wins, np.nan)
    return share
