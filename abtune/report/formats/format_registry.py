"""The formats that commands offer, one line each; a module is imported when its format is used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from abtune.errors import InputError
from abtune.lazy import Function, load

if TYPE_CHECKING:
    from abtune.report.page import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of reports."""

    name: str  # its name for `--format`
    suffixes: tuple[str, ...]  # endings of file names that choose it, in lower case
    function: Function  # from a report to text
    commands: tuple[str, ...] = ()  # those that can fill it; empty for all
    fits_stream: bool = False  # whether the function also takes the stream that will show it, None for a file

    def render(self, report: Report, stream: TextIO | None) -> str:
        """Return the text of a report."""
        more = (stream,) if self.fits_stream else ()
        return load(self.function)(report, *more)


_HOME = "abtune.report.formats"
_OF_SHAPES = ("analyze", "compare", "history")


# By name; the first is the default.
FORMATS = {
    form.name: form
    for form in (
        Format(name="table", suffixes=(".txt",), function=f"{_HOME}.terminal:render", fits_stream=True),
        Format(name="markdown", suffixes=(".md",), function=f"{_HOME}.markdown:render"),
        Format(name="html", suffixes=(".html", ".htm"), function=f"{_HOME}.html:render"),
        Format(name="json", suffixes=(".json",), function=f"{_HOME}.machine:render_json"),
        Format(name="csv", suffixes=(".csv",), function=f"{_HOME}.machine:render_csv", commands=_OF_SHAPES),
        Format(name="latex", suffixes=(".tex",), function=f"{_HOME}.latex:render"),
        Format(
            name="junit", suffixes=(".xml",), function=f"{_HOME}.machine:render_junit", commands=("analyze",)
        ),
        Format(name="github", suffixes=(), function=f"{_HOME}.machine:render_github", commands=("analyze",)),
        Format(
            name="sentence", suffixes=(), function=f"{_HOME}.machine:render_sentence", commands=_OF_SHAPES
        ),
    )
}


def format_of(path: Path | None) -> Format:
    """Return the format that the name of a file chooses, or the default where it has no ending."""
    endings = {suffix: form for form in FORMATS.values() for suffix in form.suffixes}
    suffix = (path.suffix.lower() if path else "") or ".txt"
    if suffix not in endings:
        known = ", ".join(endings)
        raise InputError(f"cannot write {path}: no format has this ending; give --format, or one of {known}")
    return endings[suffix]
