"""The report as one HTML file that needs nothing else: no network, light and dark, paper too.

``report.html.j2`` has the elements, ``report.css`` the looks. A table that is wider than the screen scrolls
beside its names. ``report.js`` sorts, filters and copies tables; without it, all the rest works. A policy in
the file allows this script and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from abtune.report.formats.svg import draw_axis, draw_interval, draw_samples
from abtune.report.page import SHAPE, Grid, Heading, Page, Report, last_drawn, spans
from abtune.report.text.labels import fit_labels, width_of_one_line
from abtune.text import printable
from abtune.version import __version__

# Marks that tell verdicts apart without colour; the words stand beside them.
_MARKS = {
    "improved": "▲",
    "regressed": "▼",
    "equivalent": "■",
    "not-slower": "◑",
    "inconclusive": "○",
    "invalid": "◇",
}
_SHORT = 30  # letters; labels of at most this length are shown whole
_BREAKS = 12  # letters; longer headings wrap
# A run of this many characters without a place to break makes a column too wide.
_UNBROKEN = re.compile(r"[^\s_-]{24}")


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        finalize=_harmless,
        keep_trailing_newline=True,
        loader=FunctionLoader(_resource),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"breakable": breakable, "name": name, "kind": lambda block: type(block).__name__}
    environment.globals |= {
        "breaks": lambda heading: len(heading) > _BREAKS,
        "draw_axis": draw_axis,
        "draw_interval": draw_interval,
        "draw_samples": draw_samples,
        "marks": _MARKS,
        "short_labels": short_labels,
        "spans": spans,
    }
    return environment.get_template("report.html.j2")


def render(report: Report) -> str:
    """Return a report as an HTML document; the same for the same report, byte for byte."""
    script = Markup(_resource("report.js"))  # noqa: S704 - our own
    pages = [page for section in report.sections for page in titled(section.page)]
    grids = [block for page in pages for block in page if isinstance(block, Grid)]
    return _template().render(
        title=report.title,
        sections=pages,
        contents=contents(pages),
        # Of the longest label of a shape, so that the columns of all tables line up.
        letters=max((len(label) for grid in grids for label in short_labels(grid)[0].values()), default=0),
        explained=list(map(last_drawn, pages)),
        script=script,
        policy=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=__version__,
    )


def titled(page: Page) -> list[Page]:
    """Return a page in pieces: each further title that it has begins one of its own."""
    titles = [i for i, block in enumerate(page) if isinstance(block, Heading) and not block.minor and i]
    return [page[start:stop] for start, stop in itertools.pairwise([0, *titles, len(page)]) if start < stop]


def contents(pages: Sequence[Page]) -> dict[str, str]:
    """Return the headings of the first page and the titles of the others, by their anchors."""
    return {
        f"part-{number}-{index}": block.text
        for number, page in enumerate(pages, start=1)
        for index, block in enumerate(page)
        if isinstance(block, Heading) and block.minor == (number == 1)
    }


def short_labels(grid: Grid) -> tuple[Mapping[str, str], str]:
    """Return what is shown for each label of a shape, and in words what long ones leave out."""
    labels = list(dict.fromkeys(grid.labels)) if grid.stub == SHAPE else []
    # In this width no label is broken, so that each is one text.
    fitted = fit_labels(labels, max(width_of_one_line(labels), _SHORT))
    return {label: " ".join(lines) for label, lines in zip(labels, fitted.lines, strict=True)}, fitted.shared


def breakable(text: str) -> Markup:
    """Return a text in which a narrow column may break labels between their fields."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/])|(?<=,)(?=\S)", printable(text)))


def name(text: str) -> Markup:
    """Return a name for a column of a table; one that is too long may break anywhere."""
    written = breakable(text)
    return Markup('<span class="long">{}</span>').format(written) if _UNBROKEN.search(text) else written


def _harmless(value: Any) -> Any:
    """Replace control characters in everything that the template writes, but for finished markup."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _resource(file: str) -> str:
    return files("abtune.report.formats").joinpath(file).read_text(encoding="utf-8")
