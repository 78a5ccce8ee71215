"""The report as one HTML file that needs nothing else: no network, no script, light and dark, paper too.

It says what the report for a terminal says, in the same words and digits, and draws every interval on one
scale. On a narrow screen each row of the table of shapes becomes a card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

import abtune
from abtune.analyse.comparison import Aggregate, Analysis, Comparison, Verdict
from abtune.report.columns import Column, intervals, report_columns, report_decimals
from abtune.report.html_page import headings, html_page, scrolling
from abtune.report.labels import Group, group_by_workload, printable
from abtune.report.markup import breakable, element, escaped, label, sentence
from abtune.report.notes import (
    Notes,
    collect_notes,
    count_shapes,
    design,
    methods,
    overall_lines,
    title,
    verdict_counts,
)
from abtune.report.numbers import NOTHING, percent, plain_percent
from abtune.report.page import Heading, Section
from abtune.report.scale import Scale, choose_scale
from abtune.report.svg import OVERALL, draw_axis, draw_interval

# Marks that tell verdicts apart without colour; the words stand beside them.
_MARKS = {
    Verdict.IMPROVED: "▲",
    Verdict.REGRESSED: "▼",
    Verdict.EQUIVALENT: "■",
    Verdict.INCONCLUSIVE: "○",
    Verdict.INVALID: "◇",
}
_LEGEND = (
    "Drawn: boost and interval, from {low}% to {high}%; the line is zero, the band the margin, and an arrow "
    "says that the interval goes on."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What all tables of shapes share."""

    analysis: Analysis
    columns: tuple[Column, ...]
    notes: Notes
    scale: Scale


def render_html(analysis: Analysis | None, sections: Sequence[Section] = (), *, why: bool = False) -> str:
    """Write an analysis, further pages, or both as an HTML document.

    Parameters
    ----------
    analysis : Analysis or None
        As :func:`abtune.analyze` returns it; None to write the pages alone.
    sections : sequence of Section
        Further pages.
    why : bool
        Whether the reasons of the verdicts are unfolded from the start.

    Returns
    -------
    str
        The same for the same arguments, byte for byte; ends with a newline.
    """
    name = title(analysis) if analysis is not None else _first_heading(sections)
    parts = [] if analysis is None else list(_report(analysis, why=why))
    for number, section in enumerate(sections):
        parts.append(html_page(section.page, top=1 if analysis is None and not number else 2))
    return _document(name, parts)


def _document(name: str, parts: Sequence[str]) -> str:
    style = files("abtune.report").joinpath("report.css").read_text(encoding="utf-8")
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"abtune {abtune.__version__}"),
        element("title", escaped(name)),
        element("style", "\n", style),
        "</head>",
        "<body>",
        "<main>",
        *parts,
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _first_heading(sections: Sequence[Section]) -> str:
    found = (part.text for section in sections for part in section.page if isinstance(part, Heading))
    return next(found, "abtune")


def _report(analysis: Analysis, *, why: bool) -> Iterator[str]:
    table = _Table(
        analysis=analysis,
        columns=report_columns(analysis),
        notes=collect_notes(analysis),
        scale=choose_scale(analysis),
    )
    ends = {"low": percent(table.scale.low, 0), "high": percent(table.scale.high, 0)}
    yield element("h1", breakable(title(analysis)))
    yield element("p", escaped(design(analysis)))
    yield _counts(analysis)
    yield _overall(table)
    for group in group_by_workload(analysis.comparisons):
        yield _group(group, table)
    yield element("p", escaped(_LEGEND.format(**ends)), class_="remark")
    yield from _notes(table.notes)
    yield _reasons(analysis, unfolded=why)
    yield element("p", sentence(f"{analysis.definition} {methods(analysis)}"), class_="remark")


def _counts(analysis: Analysis) -> str:
    items = (
        element("li", _marked(verdict, f"{count} {verdict.value}"))
        for verdict, count in verdict_counts(analysis)
    )
    return element("ul", *items, class_="counts")


def _marked(verdict: Verdict, text: str) -> str:
    mark = element("span", _MARKS[verdict], aria_hidden="true")
    return element("span", f"{mark} {escaped(text)}", class_=f"verdict {verdict.value}")


def _overall(table: _Table) -> str:
    analysis = table.analysis
    lines = overall_lines(analysis.overall)
    decimals = max(report_decimals(analysis), 2)
    bounds = intervals([(line.boost_low, line.boost_high) for line in lines.values()], decimals)
    rows = [
        _overall_row(table, name, line, percent(line.boost, decimals), " ".join(bound.split()))
        for (name, line), bound in zip(lines.items(), bounds, strict=True)
    ]
    head = headings(
        [
            ("overall", ""),
            ("boost %", "number"),
            (_interval_heading(analysis), "number"),
            (draw_axis(table.scale), "drawn"),
            ("meaning", "word"),
        ]
    )
    left_out = ", ".join(label(shape) for shape in analysis.overall.unmatched)
    written = element("table", head, element("tbody", *rows), class_="cards")
    return written + (element("p", f"Left out: {left_out}") if left_out else "")


def _overall_row(table: _Table, name: str, line: Aggregate, boost: str, bound: str) -> str:
    words = _in_words(table.analysis, boost, bound)
    drawn = draw_interval(line, table.scale, table.analysis.margin, OVERALL, words)
    return "\n" + element(
        "tr",
        element("th", escaped(name), scope="row"),
        element("td", element("strong", boost), class_="number boost", data_label="boost %"),
        element("td", bound, class_="number interval", data_label=_interval_heading(table.analysis)),
        element("td", drawn, class_="drawn"),
        element("td", escaped(line.meaning), class_="word"),
    )


def _group(group: Group, table: _Table) -> str:
    names = [("shape", "")]
    for column in table.columns:
        names.append((escaped(column.heading), "number" if column.right else "word"))
        if column.key == _drawn_after(table.columns):
            names.append((draw_axis(table.scale), "drawn"))
    rows = (
        "\n" + _row(group.labels[at], group.comparisons[at], place, table)
        for at, place in enumerate(group.places)
    )
    heading = f"{group.workload}, " if group.workload else ""
    return element("h2", escaped(f"{heading}{count_shapes(len(group.places))}")) + scrolling(
        element("table", headings(names), element("tbody", *rows), class_="cards"),
        f"shapes {group.workload}".rstrip(),
    )


def _row(name: str, row: Comparison, place: int, table: _Table) -> str:
    cells = [element("th", label(name), scope="row")]
    texts = {column.key: " ".join(column.cells[place].split()) for column in table.columns}
    for column in table.columns:
        cells.append(_cell(column, texts[column.key], row, table.notes.marks[place]))
        if column.key == _drawn_after(table.columns):
            words = _in_words(table.analysis, texts["boost"], texts.get("interval", NOTHING))
            drawn = draw_interval(row, table.scale, table.analysis.margin, row.verdict.value, words)
            cells.append(element("td", drawn, class_="drawn"))
    return element("tr", *cells)


def _drawn_after(columns: Sequence[Column]) -> str:
    """Name the column behind which intervals are drawn."""
    return "interval" if any(column.key == "interval" for column in columns) else "boost"


def _cell(column: Column, text: str, row: Comparison, marks: Sequence[int]) -> str:
    if column.key == "verdict":
        links = " ".join(element("a", str(number), href=f"#note-{number}") for number in marks)
        noted = element("sup", links) if links else ""
        return element("td", _marked(row.verdict, text) + noted, class_="judged")
    shown = element("strong", text) if column.key == "boost" else escaped(text)
    return element("td", shown, class_=f"number {column.key}", data_label=column.heading)


def _in_words(analysis: Analysis, boost: str, bound: str) -> str:
    if boost == NOTHING:
        return "no boost"
    interval = f"{_interval_heading(analysis)} {bound}" if bound != NOTHING else "no interval"
    return f"boost {boost} percent, {interval}"


def _interval_heading(analysis: Analysis) -> str:
    return f"{plain_percent(analysis.level)} interval"


def _notes(notes: Notes) -> Iterator[str]:
    if notes.general:
        yield element("ul", *(element("li", sentence(note)) for note in notes.general))
    if notes.numbered:
        numbered = enumerate(notes.numbered, start=1)
        items = (element("li", sentence(note), id=f"note-{number}") for number, note in numbered)
        yield element("ol", *items, class_="notes")


def _reasons(analysis: Analysis, *, unfolded: bool) -> str:
    """Say why, for each shape, behind a line to click on."""
    items = (
        "\n"
        + element("dt", label(printable(row.shape)), ": ", _marked(row.verdict, row.verdict.value))
        + element("dd", sentence(row.reason))
        for row in analysis.comparisons
    )
    summary = element("summary", "Why, shape by shape")
    opened = {"open": ""} if unfolded else {}
    return element("details", summary, element("dl", *items), **opened)
