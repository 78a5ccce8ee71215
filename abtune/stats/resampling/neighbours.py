"""Whether runs with neighbouring seed numbers resemble each other, as runs of one session or batch do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abtune.stats.two_sample import Floats

# A series needs as many values for its neighbours to be told from the others.
_FEWEST = 4
_RESAMPLES = 299


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The mean correlation of neighbours, and its one-sided p-value; both NaN if no series is long enough."""

    correlation: float
    p: float


def compare_neighbours(values: Floats, rng: np.random.Generator) -> Neighbours:
    """Test whether neighbours in series, NaN where a seed is missing, are alike, against random orders."""
    n = (~np.isnan(values)).sum(axis=1, keepdims=True)
    kept = values[(n >= _FEWEST)[:, 0]]
    kept = kept - np.nanmean(kept, axis=1, keepdims=True) if len(kept) else kept
    spread = np.sqrt(np.nanmean(kept**2, axis=1, keepdims=True)) if len(kept) else kept
    kept = kept[spread[:, 0] > 0] / spread[spread[:, 0] > 0] if len(kept) else kept
    if not len(kept):
        return Neighbours(correlation=np.nan, p=np.nan)
    observed = _correlation(kept)
    # One order for all series: what the runs of a seed share must not look like a resemblance of neighbours.
    orders = (rng.permutation(kept.shape[1]) for _ in range(_RESAMPLES))
    by_chance = np.array([_correlation(kept[:, order]) for order in orders])
    at_least = int(np.count_nonzero(by_chance >= observed - 1e-12))
    return Neighbours(correlation=observed - float(by_chance.mean()), p=(at_least + 1) / (_RESAMPLES + 1))


def _correlation(series: Floats) -> float:
    products = series[:, 1:] * series[:, :-1]  # NaN beside a missing seed; an order may leave no neighbours
    pairs = int(np.count_nonzero(~np.isnan(products)))
    return float(np.nansum(products)) / max(pairs, 1)
