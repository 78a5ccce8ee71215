"""Write docs/h200-tvm14009.md and its figure: the published shapes, tuned again with seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import failure_table, method_table, optimism, seeds_table, trials_table
from scipy import stats

import abtune
from abtune.report.figures import save_figure
from abtune.report.forest_figure import draw_forest
from abtune.report.markdown import render_markdown
from abtune.schema import RunStatus, TrialStatus

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NAME = "h200-tvm14009"
# What stands between these lines of the README is written here.
BEGIN, END = f"<!-- begin: {NAME} -->", f"<!-- end: {NAME} -->"


def percent(value: float) -> str:
    """Write a boost as the reports do."""
    return f"{100 * value:+.1f} %"


def span(row: abtune.Comparison) -> str:
    """Write an interval."""
    return f"{100 * row.boost_low:+.1f} to {100 * row.boost_high:+.1f} %"


def holds(row: abtune.Comparison, claim: float) -> str:
    """Say where a published boost lies."""
    if row.boost_low <= claim <= row.boost_high:
        return "within"
    return "above it" if claim > row.boost_high else "below it"


def boost_table(rows: list[abtune.Comparison], claims: dict[str, float]) -> list[str]:
    """Each shape: what was published, what is seen here, and what can be said."""
    lines = [
        "| shape | published, one run | here | 95 % interval | published value | verdict |",
        "| --- | ---: | ---: | ---: | --- | --- |",
    ]
    lines += [
        f"| `{row.shape}` | {percent(claims[row.shape])} | {percent(row.boost)} | {span(row)} "
        f"| {holds(row, claims[row.shape])} | {row.verdict} |"
        for row in rows
    ]
    return lines


def reasons(rows: list[abtune.Comparison]) -> list[str]:
    """Say of each shape why it has its verdict, and what would change it."""
    return [f"- `{row.shape}`: {row.reason}" for row in rows]


def noise_sentences(dataset: xr.Dataset) -> list[str]:
    """Say how large the noise of the search is, and how small that of the measurement."""
    logs = np.log(dataset["latency"])
    rounds = logs.median("repeat")
    search = np.sqrt((rounds.mean("round").std("seed", ddof=1) ** 2).mean("config"))
    between = np.sqrt((rounds.std("round", ddof=1) ** 2).mean(["config", "seed"]))
    within = np.sqrt((logs.std("repeat", ddof=1) ** 2).mean(["config", "seed", "round"]))
    # A seed's value is a mean over rounds, so that is the error it carries.
    error = between / np.sqrt(dataset.sizes["round"])
    loud = [
        f"`{label}` ({float(np.exp(rounds.sel(shape=label)).median()) * 1e6:.1f} us,"
        f" {100 * float(between.sel(shape=label)):.1f} % between rounds)"
        for label in dataset["shape"].values
        if float(error.sel(shape=label)) > float(search.sel(shape=label)) / 10
    ]
    values = {
        name: f"median {100 * float(part.median()):.2f} %, highest {100 * float(part.max()):.2f} %"
        for name, part in (("search", search), ("between", between), ("within", within))
    }
    return [
        "Standard deviation of the log latency over the shapes, both configurations pooled:",
        "",
        f"- between seeds, which is the noise of the search: {values['search']}",
        f"- between rounds of measuring one winner: {values['between']}",
        f"- between timings within a round: {values['within']}",
        "",
        f"In {dataset.sizes['shape'] - len(loud)} of {dataset.sizes['shape']} shapes the error of a seed's"
        " value is less than a tenth of the noise of the search,",
        "so that timing longer would not have told more"
        + (f"; the others: {', '.join(loud)}." if loud else "."),
        "",
        "The search's own time of its winner differs from the one measured again by a median of "
        f"{optimism(dataset):+.2f} %.",
        *launches(dataset, rounds),
    ]


def launches(dataset: xr.Dataset, rounds: xr.DataArray) -> list[str]:
    """Tell of winners so fast that the host's load shows in their times."""
    drift = rounds.isel(round=[0, -1]).diff("round").isel(round=0).median(["config", "seed"])
    found = [label for label in dataset["shape"].values if float(drift.sel(shape=label)) < -0.1]
    if not found:
        return []
    first, last = (
        float(np.exp(rounds.sel(shape=found[0]).isel(round=place)).median()) * 1e6 for place in (0, -1)
    )
    return [
        "",
        f"Winners of `{found[0]}` took {first:.1f} us in the first round and {last:.1f} us in the last, in"
        " both configurations:",
        "a call that short ends before the next is launched, and the first rounds fell into a time when the",
        "host was busy building winners of other shapes. The report notes it as well: seeds scatter less",
        "than repeated timings of one winner.",
    ]


def verdict_counts(analysis: abtune.Analysis) -> str:
    """Count the verdicts."""
    verdicts = [str(row.verdict) for row in analysis.comparisons]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))


def seeds_a_side(analysis: abtune.Analysis) -> str:
    """Say how many seeds there are."""
    numbers = [n for row in analysis.comparisons for n in (row.n_baseline, row.n_candidate)]
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def findings(dataset: xr.Dataset, analysis: abtune.Analysis, claims: dict[str, float]) -> list[str]:
    """Say in plain words what the data say of the shapes, of the published table, and overall."""
    rows = list(analysis.comparisons)
    here, there = analysis.overall.these_shapes, analysis.overall.shapes_like_these
    inside = sum(row.boost_low <= claims[row.shape] <= row.boost_high for row in rows)
    negative = [row for row in rows if claims[row.shape] < 0]
    worse = [row for row in negative if row.boost_high < 0]
    rank = stats.spearmanr([claims[row.shape] for row in rows], [row.boost for row in rows])
    widths = np.median([row.boost_high - row.boost_low for row in rows])
    return [
        f"- **Shape by shape**: {verdict_counts(analysis)}, with {seeds_a_side(analysis)} seeds a side. The"
        f" median interval is {100 * widths:.0f} points wide.",
        f"- **Overall**: over exactly these {len(rows)} shapes async is faster by {percent(here.boost)}, 95 %"
        f" interval {span(here)}; of shapes like these, of which they are a sample,"
        f" {span(there)}.",
        f"- **The published table**: {inside} of its {len(rows)} boosts lie within the intervals found here;"
        f" Spearman's rank correlation of the two is {rank.statistic:.2f} (p {rank.pvalue:.2g}). It was made"
        " on another GPU (RTX 3080), with another TVM and 5,000 trials a run, so agreement is not to be"
        " expected to the digit.",
        f"- **Its regressions**: {len(negative)} of the published boosts are below zero ("
        + ", ".join(f"`{row.shape}` {percent(claims[row.shape])}" for row in negative)
        + f"). {len(worse) if worse else 'None'} of these shapes"
        f" {'are' if len(worse) > 1 else 'is'} shown to regress here: "
        + "; ".join(f"`{row.shape}` {percent(row.boost)} ({span(row)})" for row in negative)
        + ".",
        f"- **Failures**: {lost(dataset)}",
    ]


def lost(dataset: xr.Dataset) -> str:
    """Say what each configuration lost of its trials, and which runs failed."""
    shares = []
    for config in dataset["config"].values:
        status = dataset["trial_status"].sel(config=config)
        tried = status != TrialStatus.NOT_RUN
        share = 100 * float((tried & (status != TrialStatus.OK)).sum() / tried.sum())
        shares.append(f"{config} lost {share:.2f} % of its trials")
    failed = dataset["run_status"] == RunStatus.FAILED
    reasons = sorted({str(reason) for reason in dataset["failure"].values[failed.values]})
    runs = f"{int(failed.sum())} of {failed.size} runs failed" + (
        f" ({'; '.join(reasons)})" if reasons else ""
    )
    return f"{', '.join(shares)}. {runs}."


def report(dataset: xr.Dataset, analysis: abtune.Analysis, claims: dict[str, float]) -> str:
    """Compose the page."""
    hours = float(dataset["tuning_time"].sum()) / 3600
    complete = int((dataset["run_status"] == RunStatus.COMPLETE).sum())
    parts = [
        "# The published shapes on H200, with seeds",
        "",
        f"Written by `python analysis/h200_tvm14009.py` from the dataset `{NAME}`; `data/README.md` says",
        f"how it was made. The same in the terminal: `abtune analyze {NAME}`.",
        "",
        f"{dataset.sizes['shape']} shapes, two configurations, {dataset.sizes['seed']} seeds of"
        f" {dataset.sizes['trial']} trials: {complete} complete runs, {hours:.0f} hours of run time.",
        "",
        f"![Boosts with intervals, and the published ones]({NAME}.png)",
        "",
        "## What the data say",
        "",
        *findings(dataset, analysis, claims),
        "",
        "## Shape by shape",
        "",
        *boost_table(list(analysis.comparisons), claims),
        "",
        *reasons(list(analysis.comparisons)),
        "",
        "## How far the verdicts hang on the method",
        "",
        "The default of the report was fixed before these data. Others would have called different:",
        "",
        *method_table(dataset),
        "",
        "`bh` is a screen: of what it calls different, one in twenty may be false. Verdicts that change with",
        "the method are those to confirm with more seeds.",
        "",
        "## Where the noise comes from",
        "",
        *noise_sentences(dataset),
        "",
        "## What would settle more",
        "",
        "More seeds of as many trials, by `abtune power`:",
        "",
        *seeds_table(dataset),
        "",
        "More trials a run. This is what the same runs had reached on the way, by the searches' own timings:",
        "root mean square of the noise over the shapes, and geometric means.",
        "",
        *trials_table(dataset, 32),
        "",
        "## What became of the trials",
        "",
        *failure_table(dataset),
        "",
        "## The analysis",
        "",
        *(f"#{line}" if line.startswith("#") else line for line in render_markdown(analysis).splitlines()),
        "",
    ]
    return "\n".join(parts)


def readme_part(analysis: abtune.Analysis, claims: dict[str, float]) -> str:
    """Compose what the README says of these data."""
    rows, here = list(analysis.comparisons), analysis.overall.these_shapes
    seeds, counts = seeds_a_side(analysis), verdict_counts(analysis)
    parts = [
        f"![Boosts of async over mainline in {len(rows)} shapes, with intervals](docs/{NAME}.png)",
        "",
        f"`abtune analyze {NAME}`: {seeds} seeds a side, {counts}; over all shapes {percent(here.boost)},",
        f"95 % interval {span(here)}. Crosses are the published boosts of one run a side, from another GPU.",
        f"[What is known of each shape, and what would settle more](docs/{NAME}.md).",
        "",
        "<details><summary>The table</summary>",
        "",
        *boost_table(rows, claims),
        "",
        "</details>",
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the page, the figure, and their part of the README."""
    dataset = abtune.open_dataset(NAME)
    analysis = abtune.analyze(dataset)
    published = abtune.analyze(abtune.open_dataset("tvm14009-rtx3080"))
    claims = {row.shape: row.boost for row in published.comparisons}
    save_figure(draw_forest(analysis, claims, "tvm14009-rtx3080"), DOCS / f"{NAME}.png")
    (DOCS / f"{NAME}.md").write_text(report(dataset, analysis, claims), encoding="utf-8")
    readme = ROOT / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    text = "\n".join([BEGIN, readme_part(analysis, claims), END])
    readme.write_text(before + text + after, encoding="utf-8")


if __name__ == "__main__":
    main()
