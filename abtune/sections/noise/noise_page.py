"""The page about noise: its sources, the search's optimism, outcomes of trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from abtune.report.columns import interval_column
from abtune.report.page import (
    FEW_SHAPES,
    SHAPE,
    Bullets,
    Column,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    column,
    columns_of,
    shape_by_shape,
    table,
)
from abtune.samples import Trials
from abtune.sections.noise.noise import Noise, Source, describe_noise
from abtune.sections.section_registry import Context
from abtune.text import NOTHING, boost_decimals, percent, percent_cell, plain_percent, spread_percent

_WHAT = (
    "Standard deviations of log latency in percent. seeds: between seeds, without the measurement error; "
    "its interval allows for skewed noise (hull of chi-square and Bonett). session: between rounds of one "
    "winner. timing: within a round. ICC: correlation of two timings of one winner. error: standard error "
    "of a seed's value, then as a share of the noise between seeds."
)
_OPTIMISM = (
    "The search's own time of its winner, against the time measured again, in percent. A negative value is "
    "the winner's curse: the luckiest of many timings wins. Boosts use the times measured again."
)
_POOLED = "configuration"
_TWO = "Two numbers: {}/{}."


def noise_section(context: Context) -> Section:
    """Return the sources of noise of the analysed dataset."""
    noise = describe_noise(context.dataset, context.analysis)
    return Section(name="noise", page=tuple(noise_page(noise)), result=noise)


def noise_page(noise: Noise) -> Iterator[Part]:
    """Yield the parts of the page; many shapes have a row each, and their tables stand at the end, folded."""
    yield Heading("noise")
    shapes = len({source.shape for source in noise.by_shape})
    few, behind = shapes <= FEW_SHAPES, list[Part]()
    if not all(math.isnan(source.search) for source in noise.by_shape):
        yield _sources(_POOLED, noise.pooled, noise.level)
        behind.append(_sources(SHAPE, noise.by_shape, noise.level))
        yield behind[-1] if few else _overview(noise)
        yield Prose(_WHAT if few else f"{_WHAT} {_TWO.format(noise.baseline, noise.candidate)}", remark=True)
    if not all(math.isnan(source.optimism) for source in noise.pooled):
        yield Heading("optimism of the search", minor=True)
        yield _optimism(_POOLED, noise.pooled, noise.level)
        behind.append(_optimism(SHAPE, noise.by_shape, noise.level))
        yield from behind[-1:] if few else ()
        yield Prose(_OPTIMISM, remark=True)
    if noise.trials:
        yield Heading("trials", minor=True)
        yield _trials(noise.trials)
    if noise.caveats:
        yield Bullets(noise.caveats)
    if not few and behind:
        yield from shape_by_shape(behind, shapes)


def _overview(noise: Noise) -> Grid:
    """Return a row for each shape, with one number for each configuration."""
    pairs = list(zip(noise.by_shape[::2], noise.by_shape[1::2], strict=True))

    def of_both(cell: Callable[[Source], str]) -> Callable[[tuple[Source, Source]], str]:
        return lambda pair: NOTHING if {*map(cell, pair)} == {NOTHING} else "/".join(map(cell, pair))

    cells = {
        "seeds": of_both(lambda source: spread_percent(source.search)),
        "of seeds": of_both(_error_share),
        "search/again": of_both(lambda source: percent_cell(source.optimism, 1)),
    }
    return table(SHAPE, [source.shape for source, _ in pairs], *columns_of(pairs, cells))


def _sources(stub: str, rows: Sequence[Source], level: float) -> Grid:
    cells: dict[str, Callable[[Source], str]] = {
        "seeds": lambda source: spread_percent(source.search),
        f"{plain_percent(level)} interval": _search_interval,
        "session": lambda source: spread_percent(source.session),
        "timing": lambda source: spread_percent(source.timing),
        "ICC": lambda source: NOTHING if math.isnan(source.correlation) else f"{source.correlation:.3f}",
        "error": lambda source: spread_percent(source.measurement),
        "of seeds": _error_share,
    }
    return _by_source(stub, rows, *columns_of(rows, cells))


def _optimism(stub: str, rows: Sequence[Source], level: float) -> Grid:
    bounds = [(source.optimism_low, source.optimism_high) for source in rows]
    decimals = boost_decimals((high - low) / 2 for low, high in bounds)
    return _by_source(
        stub,
        rows,
        column("search/again", [percent_cell(source.optimism, decimals) for source in rows]),
        interval_column(bounds, level=level, decimals=decimals),
    )


def _by_source(stub: str, rows: Sequence[Source], *columns: Column) -> Grid:
    """Return a table with a row for each configuration, or for each shape and configuration."""
    configs = [source.config for source in rows]
    if stub == _POOLED:
        return table(stub, configs, *columns)
    return table(stub, [source.shape for source in rows], column("side", configs, kind="word"), *columns)


def _trials(trials: Sequence[Trials]) -> Grid:
    counts = (
        column(kind.replace("_", " "), [f"{row.by_status[kind]:,}" for row in trials], gives_way=position)
        for position, kind in enumerate(trials[0].by_status)
    )
    lost = column("lost %", [percent_cell(row.lost_share, 2, signed=False) for row in trials])
    return table(_POOLED, [row.config for row in trials], *counts, lost)


def _search_interval(source: Source) -> str:
    low, high = spread_percent(source.search_low), spread_percent(source.search_high)
    return NOTHING if NOTHING in {low, high} else f"{low} to {high}"


def _error_share(source: Source) -> str:
    if math.isnan(source.measurement) or not source.search > 0:
        return NOTHING
    return percent(source.measurement / source.search)
