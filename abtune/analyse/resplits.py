"""A/A comparisons: the seeds of one configuration dealt to two sides that do not differ."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.analyse.comparison import Choices, alpha_of
from abtune.analyse.samples import Samples
from abtune.analyse.simulation import uncorrected
from abtune.analyse.testing import run_tests
from abtune.analyse.verdict import differs
from abtune.stats.estimand import Estimand
from abtune.stats.methods import compute_interval
from abtune.stats.ragged import Floats

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
    samples: Samples, labels: tuple[str, ...], choices: Choices, *, level: float, rng: np.random.Generator
) -> tuple[Resplit, ...]:
    """Split the seeds of every shape in halves, in all ways or many.

    Parameters
    ----------
    samples : Samples
        One configuration.
    labels : tuple of str
        Its shapes; those with fewer than four seeds are left out. Of an odd number one seed sits out.
    choices : Choices
        Estimand and interval; the test is the permutation test.
    level : float
        Confidence level, a fraction.
    rng : numpy.random.Generator
        For the splits where there are too many.
    """
    found = []
    for at, label in enumerate(labels):
        values = samples.value[at][~np.isnan(samples.value[at])]
        if len(values) >= _FEWEST:
            found.append(_judge(samples, at, label, values, choices, level, rng))
    return tuple(found)


def _judge(
    samples: Samples,
    at: int,
    label: str,
    values: Floats,
    choices: Choices,
    level: float,
    rng: np.random.Generator,
) -> Resplit:
    half = len(values) // 2
    order = _splits(len(values), half, rng)
    first, second = values[order[:, :half]], values[order[:, half : 2 * half]]
    alpha = alpha_of(level)
    floor = np.full((len(order), 2), samples.floor[at])
    interval = compute_interval(
        choices.method, first, second, estimand=Estimand(choices.estimand), level=level, floor=floor, rng=rng
    )
    alone = uncorrected(choices)
    tests = run_tests(first, second, floor=floor, choices=alone, margin=0.02, rank_test=False, rng=rng)
    called = differs(interval.low, interval.high, tests.p, tests.p_welch, alpha)
    return Resplit(
        shape=label,
        config=samples.config,
        seeds=half,
        splits=len(order),
        interval=float(np.mean((interval.low > 0) | (interval.high < 0))),
        permutation=float(np.mean(tests.p <= alpha)),
        welch=float(np.mean(tests.p_welch <= alpha)),
        called=float(np.mean(called)),
    )


def _splits(total: int, half: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return orders of the seeds whose first two halves are the sides; each split once, or random ones."""
    if total % 2 or math.comb(total, half) > 2 * _MOST_SPLITS:
        return np.argsort(rng.random((_MOST_SPLITS, total)), axis=1)
    firsts = [chosen for chosen in itertools.combinations(range(total), half) if 0 in chosen]
    everyone = set(range(total))
    return np.array([[*chosen, *sorted(everyone - set(chosen))] for chosen in firsts])
