"""Write docs/h200-tvm14009.md and its figure: the published shapes, tuned again with seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import (
    boost_table,
    claims_table,
    failure_table,
    lost,
    method_table,
    noise_sentences,
    percent,
    published_boosts,
    seeds_a_side,
    seeds_table,
    span,
    trials_table,
    verdict_counts,
)
from scipy import stats

import abtune
from abtune.dataset.schema import RunStatus
from abtune.report.figures.figure import save_figure
from abtune.report.figures.forest import draw_forest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NAME = "h200-tvm14009"


def findings(dataset: xr.Dataset, analysis: abtune.Analysis, claims: dict[str, float]) -> list[str]:
    """Say in plain words what the data say of the shapes, of the published table, and overall."""
    rows = list(analysis.comparisons)
    here, kinds = analysis.overall.these_shapes, analysis.overall.by_kind
    others = ", ".join(f"{kind.workload} {span(kind.shapes_like_these)}" for kind in kinds)
    inside = sum(row.boost_low <= claims[row.shape] <= row.boost_high for row in rows)
    negative = [row for row in rows if claims[row.shape] < 0]
    worse = [row for row in negative if row.boost_high < 0]
    rank = stats.spearmanr([claims[row.shape] for row in rows], [row.boost for row in rows])
    widths = np.median([row.boost_high - row.boost_low for row in rows])
    return [
        f"- **In a sentence**: {analysis.sentence}",
        f"- **Shape by shape**: {verdict_counts(analysis)}, with {seeds_a_side(analysis)} seeds per side. The"
        f" median interval is {100 * widths:.0f} points wide.",
        f"- **Overall**: over exactly these {len(rows)} shapes {percent(here.boost)}, 95 % interval"
        f" {span(here)}. Expected for other shapes: {others}.",
        f"- **The published table**: {inside} of its {len(rows)} boosts lie within the intervals found here;"
        f" Spearman's rank correlation of the two is {rank.statistic:.2f} (p {rank.pvalue:.2g}). It was made"
        " on another GPU (RTX 3080), with another TVM and 5,000 trials a run.",
        f"- **Its regressions**: {len(negative)} of the published boosts are below zero ("
        + ", ".join(f"`{row.shape}` {percent(claims[row.shape])}" for row in negative)
        + f"). {len(worse) if worse else 'None'} of these shapes"
        f" {'are' if len(worse) > 1 else 'is'} shown to regress here: "
        + "; ".join(f"`{row.shape}` {percent(row.boost)} ({span(row)})" for row in negative)
        + ".",
        f"- **Failures**: {lost(dataset)}",
    ]


def worst(analysis: abtune.Analysis) -> list[str]:
    """Say how slow any shape can be, if that is known."""
    found = analysis.worst
    if found is None:
        return []
    return [
        f"No shape is slower by more than {-100 * found.boost_low:.1f} %. The least certain one is",
        f"`{found.shape}`.",
    ]


def warnings(analysis: abtune.Analysis) -> list[str]:
    """List the caveats of the report, and those of single shapes."""
    single = [f"- `{row.shape}`: {' '.join(row.caveats)}" for row in analysis.comparisons if row.caveats]
    return [*(f"- {caveat}" for caveat in analysis.caveats), *single]


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
        f"`abtune analyze {NAME} --why` gives the reason of each verdict, and the boost that these seeds",
        "could find.",
        "",
        "## How many shapes",
        "",
        *claims_table(analysis),
        "",
        *worst(analysis),
        "",
        "## What the report warns of",
        "",
        *warnings(analysis),
        "",
        "## How far the verdicts depend on the method",
        "",
        "The default was fixed before these data. Other options would have called different:",
        "",
        *method_table(dataset),
        "",
        "`bh` is a screen: one in twenty of its claims may be false. Confirm verdicts that change with the",
        "method with more seeds.",
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
        "More trials a run. This is what the same runs had reached before, by the searches' own timings:",
        "root mean square of the noise over the shapes, and geometric means. Five shapes were",
        "[searched longer](h200-deep.md).",
        "",
        *trials_table(dataset, 32),
        "",
        "## Outcomes of the trials",
        "",
        *failure_table(dataset),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the page and the figure."""
    dataset = abtune.open_dataset(NAME)
    analysis = abtune.analyze(dataset)
    claims = published_boosts()
    save_figure(draw_forest(analysis, claims, "tvm14009-rtx3080"), DOCS / f"{NAME}.png")
    (DOCS / f"{NAME}.md").write_text(report(dataset, analysis, claims), encoding="utf-8")


if __name__ == "__main__":
    main()
