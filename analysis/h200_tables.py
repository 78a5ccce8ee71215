"""Tables that the pages of the H200 datasets share."""

from __future__ import annotations

import numpy as np
import xarray as xr

import abtune
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.report.formats import markdown
from abtune.report.summary import analysis_report
from abtune.sections.power.seed_plan import Goal, plan_from_dataset
from abtune.text import p_value

COLOURS = {"mainline": "#56657a", "async": "#d1601f"}


def seed_values(dataset: xr.Dataset) -> xr.DataArray:
    """Microseconds a seed: geometric mean over rounds of the median of a round."""
    return np.exp(np.log(dataset["latency"].median("repeat")).mean("round")) * 1e6


def differences(dataset: xr.Dataset) -> xr.DataArray:
    """Return the logarithms of the boosts of single pairs, by shape and seed."""
    logs = np.log(seed_values(dataset))
    return logs.isel(config=0) - logs.isel(config=1)


def spread(dataset: xr.Dataset) -> xr.DataArray:
    """Return the standard deviation of the difference of two searches, by shape."""
    if dataset.attrs.get("design") == "shared":
        return differences(dataset).std("seed", ddof=1)
    return np.sqrt(np.log(seed_values(dataset)).var("seed", ddof=1).sum("config"))


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
    """List the shapes that each test and correction calls different."""
    others: list[dict[str, str]] = [{}, {"correction": "max-t"}, {"test": "moderated"}, {"correction": "bh"}]
    lines = ["| options | improved | regressed |", "| --- | --- | --- |"]
    usual: list[list[str]] = []
    for options in others:
        rows = abtune.analyze(dataset, **options).comparisons  # type: ignore[arg-type]
        found = [
            [f"`{row.shape}`" for row in rows if row.verdict == verdict]
            for verdict in (abtune.Verdict.IMPROVED, abtune.Verdict.REGRESSED)
        ]
        usual = usual or found
        words = " ".join(f"`--{name} {value}`" for name, value in options.items()) or "default"
        cells = [_beside(*pair) if options else _listed(pair[0]) for pair in zip(found, usual, strict=True)]
        lines.append(f"| {words} | {cells[0]} | {cells[1]} |")
    return lines


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _beside(names: list[str], usual: list[str]) -> str:
    """Say how a list of shapes differs from the default list."""
    if names == usual:
        return "the same"
    if set(names) > set(usual):
        return "also " + _listed([name for name in names if name not in usual])
    return _listed(names)


def claims_table(analysis: abtune.Analysis) -> list[str]:
    """How many shapes are faster, or not much slower, at least; of all shapes and of each kind."""
    kinds = list(dict.fromkeys(claim.workload for claim in analysis.claims))
    rows: dict[str, list[str]] = {}
    for claim in analysis.claims:
        beyond = f" by more than {100 * claim.beyond:.0f} %" if claim.beyond else ""
        rows.setdefault(claim.claim + beyond, []).append(f"{claim.at_least} of {claim.of}")
    return [
        f"| at least | {' | '.join(kind or 'all' for kind in kinds)} |",
        "| --- |" + " ---: |" * len(kinds),
        *(f"| {claim} | {' | '.join(cells)} |" for claim, cells in rows.items()),
    ]


def seeds_table(dataset: xr.Dataset) -> list[str]:
    """Plan what more seeds of as many trials would find."""
    goal = Goal(
        alpha=0.05,
        target=0.8,
        shapes=dataset.sizes["shape"],
        boosts=(0.05, 0.1, 0.2),
        seeds=tuple(sorted({dataset.sizes["seed"], 10, 20, 50, 100})),
    )
    baseline, candidate = dataset["config"].values
    plan = plan_from_dataset(dataset, (baseline, candidate), goal, level=0.95)
    lines = [
        "| seeds per side | boost found in 80 % of sweeps | chance to find 5 % | 10 % | 20 % |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for reach in plan.reaches:
        chances = " | ".join(f"{100 * chance:.0f} %" if chance < 0.995 else ">99 %" for chance in reach.power)
        found = f"{100 * reach.detectable:.0f} %" if np.isfinite(reach.detectable) else "none"
        lines.append(f"| {reach.seeds} | {found} | {chances} |")
    return lines


def analysis_part(analysis: abtune.Analysis) -> list[str]:
    """Write the report itself as a section of a page."""
    lines = markdown.render(analysis_report(analysis)).splitlines()
    return ["## The analysis", "", *(f"#{line}" if line.startswith("#") else line for line in lines), ""]


def published_boosts() -> dict[str, float]:
    """Return the boost that the published table claims for each shape."""
    published = abtune.analyze(abtune.open_dataset("tvm14009-rtx3080"))
    return {row.shape: row.boost for row in published.comparisons}


def rounded(value: float, decimals: int = 1) -> float:
    """Return rounded percent, without a negative zero."""
    return round(100 * value, decimals) + 0.0


def percent(value: float, decimals: int = 1) -> str:
    """Write a boost as the reports do."""
    return f"{rounded(value, decimals):+.{decimals}f} %"


def span(row: abtune.Comparison) -> str:
    """Write an interval, with the signs of limits that round to zero."""
    return f"{100 * row.boost_low:+.1f} to {100 * row.boost_high:+.1f} %"


def lower(bound: float) -> str:
    """Write a lower bound, rounded down as in the reports."""
    return f"{np.floor(1000 * bound) / 10:+.1f} %"


def holds(row: abtune.Comparison, claim: float) -> str:
    """Say where a published boost lies."""
    if row.boost_low <= claim <= row.boost_high:
        return "within"
    return "above it" if claim > row.boost_high else "below it"


def boost_table(rows: list[abtune.Comparison], claims: dict[str, float]) -> list[str]:
    """Each shape: what was published, what is seen here, and what can be said."""
    lines = [
        "| shape | published, one run | here | 95 % interval | published value | adj. p | at least "
        "| verdict |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| `{row.shape}` | {percent(claims[row.shape])} | {percent(row.boost)} | {span(row)} "
        f"| {holds(row, claims[row.shape])} | {p_value(row.p_adjusted)} | {lower(row.boost_at_least)} "
        f"| {row.verdict.words} |"
        for row in rows
    ]
    return lines


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
        " value is less than a tenth of the noise of the search.",
        "There, longer timing would not help." + (f" The others: {', '.join(loud)}." if loud else ""),
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
        "a call that short ends before the host has launched the next, so launching is timed. It is slower",
        "if the host does other work; that was not recorded. The report notes that seeds vary less than",
        "repeated timings of one winner.",
    ]


def verdict_counts(analysis: abtune.Analysis) -> str:
    """Count the verdicts."""
    verdicts = [row.verdict.words for row in analysis.comparisons]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))


def seeds_a_side(analysis: abtune.Analysis) -> str:
    """Say how many seeds there are."""
    numbers = [n for row in analysis.comparisons for n in (row.n_baseline, row.n_candidate)]
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def lost(dataset: xr.Dataset) -> str:
    """Say what each configuration lost of its trials, and which runs failed."""
    shares = []
    for config in dataset["config"].values:
        status = dataset["trial_status"].sel(config=config)
        tried = status != TrialStatus.NOT_RUN
        share = 100 * float((tried & (status != TrialStatus.OK)).sum() / tried.sum())
        shares.append(f"{config} lost {share:.2f} % of its trials")
    failed = dataset["run_status"] == RunStatus.FAILED
    ended = int((dataset["run_status"] != RunStatus.MISSING).sum())
    reasons = sorted({str(reason) for reason in dataset["failure"].values[failed.values]})
    runs = f"{int(failed.sum())} of {ended} runs failed" + (f" ({'; '.join(reasons)})" if reasons else "")
    return f"{', '.join(shares)}. {runs}."
