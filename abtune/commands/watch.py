"""``abtune watch``: how far a sweep is, in a terminal or in a browser."""

from __future__ import annotations

import math
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import count_option
from abtune.commands.common.output import emit, remark
from abtune.commands.common.pages import DEFAULT_DATASET, Destination, report_options
from abtune.errors import AbtuneError, InputError
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
  abtune watch --serve 8000           a page at http://127.0.0.1:8000 that refreshes itself
  abtune watch --format json          once, for scripts
"""
)
@click.argument("dataset", default=DEFAULT_DATASET, type=click.Path(path_type=Path))
@count_option("--every", "Seconds between two looks.", 5)
@click.option(
    "--serve",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Show a page to browsers on this machine. 0 takes a free port.",
)
@report_options
def watch(dataset: Path, *, every: int, serve: int | None, destination: Destination) -> int:
    """Show how far a sweep is, while it runs.

    DATASET is the file that the sweep writes. Its work files are read, and nothing is written. A terminal is
    refreshed until the sweep is done; a pipe or a file gets one look.
    """
    destination.check()
    section = _section(dataset)
    if serve is not None:
        _serve(dataset, serve, every)
        return 0
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


def _serve(dataset: Path, port: int, every: int) -> None:
    """Serve a page that refreshes itself, to this machine alone, until Ctrl-C."""
    refresh = f'<meta http-equiv="refresh" content="{every}">'

    class Handler(BaseHTTPRequestHandler):
        timeout = 30  # of a connection that says nothing

        def do_GET(self) -> None:
            # Another site could point its name at this machine, and so have a browser read the page for it.
            if self.headers.get("Host", "").partition(":")[0] not in {"127.0.0.1", "localhost"}:
                self.send_error(421)
                return
            if self.path != "/":
                self.send_error(404)
                return
            text, code = _html(dataset)
            body = text.replace("<head>", f"<head>{refresh}", 1).encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a browser that has gone."""
            if not isinstance(sys.exception(), OSError):
                super().handle_error(request, client_address)

    try:
        server = Server(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InputError(
            f"port {port} cannot be used: {error.strerror}; --serve 0 takes a free one"
        ) from None
    with server:
        remark(f"http://127.0.0.1:{server.server_port} shows {dataset}; Ctrl-C ends it")
        server.serve_forever()


def _html(dataset: Path) -> tuple[str, int]:
    """Return the page and its status; an error is a page, too, because the next look may succeed."""
    from abtune.report.formats.html import render
    from abtune.report.page import Heading, Prose, Report, Section

    try:
        return render(Report(sections=(_section(dataset),))), 200
    except (AbtuneError, OSError) as error:
        page = (Heading(dataset.name), Prose(str(error)))
        return render(Report(sections=(Section(name="", page=page, result=None),))), 503
