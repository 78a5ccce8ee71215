"""A/A comparisons: the seeds of one configuration dealt to two sides that do not differ."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from abtune.compare.gates import differs
from abtune.compare.settings import Settings
from abtune.compare.tests import run_tests
from abtune.samples.samples import Samples
from abtune.sections.calibration.simulation import uncorrected
from abtune.stats.two_sample import Floats, TwoSample

_FEWEST = 4
_MOST_SPLITS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Resplit:
    """How often a configuration would be called different from itself; shares of the splits.

    Attributes
    ----------
    shape, config : str
    seeds : int
        Of each half.
    splits : int
        Looked at; all there are up to 500.
    interval : float
        The interval leaves out zero.
    permutation, welch : float
        The test, and the closed-form one that confirms it, rejects, without a correction.
    called : float
        All three agree, so that a difference would be called.
    """

    shape: str
    config: str
    seeds: int
    splits: int
    interval: float
    permutation: float
    welch: float
    called: float


def resplit(
    samples: Samples, labels: tuple[str, ...], settings: Settings, *, rng: np.random.Generator
) -> tuple[Resplit, ...]:
    """Split the seeds of every shape in halves, in all ways or many.

    Parameters
    ----------
    samples : Samples
        One configuration.
    labels : tuple of str
        Its shapes; those with fewer than four seeds are left out. Of an odd number one seed sits out.
    settings : Settings
        Estimand, interval and level; the test is the permutation test.
    rng : numpy.random.Generator
        For the splits where there are too many.
    """
    found = []
    for at, label in enumerate(labels):
        values = samples.value[at][~np.isnan(samples.value[at])]
        if len(values) >= _FEWEST:
            found.append(_judge(samples, at, label, values, settings, rng))
    return tuple(found)


def _judge(
    samples: Samples,
    at: int,
    label: str,
    values: Floats,
    settings: Settings,
    rng: np.random.Generator,
) -> Resplit:
    half = len(values) // 2
    order = _splits(len(values), half, rng)
    first, second = values[order[:, :half]], values[order[:, half : 2 * half]]
    floor = np.full((len(order), 2), samples.floor[at])
    halves = TwoSample(first, second, floor)
    interval = settings.interval.compute(halves, level=settings.level, rng=rng)
    tests = run_tests(halves, replace(uncorrected(settings), rank_test=False), rng)
    called = differs(interval.low, interval.high, tests.p, tests.p_welch, settings.alpha)
    return Resplit(
        shape=label,
        config=samples.config,
        seeds=half,
        splits=len(order),
        interval=float(np.mean((interval.low > 0) | (interval.high < 0))),
        permutation=float(np.mean(tests.p <= settings.alpha)),
        welch=float(np.mean(tests.p_welch <= settings.alpha)),
        called=float(np.mean(called)),
    )


def _splits(total: int, half: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return orders of the seeds whose first two halves are the sides; each split once, or random ones."""
    if total % 2 or math.comb(total, half) > 2 * _MOST_SPLITS:
        return np.argsort(rng.random((_MOST_SPLITS, total)), axis=1)
    firsts = [chosen for chosen in itertools.combinations(range(total), half) if 0 in chosen]
    everyone = set(range(total))
    return np.array([[*chosen, *sorted(everyone - set(chosen))] for chosen in firsts])
