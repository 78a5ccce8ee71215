"""The page that tells the whole story of one shape."""

from __future__ import annotations

import math
from collections.abc import Iterator

from abtune.compare.results import Comparison, Gate, Verdict
from abtune.report.columns import intervals
from abtune.report.page import Bullets, Dots, Grid, Heading, Part, Prose, Section, Strip, column
from abtune.sections.explain.explain import Explanation, Sample, explain
from abtune.sections.explain.sensitivity import Sensitivity
from abtune.sections.section_registry import Context
from abtune.text import (
    boost_decimals,
    count,
    microseconds,
    p_value,
    percent_cell,
    plain_percent,
    spread_percent,
)

_YES = {True: "yes", False: ""}


def explain_section(context: Context) -> Section:
    """Return the story of the shape that the option names."""
    story = explain(context.dataset, context.analysis, context.values["explain"])
    return Section(name="explain", page=explain_page(story), result=story)


def explain_page(story: Explanation) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(story))


def _parts(story: Explanation) -> Iterator[Part]:
    row = story.comparison
    kind = f" ({row.workload})" if row.workload else ""
    yield Heading(text=f"{row.shape}{kind}: {row.verdict.value}", minor=False)
    yield Prose(text=row.reason, remark=False)
    yield Heading(text="samples", minor=True)
    sides = [side for side in (story.baseline, story.candidate) if side.seeds]
    if sides:
        yield _dots(sides)
    yield Bullets(items=tuple(map(_values, (story.baseline, story.candidate))))
    yield Heading(text=f"boost, {plain_percent(story.level)} intervals", minor=True)
    yield _intervals(story)
    yield Heading(text=_tests_heading(story), minor=True)
    yield _tests(story)
    yield Heading(text="what a verdict requires", minor=True)
    yield _gates(story.gates)
    yield Heading(text="what would change it", minor=True)
    yield Bullets(items=(*_changes(story), *row.caveats))


def _dots(sides: list[Sample]) -> Dots:
    """Draw the seeds of both sides, ends of the scale in microseconds."""
    values = [seed.latency for side in sides for seed in side.seeds]
    strips = tuple(
        Strip(
            name=side.config,
            values=tuple(seed.latency for seed in side.seeds),
            marked=side.latency,
            mark=f"{microseconds(side.latency)} us",
        )
        for side in sides
    )
    return Dots(strips=strips, low=microseconds(min(values)), high=f"{microseconds(max(values))} us")


def _values(side: Sample) -> str:
    if not side.seeds:
        return f"{side.config}: no seed has a timing."
    listed = ", ".join(f"{microseconds(seed.latency)}\xa0({seed.seed})" for seed in side.seeds)
    noise = "" if math.isnan(side.noise) else f", noise {spread_percent(side.noise)}%"
    mean = microseconds(side.latency)
    return f"{side.config}, us (seed): {listed}; geometric mean {mean}{noise}."


def _intervals(story: Explanation) -> Grid:
    rows = story.intervals
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in rows)
    return Grid(
        stub="method",
        labels=tuple(row.method for row in rows),
        columns=(
            column("boost %", [percent_cell(row.boost, decimals) for row in rows]),
            column("interval", intervals([(row.boost_low, row.boost_high) for row in rows], decimals)),
            column(
                "includes 0", [_includes_zero(row.boost_low, row.boost_high) for row in rows], kind="word"
            ),
            column("judged by", [_YES[row.judged] for row in rows], kind="word"),
        ),
    )


def _tests_heading(story: Explanation) -> str:
    if story.correction == "none":
        return "tests, not corrected"
    return f"tests, corrected over {count(story.tested, 'shape')}" if story.tested else "tests"


def _tests(story: Explanation) -> Grid:
    return Grid(
        stub="test",
        labels=tuple(row.test for row in story.tests),
        columns=(
            column("p", [p_value(row.p) for row in story.tests]),
            column("adj. p", [p_value(row.p_adjusted) for row in story.tests]),
            column("judged by", [_YES[row.judged] for row in story.tests], kind="word"),
        ),
    )


def _gates(found: tuple[Gate, ...]) -> Bullets:
    return Bullets(
        items=tuple(
            f"{'passed' if gate.passed else 'FAILED'}: for {gate.of}, {gate.asks} ({gate.found})."
            for gate in found
        )
    )


def _changes(story: Explanation) -> Iterator[str]:
    row, found = story.comparison, story.sensitivity
    yield from _seeds_left_out(found, row.verdict)
    if story.shapes > 1 and row.verdict is not Verdict.INVALID:
        same = "the same" if found.alone is row.verdict else found.alone.value
        yield f"As the only shape, without correction: {same}."
    if row.verdict.more_seeds_help and found.seeds_for_estimate:
        yield (
            f"If the true boost is the {percent_cell(row.boost, _decimals(row))}% estimated, about "
            f"{found.seeds_for_estimate:,} seeds a side find it with 80% power."
        )
    if not math.isnan(found.margin_for_equivalence):
        enough = plain_percent(_rounded_up(found.margin_for_equivalence))
        yield (
            f"With a margin of {enough} or more it would be equivalent; "
            f"the margin is {plain_percent(story.margin)}."
        )
    if row.verdict is Verdict.INVALID:
        yield "Seeds of both sides that have a timing; nothing else."


def _decimals(row: Comparison) -> int:
    return boost_decimals([(row.boost_high - row.boost_low) / 2])


def _rounded_up(fraction: float) -> float:
    """Round up to two significant digits of a percentage."""
    unit = 10.0 ** (math.floor(math.log10(fraction)) - 1)
    return math.ceil(fraction / unit) * unit


def _seeds_left_out(found: Sensitivity, verdict: Verdict) -> Iterator[str]:
    if found.without_seed is None:
        return
    if not found.without_seed:
        yield f"No single seed: without any one of them it stays {verdict.value}."
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for seed in found.without_seed:
        groups.setdefault((seed.verdict, seed.config), []).append(str(seed.seed))
    for (changed, config), seeds in groups.items():
        one = "seed" if len(seeds) == 1 else "any one of the seeds"
        yield f"Without {one} {', '.join(seeds)} of {config}: {changed.value}."


def _includes_zero(low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return "yes" if low <= 0 <= high else "no"
