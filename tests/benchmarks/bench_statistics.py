"""How fast the statistics are, beside scipy's and arch's on the same data in the same run.

Run as ``python tests/benchmarks/bench_statistics.py``; each time is the best of several, after one call that
warms caches. The permutation test of scipy takes some ten seconds. Without arch, which is no dependency, its
line is left out. Then comes the memory of a large analysis, above what its dataset takes. The last line is
the CPU time of a whole command, beside importing xarray, by which a script would read the dataset.
"""

from __future__ import annotations

import importlib.util
import platform
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
import scipy
from scipy import stats

import abtune
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.testing.significance import permutation_test
from abtune.stats.two_sample import TwoSample

SHAPES, SEEDS, RESAMPLES = 29, 10, 9_999
MANY, MANY_SEEDS = 2_000, 20


def best_of(call: Callable[[], object], *, repeats: int) -> float:
    """Return the shortest time of a call, seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def cpu_seconds(*arguments: str) -> float:
    """Return the CPU seconds of a new Python process, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    """Return the difference of means, as scipy's resampling asks for it."""
    return first.mean(axis=axis) - second.mean(axis=axis)


def arch_bootstrap(first: np.ndarray, second: np.ndarray) -> None:
    """Make one shape's percentile interval with arch; a shape at a time is all that it can."""
    from arch.bootstrap import IndependentSamplesBootstrap

    resampling = IndependentSamplesBootstrap(first, second, seed=np.random.default_rng(0))
    resampling.conf_int(lambda x, y: x.mean() - y.mean(), reps=RESAMPLES, method="percentile")


def report(name: str, ours: float, theirs: float, oracle: str) -> None:
    """Print one line of the comparison."""
    print(f"{name:<44} {1e3 * ours:>9.2f} ms   {oracle}: {1e3 * theirs:>9.1f} ms   {theirs / ours:>7,.1f}x")


def main() -> None:
    """Time the default interval, the exact test, and a whole analysis."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 0.03, (2, SHAPES, SEEDS))
    samples = TwoSample.without_floor(first, second)
    print(f"numpy {np.__version__}, scipy {scipy.__version__}, Python {platform.python_version()}")

    def interval() -> object:
        return expanded_percentile(samples, level=0.95)

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
        return permutation_test(samples, rng=rng)

    def enumeration() -> np.ndarray:
        return stats.permutation_test(
            (first, second), difference, axis=1, n_resamples=np.inf, batch=20_000, vectorized=True
        ).pvalue

    interval(), exact()
    label = f"{SHAPES} shapes, {SEEDS} + {SEEDS} seeds"
    report(
        f"bootstrap interval, {label}", best_of(interval, repeats=20), best_of(bootstrap, repeats=5), "scipy"
    )
    if importlib.util.find_spec("arch"):
        one = best_of(lambda: arch_bootstrap(first[0], second[0]), repeats=1)
        report(f"bootstrap interval, {label}", best_of(interval, repeats=20), SHAPES * one, "arch")
    report(
        f"exact permutation, {label}", best_of(exact, repeats=20), best_of(enumeration, repeats=1), "scipy"
    )
    assert np.allclose(exact(), enumeration()), "the p-values differ"

    latency = np.exp(rng.normal(0, 0.03, (MANY, 2, MANY_SEEDS)))
    dataset = abtune.make_dataset(latency, shapes=[str(i) for i in range(MANY)], configs=["a", "b"])
    few = dataset.isel(shape=slice(SHAPES), seed=slice(SEEDS))
    abtune.analyze(few)
    print(f"abtune.analyze, {label}: {1e3 * best_of(lambda: abtune.analyze(few), repeats=5):.0f} ms")
    many = f"{MANY:,} shapes, {MANY_SEEDS} + {MANY_SEEDS} seeds"
    for options in ({}, {"correction": "max-t"}):
        taken = best_of(lambda options=options: abtune.analyze(dataset, **options), repeats=1)
        print(f"abtune.analyze, {many}{options or ''}: {taken:.2f} s")
    tracemalloc.start()
    abtune.analyze(dataset)
    print(f"abtune.analyze, {many}: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB at most")
    tracemalloc.stop()

    pairs = [
        (cpu_seconds("-m", "abtune", "analyze", "h200-tvm14009"), cpu_seconds("-c", "import xarray"))
        for _ in range(10)
    ]
    own, imports = map(statistics.median, zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    print(
        f"abtune analyze h200-tvm14009: {own:.2f} s of CPU time, import xarray: {imports:.2f} s, "
        f"ratio {ratio:.1f}"
    )


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
