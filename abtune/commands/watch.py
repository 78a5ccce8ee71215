"""``abtune watch``: how far a sweep is, while it runs."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abtune.commands.common.options import DEFAULT_DATASET, count_option
from abtune.commands.common.output import Destination, emit, report_options
from abtune.text import NOTHING, count, microseconds, percent, percent_cell, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abtune.measure.store.state import SweepState
    from abtune.report.page import Column, Part, Section

_CAUTION = (
    "Boosts are of the searches' own timings. This is a look, not a result: a sweep that is stopped because "
    "of what it shows finds differences that are not there."
)
_CLEAR = "\x1b[H\x1b[2J"


@click.command(
    epilog="""\b
Examples:
  abtune watch                        the sweep that writes abtune.nc here
  abtune watch mine.nc --every 60     look once a minute
  abtune watch --output sweep.html    a page for a browser, once
  abtune watch --format json          once, for scripts
"""
)
@click.argument("dataset", default=DEFAULT_DATASET, type=click.Path(path_type=Path))
@count_option("--every", "Seconds between two looks.", 5)
@report_options
def watch(dataset: Path, *, every: int, destination: Destination) -> int:
    """Show how far a sweep is, while it runs.

    DATASET is the file that the sweep writes. Its work files are read, and nothing is written. A terminal is
    refreshed until the sweep is done; a pipe or a file gets one look.
    """
    destination.check()
    section = _section(dataset)
    is_live = not destination.files and destination.format.name == "table" and _is_terminal()
    while is_live and not section.result["done"]:  # type: ignore[index]
        emit(_CLEAR)
        destination.write(section)
        time.sleep(every)
        section = _section(dataset)
    if is_live:
        emit(_CLEAR)
    destination.write(section)
    return 0


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _section(dataset: Path) -> Section:
    from abtune.measure.store.state import read_state
    from abtune.measure.store.store import Store
    from abtune.report.page import Section

    state = read_state(Store(dataset))
    result = {"done": state.is_done, "state": state}
    return Section(name="", page=tuple(_page(dataset.name, state)), result=result)


def _page(name: str, state: SweepState) -> Iterator[Part]:
    from abtune.report.page import SHAPE, Heading, Prose, table

    yield Heading(f"{name}: {state.finished} of {count(state.planned, 'run')} done")
    yield Prose(_progress(state))
    yield table(SHAPE, [shape.shape for shape in state.shapes], *_columns(state))
    if state.compared:
        boost = percent(state.boost, signed=True)
        yield Prose(f"So far {state.configs[-1]} {boost} over {count(state.compared, 'shape')}.")
        yield Prose(_CAUTION, remark=True)


def _progress(state: SweepState) -> str:
    quiet = max(time.time() - state.changed, 0.0)
    searching = "1 search" if state.searching == 1 else f"{state.searching} searches"
    goes_on = state.finished < state.planned and not math.isnan(state.seconds_left)
    parts = (
        f"{searching} under way" if state.searching else "",
        f"{count(state.failed, 'run')} failed" if state.failed else "",
        f"winners of {count(state.measured, 'shape')} measured again" if state.measured else "",
        f"last change {span(quiet)} ago",
        f"about {span(state.seconds_left)} of searching left, at the speed so far" if goes_on else "",
    )
    text = "; ".join(filter(None, parts))
    return f"{text[0].upper()}{text[1:]}."


def _columns(state: SweepState) -> Sequence[Column]:
    from abtune.report.page import column, filled

    shapes = state.shapes
    runs = column("seeds done", ["+".join(map(str, shape.finished)) for shape in shapes])
    best = [
        column(f"{config} us", [microseconds(shape.best[at]) for shape in shapes], gives_way=2)
        for at, config in enumerate(state.configs)
    ]
    failed = column("failed", [f"{shape.failed}" if shape.failed else NOTHING for shape in shapes])
    boost = column("boost so far %", [percent_cell(shape.boost, 1) for shape in shapes], gives_way=1)
    return filled((runs, failed, *best, boost))
