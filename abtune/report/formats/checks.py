"""Verdicts for machines that run checks: JUnit XML, and annotations of GitHub Actions.

A shape that is shown to be slower is a failure. One that could not be judged is an error. ``--fail-on`` does
not matter. What is not settled is skipped: it is neither a success nor a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from abtune.compare.results import Verdict
from abtune.report.formats.machine import rows_of
from abtune.report.page import Report
from abtune.text import NOTHING, limit_cell, percent_cell, printable, sentence_decimals

_OUTCOMES = {Verdict.REGRESSED: "failure", Verdict.INVALID: "error", Verdict.INCONCLUSIVE: "skipped"}
_LEVELS = {Verdict.REGRESSED: "error", Verdict.INVALID: "warning"}


def render_junit(report: Report) -> str:
    """Return a test case for each shape as JUnit XML; the class is the kind of workload.

    The name of the candidate stands before it if there are several.
    """
    rows = rows_of(report, "JUnit XML", needs="reason")
    kinds = [_OUTCOMES.get(row["verdict"]) for row in rows]
    counts = {"tests": len(rows), **{f"{name}s": kinds.count(name) for name in ("failure", "error")}}
    counts["skipped"] = kinds.count("skipped")
    several = _has_candidates(rows)
    suite = ElementTree.Element("testsuite", {"name": printable(report.title)})
    for name, number in counts.items():
        suite.set(name, str(number))
    for row, kind in zip(rows, kinds, strict=True):
        group = printable(row["workload"]) or "shapes"
        group = f"{printable(row['candidate'])}.{group}" if several else group
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=printable(row["shape"]))
        if kind:
            ElementTree.SubElement(case, kind, message=printable(_sentence(row)))
        else:
            ElementTree.SubElement(case, "system-out").text = printable(_sentence(row))
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
            _sentence(row),
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


def _sentence(row: Mapping[str, Any]) -> str:
    """Return verdict, boost and reason of a shape."""
    decimals = sentence_decimals(row["boost_low"], row["boost_high"])
    boost = percent_cell(row["boost"], decimals)
    low, high = (limit_cell(row[name], decimals) for name in ("boost_low", "boost_high"))
    interval = "" if low == NOTHING else f" ({low} to {high})"
    number = "" if boost == NOTHING else f", {boost}%{interval}"
    return f"{row['verdict'].words}{number}: {row['reason']}"


def _escaped(text: str, further: str = "") -> str:
    """Return a text in which GitHub's runner finds no command; properties escape further characters."""
    text = printable(text)
    # % comes first, else it would escape the escapes.
    for character in f"%{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
