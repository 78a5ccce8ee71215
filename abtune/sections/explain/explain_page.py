"""The page that tells the whole story of a shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import stdev

from abtune.compare.results import Verdict
from abtune.report.columns import intervals
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.report.stories import gate_sentences, sample_parts
from abtune.sections.explain.explain import Explanation, MethodInterval, MethodTest, Sensitivity, explain_all
from abtune.sections.section_registry import Context
from abtune.stats.testing.design import MOST_SEEDS
from abtune.text import boost_decimals, count, listed, p_value, percent_cell, plain_percent, spread_percent


def explain_section(context: Context) -> Section:
    """Return the stories of the shapes that the option names; the result of a single one is its story."""
    stories = explain_all(context.dataset, context.analysis, context.values["explain"])
    page = tuple(part for story in stories for part in explain_page(story))
    return Section(name="explain", page=page, result=stories if len(stories) > 1 else stories[0])


def explain_page(story: Explanation) -> tuple[Part, ...]:
    """Return the page."""
    row = story.comparison
    kind = f" ({row.workload})" if row.workload else ""
    sides = story.baseline, story.candidate
    tests = f"tests, corrected over {count(story.tested, 'shape')}" if story.tested else "tests"
    return (
        Heading(f"{row.shape}{kind}: {row.verdict.words}"),
        Prose(row.reason),
        Heading("samples", minor=True),
        *sample_parts(sides),
        *([Bullets((_pairs(story),))] if story.pairs else []),
        Heading(f"boost, {plain_percent(story.level)} intervals", minor=True),
        _intervals(story.intervals),
        Heading("tests, not corrected" if story.correction == "none" else tests, minor=True),
        _tests(story.tests),
        Heading("what a verdict requires", minor=True),
        Bullets(gate_sentences(row)),
        Heading("what would change it", minor=True),
        Bullets((*_changes(story), *row.caveats)),
    )


def _pairs(story: Explanation) -> str:
    decimals = boost_decimals([(story.comparison.boost_high - story.comparison.boost_low) / 2])
    listed = (f"{percent_cell(pair.boost, decimals)}\xa0({pair.seed})" for pair in story.pairs)
    logs = [math.log1p(pair.boost) for pair in story.pairs]
    noise = f"; noise {spread_percent(stdev(logs))}%" if len(logs) > 1 else ""
    return f"Boosts of the pairs, % (seed): {', '.join(listed)}{noise}."


def _intervals(rows: Sequence[MethodInterval]) -> Grid:
    bounds = [(row.boost_low, row.boost_high) for row in rows]
    decimals = boost_decimals((high - low) / 2 for low, high in bounds)
    return table(
        "method",
        [row.method for row in rows],
        column("boost %", [percent_cell(row.boost, decimals) for row in rows]),
        column("interval", intervals(bounds, decimals)),
        column("judged by", ["yes" if row.judged else "" for row in rows], kind="word"),
    )


def _tests(rows: Sequence[MethodTest]) -> Grid:
    return table(
        "test",
        [row.test for row in rows],
        column("p", [p_value(row.p) for row in rows]),
        column("adj. p", [p_value(row.p_adjusted) for row in rows]),
        column("judged by", ["yes" if row.judged else "" for row in rows], kind="word"),
    )


def _changes(story: Explanation) -> Iterator[str]:
    row, found = story.comparison, story.sensitivity
    yield from _seeds_left_out(found, row.verdict, paired=story.paired)
    if row.verdict.more_seeds_help and found.seeds_for_estimate:
        decimals = boost_decimals([(row.boost_high - row.boost_low) / 2])
        seeds = f"{found.seeds_for_estimate:,} {'pairs' if story.paired else 'seeds per side'}"
        found_by = found.seeds_for_estimate < MOST_SEEDS
        find = f"about {seeds} find" if found_by else f"fewer than {seeds} do not find"
        yield (
            f"If the true boost is {percent_cell(row.boost, decimals)}%, as estimated, {find} it with 80% "
            "power."
        )
    if row.verdict is Verdict.INVALID:
        takes = "Whole pairs" if story.paired else "Seeds of both configurations that have a timing"
        yield f"{takes}; nothing else."


def _seeds_left_out(found: Sensitivity, verdict: Verdict, *, paired: bool) -> Iterator[str]:
    if found.without_seed is None:
        return
    if not found.without_seed:
        kind = "pair" if paired else "seed"
        yield f"No single {kind}: without any one of them the verdict stays {verdict.words}."
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for seed in found.without_seed:
        groups.setdefault((seed.verdict, seed.config), []).append(str(seed.seed))
    for (changed, config), seeds in groups.items():
        kind, of = ("seed", f" of {config}") if config else ("pair", "")
        one = kind if len(seeds) == 1 else f"any one of the {kind}s"
        yield f"Without {one} {listed(seeds)}{of}: {changed.words}."
