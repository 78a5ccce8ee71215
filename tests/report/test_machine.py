"""The reports for programs and for pull requests say the same as the analysis, to the last digit."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from golden_files import assert_golden
from hypothesis import given
from hypothesis import strategies as st
from report_builders import NAN, make_analysis, make_comparison, make_side, typical_analysis

from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.errors import InputError
from abtune.report.formats import machine, markdown
from abtune.report.page import Report, Section
from abtune.report.summary import analysis_record, analysis_report, comparison_record

NUMBERS = st.floats(allow_nan=True, allow_infinity=False)
FRACTIONS = ("boost", "boost_low", "boost_high", "p", "p_adjusted", "p_equivalence", "p_equivalence_adjusted")


def for_programs(analysis: Analysis) -> Report:
    """Return a report without its page, which only people read."""
    rows = tuple(map(comparison_record, analysis.comparisons))
    return Report(sections=(Section(name="", page=(), result=analysis_record(analysis), rows=rows),))


def render_json(analysis: Analysis) -> str:
    return machine.render_json(for_programs(analysis))


def render_csv(analysis: Analysis) -> str:
    return machine.render_csv(for_programs(analysis))


def render_markdown(analysis: Analysis) -> str:
    return markdown.render(analysis_report(analysis))


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Draw a comparison with any numbers and any text."""
    side = st.builds(make_side, config=st.text(), n=st.integers(0, 99), noise=NUMBERS, latency=NUMBERS)
    return make_comparison(
        draw(st.text(min_size=1)),
        workload=draw(st.text()),
        baseline=draw(side),
        candidate=draw(side),
        verdict=draw(st.sampled_from(Verdict)),
        caveats=tuple(draw(st.lists(st.text(), max_size=3))),
        **{name: draw(NUMBERS) for name in FRACTIONS},
    )


def same(number: float, read: float | None) -> bool:
    return read is None if math.isnan(number) else read == number


@given(rows=st.lists(comparisons(), min_size=1, max_size=4))
def test_json_keeps_every_digit(rows: list[Comparison]) -> None:
    """Reading the JSON gives each number back exactly, null for NaN, and the caveats as a list."""
    read = json.loads(render_json(make_analysis(*rows)))["comparisons"]
    for row, record in zip(rows, read, strict=True):
        assert all(same(getattr(row, name), record[name]) for name in FRACTIONS)
        assert same(row.baseline.noise, record["noise_baseline"])
        assert same(row.candidate.latency, record["latency_candidate"])
        assert (record["shape"], record["verdict"]) == (row.shape, row.verdict.value)
        assert record["caveats"] == list(row.caveats)


@given(rows=st.lists(comparisons(), min_size=1, max_size=4))
def test_csv_keeps_every_digit(rows: list[Comparison]) -> None:
    """Reading the CSV gives one line a comparison with each number exactly, empty for NaN."""
    text = render_csv(make_analysis(*rows))
    assert text.count("\n") == len(rows) + 1
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, record in zip(rows, read, strict=True):
        for name in FRACTIONS:
            assert same(getattr(row, name), float(record[name]) if record[name] else None)
        assert record["n_baseline"] == str(row.baseline.n)


@pytest.mark.parametrize("label", ["=1+2", "+a", "-a", "@SUM(A1)"])
def test_a_label_is_no_formula(label: str) -> None:
    """A spreadsheet runs a text that begins as a formula does, so a quote stands before it."""
    (record,) = csv.DictReader(io.StringIO(render_csv(make_analysis(make_comparison(shape=label)))))
    assert record["shape"] == f"'{label}"


def test_json_says_how_it_was_made() -> None:
    """The top level holds the settings, the methods and both overall boosts, as fractions."""
    document = json.loads(render_json(typical_analysis()))
    assert document["level"] == 0.95
    assert document["margin"] == 0.02
    assert document["rng_seed"] == 0
    assert document["overall"]["these_shapes"]["boost"] == 0.11853
    assert document["overall"]["shapes_like_these"]["boost_low"] == -0.0093
    assert document["caveats"] == ["These seeds were recorded on two devices."]
    assert document["abtune_version"]


def test_infinite_bounds_are_null() -> None:
    """JSON has no infinity, so an unbounded interval ends in null."""
    (record,) = json.loads(render_json(make_analysis(make_comparison(boost_high=math.inf))))["comparisons"]
    assert record["boost_high"] is None


def test_the_report_has_what_programs_read() -> None:
    """The section of an analysis has the record of the analysis and a row for each comparison."""
    analysis = typical_analysis()
    for render in (machine.render_json, machine.render_csv):
        assert render(analysis_report(analysis)) == render(for_programs(analysis))


def test_json_has_sections_by_name() -> None:
    """A section stands under its name; one without a name has its fields at the top."""
    named = Section(name="noise", page=(), result={"x": math.nan, "y": (1, 2)})
    empty = Section(name="overall", page=(), result=None)
    document = json.loads(machine.render_json(analysis_report(typical_analysis(), named, empty)))
    assert document["noise"] == {"x": None, "y": [1, 2]}
    assert document["overall"]["these_shapes"]["shapes"] == 6
    alone = json.loads(machine.render_json(Report(sections=(named,))))
    assert set(alone) == {"abtune_version", "noise"}


def test_csv_without_rows_is_refused() -> None:
    """CSV holds rows; a section that has none is named, with the format to take."""
    named = Section(name="noise", page=(), result={})
    with pytest.raises(InputError, match=r"^CSV cannot show noise; take --format json$"):
        machine.render_csv(analysis_report(typical_analysis(), named))


def test_csv_has_the_fields_of_a_comparison() -> None:
    """The header is made of the names of the record, in their order."""
    header = render_csv(make_analysis(make_comparison())).splitlines()[0]
    assert header.split(",") == list(comparison_record(make_comparison()))


@pytest.mark.parametrize(
    ("name", "render"),
    [("report.json", render_json), ("report.csv", render_csv), ("report.md", render_markdown)],
)
def test_each_format_looks_as_its_golden_file_shows(name: str, render: object) -> None:
    """Each format is laid out as its golden file shows."""
    assert_golden(name, render(typical_analysis()))  # type: ignore[operator]


def test_markdown_keeps_labels_whole_and_marks_matched() -> None:
    """Every label is in the markdown in one piece, and every mark has its footnote."""
    text = render_markdown(typical_analysis())
    for row in typical_analysis().comparisons:
        assert f"| `{row.shape}` |" in text
    marks = set(re.findall(r"\[\^(\d+)\](?!:)", text))
    assert marks == set(re.findall(r"^\[\^(\d+)\]:", text, flags=re.MULTILINE)) == {"1", "2", "3", "4"}


def test_markdown_escapes_names() -> None:
    """A name with the characters of a table or of emphasis stays a name."""
    text = render_markdown(make_analysis(make_comparison(workload="a|b*c*"), candidate="<b>&lt;$x$~~"))
    assert "### a\\|b\\*c\\*" in text
    assert r"\<b\>\&lt;\$x\$\~\~ against mainline" in text


def test_notes_that_hold_everywhere_carry_no_mark() -> None:
    """A caveat of every shape is said once for all; an invalid shape always says why."""
    rows = [
        make_comparison(shape, caveats=("One seed a side.",), verdict=Verdict.INVALID, reason=f"Why {shape}.")
        for shape in ("M=1_N=1_K=1", "M=2_N=2_K=2")
    ]
    text = render_markdown(make_analysis(*rows))
    assert text.count("One seed a side.") == 1
    assert "- One seed a side." in text
    assert "[^1]: Why M=1" in text


def test_nothing_is_known_is_shown_as_such() -> None:
    """A comparison of which nothing is known has dashes and null, not nan."""
    row = make_comparison(verdict=Verdict.INVALID, **dict.fromkeys(FRACTIONS, NAN))
    analysis = make_analysis(row, make_comparison("M=1_N=1_K=1"))
    for text in (render_markdown(analysis), render_json(analysis), render_csv(analysis)):
        assert "nan" not in text.casefold()
