"""The report for programs: JSON with everything, CSV with the rows of a table, and verdicts for checks.

Boosts, noise and levels are fractions, latencies are seconds, and numbers keep all their digits. A number
that does not exist is ``null`` in JSON and empty in CSV.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from abtune.compare.results import Verdict
from abtune.errors import InputError
from abtune.report.page import Report, fields_of
from abtune.text import NOTHING, limits, listed, percent_cell, printable, sentence_decimals
from abtune.version import __version__


def render_json(report: Report) -> str:
    """Return the results of all sections as a JSON object."""
    sections = [dataclasses.replace(section, result=plain(section.result)) for section in report.sections]
    document = {"abtune_version": __version__, **fields_of(sections)}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(report: Report) -> str:
    """Return the rows that are shown as CSV; sentences of one cell are joined by semicolons."""
    headings = next(iter(rows_of(report, "CSV")), {})  # also where no row is shown
    shown = (row for section in report.sections if not section.unasked for row in section.shown_rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(headings), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in shown)
    return text.getvalue()


def rows_of(report: Report, form: str, *, needs: str = "shape") -> list[Mapping[str, Any]]:
    """Return the rows of a report; refuse a section without rows, or whose rows lack the needed field."""
    sections = [section for section in report.sections if not section.unasked]
    without = [
        section.name.replace("_", "-") or report.title  # as --section has it
        for section in sections
        if section.rows is None or any(needs not in record for record in section.rows)
    ]
    if without:
        raise InputError(f"{form} cannot show {listed(dict.fromkeys(without))}; take --format json")
    return [record for section in sections for record in section.rows or ()]


def render_sentence(report: Report) -> str:
    """Return the result of a report in a few sentences."""
    sentences = [section.sentence for section in report.sections if section.sentence]
    if not sentences:
        raise InputError("these sections have no sentence; add --section report, or take another --format")
    return "".join(f"{printable(sentence)}\n" for sentence in sentences)


def plain(value: object) -> Any:
    """Return a value as JSON has it: objects by the names of fields, ``null`` for unknown numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _cell(value: object) -> object:
    """Return a cell; a quote stands before a text that a spreadsheet would take for a formula."""
    text = "; ".join(value) if isinstance(value, tuple) else value
    if not isinstance(text, str):
        return plain(text)
    return f"'{printable(text)}" if text.startswith(("=", "+", "-", "@")) else printable(text)


# A regressed shape is a failure in JUnit XML and an error at GitHub. An invalid one is an error or a warning.
# JUnit skips an inconclusive shape. `--fail-on` does not matter.
_OUTCOMES = {Verdict.REGRESSED: "failure", Verdict.INVALID: "error", Verdict.INCONCLUSIVE: "skipped"}
_LEVELS = {Verdict.REGRESSED: "error", Verdict.INVALID: "warning"}


def render_junit(report: Report) -> str:
    """Return a test case for each shape as JUnit XML, shown or not; the class is the kind of workload."""
    from xml.etree import ElementTree

    rows = rows_of(report, "JUnit XML", needs="reason")
    kinds = [_OUTCOMES.get(row["verdict"]) for row in rows]
    several = _has_candidates(rows)
    suite = ElementTree.Element(
        "testsuite",
        name=printable(report.title),
        tests=str(len(rows)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    for row, kind in zip(rows, kinds, strict=True):
        group = printable(row["workload"]) or "shapes"
        group = f"{printable(row['candidate'])}.{group}" if several else group
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=printable(row["shape"]))
        if kind:
            ElementTree.SubElement(case, kind, message=printable(_reason(row)))
        else:
            ElementTree.SubElement(case, "system-out").text = printable(_reason(row))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def render_github(report: Report) -> str:
    """Return the sentence as a notice, an error for each regression, a warning for each invalid shape."""
    rows = rows_of(report, "GitHub's format", needs="reason")
    sentences = [section.sentence for section in report.sections if not section.unasked]
    notices = [("notice", report.title, sentence) for sentence in filter(None, sentences)]
    several = _has_candidates(rows)
    shapes = [
        (
            _LEVELS[row["verdict"]],
            f"{row['candidate']} on {row['shape']}" if several else row["shape"],
            _reason(row),
        )
        for row in rows
        if row["verdict"] in _LEVELS
    ]
    return "".join(
        f"::{level} title={_escaped(title, ':,')}::{_escaped(text)}\n"
        for level, title, text in notices + shapes
    )


def _has_candidates(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the rows are about several candidates, so that a shape does not tell which."""
    return len({row["candidate"] for row in rows}) > 1


def _reason(row: Mapping[str, Any]) -> str:
    decimals = sentence_decimals(row["boost_low"], row["boost_high"])
    boost = percent_cell(row["boost"], decimals)
    interval = limits(row["boost_low"], row["boost_high"], decimals)
    number = "" if boost == NOTHING else f", {boost}%{'' if interval == NOTHING else f' ({interval})'}"
    return f"{row['verdict'].words}{number}: {row['reason']}"


def _escaped(text: str, further: str = "") -> str:
    """Return a text in which GitHub's runner finds no command; properties escape further characters."""
    text = printable(text)
    # % comes first, else it would escape the escapes.
    for character in f"%{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
