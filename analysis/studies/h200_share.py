"""Write docs/h200-share.md: what searches gain by sharing what they find, against independent searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from h200_tables import (
    differences,
    page,
    percent,
    published_boosts,
    seed_logs,
    short,
    span,
    spread,
)
from scipy import stats

import abtune
from abtune.compare.results import Verdict
from abtune.dataset.schema import TrialStatus
from abtune.sections.same_schedule.same_schedule import describe_same_schedule
from abtune.text import listed

ROOT = Path(__file__).resolve().parents[2]
# Their winners are timed by CUDA graphs.
SHARED, INDEPENDENT = "h200-shared-winners", "data/h200-tvm14009-graphs.nc"
# An adjusted p above this is near the threshold of 0.05.
NARROW = 0.03
# Draws of random pairs.
DRAWS = 20
# The winners of SHARED, launched one by one: on an H200, and most of them on another card.
ONE_BY_ONE, OTHER_CARD = "h200-shared-stream.nc", "h100-shared-winners.nc"
# The winners of SHARED, timed with cold caches.
COLD = "h200-shared-cold.nc"
# The design, and the dataset of its searches. The host launched the calls of their winners one by one.
DESIGNS: Mapping[str, str] = {
    "independent": "h200-tvm14009",
    "one exchange": str(ROOT / "data" / "h200-share-once.nc"),
    "an exchange after each iteration": "h200-share",
}
COSTS = str(ROOT / "data" / "h200-share-alone.nc")
# The candidate of each control, and the dataset of its searches.
CONTROLS: Mapping[str, str] = {"again": "h200-share-again.nc", "scalar": "h200-share-worse.nc"}


def root_mean_square(values: xr.DataArray) -> float:
    """Return the typical value of standard deviations."""
    return float(np.sqrt((values**2).mean()))


def pairs_a_shape(shared: xr.Dataset) -> str:
    """Return the fewest and the most pairs of a shape."""
    pairs = differences(shared).notnull().sum("seed").values
    return f"{pairs.min()} to {pairs.max()}" if pairs.min() < pairs.max() else str(pairs.max())


def other_card() -> Iterator[str]:
    """Yield whether the same winners have other boosts on H100."""
    other, own = (abtune.open_dataset(ROOT / "data" / name) for name in (OTHER_CARD, ONE_BY_ONE))
    change = abtune.compare_datasets(other, own)
    counts = Counter(str(row.verdict) for row in change.shapes)
    counted = listed(f"{number} *{words}*" for words, number in counts.items())
    mean, pairs = change.overall, int(differences(other).notnull().sum())
    yield (
        f"On another card, an H100, the same kernels have the same boosts: {counted} of "
        f"{len(change.shapes)} shapes. The mean changes by {percent(mean.change)} ({percent(mean.low)} to "
        f"{percent(mean.high)}). `abtune compare data/{OTHER_CARD} data/{ONE_BY_ONE}` compares the "
        f"winners of {pairs} pairs with themselves. There the host launched calls one by one, while CUDA "
        f"graphs launched those of `{SHARED}`."
    )


def cold_caches(shared: xr.Dataset) -> Iterator[str]:
    """Yield whether the same winners have other boosts if operands come from memory."""
    cold = abtune.open_dataset(ROOT / "data" / COLD)
    mean = abtune.compare_datasets(shared, cold).overall
    yield (
        f"**With cold caches async gains more** (`abtune analyze data/{COLD}`). "
        f"{abtune.analyze(cold).sentence} The mean boost changes by {percent(mean.change)} "
        f"({percent(mean.low)} to {percent(mean.high)}), as in "
        f"[longer searches](h200-deep.md#with-cold-caches) (`abtune compare {SHARED} data/{COLD}`)."
    )


def trials_a_shape(dataset: xr.Dataset) -> float:
    """Return the trials of all searches of a shape, on average."""
    return float((dataset["trial_status"] != TrialStatus.NOT_RUN).sum()) / dataset.sizes["shape"]


def published_shapes(independent: xr.Dataset, shared: xr.Dataset) -> Iterator[str]:
    """Yield the answer, from the 29 published shapes."""
    alone, pairs = abtune.analyze(independent), abtune.analyze(shared)
    yield from (pairs.sentence, "")
    yield (
        f"`abtune analyze {SHARED}` prints this. Each of the 29 published shapes has {pairs_a_shape(shared)} "
        f"pairs of searches of 320 trials: {trials_a_shape(shared):,.0f} trials a shape. `{INDEPENDENT}` "
        f"has independent searches of 192 trials: {trials_a_shape(independent):,.0f} a shape."
    )
    yield from (
        "",
        "The design space of async contains mainline's, so async can hardly lose. What these data show is "
        "how much it gains.",
        "",
        *other_card(),
        "",
        *cold_caches(shared),
    )
    few = as_few_trials(independent, shared)
    yield from ("", *claims_table([alone], few, [pairs]), "")
    yield (
        f"*As many trials*: {few[0].comparisons[0].candidate.n} random pairs of each shape; medians of "
        f"{DRAWS} draws."
    )
    yield ""
    counts = Counter(row.verdict for row in pairs.comparisons)
    verdicts = listed(f"{counts[verdict]} *{verdict.words}*" for verdict in Verdict if counts[verdict])
    narrow = sum(row.verdict is Verdict.IMPROVED and row.p_adjusted > NARROW for row in pairs.comparisons)
    yield f"Verdicts: {verdicts}. Of the improved, {narrow or 'none'} have an adjusted p above {NARROW}."
    yield from (
        "",
        *worth(independent, shared),
        "",
        "## Code or schedules",
        "",
        *code_or_schedules(pairs),
        "",
        "## Published boosts",
        "",
        "![Boosts at equal knowledge with intervals, and the published ones as crosses](h200-shared.png)",
        "",
        f"`abtune plot {SHARED} --beside tvm14009-rtx3080 --out docs/h200-shared.png` draws it.",
        "",
        *published_table(pairs),
        "",
    )


def code_or_schedules(pairs: abtune.Analysis) -> Iterator[str]:
    """Yield what async does to the winners of each side."""
    same = describe_same_schedule(pairs)
    ours, theirs = same.of_baseline, same.of_candidate
    yield (
        f"`abtune analyze {SHARED}` ends with the winners of each side, built under both configurations. "
        f"Asynchronous copies change the winners of mainline by {percent(ours.effect)} "
        f"({percent(ours.low)} to {percent(ours.high)}); "
        f"only {ours.fitting} of {ours.schedules} have room for a pipeline. They change the winners of "
        f"async by {percent(theirs.effect)} ({percent(theirs.low)} to {percent(theirs.high)}); "
        f"{theirs.same} of {theirs.schedules} have no pipeline. "
        "So no gain is shown on what mainline chose. Async reaches schedules that only a pipeline makes fast."
    )


def as_few_trials(independent: xr.Dataset, shared: xr.Dataset) -> list[abtune.Analysis]:
    """Return analyses of random pairs of each shape, with as many trials as the independent searches."""
    number = round(trials_a_shape(independent) / shared.sizes["trial"] / 2)
    done = differences(shared).notnull()
    latencies = shared[[name for name, values in shared.items() if "trial" not in values.dims]]
    rng = np.random.default_rng(0)
    analyses = []
    for _ in range(DRAWS):
        shapes = []
        for label in shared["shape"].values:
            seeds = rng.choice(shared["seed"].values[done.sel(shape=label).values], number, replace=False)
            pairs = latencies.sel(shape=[label], seed=np.sort(seeds))
            shapes.append(pairs.assign_coords(seed=np.arange(number)))
        drawn = xr.concat(shapes, "shape", data_vars="minimal", coords="minimal", compat="override")
        analyses.append(abtune.analyze(drawn))
    return analyses


def claims_table(*columns: Sequence[abtune.Analysis]) -> Iterator[str]:
    """Yield at least how many shapes are faster, or not much slower; medians over a column's analyses."""
    yield "| at least | independent | at equal knowledge, as many trials | all pairs |"
    yield "| --- | ---: | ---: | ---: |"
    claims = [
        [
            {(claim.claim, claim.beyond): claim for claim in analysis.claims if not claim.workload}
            for analysis in column
        ]
        for column in columns
    ]
    for key, claim in claims[0][0].items():
        words = f"lose no more than {100 * claim.beyond:.0f} %" if claim.beyond else claim.claim
        counts = (round(np.median([analysis[key].at_least for analysis in column])) for column in claims)
        yield f"| {words} | {' | '.join(f'{count} of {claim.of}' for count in counts)} |"
    decided = (
        round(
            np.median(
                [
                    sum(row.verdict != Verdict.INCONCLUSIVE for row in analysis.comparisons)
                    for analysis in column
                ]
            )
        )
        for column in columns
    )
    yield f"| not *inconclusive* | {' | '.join(f'{count} of {claim.of}' for count in decided)} |"
    means = []
    for column in columns:
        shapes = [analysis.overall.these_shapes for analysis in column]
        spans = [(mean.boost, mean.boost_low, mean.boost_high) for mean in shapes]
        boost, low, high = np.median(spans, axis=0)
        means.append(f"{percent(boost)} ({100 * low:+.1f} to {100 * high:+.1f})")
    yield f"| mean boost | {' | '.join(means)} |"


def published_table(pairs: abtune.Analysis) -> Iterator[str]:
    """Yield what is known of each published boost, the least one first."""
    claims = published_boosts()
    rows = sorted(pairs.comparisons, key=lambda row: claims[row.shape])
    worse = [row for row in rows if claims[row.shape] < 0]
    stand, refuted = ([row for row in worse if test(row)] for test in (_slower, _faster))
    outside = [row for row in rows if not row.boost_low <= claims[row.shape] <= row.boost_high]
    yield (
        f"Of the {len(worse)} published regressions, {len(stand)} have an interval below zero at equal "
        f"knowledge, and {len(refuted)} above. {len(outside)} of 29 published boosts lie outside their "
        "intervals: each is one run on another GPU. Boosts of independent searches are in "
        "[their own table](h200-tvm14009.md#shape-by-shape)."
    )
    yield from (
        "",
        "| shape | published, one run | at equal knowledge | 95 % interval |",
        "| --- | ---: | ---: | ---: |",
    )
    for row in rows:
        claim = percent(claims[row.shape])
        yield f"| {short(row.shape)} | {claim} | {percent(row.boost)} | {span(row)} |"


def _slower(row: abtune.Comparison) -> bool:
    return row.boost_high < 0


def _faster(row: abtune.Comparison) -> bool:
    return row.boost_low > 0


def worth(independent: xr.Dataset, shared: xr.Dataset) -> Iterator[str]:
    """Yield how much less pairs vary, and what that is worth."""
    wide = spread(independent)
    narrow = spread(shared).sel(shape=wide["shape"])
    of_pairs, alone = root_mean_square(narrow), root_mean_square(wide)
    sides = root_mean_square(xr.ufuncs.sqrt(seed_logs(shared).var("seed", ddof=1).sum("config")))
    pairs = differences(shared).notnull().sum()
    freedom = 2 * wide.size * (independent.sizes["seed"] - 1), int(pairs) - wide.size
    trials = (
        trials_a_shape(shared) * wide.size / int(pairs),
        trials_a_shape(independent) / independent.sizes["seed"],
    )
    ratio = (alone / of_pairs) ** 2 * trials[1] / trials[0]
    low, high = (ratio / stats.f.ppf(level, *freedom) for level in (0.975, 0.025))
    yield (
        f"**A trial of a search that shares is worth {ratio:.1f} trials of an independent one (95 % "
        f"interval {low:.1f} to {high:.1f}).** The difference of a pair has a standard deviation of "
        f"{of_pairs:.3f}, and the difference of two independent searches {alone:.3f} (logarithms, root mean "
        "square over the shapes). Part of the gain comes from longer searches that start from the best of "
        f"both: the same runs, unpaired, would give {sides:.3f}. Pairs vary less in "
        f"{int((narrow < wide).sum())} of 29 shapes."
    )


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
        logs = [seed_logs(study).mean("seed") for study in (dataset, reference)]
        change = 100 * xr.ufuncs.expm1((logs[0] - logs[1]).mean("shape"))
        yield (
            f"| {name} | {pairs_a_shape(dataset)} | {cost:.0f} | {variance:.4f} "
            f"| {variance * cost / first:.2f} "
            f"| {float(change.sel(config='mainline')):+.1f} % | {float(change.sel(config='async')):+.1f} % |"
        )


def designs() -> Iterator[str]:
    """Yield the section on when to exchange, from six shapes."""
    shapes = abtune.open_dataset("h200-share")["shape"].values
    studies = {name: abtune.open_dataset(path).sel(shape=shapes) for name, path in DESIGNS.items()}
    cost = float(abtune.open_dataset(COSTS)["tuning_time"].mean())
    yield from ("## When to exchange", "")
    yield (
        "After each iteration: 16 of 64 trials. Six noisy shapes were tuned on an H200, with 192 trials a "
        "search (`abtune analyze h200-share`). The single exchange, after the last iteration, had 32 of "
        "192 trials."
    )
    yield from ("", *design_table(studies, cost), "")
    yield (
        "*Variance*: of the difference of two log latencies, mean over the shapes. *Variance x cost* and "
        "*latency*: relative to independent searches. Part of the gain in latency is luck, because these "
        "shapes were chosen for their noise."
    )
    yield ""


def controls() -> Iterator[str]:
    """Yield the section on controls."""
    yield from ("## Controls", "")
    yield (
        "Does sharing say what is true? Two candidates with a known truth were tuned on an H200, with 8 "
        "pairs of 192 trials: mainline under another name, and mainline without vectors "
        "(`tirx.disable_vectorize`), which should be slower."
    )
    again, scalar = (abtune.open_dataset(str(ROOT / "data" / file)) for file in CONTROLS.values())
    same, worse = abtune.analyze(again), abtune.analyze(scalar)
    verdicts = {row.verdict.words for row in same.comparisons}
    yield from ("", same.sentence, "")
    yield (
        f"The verdicts of all {len(same.comparisons)} shapes are *{' or '.join(sorted(verdicts))}*. Both "
        "sides end at the same kernel: the winners of one side vary by "
        f"{100 * root_mean_square(seed_logs(again).std('seed', ddof=1)):.0f} % between seeds, "
        f"the differences of pairs by {100 * root_mean_square(spread(again)):.1f} %."
    )
    yield from (
        "",
        worse.sentence,
        "",
        "| mainline without vectors | boost | 95 % interval | adjusted p | verdict |",
        "| --- | ---: | ---: | ---: | --- |",
    )
    for row in worse.comparisons:
        interval = f"{percent(row.boost_low, 2)} to {percent(row.boost_high, 2)}"
        yield (
            f"| {short(row.shape)} | {percent(row.boost, 2)} | {interval} "
            f"| {row.p_adjusted:.2g} | {row.verdict.words} |"
        )


def report() -> str:
    """Compose the page."""
    independent, shared = abtune.open_dataset(ROOT / INDEPENDENT), abtune.open_dataset(SHARED)
    parts = [
        "# Searches that share what they find",
        "",
        "Is `abtune sweep --share` worth it? Yes, if you ask what each configuration makes of the same",
        "schedules. This *boost at equal knowledge* leaves out luck and effort of a search.",
        "`python analysis/studies/h200_share.py` writes this page.",
        "",
        *published_shapes(independent, shared),
        *designs(),
        *controls(),
    ]
    return page("\n".join(parts))


if __name__ == "__main__":
    (ROOT / "docs" / "h200-share.md").write_text(report(), encoding="utf-8")
