"""The effect of a configuration on the schedules that the searches of one configuration found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.dataset.schema import TransferStatus
from abtune.samples import Transfers
from abtune.stats.estimates import from_log
from abtune.stats.two_sample import Booleans, Floats
from abtune.stats.variance import t_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Schedules that one configuration's searches found, built under both; boosts are fractions."""

    origin: str  # the configuration whose searches found the schedules
    schedules: int  # distinct schedules, also those that do not fit
    fitting: int  # distinct schedules that both configurations can build, as different kernels
    does_not_fit: int  # distinct schedules that the other configuration refuses
    failed: int  # distinct schedules that it cannot build or time
    same: int  # distinct schedules that it builds as the same kernel
    effect: float  # mean boost of the candidate on fitting schedules, with Student's t over schedules
    low: float
    high: float
    faster: float  # share of the fitting schedules that are faster as the candidate builds them
    spread: float  # standard deviation of the log effect over schedules
    # One-sided t-tests that the mean effect is not above, or not below, zero; NaN below two schedules.
    p_faster: float
    p_slower: float

    @property
    def tried(self) -> int:
        """Schedules that could fit: those that stay the same kernel are left out."""
        return self.fitting + self.does_not_fit + self.failed

    def within(self, tolerance: float) -> bool:
        """Return whether the interval lies within a tolerance."""
        return -tolerance <= self.low and self.high <= tolerance

    @classmethod
    def over_shapes(cls, rows: Sequence[Direction], *, level: float) -> Direction:
        """Return the mean over shapes of their mean effects, with its error from the spread over shapes."""
        means = np.array([math.log1p(row.effect) for row in rows if not math.isnan(row.effect)])
        counts = ("schedules", "fitting", "does_not_fit", "failed", "same")
        sums: Any = {name: sum(getattr(row, name) for row in rows) for name in counts}
        sums |= _student(means, level=level)
        return cls(origin=rows[0].origin, **sums)


def describe_direction(side: Transfers, index: int, effects: Floats, *, level: float) -> Direction:
    """Return the effect on the schedules of one shape."""
    status, kernels = side.status[index], side.schedule[index]
    fits = status == TransferStatus.OK
    # A schedule that one seed's run built did not fail for another seed.
    others = ~fits & ~(np.isin(kernels, kernels[fits]) & (kernels != ""))

    def number(kind: TransferStatus) -> int:
        return len(distinct(kernels, others & (status == kind)))

    return Direction(
        origin=side.origin,
        schedules=len(distinct(kernels, status != TransferStatus.MISSING)),
        fitting=len(effects),
        does_not_fit=number(TransferStatus.DOES_NOT_FIT),
        failed=number(TransferStatus.FAILED),
        same=number(TransferStatus.SAME_KERNEL),
        **_student(effects, level=level),
    )


def distinct(kernels: npt.NDArray[np.object_], which: Booleans) -> list[int]:
    """Return the first seed of each kernel among some; seeds without a hash count each."""
    first: dict[object, int] = {}
    for seed in np.flatnonzero(which).tolist():
        # A hash is a text and a seed a number, so neither passes for the other.
        first.setdefault(kernels[seed] or seed, seed)
    return list(first.values())


def _student(values: Floats, *, level: float) -> dict[str, float]:
    """Return the mean of log effects as a boost, with its t interval and one-sided tests."""
    n = len(values)
    mean = float(values.mean()) if n else math.nan
    spread = float(values.std(ddof=1)) if n > 1 else math.nan
    error = spread / math.sqrt(n) if n else math.nan
    # Below two schedules the error is NaN, and so are the interval and both p-values.
    half = t_quantile(n - 1, level) * error
    t = mean / error if error > 0 else math.nan
    return {
        "effect": from_log(mean),
        "low": from_log(mean - half),
        "high": from_log(mean + half),
        "faster": float(np.mean(values > 0)) if n else math.nan,
        "spread": spread,
        "p_faster": float(special.stdtr(n - 1, -t)),
        "p_slower": float(special.stdtr(n - 1, t)),
    }
