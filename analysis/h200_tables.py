"""Tables that the pages of the H200 datasets share."""

from __future__ import annotations

import numpy as np
import xarray as xr

import abtune
from abtune.analyse.planning import Goal, plan_from_dataset
from abtune.schema import TrialStatus

COLOURS = {"mainline": "#56657a", "async": "#d1601f"}


def seed_values(dataset: xr.Dataset) -> xr.DataArray:
    """Microseconds a seed: geometric mean over rounds of the median of a round."""
    return np.exp(np.log(dataset["latency"].median("repeat")).mean("round")) * 1e6


def noise_table(dataset: xr.Dataset) -> list[str]:
    """How much comes from the search, from the round, and from the single timing."""
    logs = np.log(dataset["latency"])
    rounds = logs.median("repeat")
    search = 100 * rounds.mean("round").std("seed", ddof=1)
    between = 100 * np.sqrt((rounds.std("round", ddof=1) ** 2).mean("seed"))
    within = 100 * np.sqrt((logs.std("repeat", ddof=1) ** 2).mean(["seed", "round"]))
    lines = [
        "| shape | configuration | between seeds | between rounds | within a round |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for label in dataset["shape"].values:
        for config in dataset["config"].values:
            at = {"shape": label, "config": config}
            values = " | ".join(f"{float(part.sel(at)):.2f} %" for part in (search, between, within))
            lines.append(f"| `{label}` | {config} | {values} |")
    return lines


def failure_table(dataset: xr.Dataset) -> list[str]:
    """Count what became of the trials of each configuration."""
    statuses = [status for status in TrialStatus if status is not TrialStatus.NOT_RUN]
    lines = [
        "| configuration | "
        + " | ".join(status.name.lower().replace("_", " ") for status in statuses)
        + " |",
        "| --- |" + " ---: |" * len(statuses),
    ]
    for config in dataset["config"].values:
        found = dataset["trial_status"].sel(config=config)
        lines.append(
            f"| {config} | " + " | ".join(str(int((found == status).sum())) for status in statuses) + " |"
        )
    return lines


def trials_table(dataset: xr.Dataset, every: int) -> list[str]:
    """How noisy a search is, and how far from its end, after so many trials; by its own timings."""
    best = np.fmin.accumulate(np.log(dataset["trial_latency"]).transpose(..., "trial").values, axis=-1)
    rest = best - np.nanmean(best[..., -1:], axis=-2, keepdims=True)
    lines = [
        "| trials | noise of the search | slower than at the end | boost |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for trials in range(every, dataset.sizes["trial"] + 1, every):
        at = rest[..., trials - 1]
        noise = 100 * np.sqrt(np.nanvar(at, axis=-1, ddof=1).mean())
        mean = np.nanmean(best[..., trials - 1], axis=-1)
        slower, boost = np.expm1(np.nanmean(at)), np.expm1((mean[:, 0] - mean[:, 1]).mean())
        lines.append(f"| {trials} | {noise:.0f} % | {abs(100 * slower):.0f} % | {100 * boost:+.1f} % |")
    return lines


def optimism(dataset: xr.Dataset) -> float:
    """Percent by which the search's own time of the winner differs from the one measured again, median."""
    return float(100 * (dataset["search_latency"] * 1e6 / seed_values(dataset) - 1).median())


def short(label: str) -> str:
    """Abbreviate a label to what tells the pilot's shapes apart."""
    kept = [part for part in label.split("_") if part.split("=")[0] in ("M", "N", "K", "H", "C", "R", "STR")]
    return " ".join(part for part in kept if part != "N=1")


def method_table(dataset: xr.Dataset) -> list[str]:
    """List the shapes that other tests and corrections would call different."""
    others: list[dict[str, str]] = [{}, {"correction": "max-t"}, {"test": "moderated"}, {"correction": "bh"}]
    lines = ["| options | improved | regressed |", "| --- | --- | --- |"]
    for options in others:
        rows = abtune.analyze(dataset, **options).comparisons  # type: ignore[arg-type]
        found = [
            ", ".join(f"`{row.shape}`" for row in rows if row.verdict == verdict) or "none"
            for verdict in (abtune.Verdict.IMPROVED, abtune.Verdict.REGRESSED)
        ]
        words = " ".join(f"`--{name} {value}`" for name, value in options.items()) or "default"
        lines.append(f"| {words} | {found[0]} | {found[1]} |")
    return lines


def seeds_table(dataset: xr.Dataset) -> list[str]:
    """Plan what more seeds of as many trials would find."""
    goal = Goal(
        alpha=0.05,
        target=0.8,
        shapes=dataset.sizes["shape"],
        boosts=(0.05, 0.1, 0.2),
        seeds=(dataset.sizes["seed"], 10, 20, 50, 100),
    )
    baseline, candidate = dataset["config"].values
    plan = plan_from_dataset(dataset, (baseline, candidate), goal, level=0.95)
    lines = [
        "| seeds a side | boost found in 80 % of sweeps | chance to find 5 % | 10 % | 20 % |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for reach in plan.reaches:
        chances = " | ".join(f"{100 * chance:.0f} %" if chance < 0.995 else ">99 %" for chance in reach.power)
        lines.append(f"| {reach.seeds} | {100 * reach.detectable:.0f} % | {chances} |")
    return lines
