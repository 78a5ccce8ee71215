"""Write docs/h200-tvm14009.md and its figure: the published shapes, tuned again with seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import (
    in_a_sentence,
    judged,
    measuring_noise,
    noise_sentence,
    page,
    percent,
    published_boosts,
    seed_values,
    short,
    span,
    table,
)
from scipy import stats

import abtune
from abtune.dataset.schema import RunStatus
from abtune.report.figures.forest import draw_forest
from abtune.report.figures.panels import save_figure

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAME = "h200-tvm14009"
OPTIONS: tuple[dict[str, str], ...] = ({}, {"correction": "max-t"}, {"correction": "bh"})


def findings(analysis: abtune.Analysis, claims: dict[str, float]) -> str:
    """Say in plain words what the data say of the shapes, of the published table, and overall."""
    rows = analysis.comparisons
    published, boosts, low, high = np.array(
        [(claims[row.shape], row.boost, row.boost_low, row.boost_high) for row in rows]
    ).T
    above, below = (published > high).sum(), (published < low).sum()
    rank = stats.spearmanr(published, boosts)
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(
        f"{verdicts.count(verdict)} {verdict.words}" for verdict in abtune.Verdict if verdict in verdicts
    )
    others = ", ".join(f"{kind.workload} {span(kind.shapes_like_these)}" for kind in analysis.overall.by_kind)
    negative = [row for row in rows if claims[row.shape] < 0]
    here = ", ".join(
        f"`{row.shape}` {percent(row.boost)} ({span(row)}) in place of {percent(claims[row.shape])}"
        for row in negative
    )
    worst = (
        f"No shape is slower by more than {-100 * analysis.worst.boost_low:.1f} %." if analysis.worst else ""
    )
    return f"""\
- {in_a_sentence(analysis)}
- **Few shapes are settled**: {counts}, with {rows[0].baseline.n} seeds per side. The median interval is
{100 * np.median(high - low):.0f} points wide. {worst}
- **Expected for other shapes**: {others}.
- **The published table agrees in part**: {len(rows) - above - below} of its {len(rows)} boosts lie within the
intervals found here, {above} above and {below} below. Spearman's rank correlation of the two is
{rank.statistic:.2f} (p {rank.pvalue:.2g}). The table was made on another GPU (RTX 3080), with
another TVM and 5,000 trials a run.
- **{sum(row.boost_high < 0 for row in negative) or "None"} of its {len(negative)} regressions is shown
here**: {here}."""


def shape_table(rows: tuple[abtune.Comparison, ...], claims: dict[str, float]) -> str:
    """Each shape: what was published, what is seen here, and what can be said."""
    cells = ((f"`{row.shape}`", percent(claims[row.shape]), *judged(row)) for row in rows)
    return table("shape|published, one run:|here:|95 % interval:|adj. p:|verdict", cells)


def drift(dataset: xr.Dataset) -> str:
    """Tell of the shape whose timings vary most between rounds."""
    loudest = measuring_noise(dataset)[1].idxmax().item()
    times = np.exp(xr.ufuncs.log(dataset["latency"].sel(shape=loudest)).median("repeat"))
    first, last = (1e6 * float(times.isel(round=index).median()) for index in (0, -1))
    return (
        f"Winners of `{loudest}` took {first:.1f} us in the first round and {last:.1f} us in the last: the "
        "time between launches counts, too. Newer sweeps use [CUDA "
        "graphs](h200-deep.md#launched-by-cuda-graphs), without such pauses."
    )


def method_table(dataset: xr.Dataset) -> str:
    """List the shapes that each test and correction calls different."""
    lines = []
    for options in OPTIONS:
        rows = abtune.analyze(dataset, **options).comparisons  # type: ignore[arg-type]
        numbers = (
            ", ".join(short(row.shape) for row in rows if row.verdict is verdict) or "none"
            for verdict in (abtune.Verdict.IMPROVED, abtune.Verdict.REGRESSED)
        )
        lines.append(
            (" ".join(f"`--{name} {value}`" for name, value in options.items()) or "default", *numbers)
        )
    return table("options|improved|regressed", lines)


def report(dataset: xr.Dataset, analysis: abtune.Analysis, claims: dict[str, float]) -> str:
    """Compose the page."""
    search, between, _ = measuring_noise(dataset)
    quiet = int((between / np.sqrt(dataset.sizes["round"]) < search / 10).sum())
    optimism = 100 * float((dataset["search_latency"] * 1e6 / seed_values(dataset) - 1).median())
    return page(f"""\
# The published shapes on H200, with seeds

Are the boosts of [apache/tvm#14009](https://github.com/apache/tvm/pull/14009) real? Its
{dataset.sizes["shape"]} shapes were tuned again, `async` against `mainline` ([what they
are](sweep.md#what-is-compared)), with {dataset.sizes["seed"]} seeds of {dataset.sizes["trial"]} trials:
{int((dataset["run_status"] == RunStatus.COMPLETE).sum())} complete runs,
{float(dataset["tuning_time"].sum()) / 3600:.0f} hours of run time. In the terminal: `abtune analyze {NAME}`.
`python analysis/studies/h200_tvm14009.py` writes this page. `data/README.md` describes the data.

![Boosts with intervals, and the published ones]({NAME}.png)

## What the data say

{findings(analysis, claims)}

## Shape by shape

{shape_table(analysis.comparisons, claims)}

`abtune analyze {NAME} --why` gives the reason of each verdict, and what the report warns of.
`abtune power {NAME}` says how many seeds would settle more.

## How far the verdicts depend on the method

With some other options, more shapes are improved. The default was fixed before these data.

{method_table(dataset)}

`bh` is a screen: one in twenty of its claims may be false. Confirm them by more seeds.

## Where the noise comes from

{noise_sentence(dataset)} In {quiet} of {dataset.sizes["shape"]} shapes the error of a seed's value is less
than a tenth of the noise of the search, so longer timing would not help there.

The search's own time of its winner differs from the one measured again by a median of {optimism:+.2f} %.

{drift(dataset)}

The same shapes were [searched longer](h200-deep.md).
""")


def main() -> None:
    """Write the page and the figure."""
    dataset = abtune.open_dataset(NAME)
    analysis = abtune.analyze(dataset)
    claims = published_boosts()
    save_figure(draw_forest(analysis, claims, "tvm14009-rtx3080"), DOCS / f"{NAME}.png")
    (DOCS / f"{NAME}.md").write_text(report(dataset, analysis, claims), encoding="utf-8")


if __name__ == "__main__":
    main()
