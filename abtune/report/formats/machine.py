"""The report for programs: JSON with everything, CSV with the rows of a table.

Boosts, noise and levels are fractions, latencies are seconds, and numbers keep all their digits. A number
that does not exist is ``null`` in JSON and empty in CSV.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from abtune.errors import InputError
from abtune.report.page import Report, fields_of
from abtune.text import listed, printable
from abtune.version import __version__


def render_json(report: Report) -> str:
    """Return the results of all sections as a JSON object."""
    sections = [dataclasses.replace(section, result=plain(section.result)) for section in report.sections]
    document = {"abtune_version": __version__, **fields_of(sections)}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(report: Report) -> str:
    """Return the rows of a report as CSV; sentences of one cell are joined by semicolons."""
    records = [{name: _cell(value) for name, value in row.items()} for row in rows_of(report, "CSV")]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def rows_of(report: Report, form: str, *, needs: str = "shape") -> list[Mapping[str, Any]]:
    """Return the rows of a report; refuse a section without rows, or whose rows lack the needed field."""
    sections = [section for section in report.sections if not section.unasked]
    without = [
        section.name or report.title
        for section in sections
        if section.rows is None or any(needs not in record for record in section.rows)
    ]
    if without:
        raise InputError(
            f"{form} has the comparisons only, not {listed(dict.fromkeys(without))}; take --format json"
        )
    return [record for section in sections for record in section.rows or ()]


def render_sentence(report: Report) -> str:
    """Return the result of a report in one or two sentences."""
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
