"""The report for a terminal: a table for each kind of workload, the overall boost, counts, footnotes.

It fits the console it is given. With less room, labels lose what their group shares and break into lines,
then the less important columns go; digits are never wrapped or cut. Verdicts are words first and colours
second, so the report reads the same without colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from abtune.analyse.comparison import Analysis, Verdict
from abtune.report.columns import Column, intervals, report_columns, report_decimals
from abtune.report.labels import Group, Labels, fit_labels, group_by_workload
from abtune.report.layout import Layout, choose_layout, mark, table_width, with_marks
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
from abtune.report.numbers import percent, plain_percent
from abtune.report.page import Section
from abtune.report.terminal_page import render_page
from abtune.report.writing import PROSE, bullet, bullets, plain_table, prose, text_for

STYLES = {
    Verdict.IMPROVED: "bold green",
    Verdict.REGRESSED: "bold red",
    Verdict.EQUIVALENT: "cyan",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.INVALID: "bold magenta",
}
# From this width on, what an overall line means stands beside it, not below.
BESIDE = 80


def render_terminal(
    analysis: Analysis, console: Console, *, why: bool, sections: Sequence[Section] = ()
) -> None:
    """Print an analysis.

    Parameters
    ----------
    analysis : Analysis
        As :func:`abtune.analyze` returns it.
    console : rich.console.Console
        Its width, colours and encoding decide how the report looks.
    why : bool
        Whether to give the reason of each verdict.
    sections : sequence of Section
        Further pages that will follow; others are pointed to where they help.
    """
    notes = collect_notes(analysis)
    groups = group_by_workload(analysis.comparisons)
    columns = with_marks(report_columns(analysis), notes, ascii_only=console.options.ascii_only)
    layout = choose_layout(columns, groups, console.width)
    prose(console, title(analysis), style="bold")
    prose(console, design(analysis))
    for group in groups:
        console.print()
        _print_group(console, group, layout)
    console.print()
    _print_overall(console, analysis)
    console.print()
    console.print(_counts(analysis, min(console.width, PROSE)))
    hints = _hints(analysis, why=why, sections=sections)
    _print_notes(console, notes, layout, hints)
    if why:
        console.print()
        _print_reasons(console, analysis)
    console.print()
    prose(console, f"{analysis.definition} {methods(analysis)}", style="dim")


def terminal_text(
    analysis: Analysis | None, stream: TextIO | None, *, why: bool, sections: Sequence[Section] = ()
) -> str:
    """Render for a stream, or for a file if there is none, with further pages below."""

    def draw(console: Console) -> None:
        if analysis is not None:
            render_terminal(analysis, console, why=why, sections=sections)
        for place, section in enumerate(sections):
            if place or analysis is not None:
                console.print()
            render_page(section.page, console)

    return text_for(stream, draw)


def _print_group(console: Console, group: Group, layout: Layout) -> None:
    labels = fit_labels(group.labels, layout.label_width)
    console.print(_heading(group, labels))
    table = plain_table()
    table.add_column("shape", width=layout.label_width, no_wrap=True)
    for column in layout.columns:
        table.add_column(
            column.heading, width=column.width, no_wrap=True, justify="right" if column.right else "left"
        )
    for place, comparison, lines in zip(group.places, group.comparisons, labels.lines, strict=True):
        label = Text(lines[0])
        label.append("".join(f"\n{line}" for line in lines[1:]), style="dim")
        cells = [_styled(column, place, comparison.verdict) for column in layout.columns]
        table.add_row(label, *cells)
    # A console too narrow even for the least table gets lines that are too long rather than digits cut off.
    table.width = table_width(layout.label_width, layout.columns)
    console.print(table, crop=False)


def _heading(group: Group, labels: Labels) -> Text:
    heading = Text(group.workload, style="bold")
    shared = f"; all {labels.shared}" if labels.shared else ""
    heading.append(
        f"{', ' if group.workload else ''}{count_shapes(len(group.places))}{shared}", style="not bold"
    )
    return heading


def _styled(column: Column, place: int, verdict: Verdict) -> Text:
    style = STYLES[verdict] if column.key in {"boost", "verdict"} else ""
    return Text(column.cells[place], style=style)


def _print_overall(console: Console, analysis: Analysis) -> None:
    overall = analysis.overall
    lines = overall_lines(overall)
    decimals = max(report_decimals(analysis), 2)
    bounds = intervals([(line.boost_low, line.boost_high) for line in lines.values()], decimals)
    table = plain_table()
    table.add_column(Text("overall", style="bold not dim"), no_wrap=True)
    table.add_column("boost %", no_wrap=True, justify="right")
    table.add_column(f"{plain_percent(analysis.level)} interval", no_wrap=True, justify="right")
    beside = console.width >= BESIDE
    if beside:
        table.add_column("")
    for (name, line), bound in zip(lines.items(), bounds, strict=True):
        boost = Text(percent(line.boost, decimals), style="bold")
        table.add_row(name, boost, bound, *([Text(line.meaning, style="dim")] if beside else []))
    console.print(table, width=min(console.width, PROSE))
    if not beside:
        for name, line in lines.items():
            prose(console, f"{name}: {line.meaning}", style="dim")
    if overall.unmatched:
        prose(console, f"left out: {', '.join(overall.unmatched)}")


def _counts(analysis: Analysis, width: int) -> Text:
    """Count the verdicts; a line never ends between a number and its word."""
    text = Text()
    used = 0
    for verdict, count in verdict_counts(analysis):
        piece = f"{count} {verdict.value}"
        if used:
            fits = used + len(piece) + 3 <= width
            text.append(", " if fits else ",\n")
            used = used + 2 if fits else 0
        text.append(piece, style=STYLES[verdict])
        used += len(piece)
    return text


def _hints(analysis: Analysis, *, why: bool, sections: Sequence[Section]) -> Iterator[str]:
    """Point to options that would say more."""
    if not why and any(row.verdict is Verdict.INCONCLUSIVE for row in analysis.comparisons):
        yield "What would settle an inconclusive shape: --why says it, shape by shape."
    shown = any(section.name == "single_run" for section in sections)
    if not shown and all(row.baseline.n == row.candidate.n == 1 for row in analysis.comparisons):
        yield "What a table with one run a cell does support: --single-run says it."


def _print_notes(console: Console, notes: Notes, layout: Layout, hints: Iterable[str]) -> None:
    ascii_only = console.options.ascii_only
    point = bullet(console)
    items = [(point, text) for text in notes.general]
    for number, text in enumerate(notes.numbered, start=1):
        items.append((mark([number], ascii_only=ascii_only).strip(), text))
    items += [(point, hint) for hint in hints]
    if layout.left_out:
        names = ", ".join(name.replace(" ", "\xa0") for name in layout.left_out)
        items.append((point, f"No room at this width for: {names}. --format csv has everything."))
    if not items:
        return
    console.print()
    bullets(console, items)


def _print_reasons(console: Console, analysis: Analysis) -> None:
    console.print("why", style="bold")
    for row in analysis.comparisons:
        prose(console, f"{row.shape}: {row.verdict.value}. {row.reason}", indent="    ")
