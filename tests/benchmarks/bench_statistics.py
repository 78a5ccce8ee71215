"""How fast the statistics are, beside scipy's on the same data in the same run.

Run as ``python tests/benchmarks/bench_statistics.py``; each time is the best of several, after one call that
warms caches. The permutation test of scipy takes some ten seconds.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy
from scipy import stats

import abtune
from abtune.stats.interval import expanded_percentile
from abtune.stats.significance import permutation_test

SHAPES, SEEDS, RESAMPLES = 29, 10, 9_999
MANY = 2_000


def best_of(call: Callable[[], object], *, repeats: int) -> float:
    """Return the shortest time of a call, seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    """Return the difference of means, as scipy's resampling asks for it."""
    return first.mean(axis=axis) - second.mean(axis=axis)


def report(name: str, ours: float, theirs: float, oracle: str) -> None:
    """Print one line of the comparison."""
    print(f"{name:<44} {1e3 * ours:>9.2f} ms   {oracle}: {1e3 * theirs:>9.1f} ms   {theirs / ours:>7,.1f}x")


def main() -> None:
    """Time the default interval, the exact test, and a whole analysis."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 0.03, (2, SHAPES, SEEDS))
    floor = np.full((SHAPES, 2), np.nan)
    print(f"numpy {np.__version__}, scipy {scipy.__version__}, Python {platform.python_version()}")

    def interval() -> object:
        return expanded_percentile(first, second, level=0.95, floor=floor)

    def bootstrap() -> object:
        return stats.bootstrap(
            (first, second),
            difference,
            axis=1,
            n_resamples=RESAMPLES,
            method="percentile",
            vectorized=True,
            rng=rng,
        )

    def exact() -> np.ndarray:
        return permutation_test(first, second, rng=rng)

    def enumeration() -> np.ndarray:
        return stats.permutation_test(
            (first, second), difference, axis=1, n_resamples=np.inf, batch=20_000, vectorized=True
        ).pvalue

    interval(), exact()
    label = f"{SHAPES} shapes, {SEEDS} + {SEEDS} seeds"
    report(
        f"bootstrap interval, {label}", best_of(interval, repeats=20), best_of(bootstrap, repeats=5), "scipy"
    )
    report(
        f"exact permutation, {label}", best_of(exact, repeats=20), best_of(enumeration, repeats=1), "scipy"
    )
    assert np.allclose(exact(), enumeration()), "the p-values differ"

    latency = np.exp(rng.normal(0, 0.03, (MANY, 2, SEEDS)))
    dataset = abtune.make_dataset(latency, shapes=[str(i) for i in range(MANY)], configs=["a", "b"])
    few = dataset.isel(shape=slice(SHAPES))
    abtune.analyze(few)
    print(f"abtune.analyze, {label}: {1e3 * best_of(lambda: abtune.analyze(few), repeats=5):.0f} ms")
    print(f"abtune.analyze, {MANY:,} shapes: {best_of(lambda: abtune.analyze(dataset), repeats=1):.2f} s")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
