"""The formats that every command offers: one line each.

A format turns a report into text. Its module is imported when the format is first used, so that a table
needs neither the template engine of HTML nor anything else that only another format needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

if TYPE_CHECKING:
    from abtune.report.page import Report

# Takes a report, and the stream on which it will be shown or None for a file.
Render: TypeAlias = "Callable[[Report, TextIO | None], str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of reports."""

    name: str  # its name for `--format`
    suffixes: tuple[str, ...]  # endings of file names that choose it, in lower case
    render: Render  # returns the text of a report


def _from(module: str, function: str = "render") -> Render:
    """Return a function of a module in this folder, which is imported at the first call."""

    def render(report: Report, stream: TextIO | None) -> str:
        renderer = getattr(importlib.import_module(f"abtune.report.formats.{module}"), function)
        text: str = renderer(report, stream)
        return text

    return render


# By name; the first is the default.
FORMATS = {
    form.name: form
    for form in (
        Format(name="table", suffixes=(".txt",), render=_from("terminal")),
        Format(name="markdown", suffixes=(".md",), render=_from("markdown")),
        Format(name="html", suffixes=(".html", ".htm"), render=_from("html")),
        Format(name="json", suffixes=(".json",), render=_from("machine", "render_json")),
        Format(name="csv", suffixes=(".csv",), render=_from("machine", "render_csv")),
        Format(name="latex", suffixes=(".tex",), render=_from("latex")),
        Format(name="junit", suffixes=(".xml",), render=_from("checks", "render_junit")),
        Format(name="github", suffixes=(), render=_from("checks", "render_github")),
        Format(name="sentence", suffixes=(), render=_from("machine", "render_sentence")),
    )
}


def format_of(path: Path | None) -> Format:
    """Return the format that the name of a file chooses, or the default."""
    suffix = path.suffix.lower() if path else ""
    forms = list(FORMATS.values())
    return next((form for form in forms if suffix in form.suffixes), forms[0])
