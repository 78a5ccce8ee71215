"""The closed-form tests as an analysis puts them together: an estimate, its standard error, a p."""

from __future__ import annotations

from stats_noise import Array

from abtune.stats.interval import standard_error
from abtune.stats.significance import difference_p, equivalence_p, rarest


def welch_test(first: Array, second: Array, *, floor: Array) -> Array:
    return difference_p(standard_error(first, second, floor), rarest(first, second))


def equivalence_test(first: Array, second: Array, *, margin: float, floor: Array) -> Array:
    return equivalence_p(standard_error(first, second, floor), rarest(first, second), margin=margin)
