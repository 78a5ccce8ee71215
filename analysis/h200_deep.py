"""Write docs/h200-deep.md and its figure: what longer searches change, in five of the published shapes."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from h200_tables import (
    COLOURS,
    analysis_part,
    failure_table,
    holds,
    lost,
    noise_table,
    percent,
    published_boosts,
    seed_values,
    seeds_table,
    short,
    span,
    verdict_counts,
)
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy import stats

import abtune
from abtune.compare.results import Verdict
from abtune.dataset.schema import RunStatus
from abtune.sections.curve.curve import best_so_far

DOCS = Path(__file__).resolve().parent.parent / "docs"
NAME, REFERENCE = "h200-deep", "h200-tvm14009"
# The first seeds of h100-again; the others were searched on an H100.
SEEDS_ON_H200 = 8
# Number of random halves of mainline's searches that are compared with each other.
DEALS = 4000


def best_after(dataset: xr.Dataset, trials: int) -> np.ndarray:
    """Log of the best latency within the first trials; shape (shapes, configurations, seeds).

    NaN where there is no such run (yet).
    """
    return np.log(best_so_far(dataset)[..., trials - 1])


def level(values: np.ndarray) -> float:
    """Average over the seeds of each cell, then over the cells."""
    return float(np.nanmean(values, axis=-1).mean())


def noise(values: np.ndarray) -> tuple[float, int]:
    """Pool the standard deviation between seeds over the cells; return its degrees of freedom as well."""
    squares = np.nansum((values - np.nanmean(values, axis=-1, keepdims=True)) ** 2)
    freedom = int((np.isfinite(values).sum(axis=-1) - 1).sum())
    return float(np.sqrt(squares / freedom)), freedom


def standard_error(values: np.ndarray) -> float:
    """Return that of the level, if the noise is the same in every cell."""
    cells = np.isfinite(values).sum(axis=-1)
    return noise(values)[0] * float(np.sqrt((1 / cells).sum())) / cells.size


def noise_with_interval(values: np.ndarray) -> str:
    """Write the pooled standard deviation in percent with its interval."""
    deviation, freedom = noise(values)
    low, high = deviation * np.sqrt(freedom / stats.chi2.ppf([0.975, 0.025], freedom))
    return f"{100 * deviation:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"


def noise_ratio(longer: np.ndarray, shorter: np.ndarray) -> str:
    """Write how many times as noisy the longer searches are, with the interval of a ratio of variances."""
    (above, first), (below, second) = noise(longer), noise(shorter)
    low, high = np.sqrt((above / below) ** 2 / stats.f.ppf([0.975, 0.025], first, second))
    return f"{above / below:.2f} times as large ({low:.2f} to {high:.2f})"


def upsets(values: np.ndarray) -> float:
    """Share of the pairs of one run a side in which async is the slower, mean over the shapes."""
    slower = values[:, 1, np.newaxis, :] - values[:, 0, :, np.newaxis]
    shares = (slower > 0).sum(axis=(-2, -1)) / np.isfinite(slower).sum(axis=(-2, -1))
    return float(shares.mean())


def seeds_in(dataset: xr.Dataset) -> str:
    """Count the seeds that the cells have."""
    cells = (dataset["run_status"] == RunStatus.COMPLETE).sum("seed")
    low, high = int(cells.min()), int(cells.max())
    return f"{low}" if low == high else f"{low} to {high}"


def seeds_of(dataset: xr.Dataset) -> str:
    """Name a dataset by its size."""
    return f"{seeds_in(dataset)} seeds of {dataset.sizes['trial']} trials"


def steps(dataset: xr.Dataset) -> list[int]:
    """Return where iterations of 64 trials end."""
    return list(range(64, dataset.sizes["trial"] + 1, 64))


def progress_table(dataset: xr.Dataset, reference: xr.Dataset) -> list[str]:
    """How good, how noisy and how misleading single searches are after so many trials."""
    lines = [
        "| trials | slower than at the end | noise of the search | the same, reference dataset "
        "| boost | async slower in one run per side |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    end = best_after(dataset, dataset.sizes["trial"])
    for trials in steps(dataset):
        values = best_after(dataset, trials)
        slower = 100 * np.expm1(level(values - end))
        boost = float(np.expm1(level(values[:, 0]) - level(values[:, 1])))
        other = (
            noise_with_interval(best_after(reference, trials)) if trials <= reference.sizes["trial"] else ""
        )
        lines.append(
            f"| {trials} | {abs(slower):.1f} % | {noise_with_interval(values)} | {other} | {percent(boost)} "
            f"| {100 * upsets(values):.0f} % |"
        )
    return lines


def ends_table(dataset: xr.Dataset) -> list[str]:
    """List the winners of every cell, fastest first."""
    lines = ["| shape | configuration | winners, us |", "| --- | --- | --- |"]
    for label in dataset["shape"].values:
        for config in dataset["config"].values:
            found = seed_values(dataset.sel(shape=label, config=config)).dropna("seed").values
            lines.append(f"| `{label}` | {config} | {', '.join(f'{each:.1f}' for each in sorted(found))} |")
    return lines


def budget_table(dataset: xr.Dataset) -> list[str]:
    """Say what the same number of trials would buy, as few long or as many short searches."""
    total = 10 * dataset.sizes["trial"]
    lines = [
        "| trials a run | runs per side | standard error of a shape's boost |",
        "| ---: | ---: | ---: |",
    ]
    for trials in (64, 128, 256, dataset.sizes["trial"]):
        deviation, _ = noise(best_after(dataset, trials))
        runs = total // trials
        lines.append(f"| {trials} | {runs} | {100 * deviation * np.sqrt(2 / runs):.1f} % |")
    return lines


def findings(
    dataset: xr.Dataset, analysis: abtune.Analysis, reference: xr.Dataset, claims: dict[str, float]
) -> list[str]:
    """Say in plain words what longer searches change, and what of the published regressions is left."""
    trials, before = dataset.sizes["trial"], reference.sizes["trial"]
    half = trials // 2
    longer, shorter = best_after(dataset, trials), best_after(reference, before)
    early = best_after(dataset, before)
    gain, rest = (100 * np.expm1(level(best_after(dataset, count) - longer)) for count in (before, half))
    same = 100 * np.expm1(level(early) - level(shorter))
    error = 100 * np.hypot(standard_error(early), standard_error(shorter))
    rows, here = list(analysis.comparisons), analysis.overall.these_shapes
    return [
        f"- **Longer searches find faster kernels, up to a point**: after {before} trials the best so far is"
        f" {gain:.0f} % slower than after {trials}, after {half} only {rest:.0f} %.",
        f"- **{scatter(longer, shorter)}**: the standard deviation of the log latency between seeds is"
        f" {noise_with_interval(longer)} after {trials} trials, and {noise_with_interval(shorter)} after"
        f" {before} in the {reference.sizes['seed']} seeds of `{REFERENCE}`: {noise_ratio(longer, shorter)}.",
        f"- **One run per side misleads**: of all pairs of one search of each side, async is the slower in"
        f" {100 * upsets(early):.0f} % after {before} trials and in {100 * upsets(longer):.0f} % after"
        f" {trials}, mean over the shapes.",
        "- **The published regressions**: "
        + regressions([row for row in rows if claims[row.shape] < 0], claims),
        f"- **Overall**: {verdict_counts(analysis)}; over exactly these {len(rows)} shapes"
        f" {percent(here.boost)} ({span(here)}). They were chosen for their published boosts, and stand for"
        " no others.",
        f"- **The same search twice**: after {before} trials these searches and those of `{REFERENCE}`, made"
        f" on other hosts, differ by {same:+.1f} % (standard error {error:.1f} %).",
        f"- **Failures**: {lost(dataset)}",
    ]


def scatter(longer: np.ndarray, shorter: np.ndarray) -> str:
    """Say whether the noise has changed."""
    (above, first), (below, second) = noise(longer), noise(shorter)
    low, high = (above / below) ** 2 / stats.f.ppf([0.975, 0.025], first, second)
    if high < 1:
        return "Their outcomes vary less"
    return "Their outcomes vary more" if low > 1 else "Whether their outcomes vary less is open"


def regressions(rows: list[abtune.Comparison], claims: dict[str, float]) -> str:
    """Say which of the published regressions are shown, and which are excluded."""
    listed = ", ".join(f"`{row.shape}` {percent(claims[row.shape])}" for row in rows)
    shown = named("shown to regress", [row.shape for row in rows if row.boost_high < 0])
    excluded = named("shown to be faster", [row.shape for row in rows if row.boost_low > 0])
    beyond = named(
        "refuted as a value", [row.shape for row in rows if holds(row, claims[row.shape]) != "within"]
    )
    return f"of {listed}, by these searches {shown}, {excluded}, and {beyond}."


def named(what: str, labels: list[str]) -> str:
    """Say how many are so, and which."""
    return (
        f"{len(labels)} {what} ({', '.join(f'`{label}`' for label in labels)})" if labels else f"none {what}"
    )


def shape_table(
    analysis: abtune.Analysis, earlier: abtune.Analysis, claims: dict[str, float], headings: tuple[str, str]
) -> list[str]:
    """Each shape: what was published, and its boosts by long and by short searches."""
    before = {row.shape: row for row in earlier.comparisons}
    lines = [
        f"| shape | published, one run | {' | '.join(headings)} |",
        "| --- | ---: | ---: | ---: |",
    ]
    for row in analysis.comparisons:
        cells = " | ".join(f"{percent(each.boost)} ({span(each)})" for each in (row, before[row.shape]))
        lines.append(f"| `{row.shape}` | {percent(claims[row.shape])} | {cells} |")
    return lines


def draw(dataset: xr.Dataset, reference: xr.Dataset, claims: dict[str, float], path: Path) -> None:
    """Speed and noise by trials, and the boosts of both datasets beside the published ones."""
    mpl.rcParams.update(
        {"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, (speed, scatter, boosts) = plt.subplots(
        1, 3, figsize=(11, 3.9), width_ratios=[1, 1, 1.25], layout="constrained"
    )
    _draw_speed(speed, dataset)
    _draw_noise(scatter, dataset, reference)
    _draw_boosts(boosts, dataset, reference, claims)
    figure.savefig(path, dpi=150)


def _draw_speed(axis: Axes, dataset: xr.Dataset) -> None:
    trials = np.arange(16, dataset.sizes["trial"] + 1)
    curves = np.stack([best_after(dataset, count) for count in trials], axis=-1)
    curves = np.exp(curves - np.nanmean(curves[..., -1:], axis=2, keepdims=True))
    for place, config in enumerate(dataset["config"].values):
        of_config = curves[:, place].reshape(-1, len(trials))
        axis.plot(trials, of_config.T, color=COLOURS[config], lw=0.6, alpha=0.35)
        axis.plot(
            trials, np.exp(np.nanmean(np.log(of_config), axis=0)), color=COLOURS[config], lw=2, label=config
        )
    axis.set_ylim(0.6, 3)
    axis.set_xlabel("trials")
    axis.set_ylabel("best so far, over the mean of the ends")
    axis.set_title("Searches (thin) and their means")
    axis.legend(frameon=False)


def _draw_noise(axis: Axes, dataset: xr.Dataset, reference: xr.Dataset) -> None:
    for data, colour, name, shift in ((reference, "#999999", REFERENCE, -6), (dataset, "#222222", NAME, 6)):
        places = steps(data)
        found = [noise(best_after(data, count)) for count in places]
        values = np.array([100 * deviation for deviation, _ in found])
        freedom = found[0][1]
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
            label=f"{name}, {seeds_in(data)} seeds",
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
            boosts, places, xerr=[boosts - low, high - boosts], fmt="o", color=colour, label=seeds_of(data)
        )
    axis.plot(
        [100 * claims[label] for label in labels],
        range(len(labels)),
        "x",
        color="#a11f4c",
        mew=1.8,
        label="published, one run",
    )
    axis.axvline(0, color="#999999", lw=0.8)
    axis.set_xlim(-50, 110)
    axis.set_yticks(range(len(labels)), [short(label) for label in labels], fontsize=8)
    axis.set_ylim(-0.5, len(labels) + 0.4)
    axis.set_xlabel("boost of async over mainline (%)")
    axis.set_title("Boosts, 95 % intervals")
    axis.legend(frameon=False, fontsize=8, loc="upper right")


def report(dataset: xr.Dataset, reference: xr.Dataset, claims: dict[str, float]) -> str:
    """Compose the page."""
    analysis = abtune.analyze(dataset)
    hours = float(dataset["tuning_time"].sum()) / 3600
    cells = dataset.sizes["shape"] * dataset.sizes["config"]
    parts = [
        "# Longer searches on H200",
        "",
        f"Written by `python analysis/h200_deep.py` from the dataset `{NAME}`; `data/README.md` says how it",
        f"was made. In the terminal: `abtune analyze {NAME} --section curve`.",
        "",
        f"The three published shapes with a negative boost and the two with the largest, "
        f"{seeds_in(dataset)} seeds per side of {dataset.sizes['trial']} trials,",
        f"{int((dataset['run_status'] == RunStatus.COMPLETE).sum())} runs, {hours:.0f} hours of run time.",
        "",
        f"![Searches, their noise, and boosts beside the published ones]({NAME}.png)",
        "",
        "Left: every search, over the geometric mean of the ends of its shape and configuration. Bars are",
        "95 % intervals; those that reach the frame go on beyond.",
        "",
        "## What the data say",
        "",
        *findings(dataset, analysis, reference, claims),
        "",
        "## By number of trials",
        "",
        "By the searches' own timings, geometric means over shapes and seeds; noise is the standard",
        f"deviation of the log latency between seeds, pooled over the {cells} cells, with a 95 % interval",
        "from the chi-square distribution, which takes log latencies for normal. MetaSchedule's cost model",
        "answers at random until it has seen 100 trials, so that only what comes after 128 is guided by it.",
        "",
        *progress_table(dataset, reference),
        "",
        "## Where the searches end",
        "",
        "The winners of each cell, measured again, fastest first:",
        "",
        *ends_table(dataset),
        "",
        "## Few long searches or many short ones",
        "",
        f"What {10 * dataset.sizes['trial']:,} trials per side buy, with the noise of the table:",
        "",
        *budget_table(dataset),
        "",
        "Short searches answer another question: how the sides compare when neither has converged. Long ones",
        "cost more for the same certainty wherever their noise does not fall as fast as one over the square",
        "root of their trials.",
        "",
        "## Shape by shape",
        "",
        *shape_table(analysis, abtune.analyze(reference), claims, (seeds_of(dataset), seeds_of(reference))),
        "",
        *searched_again(dataset),
        "## What would settle more",
        "",
        "More seeds of as many trials, by `abtune power`:",
        "",
        *seeds_table(dataset),
        "",
        "## Where the noise comes from",
        "",
        "Standard deviation of the log latency: between seeds, between rounds of one winner, and between",
        "timings within a round.",
        "",
        *noise_table(dataset),
        "",
        "## Outcomes of the trials",
        "",
        *failure_table(dataset),
        "",
        *analysis_part(analysis),
    ]
    return "\n".join(parts)


def searched_again(dataset: xr.Dataset) -> list[str]:
    """Compare mainline with itself: the sides of h100-again, and its searches on H200 with those here."""
    fresh = abtune.open_dataset(DOCS.parent / "data" / "h100-again.nc")
    own = abtune.analyze(fresh)
    include_zero = sum(row.boost_low <= 0 <= row.boost_high for row in own.comparisons)
    shapes = [label for label in dataset["shape"].values if label in fresh["shape"].values]
    sides = [
        np.log(part["search_latency"].sel(shape=shapes, config=list(names)).values.reshape(len(shapes), -1))
        for part, names in (
            (dataset, ["mainline"]),
            (fresh.isel(seed=slice(SEEDS_ON_H200)), ["mainline", "again"]),
        )
    ]
    hosts = abtune.analyze(two_sides(shapes, *sides))
    return [
        "## Mainline against itself",
        "",
        f"Does abtune find a difference where there is none? `h100-again` has {fresh['winner'].size} further",
        f"searches of mainline with new random numbers: {fresh.sizes['shape']} shapes, two sides, "
        f"{fresh.sizes['seed']} seeds of {fresh.sizes['trial']} trials.",
        f"An H200 searched the first {SEEDS_ON_H200} seeds, an H100 the others, always for both sides.",
        "One H100 timed all winners together.",
        "",
        own.sentence,
        "",
        *again_table(own),
        "",
        f"{include_zero} of {len(own.comparisons)} intervals include zero.",
        "",
        f"The searches on H200 also stand against mainline's {dataset.sizes['seed']} seeds of `{NAME}`,",
        "which ran earlier on other hosts. Here the searches' own timings count.",
        "",
        hosts.sentence,
        "",
        *again_table(hosts),
        "",
        *dealt(shapes, np.concatenate(sides, axis=1)),
    ]


def again_table(analysis: abtune.Analysis) -> list[str]:
    """Return the rows of a comparison of mainline with itself."""
    rows = [
        f"| {short(row.shape)} | {percent(row.boost)} | {span(row)} "
        f"| {row.p_adjusted:.2g} | {row.verdict.words} | {'+'.join(str(side.n) for side in row.sides)} |"
        for row in analysis.comparisons
    ]
    heading = "| shape | boost | 95 % interval | adjusted p | verdict | seeds |"
    return [heading, "| --- | ---: | ---: | ---: | --- | ---: |", *rows]


def two_sides(shapes: list[str], baseline: np.ndarray, candidate: np.ndarray) -> xr.Dataset:
    """Return the dataset of two sides of log latencies, each of shape (shapes, searches)."""
    width = max(side.shape[1] for side in (baseline, candidate))
    both = [
        np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=np.nan)
        for side in (baseline, candidate)
    ]
    return abtune.make_dataset(np.exp(np.stack(both, axis=1)), shapes=shapes, configs=["mainline", "again"])


def dealt(shapes: list[str], pooled: np.ndarray) -> list[str]:
    """Deal the searches of one configuration to two sides at random, and say what the reports find."""
    rng = np.random.default_rng(0)
    searches = int(np.isfinite(pooled).sum(axis=1).min())
    half = searches // 2
    different, equivalent, counted = 0, 0, 0
    included: list[bool] = []
    for _ in range(DEALS):
        rows = [rng.permutation(row[np.isfinite(row)])[: 2 * half] for row in pooled]
        halves = np.array(rows).reshape(len(shapes), 2, half)
        analysis = abtune.analyze(two_sides(shapes, halves[:, 0], halves[:, 1]))
        verdicts = [row.verdict for row in analysis.comparisons]
        different += any(verdict in (Verdict.IMPROVED, Verdict.REGRESSED) for verdict in verdicts)
        equivalent += any(verdict is Verdict.EQUIVALENT for verdict in verdicts)
        counted += any(claim.claim == "faster" and claim.at_least for claim in analysis.claims)
        included += [row.boost_low <= 0 <= row.boost_high for row in analysis.comparisons]
    return [
        f"Of each shape, {2 * half} of these searches were then dealt to two sides of {half}, at random and "
        f"{DEALS:,} times:",
        "",
        f"- {different / DEALS:.1%} of the reports have a false *improved* or *regressed*.",
        f"- {counted / DEALS:.1%} say that at least one shape is faster; at most 5 % are promised.",
        f"- {np.mean(included):.1%} of the intervals include zero; 95 % are promised.",
        f"- {equivalent / DEALS:.1%} of the reports call a shape equivalent, which is true.",
        "",
    ]


def main() -> None:
    """Write the page and the figure."""
    dataset = abtune.open_dataset(NAME)
    reference = abtune.open_dataset(REFERENCE).sel(shape=dataset["shape"].values)
    claims = published_boosts()
    draw(dataset, reference, claims, DOCS / f"{NAME}.png")
    (DOCS / f"{NAME}.md").write_text(report(dataset, reference, claims), encoding="utf-8")


if __name__ == "__main__":
    main()
