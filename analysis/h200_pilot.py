"""Write docs/h200-pilot.md and its figure from the dataset h200-pilot: what the pilot sweep shows."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from h200_tables import (
    COLOURS,
    analysis_part,
    boost_table,
    failure_table,
    noise_table,
    optimism,
    seed_values,
    short,
)
from matplotlib import pyplot as plt

import abtune
from abtune.dataset.schema import TrialStatus

DOCS = Path(__file__).resolve().parent.parent / "docs"


def best_so_far(dataset: xr.Dataset) -> xr.DataArray:
    """Microseconds of the best candidate after each trial, by seed."""
    times = dataset["trial_latency"].fillna(np.inf)
    return xr.apply_ufunc(np.minimum.accumulate, times, kwargs={"axis": -1}) * 1e6


def convergence_table(dataset: xr.Dataset, trials: tuple[int, ...]) -> list[str]:
    """Median over seeds of the best latency after so many trials."""
    best = best_so_far(dataset).median("seed")
    lines = [
        "| shape | configuration | " + " | ".join(f"{count} trials" for count in trials) + " |",
        "| --- | --- |" + " ---: |" * len(trials),
    ]
    for label in dataset["shape"].values:
        for config in dataset["config"].values:
            curve = best.sel(shape=label, config=config)
            values = " | ".join(f"{float(curve[count - 1]):.1f} us" for count in trials)
            lines.append(f"| `{label}` | {config} | {values} |")
    return lines


def draw(dataset: xr.Dataset, published: abtune.Analysis, path: Path) -> None:
    """Every seed of both configurations, and the boosts with their intervals beside the published ones."""
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    labels = dataset["shape"].values.tolist()
    values = seed_values(dataset)
    figure, axes = plt.subplots(
        1, len(labels) + 1, figsize=(11, 3.4), width_ratios=[1] * len(labels) + [1.7], layout="constrained"
    )
    for axis, label in zip(axes, labels, strict=False):
        for place, config in enumerate(dataset["config"].values):
            seeds = np.sort(values.sel(shape=label, config=config).values)
            spread = np.linspace(-0.18, 0.18, len(seeds))
            axis.scatter(place + spread, seeds, s=16, color=COLOURS[config], alpha=0.85, linewidths=0)
            axis.hlines(np.exp(np.log(seeds).mean()), place - 0.3, place + 0.3, color=COLOURS[config], lw=1.6)
        axis.set_title(short(label), fontsize=8.5)
        axis.set_xticks(range(dataset.sizes["config"]), dataset["config"].values)
        axis.set_xlim(-0.6, 1.6)
        axis.set_ylim(0, None)
    axes[0].set_ylabel("latency of the winner (us), one dot a seed")
    boosts = axes[-1]
    claims = {row.shape: row.boost for row in published.comparisons}
    for place, row in enumerate(reversed(abtune.analyze(dataset).comparisons)):
        boosts.plot([100 * row.boost_low, 100 * row.boost_high], [place, place], color="#222222", lw=1.6)
        boosts.plot(
            100 * row.boost,
            place,
            "o",
            color="#222222",
            label="10 seeds, 95 % interval" if not place else None,
        )
        boosts.plot(
            100 * claims[row.shape],
            place,
            "x",
            color="#a11f4c",
            mew=1.8,
            label="published, one run" if not place else None,
        )
    boosts.axvline(0, color="#999999", lw=0.8)
    boosts.set_yticks(range(len(labels)), [short(label) for label in reversed(labels)], fontsize=8)
    boosts.set_ylim(-0.5, len(labels) - 0.1)
    boosts.set_xlabel("boost of async over mainline (%)")
    boosts.legend(frameon=False, fontsize=8, loc="upper right")
    figure.savefig(path, dpi=150)


def report(dataset: xr.Dataset, published: abtune.Analysis) -> str:
    """Compose the page."""
    analysis = abtune.analyze(dataset)
    hours = float(dataset["tuning_time"].sum()) / 3600
    failed = dataset["trial_status"].sel(config="async") == TrialStatus.RUN_FAILED
    share = 100 * float(failed.mean())
    runs = dataset["run_status"].size
    trials = dataset.sizes["trial"]
    overall = analysis.overall.these_shapes
    parts = [
        "# Pilot sweep on H200: async against mainline",
        "",
        "Written by `python analysis/h200_pilot.py` from the dataset `h200-pilot`; `data/README.md` says how",
        "it was made. The same analysis in the terminal: `abtune analyze h200-pilot`.",
        "",
        "![Latency of every winner, and boosts with intervals beside the published ones](h200-pilot.png)",
        "",
        "## What it says",
        "",
        *boost_table(list(analysis.comparisons), {row.shape: row.boost for row in published.comparisons}),
        "",
        "The published boosts are from another GPU (RTX 3080), another TVM and 5,000 trials, so they are not",
        "refuted or confirmed here. What the pilot shows is how much one run can be worth: the noise between",
        "seeds is as large as most of the published boosts.",
        "",
        f"- No single shape is settled by 10 seeds of {trials} trials. Over exactly these three shapes the",
        f"  boost is {100 * overall.boost:+.1f} % with a 95 % interval of {100 * overall.boost_low:+.1f} to "
        f"{100 * overall.boost_high:+.1f} %; three shapes say nothing",
        "  of others like them.",
        "- The regression published for `M=512_N=3072_K=768` is neither shown nor excluded.",
        f"- {share:.1f} % of the async candidates failed when run (a misaligned address), none of mainline.",
        "  The async arm spends part of its budget on them, as it would for a user.",
        "- MetaSchedule's cost model answers at random until it has seen 100 trials, so here only the last",
        "  of three iterations is guided by it. Larger budgets may behave differently.",
        f"- {runs} runs took {hours:.1f} hours of run time, side by side on 64 cores and 4 GPUs.",
        "",
        *analysis_part(analysis),
        "## Where the noise comes from",
        "",
        "Standard deviation of the log latency, in percent: between seeds, between rounds of one winner, and",
        "between timings within a round.",
        "",
        *noise_table(dataset),
        "",
        "The search's own time of its winner differs from the one measured again by a median of "
        f"{optimism(dataset):+.2f} %.",
        "",
        "## Outcomes of the trials",
        "",
        *failure_table(dataset),
        "",
        "## Best latency by number of trials",
        "",
        "Median over seeds.",
        "",
        *convergence_table(dataset, (64, 128, 192)),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the page and the figure."""
    dataset = abtune.open_dataset("h200-pilot")
    published = abtune.analyze(abtune.open_dataset("tvm14009-rtx3080"))
    draw(dataset, published, DOCS / "h200-pilot.png")
    (DOCS / "h200-pilot.md").write_text(report(dataset, published), encoding="utf-8")


if __name__ == "__main__":
    main()
