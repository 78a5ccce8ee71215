"""Write docs/same-search.md: whether abtune's driving of MetaSchedule changes the search of stock tune_tir.

    python analysis/metaschedule/same_search.py --runs same-search.npz --seeds 30

An A/A comparison of both engines over a made-up landscape of latencies, 20 to 40 s a run. Finished runs are
kept in the file of --runs, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

import abtune
from abtune.configurations import EVOLUTIONARY, RANDOM
from abtune.dataset.build import add_variables
from abtune.dataset.schema import TrialStatus
from abtune.shapes import Shape, parse_shape
from abtune.stats.testing.step_procedures import holm

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests" / "helpers" / "measuring"))  # the tests compare the same engines

from early_refusal import HEADING  # noqa: E402
from search_engines import NOISE, ROOT, SLOPE, Budget, Floats, Found, run_own, run_stock  # noqa: E402

from abtune.measure.tvm.load_tvm import ms, tvm  # noqa: E402
from abtune.measure.tvm.tvm_devices import describe_target  # noqa: E402

DOCS = REPOSITORY / "docs"
ENGINES = ("tune_tir", "abtune", "random")
SHAPES = ("M=128_N=128_K=128", "N=1_H=14_W=14_C=64_K=64_R=1_S=1_STR=1_PAD=0_DIL=1")
# The model of MetaSchedule answers at random until it has learned this many trials.
WARM_UP = 100


# --- finished runs ------------------------------------------------------------------------------------

Key = tuple[str, str, int]


def run(engine: str, shape: Shape, target: str, budget: Budget, seed: int) -> Found:
    """Carry out one run of an engine by its name."""
    if engine == "tune_tir":
        return run_stock(shape, target, budget, seed, EVOLUTIONARY)
    return run_own(shape, target, budget, seed, RANDOM if engine == "random" else EVOLUTIONARY)


class Store:
    """Finished runs by shape, engine and seed, in one .npz file; all of one target and one budget.

    Parameters
    ----------
    path : Path
        Where they are kept; an existing file is read.
    target : str
        The TVM target, as JSON.
    budget : Budget
        What every run may spend.
    """

    def __init__(self, path: Path, target: str, budget: Budget) -> None:
        settings = repr((target, budget, ROOT, SLOPE, NOISE))
        self._path = path
        self._arrays: dict[str, Any] = {"settings": np.array(settings)}
        if path.exists():
            with np.load(path) as arrays:
                self._arrays = dict(arrays)
        if str(self._arrays["settings"]) != settings:
            raise SystemExit(f"{path} holds runs with other settings: {self._arrays['settings']}")

    def __contains__(self, key: Key) -> bool:
        return self._name(key, "latency") in self._arrays

    def __getitem__(self, key: Key) -> Found:
        parts = {name: self._arrays[self._name(key, name)] for name in ("latency", "hashes", "sizes")}
        return Found(**parts)

    def add(self, key: Key, run: Found) -> None:
        """Keep a run, at once."""
        for name in ("latency", "hashes", "sizes"):
            self._arrays[self._name(key, name)] = getattr(run, name)
        written = self._path.with_suffix(".partial.npz")
        np.savez_compressed(written, **self._arrays)
        written.replace(self._path)

    def seeds(self, shape: Shape) -> list[int]:
        """Return the seeds of a shape that every engine has finished."""
        names = {name.rpartition("/")[0] for name in self._arrays if name.startswith(f"{shape.label}/")}
        seeds = {int(name.rpartition("/")[2]) for name in names}
        return sorted(
            seed for seed in seeds if all((shape.label, engine, seed) in self for engine in ENGINES)
        )

    @staticmethod
    def _name(key: Key, name: str) -> str:
        return "/".join((*map(str, key), name))


def gather(store: Store, seeds: Mapping[Shape, int], target: str, budget: Budget) -> None:
    """Carry out the runs that are missing, the engines in turn."""
    for shape, count in seeds.items():
        for seed in range(count):
            for engine in ENGINES:
                key = (shape.label, engine, seed)
                if key not in store:
                    store.add(key, run(engine, shape, target, budget, seed))
                    print(*key, f"{1e6 * store[key].latency.min():.2f} us", flush=True)


# --- the page -----------------------------------------------------------------------------------------


def dataset_of(store: Store, shapes: Sequence[Shape], trials: int) -> xr.Dataset:
    """Return all runs as a dataset whose configurations are the engines."""
    seeds = sorted({seed for shape in shapes for seed in store.seeds(shape)})
    times = np.full((len(shapes), len(ENGINES), len(seeds), trials), np.nan)
    for row, shape in enumerate(shapes):
        for column, engine in enumerate(ENGINES):
            for seed in store.seeds(shape):
                times[row, column, seeds.index(seed)] = store[shape.label, engine, seed].latency
    dataset = abtune.make_dataset(
        times.min(axis=-1), shapes=[shape.label for shape in shapes], configs=ENGINES, seeds=seeds
    )
    status = np.where(np.isnan(times), TrialStatus.NOT_RUN, TrialStatus.OK)
    return add_variables(dataset, trial_latency=times, trial_status=status)


def winner_table(dataset: xr.Dataset, pair: tuple[str, str]) -> list[str]:
    """Compare the winners of two engines, as a sweep is judged."""
    lines = [
        "| shape | seeds | boost | 95 % interval | p | verdict | noise | Kolmogorov-Smirnov |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    for row in abtune.analyze(dataset, baseline=pair[0], candidate=pair[1]).comparisons:
        sides = (winners(dataset, row.shape, engine) for engine in pair)
        ks = stats.ks_2samp(*sides)
        noise = "/".join(f"{100 * side.noise:.1f}" for side in (row.baseline, row.candidate))
        lines.append(
            f"| `{row.shape}` | {row.baseline.n}+{row.candidate.n} | {100 * row.boost:+.1f} % "
            f"| {100 * row.boost_low:+.1f} to {100 * row.boost_high:+.1f} % | {row.p:.2g} | {row.verdict} "
            f"| {noise} % | D = {ks.statistic:.2f}, p = {ks.pvalue:.2g} |"
        )
    return lines


def winners(dataset: xr.Dataset, label: str, engine: str) -> Floats:
    """Return the latency of every winner of an engine."""
    latencies = dataset["latency"].sel(shape=label, config=engine).values.ravel()
    return latencies[np.isfinite(latencies)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The candidates of one iteration: how slow they are on average, and how engines differ in that.

    Attributes
    ----------
    shape : str
        Label of the workload.
    first, last : int
        Trials, counted from one.
    means : tuple of float, seconds
        Geometric mean over candidates and seeds of each engine.
    ratio, low, high : float
        abtune over tune_tir, minus 1, with its 95 % interval by Welch's t over seeds.
    p : float
        Two-sided, by the same.
    """

    shape: str
    first: int
    last: int
    means: tuple[float, ...]
    ratio: float
    low: float
    high: float
    p: float


def steps(dataset: xr.Dataset, size: int) -> list[Step]:
    """Compare all candidates, iteration by iteration: far less noisy than winners, the best of them."""
    compared = []
    for label in dataset["shape"].values:
        logs = xr.ufuncs.log(dataset["trial_latency"].sel(shape=label).dropna("seed"))
        for first in range(0, dataset.sizes["trial"], size):
            means = logs.isel(trial=slice(first, first + size)).mean("trial")
            sides = {engine: means.sel(config=engine).values for engine in ENGINES}
            test = stats.ttest_ind(sides["abtune"], sides["tune_tir"], equal_var=False)
            interval = test.confidence_interval(0.95)
            compared.append(
                Step(
                    shape=str(label),
                    first=first + 1,
                    last=min(first + size, dataset.sizes["trial"]),
                    means=tuple(float(np.exp(side.mean())) for side in sides.values()),
                    ratio=float(np.expm1(sides["abtune"].mean() - sides["tune_tir"].mean())),
                    low=float(np.expm1(interval.low)),
                    high=float(np.expm1(interval.high)),
                    p=float(test.pvalue),
                )
            )
    return compared


def step_table(compared: Sequence[Step]) -> list[str]:
    """Print what the engines propose, iteration by iteration."""
    lines = [
        "| shape | trials | " + " | ".join(ENGINES) + " | abtune over tune_tir | 95 % interval | p |",
        "| --- | ---: |" + " ---: |" * (len(ENGINES) + 3),
    ]
    for step in compared:
        means = " | ".join(f"{1e6 * mean:.0f} us" for mean in step.means)
        lines.append(
            f"| `{step.shape}` | {step.first}-{step.last} | {means} | {100 * step.ratio:+.1f} % "
            f"| {100 * step.low:+.1f} to {100 * step.high:+.1f} % | {step.p:.2g} |"
        )
    return lines


def report(store: Store, shapes: Sequence[Shape], budget: Budget, command: str) -> str:
    """Compose the page."""
    dataset = dataset_of(store, shapes, budget.trials)
    size = budget.trials_per_iteration
    compared = steps(dataset, size)
    strategy = ms.search_strategy.create("evolutionary")
    parts = [
        "# The same search as tune_tir",
        "",
        "Does a sweep search as `tune_tir` does? It drives MetaSchedule one iteration at a time. Each begins",
        "its strategy anew, and restores its cost model from bytes; `tune_tir` keeps both alive.",
        "",
        f"`{command}` writes this page, here with TVM {tvm.__version__}.",
        "",
        "## What it says",
        "",
        *conclusion(dataset, compared),
        "",
        "## Method",
        "",
        *wrapped(
            "Both engines tune the same workloads for a CPU with MetaSchedule's defaults: evolutionary "
            f"search, a population of {strategy.population_size}, the XGBoost cost model, which answers at "
            f"random until it has learned {WARM_UP} trials. A run has {budget.trials} trials in iterations "
            f"of {size}."
        ),
        "",
        *wrapped(
            "Nothing is built or run. The latency of a candidate is a fixed function of the features that "
            f"the cost model learns from. Noise of {100 * NOISE:g} % follows from the structural hash. So "
            "only the searches are random. A third engine, `random`, samples the design space "
            "(replay-trace): the same comparison has to find a difference there."
        ),
        "",
        "## Winners",
        "",
        "abtune against tune_tir, judged as two sides of a sweep. Above zero, abtune's winners are faster.",
        "",
        *winner_table(dataset, ("tune_tir", "abtune")),
        "",
        "tune_tir against random sampling:",
        "",
        *winner_table(dataset, ("random", "tune_tir")),
        "",
        "## All candidates",
        "",
        "The geometric mean of all candidates of an iteration varies less than the winner. It would show",
        "another population, another ranking, or another share of random ones.",
        "",
        *step_table(compared),
        "",
        "## What is the same exactly",
        "",
        "`tests/measure/tvm/test_same_search.py` checks what needs no statistics:",
        "",
        "- From the same random state, the first iteration proposes the same candidates in the same order.",
        "- In a later iteration, from the same random state, a strategy that remembers what was measured",
        "  proposes the same candidates first, in the same order.",
        "- A cost model that is saved and restored between iterations is bit for bit one that lives on.",
        "- In both engines every population has the same size and begins with the best trials so far.",
        "",
        *wrapped(
            "Only the random candidates differ a little: "
            f"{int(size * strategy.eps_greedy)} in an iteration of {size}. If one was picked before, "
            "`tune_tir` makes a smaller iteration, and abtune takes another after the first one. `tune_tir` "
            "may also draw one that ranks next after the picked ones, and abtune does not."
        ),
        "",
    ]
    return "\n".join(parts)


def conclusion(dataset: xr.Dataset, compared: Sequence[Step]) -> list[str]:
    """Say what the numbers show."""
    lines = []
    alike = abtune.analyze(dataset, baseline="tune_tir", candidate="abtune").comparisons
    unlike = abtune.analyze(dataset, baseline="random", candidate="tune_tir").comparisons
    for row, other in zip(alike, unlike, strict=True):
        lines += wrapped(
            f"- Winners of `{row.shape}`: {shown(row)} between the engines. {row.reason.rstrip('.')}. "
            f"Between tune_tir and random sampling {shown(other)}, of {100 * other.boost:+.0f} %."
        )
    smallest = min(step.p for step in compared)
    lines += wrapped(
        f"- Candidates: of {len(compared)} comparisons of an iteration the smallest p is {smallest:.2g}, "
        f"{holm([step.p for step in compared]).min():.2g} after Holm's correction."
    )
    for row in alike:
        own = [step for step in compared if step.shape == row.shape]
        widest = 100 * max(abs(bound) for step in own for bound in (step.low, step.high))
        gain = own[-1].means[ENGINES.index("random")] / own[-1].means[ENGINES.index("tune_tir")]
        lines += wrapped(
            f"- Candidates of `{row.shape}`: with {row.baseline.n}+{row.candidate.n} seeds all intervals "
            f"lie within {widest:.1f} %. The cost model makes the average candidate of the last iteration "
            f"{gain:.1f} times as fast as a random one."
        )
    return lines


def wrapped(text: str) -> list[str]:
    """Break a paragraph, or an item of a list, into lines."""
    return textwrap.wrap(
        text,
        100,
        subsequent_indent="  " * text.startswith("- "),
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(row: abtune.Comparison) -> str:
    """Say whether a comparison shows a difference."""
    different = row.verdict in (abtune.Verdict.IMPROVED, abtune.Verdict.REGRESSED)
    return "a difference is shown" if different else "no difference is shown"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="file of finished runs, read and extended")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[30], help="of each shape, or of all")
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--trials-per-iter", type=int, default=64)
    return parser.parse_args(argv)


def main() -> None:
    """Carry out what is missing and write the page."""
    options = parse(sys.argv[1:])
    budget = Budget(trials=options.trials, trials_per_iteration=options.trials_per_iter)
    target = describe_target("cpu").target
    shapes = [parse_shape(label) for label in options.shapes]
    store = Store(options.runs, target, budget)
    counts = options.seeds * len(shapes) if len(options.seeds) == 1 else options.seeds
    gather(store, dict(zip(shapes, counts, strict=True)), target, budget)
    words = [options.runs.name if word == str(options.runs) else word for word in sys.argv[1:]]
    command = shlex.join(["python", "analysis/metaschedule/same_search.py", *words])
    page = DOCS / "same-search.md"
    _, heading, kept = page.read_text(encoding="utf-8").partition(HEADING)
    text = "\n".join([report(store, shapes, budget, command), heading + kept])
    page.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
