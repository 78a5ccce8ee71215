"""Write docs/h200-deep.md and its figure: what longer searches change in the published shapes."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from h200_tables import (
    COLOURS,
    best_after,
    boost,
    in_a_sentence,
    judged,
    noise,
    page,
    percent,
    published_boosts,
    short,
    span,
    table,
)
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy import stats

import abtune
from abtune.compare.results import Verdict
from abtune.dataset.schema import RunStatus
from abtune.measure.plan.problem import WARM_UP
from abtune.sections.change.change_results import Change, ChangeVerdict
from abtune.sections.same_schedule.same_schedule import describe_same_schedule

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAME, MORE, ALL, REFERENCE = "h200-deep", "h200-deep-more", "h200-deep-winners", "h200-tvm14009"
# The searches of REFERENCE. Their winners are timed by CUDA graphs, as those of ALL are.
BY_GRAPHS = "data/h200-tvm14009-graphs.nc"
# The winners of ALL, timed in other sessions: by CUDA graphs again, and launched one by one.
AGAIN, ONE_BY_ONE = "data/h200-deep-again.nc", "data/h200-deep-stream.nc"
# The winners of ALL, timed in one more session with cold caches.
COLD = "data/h200-deep-cold.nc"
# The winners of ALL with only the first five seeds of MORE, timed on another card, launched one by one.
OTHER_CARD = "data/h100-deep-winners.nc"
# The first seeds of h100-again; the others were searched on an H100.
SEEDS_ON_H200 = 8
# A shape is short if its median winner takes less, seconds.
SHORT = 50e-6
# Number of random halves of mainline's searches that are compared with each other.
DEALS = 4000


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean over all cells, if the noise is the same in every cell."""
    return noise(values)[0] / float(np.sqrt(values.size))


def noise_with_interval(values: np.ndarray) -> str:
    """Write the pooled standard deviation in percent with its interval."""
    deviation, freedom = noise(values)
    low, high = deviation * np.sqrt(freedom / stats.chi2.ppf([0.975, 0.025], freedom))
    return f"{100 * deviation:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"


def noise_ratio(longer: np.ndarray, shorter: np.ndarray) -> str:
    """Write how many times as noisy the longer searches are, with the interval of a ratio of variances."""
    (above, first), (below, second) = noise(longer), noise(shorter)
    low, high = np.sqrt((above / below) ** 2 / stats.f.ppf([0.975, 0.025], first, second))
    return f"{above / below:.2f} ({low:.2f} to {high:.2f})"


def upsets(values: np.ndarray) -> str:
    """Return the share of the pairs of one run per side in which async is the slower."""
    slower = values[:, 1, np.newaxis, :] > values[:, 0, :, np.newaxis]
    return f"{100 * slower.mean():.0f} %"


def behind(values: np.ndarray, end: np.ndarray) -> float:
    """Return by how many percent searches are slower than at their end, on average."""
    return float(100 * np.expm1((values - end).mean()))


def seeds_of(dataset: xr.Dataset) -> str:
    """Name a dataset by its size."""
    return f"{dataset.sizes['seed']} seeds of {dataset.sizes['trial']} trials"


def steps(dataset: xr.Dataset) -> list[int]:
    """Return where iterations of 64 trials end."""
    return list(range(64, dataset.sizes["trial"] + 1, 64))


def progress_table(dataset: xr.Dataset) -> str:
    """How good, how noisy and how misleading single searches are after so many trials."""
    ends = {trials: best_after(dataset, trials) for trials in steps(dataset)}
    rows = (
        (
            trials,
            f"{behind(values, ends[dataset.sizes['trial']]):.1f} %",
            noise_with_interval(values),
            percent(boost(values)),
            upsets(values),
        )
        for trials, values in ends.items()
    )
    heading = "trials:|slower than at the end:|noise of the search:|boost:|async slower in one run per side:"
    return table(heading, rows)


def budget_table(dataset: xr.Dataset, total: int) -> str:
    """Say what the same number of trials would buy, as few long or as many short searches."""
    errors = {
        trials: 100 * noise(best_after(dataset, trials))[0] * np.sqrt(2 * trials / total)
        for trials in (64, 128, 256, dataset.sizes["trial"])
    }
    rows = ((trials, total // trials, f"{error:.1f} %") for trials, error in errors.items())
    return table("trials a run:|runs per side:|standard error of a shape's boost:", rows)


def shape_table(dataset: xr.Dataset, reference: xr.Dataset, claims: dict[str, float]) -> str:
    """Each shape: what was published, and its boosts by long and by short searches."""
    shorter = {row.shape: row for row in abtune.analyze(reference).comparisons}
    rows = (
        (
            f"`{row.shape}`",
            percent(claims[row.shape]),
            f"{percent(row.boost)} ({span(row)})",
            judged(row)[-1],
            row.baseline.n,
            f"{percent(shorter[row.shape].boost)} ({span(shorter[row.shape])})",
        )
        for row in abtune.analyze(dataset).comparisons
    )
    long, short_ = (f"{data.sizes['trial']} trials" for data in (dataset, reference))
    return table(f"shape|published, one run:|{long}:|verdict|seeds:|{short_}, 10 seeds:", rows)


def draw(
    dataset: xr.Dataset, winners: xr.Dataset, reference: xr.Dataset, claims: dict[str, float], path: Path
) -> None:
    """Speed and noise by trials, and the boosts of long and short searches beside the published ones."""
    mpl.rcParams.update(
        {"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, (speed, scatter, boosts) = plt.subplots(
        1, 3, figsize=(11, 6), width_ratios=[1, 1, 1.4], layout="constrained"
    )
    _draw_speed(speed, dataset)
    _draw_noise(scatter, dataset, reference.sel(shape=dataset["shape"].values))
    _draw_boosts(boosts, winners, reference, claims)
    figure.savefig(path, dpi=150)


def _draw_speed(axis: Axes, dataset: xr.Dataset) -> None:
    trials = np.arange(16, dataset.sizes["trial"] + 1)
    curves = np.stack([best_after(dataset, count) for count in trials.tolist()], axis=-1)
    curves = np.exp(curves - np.mean(curves[..., -1:], axis=2, keepdims=True))
    for index, config in enumerate(dataset["config"].values):
        of_config = curves[:, index].reshape(-1, len(trials))
        axis.plot(trials, of_config.T, color=COLOURS[config], lw=0.6, alpha=0.35)
        axis.plot(
            trials, np.exp(np.mean(np.log(of_config), axis=0)), color=COLOURS[config], lw=2, label=config
        )
    axis.set_ylim(0.6, 3)
    axis.set_xlabel("trials")
    axis.set_ylabel("best so far, over the mean of the ends")
    axis.set_title("Searches (thin) and their means")
    axis.legend(frameon=False)


def _draw_noise(axis: Axes, dataset: xr.Dataset, reference: xr.Dataset) -> None:
    for data, colour, name, shift in ((reference, "#999999", REFERENCE, -6), (dataset, "#222222", NAME, 6)):
        places = steps(data)
        noises = [noise(best_after(data, count)) for count in places]
        values = np.array([100 * deviation for deviation, _ in noises])
        freedom = noises[0][1]
        low, high = np.sqrt(freedom / stats.chi2.ppf([[0.975], [0.025]], freedom))
        errors = np.stack([values - low * values, high * values - values])
        axis.errorbar(
            np.array(places) + shift,
            values,
            errors,
            fmt="o-",
            ms=4,
            lw=1.2,
            color=colour,
            label=f"{name}, {data.sizes['seed']} seeds",
        )
    axis.set_ylim(0, None)
    axis.set_xticks(steps(dataset)[1::2])
    axis.set_xlabel("trials")
    axis.set_ylabel("standard deviation between seeds (%)")
    axis.set_title("Noise of the search")
    axis.legend(frameon=False, fontsize=8)


def _draw_boosts(axis: Axes, dataset: xr.Dataset, reference: xr.Dataset, claims: dict[str, float]) -> None:
    labels = dataset["shape"].values.tolist()[::-1]
    for data, colour, shift in ((reference, "#999999", 0.14), (dataset, "#222222", -0.14)):
        rows = {row.shape: row for row in abtune.analyze(data).comparisons}
        boosts = np.array([100 * rows[label].boost for label in labels])
        low = np.array([100 * rows[label].boost_low for label in labels])
        high = np.array([100 * rows[label].boost_high for label in labels])
        places = np.arange(len(labels)) + shift
        axis.errorbar(
            boosts,
            places,
            xerr=[boosts - low, high - boosts],
            fmt="o",
            ms=3.5,
            lw=1,
            color=colour,
            label=f"{data.sizes['trial']} trials",
        )
    axis.plot(
        [100 * claims[label] for label in labels],
        range(len(labels)),
        "x",
        color="#a11f4c",
        ms=4,
        mew=1.4,
        label="published, one run",
    )
    axis.axvline(0, color="#999999", lw=0.8)
    axis.set_xlim(-30, 75)
    axis.set_yticks(range(len(labels)), [short(label) for label in labels], fontsize=6.5)
    axis.set_ylim(-0.7, len(labels) - 0.3)
    axis.set_xlabel("boost of async over mainline (%)")
    axis.set_title("Boosts, 95 % intervals")
    axis.legend(frameon=False, fontsize=8, loc="upper right")


def report(dataset: xr.Dataset, winners: xr.Dataset, reference: xr.Dataset, claims: dict[str, float]) -> str:
    """Compose the page."""
    analysis = abtune.analyze(winners)
    short_searches = abtune.analyze(reference)
    few = reference.sel(shape=dataset["shape"].values)
    trials, before, seeds = dataset.sizes["trial"], reference.sizes["trial"], dataset.sizes["seed"]
    early, half, end = (best_after(dataset, count) for count in (before, trials // 2, trials))
    shorter = best_after(few, before)
    error = 100 * np.hypot(standard_error(early), standard_error(shorter))
    negative = [row for row in analysis.comparisons if claims[row.shape] < 0]
    excluded = [row for row in negative if not row.boost_low <= claims[row.shape] <= row.boost_high]
    (every,) = {row.baseline.n for row in analysis.comparisons}
    return page(f"""\
# Longer searches

What changes if the [published shapes]({REFERENCE}.md) are searched for {trials} trials in place of {before}?
`{ALL}` has {every} seeds per side of `async` and `mainline` in
each of {winners.sizes["shape"]} shapes:
{int((winners["run_status"] == RunStatus.COMPLETE).sum())} complete runs and
{float(winners["tuning_time"].sum()) / 3600:.0f} hours of run time, on H200 and H100. All winners were then
timed together on one host, by CUDA graphs. In the terminal: `abtune analyze {ALL}`.
`python analysis/studies/h200_deep.py` writes this page. `data/README.md` describes the data.

![Searches, their noise, and boosts beside the published ones]({NAME}.png)

Left: the best latency so far of each search of `{NAME}`, relative to the mean at the end. Bars are 95 %
intervals; those that reach the frame go on beyond.

## What the data say

- {in_a_sentence(analysis)}
- **Short searches show less**, with 10 seeds of each shape:
{short_searches.sentence} (`{BY_GRAPHS}`)
- **{sum(row.boost_high < 0 for row in negative) or "None"} of the {len(negative)} published regressions is
shown** ([shape by shape](#shape-by-shape)). The intervals exclude {len(excluded)} of the published values:
{", ".join(f"{percent(claims[row.shape])} of `{row.shape}`" for row in excluded)}.
- {same_schedules(winners)}
- {on_both_cards()}
- **With cold caches async gains more** ([below](#with-cold-caches)).
- **How calls are launched matters for short kernels**: one by one, the mean boost seems smaller
([below](#launched-by-cuda-graphs)).
- **Longer searches find faster kernels, up to a point**: after {before} trials the best so far is
{behind(early, end):.0f} % slower than after {trials}, after {trials // 2} only {behind(half, end):.0f} %
(`{NAME}`: {len(few["shape"])} shapes, {seeds} seeds).
- **Whether their outcomes vary less is open**: the noise of the search is {noise_with_interval(end)}
after {trials} trials, and {noise_with_interval(shorter)} after {before} in the same shapes of `{REFERENCE}`.
The ratio is {noise_ratio(end, shorter)}.
- **One run per side misleads**: async is the slower in {upsets(early)} of all pairs of one search per side
after {before} trials, and in {upsets(end)} after {trials} (mean over these shapes).
- **The search repeats**: after {before} trials these searches and `{REFERENCE}`, made on other
hosts, differ by {100 * np.expm1(early.mean() - shorter.mean()):+.1f} % (standard error {error:.1f} %).

## By number of trials

By the searches' own timings in the {len(few["shape"])} shapes of `{NAME}`, geometric means over shapes and
seeds. *Noise*: standard deviation of the log
latency between seeds, pooled over shapes and sides, with its 95 % interval (chi-square).
MetaSchedule's cost model answers at random until it has seen {WARM_UP} trials, so it guides only what comes
after {64 * math.ceil(WARM_UP / 64)}.

{progress_table(dataset)}

{other_shapes(before)}

## Few long searches or many short ones

Short searches give a smaller error for the same cost, but compare sides that have not converged. What
{seeds * trials:,} trials per side buy, with the noise of the table above:

{budget_table(dataset, seeds * trials)}

## Shape by shape

{shape_table(winners, reference, claims)}

{with_cold_caches(winners)}

{launched_by_graphs(winners)}

{searched_again(dataset)}
""")


def same_schedules(winners: xr.Dataset) -> str:
    """Say how many schedules of mainline can be built with asynchronous copies, and what async's own gain."""
    study = describe_same_schedule(abtune.analyze(winners))
    own, others = study.of_candidate, study.of_baseline
    tried, fit = (
        sum(getattr(row.of_baseline, name) for row in study.shapes) for name in ("schedules", "fitting")
    )
    return f"""**Few schedules of mainline leave room for asynchronous copies**: of mainline's
{tried} schedules, {fit} can be built with asynchronous copies, and have a mean boost of
{percent(others.effect)} ({percent(others.low)} to {percent(others.high)}).
On async's own schedules it is {percent(own.effect)} ({percent(own.low)} to {percent(own.high)};
`--section same-schedule`). Both means are biased, because each configuration chose its own schedules."""


def on_both_cards() -> str:
    """Say how the boosts of the same kernels differ between two cards."""
    change = abtune.compare_datasets(
        *(abtune.open_dataset(DOCS.parent / name) for name in (OTHER_CARD, ONE_BY_ONE))
    )
    return f"""**The card hardly matters**: `abtune compare {OTHER_CARD} {ONE_BY_ONE}` compares the same
kernels on H100 and H200. {verdicts(change, ChangeVerdict.UNCHANGED)} boosts are unchanged. The mean changes
by {mean_change(change)}."""


def with_cold_caches(winners: xr.Dataset) -> str:
    """Say what changes if operands come from memory in each call."""
    cold = abtune.open_dataset(DOCS.parent / COLD)
    change = abtune.compare_datasets(winners, cold)
    times = [
        1e6 * data["latency"].median(("round", "repeat")).sel(shape=cold["shape"]) for data in (cold, winners)
    ]
    added = (times[0] - times[1]).median("seed")
    spans = {
        name: f"{float(some.median()):.1f} us (at most {float(some.max()):.1f})"
        for name, some in added.groupby("config")
    }
    row = max(change.shapes, key=lambda one: one.change)
    kinds = [describe_same_schedule(abtune.analyze(data)).of_candidate for data in (winners, cold)]
    own = [f"{percent(kind.effect)} ({percent(kind.low)} to {percent(kind.high)})" for kind in kinds]
    return f"""\
## With cold caches

In the timings above a call finds its operands in the caches, where the call before left them. An H200 has
60 MB of L2. In a network they may come from memory. `{COLD}` has the same winners, timed in another
session with `abtune measure --cache cold`, which empties the caches before each call. CUDA graphs launch
these calls, too. The searches had warm caches.

{abtune.analyze(cold).sentence}

- **The mean boost changes by {mean_change(change)}** (`abtune compare {ALL} {COLD}`).
{verdicts(change, ChangeVerdict.CHANGED)} boosts changed, {verdicts(change, ChangeVerdict.UNCHANGED)} are
unchanged.
- **Asynchronous copies hide the memory**: a call of async takes {spans["async"]} more than with warm caches,
a call of mainline {spans["mainline"]}. This is the median of the shapes, and of the winners of each.
- **One shape gains most**: `{row.shape}`, from {percent(row.a)} to {percent(row.b)}.
- On async's own schedules, its copies have an effect of {own[1]}, and {own[0]} with warm caches."""


def launched_by_graphs(winners: xr.Dataset) -> str:
    """Say what the pauses between launches hide, with winners that were launched one by one as a control."""
    alone, again = (abtune.open_dataset(DOCS.parent / name) for name in (ONE_BY_ONE, AGAIN))
    control, change = (abtune.compare_datasets(other, winners) for other in (again, alone))
    before, after = (data["latency"].median("repeat").median("round") for data in (alone, winners))
    is_short = (before.median(("config", "seed")) < SHORT).values
    pauses = 1e6 * (before - after).median(("config", "seed")).sel(shape=is_short)
    shortest = after.median(("config", "seed")).idxmin("shape").item()
    apart, joint = between_rounds(alone), between_rounds(winners)
    of_shortest = (
        f"{float(joint.sel(shape=shortest)):.2f} % in place of {float(apart.sel(shape=shortest)):.1f} %"
    )
    return f"""\
## Launched by CUDA graphs

If the host launches calls one by one, as a search does, the GPU pauses between two calls. A CUDA graph of 100
calls has no pauses. So `abtune measure` and newer sweeps time winners in graphs, where the driver can.
`{ONE_BY_ONE}` has the same winners, launched one by one. They were timed in another session, on an H200.

- **A call gets {float(pauses.median()):.2f} us shorter in a graph** (median of the {pauses.sizes["shape"]}
shapes that take less than {1e6 * SHORT:.0f} us; {float(pauses.min()):.2f} to {float(pauses.max()):.2f} us).
- **Pauses hide a part of a boost**. A pause adds the same time to both sides, so their ratio comes closer
to 1. One by one,
{abtune.analyze(alone).sentence}
- **{verdicts(change, ChangeVerdict.CHANGED)} boosts changed** (`abtune compare {ONE_BY_ONE} {ALL}`), and
{verdicts(change, ChangeVerdict.UNCHANGED)} are unchanged. The mean changes by {mean_change(change)}.
- **Rounds agree better**: their standard deviation is {of_shortest} for
`{shortest}`, the shortest (median of its winners).
- **Timing again changes nothing**: `{AGAIN}` was timed by graphs in one more session.
{verdicts(control, ChangeVerdict.UNCHANGED)} boosts are unchanged. The mean changes by
{mean_change(control)}."""


def verdicts(change: Change, verdict: ChangeVerdict) -> str:
    """Count the boosts with a verdict."""
    return f"{sum(row.verdict is verdict for row in change.shapes)} of {len(change.shapes)}"


def mean_change(change: Change) -> str:
    """Write the mean change with its interval."""
    mean = change.overall
    return f"{percent(mean.change)} ({percent(mean.low)} to {percent(mean.high)})"


def between_rounds(dataset: xr.Dataset) -> xr.DataArray:
    """Return the standard deviation between rounds of each shape in percent, the median of its winners."""
    rounds: xr.DataArray = xr.apply_ufunc(np.log, dataset["latency"].median("repeat"))
    return 100 * rounds.std(dim="round", ddof=1).median(("config", "seed"))


def other_shapes(before: int) -> str:
    """Say the same of the other published shapes, from the seeds that all of them have on H200."""
    every = abtune.open_dataset(DOCS.parent / "data" / f"{MORE}.nc")
    dataset = every.isel(seed=(every["run_status"] == RunStatus.COMPLETE).all(("shape", "config")).values)
    early, end = (best_after(dataset, trials) for trials in (before, dataset.sizes["trial"]))
    return f"""\
The other {dataset.sizes["shape"]} shapes have {seeds_of(dataset)} on H200 (`data/{MORE}.nc`). There the boost
is {percent(boost(early))} after {before} trials, and {percent(boost(end))} after {dataset.sizes["trial"]}.
After {before} trials the searches are {behind(early, end):.0f} % slower than at their end. Their noise is
{noise_with_interval(early)} then, and {noise_with_interval(end)} at the end."""


def searched_again(dataset: xr.Dataset) -> str:
    """Compare mainline with itself: the sides of h100-again, and random halves of its searches on H200."""
    fresh = abtune.open_dataset(DOCS.parent / "data" / "h100-again.nc")
    own = abtune.analyze(fresh)
    shapes = [label for label in dataset["shape"].values if label in fresh["shape"].values]
    sides = [
        np.log(side["search_latency"].sel(shape=shapes, config=list(names)).values.reshape(len(shapes), -1))
        for side, names in (
            (dataset, ["mainline"]),
            (fresh.isel(seed=slice(SEEDS_ON_H200)), ["mainline", "again"]),
        )
    ]
    return f"""\
## Mainline against itself

Does abtune find a difference where there is none? `h100-again` compares mainline with
itself, named `again`:
{fresh.sizes["shape"]} shapes, two sides, {seeds_of(fresh)}.

{own.sentence}

{again_table(own)}

{include_zero(own)} intervals include zero.

{dealt(shapes, np.concatenate(sides, axis=1))}"""


def include_zero(analysis: abtune.Analysis) -> str:
    """Count the intervals that include zero."""
    includes = [row.boost_low <= 0 <= row.boost_high for row in analysis.comparisons]
    return f"{sum(includes)} of {len(includes)}"


def again_table(analysis: abtune.Analysis) -> str:
    """Return the rows of a comparison of mainline with itself."""
    rows = (
        (short(row.shape), *judged(row), f"{row.baseline.n}+{row.candidate.n}")
        for row in analysis.comparisons
    )
    return table("shape|boost:|95 % interval:|adjusted p:|verdict|seeds:", rows)


def two_sides(shapes: list[str], baseline: np.ndarray, candidate: np.ndarray) -> xr.Dataset:
    """Return the dataset of two sides of log latencies, each of shape (shapes, searches)."""
    width = max(side.shape[1] for side in (baseline, candidate))
    both = [
        np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=np.nan)
        for side in (baseline, candidate)
    ]
    return abtune.make_dataset(np.exp(np.stack(both, axis=1)), shapes=shapes, configs=["mainline", "again"])


def dealt(shapes: list[str], pooled: np.ndarray) -> str:
    """Deal the searches of one configuration to two sides at random, and say what the reports find."""
    rng = np.random.default_rng(0)
    half = int(np.isfinite(pooled).sum(axis=1).min()) // 2
    outcomes: list[tuple[float, ...]] = []
    for _ in range(DEALS):
        rows = [rng.permutation(row[np.isfinite(row)])[: 2 * half] for row in pooled]
        halves = np.array(rows).reshape(len(shapes), 2, half)
        analysis = abtune.analyze(two_sides(shapes, halves[:, 0], halves[:, 1]))
        verdicts = {row.verdict for row in analysis.comparisons}
        outcomes.append(
            (
                bool(verdicts & {Verdict.IMPROVED, Verdict.REGRESSED}),
                any(claim.claim == "faster" and claim.at_least for claim in analysis.claims),
                float(np.mean([row.boost_low <= 0 <= row.boost_high for row in analysis.comparisons])),
                Verdict.EQUIVALENT in verdicts,
            )
        )
    different, faster, included, equivalent = np.mean(outcomes, axis=0)
    return f"""\
Then {2 * half} searches of mainline on H200, in each of {len(shapes)} shapes, were dealt to two sides of
{half} at random, {DEALS:,} times, by the searches' own timings:

- {different:.1%} of the reports have a false *improved* or *regressed*.
- {faster:.1%} say that at least one shape is faster; at most 5 % are promised.
- {included:.1%} of the intervals include zero; 95 % are promised.
- {equivalent:.1%} of the reports call a shape equivalent, although all are: {half} seeds are too few to show
it."""


def main() -> None:
    """Write the page and the figure."""
    dataset, winners = map(abtune.open_dataset, (NAME, ALL))
    reference = abtune.open_dataset(DOCS.parent / BY_GRAPHS)
    winners = winners.sel(shape=reference["shape"].values)  # in the order of the published tables
    claims = published_boosts()
    draw(dataset, winners, reference, claims, DOCS / f"{NAME}.png")
    (DOCS / f"{NAME}.md").write_text(report(dataset, winners, reference, claims), encoding="utf-8")


if __name__ == "__main__":
    main()
