"""The page about a table with one run a cell: the table as a whole, then what each boost would bear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abtune.dataset.netcdf import open_dataset
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, Section, column
from abtune.sections.section_registry import Context
from abtune.sections.single_run.all_shapes import Surviving, Together
from abtune.sections.single_run.borrowed_noise import Outside
from abtune.sections.single_run.pairs_page import about_shapes, bounded, odds
from abtune.sections.single_run.single_run import SingleRun, describe_single_runs
from abtune.text import NOTHING, p_value, percent_cell, plain_percent

_NO_VERDICT = (
    "No shape is judged here. Two runs differ by the luck of two searches as well as by configuration, and "
    "one run a side does not show how large that luck is."
)
_TOGETHER = (
    "Three answers to one question, not three confirmations: are shapes like these faster? Mean: geometric "
    "mean boost with Student's t on logs. Typical: Hodges-Lehmann estimate with the signed-rank test, which "
    "a few large boosts move little. Faster: share of shapes with the sign test and its exact "
    "(Clopper-Pearson) interval, whatever the size of boosts. p: if there were no boost; not corrected for "
    "the number of rows."
)
_NOISE = (
    "Search noise is the standard deviation of log latency between runs of one configuration, about a "
    "coefficient of variation. Spread: that of the log boosts over shapes. Boosts that truly differ and the "
    "noise of two runs add up to it, so the noise of a run (root mean square of both sides) is at most "
    "spread/sqrt(2); upper limit: one-sided {level}, chi-square. Stand out: boosts too large for two runs of "
    "one configuration with so much noise (in all but one case of {odds}), one by one and all at once "
    "(Bonferroni)."
)


def single_run_section(context: Context) -> Section:
    """Return what single runs support, with the noise of another dataset if one is named."""
    name, outside = context.values.get("noise_from"), None
    if name is not None:
        outside = Outside(name=name, dataset=open_dataset(name))
    found = describe_single_runs(context.dataset, context.analysis, outside)
    return Section(name="single_run", page=single_run_page(found), result=found)


def single_run_page(found: SingleRun) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(found))


def _parts(found: SingleRun) -> Iterator[Part]:
    yield Heading(text="one run a cell", minor=False)
    yield Prose(text=_NO_VERDICT, remark=False)
    yield Heading(text="the shapes together", minor=True)
    yield _estimates(found.together, found.level)
    yield Prose(text=_TOGETHER, remark=True)
    yield Heading(text="how noisy the searches can be", minor=True)
    yield _bounds(found.together)
    yield _survivors(found.surviving, len(found.shapes))
    noise = _NOISE.format(odds=odds(found.level), level=plain_percent(found.level))
    yield Prose(text=noise, remark=True)
    yield from about_shapes(found)
    yield Bullets(items=(*found.caveats, *_left_out(found)))


def _left_out(found: SingleRun) -> list[str]:
    names = ", ".join(found.left_out)
    return [f"Left out, with more or fewer runs than one a side: {names}."] if names else []


def _estimates(rows: Sequence[Together], level: float) -> Grid:
    """Return three rows for each kind of shapes: mean boost, typical boost, share of shapes."""
    bounds = bounded([(part.low, part.high) for row in rows for part in (row.mean, row.typical)], 2)
    lines = [
        line
        for at, row in enumerate(rows)
        for line in (
            ("mean", percent_cell(row.mean.value, 2), bounds[2 * at], p_value(row.mean.p)),
            ("typical", percent_cell(row.typical.value, 2), bounds[2 * at + 1], p_value(row.typical.p)),
            (
                "faster",
                f"{row.faster} of {row.faster + row.slower}",
                _share(row.share.low, row.share.high),
                p_value(row.share.p),
            ),
        )
    ]
    headings = "", "boost %", f"{plain_percent(level)} interval", "p"
    return Grid(
        stub="shapes",
        labels=tuple(f"{row.name}, {row.shapes}" for row in rows for _ in range(3)),
        columns=tuple(
            column(heading, [line[at] for line in lines], kind="number" if at else "word")
            for at, heading in enumerate(headings)
        ),
    )


def _share(low: float, high: float) -> str:
    ends = [percent_cell(end, 0, signed=False) for end in (low, high)]
    return NOTHING if NOTHING in ends else f"{ends[0]}% to {ends[1]}%"


def _bounds(rows: Sequence[Together]) -> Grid:
    return Grid(
        stub="shapes",
        labels=tuple(f"{row.name}, {row.shapes}" for row in rows),
        columns=(
            column("spread %", [percent_cell(row.spread, 1, signed=False) for row in rows]),
            column("noise at most %", [percent_cell(row.noise, 1, signed=False) for row in rows]),
            column(
                "upper limit %",
                [percent_cell(row.noise_limit, 1, signed=False) for row in rows],
            ),
        ),
    )


def _survivors(rows: Sequence[Surviving], shapes: int) -> Grid:
    return Grid(
        stub="search noise",
        labels=tuple(plain_percent(row.noise) for row in rows),
        columns=(
            column("boosts that stand out", [f"{row.alone} of {shapes}" for row in rows]),
            column("all at once", [f"{row.simultaneous} of {shapes}" for row in rows]),
        ),
    )
