"""Write docs/peers.md: what tools that compare benchmarks, and abtune, say of the same timings.

pip install pyperf asv
python analysis/peers.py
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from asv import _stats as asv_stats
from pyperf import _utils as pyperf_utils
from scipy import stats
from statsmodels.stats.multitest import multipletests

import abtune

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
LEVEL = 0.95

Array = npt.NDArray[np.float64]
# From timings of either side, shape (shapes, seeds, rounds, repeats): which shapes are called different?
Tool = Callable[[Array, Array], npt.NDArray[np.bool_]]


def each_shape(different: Callable[[Array, Array], bool], values: Callable[[Array], Array]) -> Tool:
    """Make a tool of a test of two samples, which is fed what ``values`` makes of the timings of a side."""

    def call(first: Array, second: Array) -> npt.NDArray[np.bool_]:
        return np.array([different(values(a), values(b)) for a, b in zip(first, second, strict=True)])

    return call


def all_timings(side: Array) -> Array:
    """Take every timing for a replicate, as these tools do with whatever they are given."""
    return side.ravel()


def one_a_seed(side: Array) -> Array:
    """Take one value a seed: the mean over rounds of the median log latency, as abtune does."""
    values: Array = np.exp(np.log(np.median(side, axis=2)).mean(axis=1))
    return values


def mann_whitney(first: Array, second: Array) -> bool:
    """Test as benchstat and google/benchmark's compare.py do."""
    return bool(stats.mannwhitneyu(first, second).pvalue < 1 - LEVEL)


def pyperf(first: Array, second: Array) -> bool:
    """Test as ``pyperf compare_to`` does."""
    return bool(pyperf_utils.is_significant(first.tolist(), second.tolist())[0])


def asv(first: Array, second: Array) -> bool:
    """Test as ``asv compare`` does with enough samples, when it needs no summary of them."""
    return bool(asv_stats.is_different(first.tolist(), second.tolist(), None, None))


def bca(first: Array, second: Array) -> bool:
    """Look whether scipy's default interval, which is DABEST's too, leaves out zero."""
    result = stats.bootstrap(
        (np.log(first), np.log(second)),
        lambda a, b, axis=-1: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        n_resamples=999,
        confidence_level=LEVEL,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return not result.low <= 0 <= result.high


def corrected_ranks(first: Array, second: Array) -> npt.NDArray[np.bool_]:
    """Do what a careful script would: Mann-Whitney of one value a seed, Holm over the shapes."""
    p = [stats.mannwhitneyu(one_a_seed(a), one_a_seed(b)).pvalue for a, b in zip(first, second, strict=True)]
    rejected: npt.NDArray[np.bool_] = multipletests(p, alpha=1 - LEVEL, method="holm")[0]
    return rejected


def corrected_welch(first: Array, second: Array) -> npt.NDArray[np.bool_]:
    """Do the same with Welch's t-test of the logs."""
    p = [
        stats.ttest_ind(np.log(one_a_seed(a)), np.log(one_a_seed(b)), equal_var=False).pvalue
        for a, b in zip(first, second, strict=True)
    ]
    known = np.nan_to_num(p, nan=1.0)  # a single seed has no test
    rejected: npt.NDArray[np.bool_] = multipletests(known, alpha=1 - LEVEL, method="holm")[0]
    return rejected


def by_abtune(first: Array, second: Array) -> npt.NDArray[np.bool_]:
    """Take the verdicts of a report."""
    dataset = abtune.make_dataset(
        np.stack([first, second], axis=1),
        shapes=[f"s{i}" for i in range(len(first))],
        configs=["baseline", "candidate"],
    )
    called = (abtune.Verdict.IMPROVED, abtune.Verdict.REGRESSED)
    return np.array([row.verdict in called for row in abtune.analyze(dataset).comparisons])


TOOLS: Mapping[str, Tool] = {
    "benchstat, google/benchmark: Mann-Whitney": each_shape(mann_whitney, all_timings),
    "pyperf: Student's t": each_shape(pyperf, all_timings),
    "asv: Mann-Whitney at 0.002": each_shape(asv, all_timings),
    "scipy, DABEST: BCa interval": each_shape(bca, all_timings),
    "Mann-Whitney of one value a seed": each_shape(mann_whitney, one_a_seed),
    "the same, corrected by Holm": corrected_ranks,
    "Welch's t of one value a seed, corrected by Holm": corrected_welch,
    "abtune": by_abtune,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Shares over reports of a dataset: false calls, reports with any of them, true boosts found."""

    false: float
    any_false: float
    found: float


def rate(tool: Tool, reports: Iterator[tuple[Array, Array]], real: npt.NDArray[np.bool_]) -> Rates:
    """Let a tool judge reports in which the shapes ``real`` differ, and no others."""
    called = np.array([tool(first, second) for first, second in reports])
    false, right = called[:, ~real], called[:, real]
    return Rates(
        false=float(false.mean()),
        any_false=float(false.any(axis=1).mean()),
        found=float(right.mean()) if real.any() else float("nan"),
    )


def split_seeds(name: str, seeds: int, times: int) -> Iterator[tuple[Array, Array]]:
    """Yield reports in which both sides are of one configuration: its seeds, dealt at random."""
    rng = np.random.default_rng(0)
    latency = abtune.open_dataset(name)["latency"].transpose("config", "shape", "seed", "round", "repeat")
    for _ in range(times):
        for side in latency.values:
            dealt = [
                rng.permutation(np.flatnonzero(~np.isnan(shape[:, 0, 0])))[: 2 * seeds] for shape in side
            ]
            chosen = np.array([shape[order] for shape, order in zip(side, dealt, strict=True)])
            yield chosen[:, :seeds], chosen[:, seeds:]


def _deal(shape: Array, seeds: int, rng: np.random.Generator) -> Array:
    """Draw seeds that have timings."""
    timed = np.flatnonzero(~np.isnan(shape[:, 0, 0]))
    return shape[rng.permutation(timed)[:seeds]]


def simulated(real: npt.NDArray[np.bool_], boost: float, times: int) -> Iterator[tuple[Array, Array]]:
    """Yield reports of 10 + 10 seeds: 5 % noise of the search, 25 timings a seed that scatter by 0.3 %."""
    rng = np.random.default_rng(1)
    for _ in range(times):
        seeds = rng.normal(0, 0.05, (2, len(real), 10, 1, 1))
        logs = seeds + rng.normal(0, 0.003, (2, len(real), 10, 5, 5))
        logs[1] -= np.where(real, np.log1p(boost), 0.0)[:, np.newaxis, np.newaxis, np.newaxis]
        first, second = 1e-5 * np.exp(logs)
        yield first, second


def failing(shapes: int, times: int) -> Iterator[tuple[Array, Array]]:
    """Yield reports without a difference of means, in which 1 search in 15 of one side is 30 % slower."""
    rng = np.random.default_rng(2)
    for _ in range(times):
        seeds = rng.normal(0, 0.02, (2, shapes, 10, 1, 1))
        seeds[1] += np.log(1.3) * ((rng.random((shapes, 10, 1, 1)) < 1 / 15) - 1 / 15)
        first, second = 1e-5 * np.exp(seeds + rng.normal(0, 0.003, (2, shapes, 10, 5, 5)))
        yield first, second


def table(reports: Callable[[], Iterator[tuple[Array, Array]]], real: npt.NDArray[np.bool_]) -> Iterator[str]:
    """Lay out the rates of every tool on the same reports."""
    heads = ["tool", "shapes called different without reason", "reports with one such"]
    heads += ["boosts found"] if real.any() else []
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for name, tool in TOOLS.items():
        rates = rate(tool, reports(), real)
        shares = [rates.false, rates.any_false] + ([rates.found] if real.any() else [])
        yield f"| {name} | " + " | ".join(f"{100 * share:.0f} %" for share in shares) + " |"


_INTRODUCTION = """\
Do other tools tell a faster *configuration* from a lucky search? They test the values that they are
given, one benchmark at a time. Given all timings of a tuning run, they test whether two *programs*
differ. Two searches nearly always find different programs, so no tool is wrong in that.

A test of one value per seed calls one shape in twenty different by design. So most reports of 29 shapes
have a false call. Corrected over the shapes it makes next to none, and misses some boosts. abtune
[adds](statistics.md) intervals that hold, *equivalent* apart from *inconclusive*, and what would settle
the rest."""
_ONE_RUN = """\
Two runs of the same configuration in each of 29 shapes of `h200-tvm14009`, 25 timings of each winner;
40 reports. Nothing differs but the seed. abtune judges none of them: one run per side supports no
verdict."""
_THREE_RUNS = """\
The same with three seeds per side, too few for any test that is corrected over 29 shapes."""
_TEN_RUNS = """\
The data are simulated, so the truth is known. There are 100 reports of 29 shapes with 10 + 10 seeds.
The search has 5 % of noise, and the 25 timings of each winner vary by 0.3 %. Nine shapes are 10 %
faster, and 20 are the same."""
_FAILING = """\
Simulated again, without any difference of the means, and 2 % of noise. On one side, 1 search in 15
fails, and its winner is 30 % slower. Ten seeds of a shape often show no failure, and that side then
looks faster. The other shapes do show it, and abtune looks at them. Mann-Whitney asks whether the
typical run is faster, and it is."""


def page() -> Iterator[str]:
    """Compose the page."""
    none = np.zeros(29, dtype=bool)
    some = np.arange(29) < 9
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pyperf", "asv", "scipy"))
    yield "# The same timings, other tools\n"
    yield f"{_INTRODUCTION}\n"
    yield f"`pip install pyperf asv && python analysis/peers.py` writes this page, here with {versions}."
    yield "Where a tool has no interface for Python, scipy's version of its test stands for it."
    yield f"\n## One tuning run per side\n\n{_ONE_RUN}\n"
    yield from table(functools.partial(split_seeds, "h200-tvm14009", 1, 20), none)
    yield f"\n## Three tuning runs per side\n\n{_THREE_RUNS}\n"
    yield from table(functools.partial(split_seeds, "h200-tvm14009", 3, 20), none)
    yield f"\n## Ten tuning runs per side, some of them different\n\n{_TEN_RUNS}\n"
    yield from table(functools.partial(simulated, some, 0.1, 100), some)
    yield f"\n## Ten tuning runs per side, and one side fails now and then\n\n{_FAILING}\n"
    yield from table(functools.partial(failing, 29, 100), none)


def main() -> None:
    """Write the page."""
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
