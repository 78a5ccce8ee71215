"""JUnit XML and GitHub's annotations: every shape is there, and names cannot act as markup or commands."""

from __future__ import annotations

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_builders import NAN, make_analysis, make_comparison, typical_analysis

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.errors import InputError
from abtune.report.formats.machine import render_github, render_junit
from abtune.report.page import Section
from abtune.report.summary import analysis_report
from abtune.text import printable

OUTCOMES = {"regressed": "failure", "invalid": "error", "inconclusive": "skipped"}


def suite_of(analysis: Analysis) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(analysis_report(analysis)))  # noqa: S314 - our own


def annotations(analysis: Analysis) -> list[tuple[str, str, str]]:
    """Return level, title and text of each annotation, as GitHub's runner reads the lines."""
    lines = render_github(analysis_report(analysis)).split("\n")
    assert lines.pop() == ""
    matches = [re.fullmatch(r"::(\w+) title=([^:,]*)::(.*)", line) for line in lines]
    return [(match[1], unquote(match[2]), unquote(match[3])) for match in matches if match]


def test_each_shape_is_a_test_case() -> None:
    """Cases have the outcomes of the verdicts, the counts are theirs, and the reason is in each."""
    analysis = typical_analysis()
    suite = suite_of(analysis)
    assert suite.tag == "testsuite"
    assert suite.attrib == {
        "name": "async against mainline",
        "tests": "6",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    for case, row in zip(suite, analysis.comparisons, strict=True):
        assert case.attrib == {"classname": row.workload, "name": row.shape}
        (inner,) = case
        assert inner.tag == OUTCOMES.get(row.verdict.value, "system-out")
        text = inner.get("message") or inner.text or ""
        assert text.startswith(row.verdict.words)
        assert text.endswith(f": {row.reason}")
    assert (suite[0][0].text or "").startswith("improved, +11.1% (+6.2 to +16.0): ")
    assert suite[5][0].get("message") == "invalid: All runs of async failed."


def test_a_limit_beside_zero_keeps_its_sign() -> None:
    """As in the table: the sign says whether the interval includes zero."""
    (case,) = suite_of(make_analysis(make_comparison(boost_low=-0.0004)))
    assert "(-0.0 to " in (case[0].get("message") or case[0].text or "")


def test_a_narrow_interval_has_its_digits() -> None:
    """Counts of instructions differ by hundredths of a percent; one decimal would call them 0.0."""
    (case,) = suite_of(make_analysis(make_comparison(boost=4e-4, boost_low=3e-4, boost_high=5e-4)))
    assert "+0.040% (+0.030 to +0.050)" in (case[0].get("message") or case[0].text or "")
    latency = 1e-3 * np.exp(np.random.default_rng(0).normal(0, 1e-4, (1, 2, 10)))
    latency[:, 1] *= 1 - 4e-4
    exact = abtune.analyze(abtune.make_dataset(latency, shapes=["s"], configs=["old", "new"]))
    assert re.search(r"faster than old on s: \+0\.04\d% \(95% interval \+0\.0[34]\d to", exact.sentence)


def test_a_boost_without_interval_stands_alone() -> None:
    """A single run has a boost and no interval."""
    row = make_comparison(boost_low=NAN, boost_high=NAN, verdict=Verdict.INVALID, reason="One run.")
    (case,) = suite_of(make_analysis(row))
    assert case[0].get("message") == "invalid, +11.1%: One run."


def test_annotations_are_of_what_needs_attention() -> None:
    """The sentence is a notice, a regression an error, an invalid shape a warning; nothing else is told."""
    analysis = typical_analysis()
    told = annotations(analysis)
    assert told[0] == ("notice", "async against mainline", analysis.sentence)
    by_verdict = {row.verdict: row for row in analysis.comparisons}
    regressed, invalid = by_verdict[Verdict.REGRESSED], by_verdict[Verdict.INVALID]
    assert told[1:] == [
        ("error", regressed.shape, f"regressed, -6.9% (-10.2 to -3.4): {regressed.reason}"),
        ("warning", invalid.shape, f"invalid: {invalid.reason}"),
    ]


@given(st.text(), st.text(), st.text())
def test_any_name_comes_back_as_it_was(shape: str, workload: str, reason: str) -> None:
    """What a name or a reason holds is read back, apart from control characters."""
    row = make_comparison(shape, workload=workload, reason=reason, verdict=Verdict.REGRESSED)
    analysis = make_analysis(row)
    (case,) = suite_of(analysis)
    assert case.get("name") == printable(shape)
    assert case.get("classname") == (printable(workload) or "shapes")
    assert (case[0].get("message") or "").endswith(printable(reason))
    level, title, text = annotations(analysis)[1]
    assert (level, title) == ("error", printable(shape))
    assert text.endswith(printable(reason))


@pytest.mark.parametrize("render", [render_junit, render_github])
def test_rows_without_verdicts_are_refused(render: object) -> None:
    """A section whose rows have no reason is named; one that was not asked for is left out."""
    rows = ({"shape": "a", "reading": "faster"},)
    section = Section(name="same_schedule", page=(), result=None, rows=rows, sentence="More.")
    with pytest.raises(InputError, match="cannot show same-schedule; take --format json"):
        render(analysis_report(typical_analysis(), section))  # type: ignore[operator]
    unasked = Section(name="same_schedule", page=(), result=None, rows=rows, sentence="More.", unasked=True)
    analysis = typical_analysis()
    assert render(analysis_report(analysis, unasked)) == render(analysis_report(analysis))  # type: ignore[operator]
