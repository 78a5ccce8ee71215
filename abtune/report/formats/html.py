"""The report as one HTML file that needs nothing else: no network, no script, light and dark, paper too.

``report.html.j2`` has the elements, ``report.css`` the looks. On a narrow screen each row of a table with
drawings becomes a card.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any, TextIO

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from abtune.report.formats.svg import draw_axis, draw_interval, draw_samples
from abtune.report.page import Report, last_drawn, spans
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
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{0,30}(?![\w-])")
# A run of this many characters without a place to break makes a column too wide.
_UNBROKEN = re.compile(r"[^\s_-]{24}")


def render(report: Report, stream: TextIO | None = None) -> str:  # noqa: ARG001 - the same for every stream
    """Return a report as an HTML document; the same for the same report, byte for byte."""
    environment = Environment(
        autoescape=True,
        finalize=_harmless,
        keep_trailing_newline=True,
        loader=FunctionLoader(_resource),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"breakable": breakable, "sentence": sentence, "name": name, "kind": _kind}
    environment.globals |= {
        "draw_axis": draw_axis,
        "draw_interval": draw_interval,
        "draw_samples": draw_samples,
        "last_drawn": last_drawn,
        "marks": _MARKS,
        "spans": spans,
    }
    template = environment.get_template("report.html.j2")
    style = Markup(_resource("report.css"))  # noqa: S704 - our own
    sections = [section for section in report.sections if section.page]
    return template.render(title=report.title, sections=sections, style=style, version=__version__)


def breakable(text: str) -> Markup:
    """Return a text in which a narrow column may break labels between their fields."""
    return escape(printable(text)).replace("_", Markup("_<wbr>"))


def sentence(text: str) -> Markup:
    """Return a text in which the name of an option stays in one line."""
    words = str(escape(printable(text)))
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', words))  # noqa: S704 - escaped above


def name(text: str) -> Markup:
    """Return a name for a column of a table; one that is too long may break anywhere."""
    written = breakable(text)
    return Markup('<span class="long">{}</span>').format(written) if _UNBROKEN.search(text) else written


def _harmless(value: Any) -> Any:
    """Replace control characters in everything that the template writes, but for finished markup."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _kind(part: object) -> str:
    return type(part).__name__


def _resource(file: str) -> str:
    return files("abtune.report.formats").joinpath(file).read_text(encoding="utf-8")
