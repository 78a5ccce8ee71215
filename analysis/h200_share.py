"""Write docs/h200-share.md: what searches gain by sharing what they find, against independent searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import percent, seed_values, short
from scipy import stats

import abtune
from abtune.compare.results import Comparison

ROOT = Path(__file__).resolve().parent.parent
# The design, and the dataset of its searches.
DESIGNS: Mapping[str, str] = {
    "independent": "h200-tvm14009",
    "one exchange": str(ROOT / "data" / "h200-share-once.nc"),
    "an exchange after each iteration": "h200-share",
}
COSTS = str(ROOT / "data" / "h200-share-alone.nc")
# What the candidate of each control is, and the dataset of its searches.
CONTROLS: Mapping[str, str] = {
    "the same as mainline": "h200-share-again.nc",
    "mainline without vectors": "h200-share-worse.nc",
}


def differences(dataset: xr.Dataset) -> xr.DataArray:
    """Return the logarithms of the boosts of single pairs, by shape and seed."""
    logs = np.log(seed_values(dataset))
    return logs.isel(config=0) - logs.isel(config=1)


def spread(dataset: xr.Dataset) -> xr.DataArray:
    """Return the standard deviation of the difference of two searches, by shape."""
    if dataset.attrs.get("design") == "shared":
        return differences(dataset).std("seed", ddof=1)
    return np.sqrt(np.log(seed_values(dataset)).var("seed", ddof=1).sum("config"))


def root_mean_square(values: xr.DataArray) -> float:
    """Return the typical value of standard deviations."""
    return float(np.sqrt((values**2).mean()))


def spread_table(studies: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield the spread of each shape under each design, and the correlation of its pairs."""
    yield f"| shape | {' | '.join(studies)} | correlation of pairs |"
    yield f"| --- |{' ---: |' * (len(studies) + 1)}"
    spreads = [spread(dataset) for dataset in studies.values()]
    last = list(studies.values())[-1]
    logs = np.log(seed_values(last))
    correlation = xr.corr(logs.sel(config="mainline"), logs.sel(config="async"), "seed")
    for label in last["shape"].values.tolist():
        cells = " | ".join(f"{float(each.sel(shape=label)):.3f}" for each in spreads)
        yield f"| {short(label)} | {cells} | {float(correlation.sel(shape=label)):+.2f} |"
    yield f"| root mean square | {' | '.join(f'{root_mean_square(each):.3f}' for each in spreads)} | |"


def design_table(studies: Mapping[str, xr.Dataset], alone: float) -> Iterator[str]:
    """Yield the cost and the worth of each design."""
    yield (
        "| design | pairs | core seconds per search | variance | variance x cost | latency of mainline "
        "| of async |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    reference = next(iter(studies.values()))
    first = root_mean_square(spread(reference)) ** 2 * alone
    for name, dataset in studies.items():
        cost = alone if dataset is reference else float(dataset["tuning_time"].mean())
        variance = root_mean_square(spread(dataset)) ** 2
        logs = [np.log(seed_values(each)).mean("seed") for each in (dataset, reference)]
        change = 100 * np.expm1((logs[0] - logs[1]).mean("shape"))
        pairs = differences(dataset).notnull().sum("seed").values
        number = f"{pairs.min()} to {pairs.max()}" if pairs.min() < pairs.max() else str(pairs.max())
        yield (
            f"| {name} | {number} | {cost:.0f} | {variance:.4f} | {variance * cost / first:.2f} "
            f"| {float(change.sel(config='mainline')):+.1f} % | {float(change.sel(config='async')):+.1f} % |"
        )


def boost_table(studies: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield the boosts of independent and of shared searches."""
    yield (
        "| shape | independent, 10 + 10 searches | 95 % interval | at equal knowledge, 5 pairs "
        "| 95 % interval |"
    )
    yield "| --- | ---: | ---: | ---: | ---: |"
    found = [abtune.analyze(studies[name]) for name in ("independent", list(studies)[-1])]
    rows = [{row.shape: row for row in analysis.comparisons} for analysis in found]
    for label in rows[-1]:
        cells = " | ".join(boost_and_interval(each[label]) for each in rows)
        yield f"| {short(label)} | {cells} |"


def control_table(name: str, analysis: abtune.Analysis) -> Iterator[str]:
    """Yield what shared searches find of a control, shape by shape."""
    yield f"| {name} | boost | 95 % interval | adjusted p | verdict |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for row in analysis.comparisons:
        interval = f"{percent(row.boost_low, 2)} to {percent(row.boost_high, 2)}"
        yield (
            f"| {short(row.shape)} | {percent(row.boost, 2)} | {interval} "
            f"| {row.p_adjusted:.2g} | {row.verdict} |"
        )


def controls() -> Iterator[str]:
    """Yield the section on controls."""
    yield from (
        "## Controls",
        "",
        "Does sharing say what is true? Two candidates whose truth is known were tuned on an H200, with 8",
        "pairs of 192 trials: mainline under another name, and mainline built without vectors",
        "(`tirx.disable_vectorize`), which should be slower. Both can build every schedule of mainline.",
        "",
    )
    datasets = {name: abtune.open_dataset(str(ROOT / "data" / file)) for name, file in CONTROLS.items()}
    for name, dataset in datasets.items():
        analysis = abtune.analyze(dataset)
        yield from (analysis.sentence, "", *control_table(name, analysis), "")
    again = datasets["the same as mainline"]
    yield from (
        "Of the same configuration, both sides end at the same kernel: the winners of one side vary by",
        f"{100 * root_mean_square(np.log(seed_values(again)).std('seed', ddof=1)):.0f} % between seeds, "
        f"the differences of pairs by {100 * root_mean_square(spread(again)):.1f} %.",
        "",
    )


def boost_and_interval(row: Comparison) -> str:
    """Return two cells."""
    return f"{percent(row.boost)} | {percent(row.boost_low)} to {percent(row.boost_high)}"


def worth(studies: Mapping[str, xr.Dataset]) -> str:
    """Return how many independent searches a pair is worth, with the interval of the F distribution."""
    alone, shared = studies["independent"], list(studies.values())[-1]
    ratio = root_mean_square(spread(alone)) ** 2 / root_mean_square(spread(shared)) ** 2
    shapes = shared.sizes["shape"]
    freedom = 2 * shapes * (alone.sizes["seed"] - 1), shapes * (shared.sizes["seed"] - 1)
    low, high = (ratio / stats.f.ppf(level, *freedom) for level in (0.975, 0.025))
    return f"{ratio:.1f} independent searches of each configuration (95 % interval {low:.1f} to {high:.1f})"


def report() -> str:
    """Compose the page."""
    shared, every = abtune.open_dataset("h200-share"), abtune.open_dataset(DESIGNS["independent"])
    shapes = shared["shape"].values
    studies = {name: abtune.open_dataset(path).sel(shape=shapes) for name, path in DESIGNS.items()}
    alone = float(abtune.open_dataset(COSTS)["tuning_time"].mean())
    analyses = {name: abtune.analyze(dataset) for name, dataset in studies.items()}
    parts = [
        "# Searches that share what they find",
        "",
        "You want to know whether `abtune sweep --share` is worth it. Six of the published shapes were",
        "tuned on an H200 with 192 trials a search, three times: independently, with one exchange after the",
        "last iteration, and with an exchange after each iteration. Written by",
        "`python analysis/h200_share.py`; in the terminal: `abtune analyze h200-share`.",
        "",
        "At the same cost, a pair that shares is worth",
        f"**{worth(studies)}**.",
        "The kernels are faster, too: each search starts its next iteration with the best of both.",
        "",
        *design_table(studies, alone),
        "",
        "*Variance*: of the difference of two log latencies, mean over the shapes. *Variance x cost*:",
        "relative to independent searches. *Latency*: winners compared with those of independent searches.",
        "`--share` makes an exchange after each iteration: 16 of 64 trials. The single exchange had 32 of",
        "192 trials; its searches ran out of time, and that design was not kept.",
        "",
        "The six shapes are noisier than most, and were chosen for that. So part of the gain is regression",
        f"to the mean: the typical spread of all 29 shapes is {root_mean_square(spread(every)):.3f}.",
        "",
        "## Spread, shape by shape",
        "",
        "Standard deviation of the difference of two log latencies:",
        "",
        *spread_table(studies),
        "",
        "## Boosts",
        "",
        f"Independent: {analyses['independent'].sentence}",
        "",
        f"Shared: {list(analyses.values())[-1].sentence}",
        "",
        *boost_table(studies),
        "",
        "The two columns answer different questions. Independent searches show the boost of tuning alone,",
        "which includes the luck and the effort of a search. The boost at equal knowledge leaves both out.",
        "",
        *controls(),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "h200-share.md").write_text(report(), encoding="utf-8")
