"""The closed-form tests as an analysis combines them: an estimate, its standard error, a p-value."""

from __future__ import annotations

from noise_kinds import Array

from abtune.stats.estimates import standard_error
from abtune.stats.testing.significance import difference_p, equivalence_p, split_share
from abtune.stats.two_sample import TwoSample


def welch_test(samples: TwoSample) -> Array:
    return difference_p(standard_error(samples), split_share(samples))


def equivalence_test(samples: TwoSample, *, margin: float) -> Array:
    return equivalence_p(standard_error(samples), split_share(samples), margin=margin)
