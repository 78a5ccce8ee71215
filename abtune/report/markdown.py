"""The report as GitHub-flavoured markdown, for a pull request or a page of documentation."""

from __future__ import annotations

from collections.abc import Sequence

from abtune.analyse.comparison import Analysis, Verdict
from abtune.report.columns import Column, intervals, report_columns, report_decimals
from abtune.report.labels import Group, group_by_workload
from abtune.report.notes import Notes, collect_notes, design, methods, overall_lines, title, verdict_counts
from abtune.report.numbers import percent, plain_percent
from abtune.report.tables import code, escape, table

_STRONG = {Verdict.IMPROVED.value, Verdict.REGRESSED.value, Verdict.INVALID.value}


def render_markdown(analysis: Analysis) -> str:
    """Write an analysis as markdown, with every label and column whole.

    Parameters
    ----------
    analysis : Analysis
        As :func:`abtune.analyze` returns it.

    Returns
    -------
    str
        Ends with a newline.
    """
    notes = collect_notes(analysis)
    columns = report_columns(analysis)
    blocks = [
        f"## {escape(title(analysis))}",
        escape(design(analysis)),
        _overall(analysis),
        _counts(analysis),
    ]
    for group in group_by_workload(analysis.comparisons):
        blocks += [f"### {escape(group.workload or 'shapes')}", _group(group, columns, notes)]
    if notes.general:
        blocks.append("\n".join(f"- {escape(note)}" for note in notes.general))
    if notes.numbered:
        footnotes = enumerate(notes.numbered, start=1)
        blocks.append("\n".join(f"[^{number}]: {escape(note)}" for number, note in footnotes))
    blocks.append(_reasons(analysis))
    blocks.append(escape(f"{analysis.definition} {methods(analysis)}"))
    return "\n\n".join(blocks) + "\n"


def _group(group: Group, columns: Sequence[Column], notes: Notes) -> str:
    rows = [
        [code(label, cell=True), *(_cell(column, place, notes) for column in columns)]
        for label, place in zip(group.labels, group.places, strict=True)
    ]
    return table(
        ["shape", *(column.heading for column in columns)], [column.right for column in columns], rows
    )


def _cell(column: Column, place: int, notes: Notes) -> str:
    text = " ".join(column.cells[place].split())
    if column.key != "verdict":
        return escape(text)
    marks = "".join(f"[^{number}]" for number in notes.marks[place])
    return (f"**{text}**" if text in _STRONG else text) + marks


def _overall(analysis: Analysis) -> str:
    lines = overall_lines(analysis.overall)
    decimals = max(report_decimals(analysis), 2)
    bounds = intervals([(line.boost_low, line.boost_high) for line in lines.values()], decimals)
    rows = [
        [
            name,
            f"**{percent(line.boost, decimals)}**",
            " ".join(bound.split()),
            escape(line.meaning),
        ]
        for (name, line), bound in zip(lines.items(), bounds, strict=True)
    ]
    headings = ["overall", "boost %", f"{plain_percent(analysis.level)} interval", "meaning"]
    overall = table(headings, [True, True, False], rows)
    left_out = ", ".join(code(shape, cell=False) for shape in analysis.overall.unmatched)
    return f"{overall}\n\nLeft out: {left_out}" if left_out else overall


def _counts(analysis: Analysis) -> str:
    return ", ".join(f"{count} {verdict.value}" for verdict, count in verdict_counts(analysis))


def _reasons(analysis: Analysis) -> str:
    """Say why, for each shape, behind a line to click on."""
    items = (f"- {code(row.shape, cell=False)}: {escape(row.reason)}" for row in analysis.comparisons)
    listed = "\n".join(items)
    return f"<details><summary>Why, shape by shape</summary>\n\n{listed}\n\n</details>"
