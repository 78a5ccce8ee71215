"""Sections from Python: the values that the command line prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from running import Run

import abtune
from abtune.compare.results import Analysis
from abtune.errors import InputError
from abtune.report.formats.machine import plain


@pytest.fixture
def analysis() -> Analysis:
    return abtune.analyze(abtune.open_dataset("h200-pilot"))


@pytest.mark.parametrize(
    ("section", "options"),
    [("noise", {}), ("curve", {}), ("explain", {"explain": "M=896*"})],
)
def test_values_are_those_of_json(
    analysis: Analysis, run: Run, section: str, options: dict[str, Any]
) -> None:
    """A section as a value has the fields of the same section in JSON."""
    wanted = [f"--{section}", *options.values()] if options else ["--section", section]
    given = [*wanted, "--format", "json"]
    document = json.loads(run("analyze", "h200-pilot", *given).out)
    assert plain(abtune.describe(analysis, section, **options)) == document[section]


def test_a_section_is_named_as_on_the_command_line() -> None:
    """A hyphen in the name of a section is read as in an option."""
    table = abtune.analyze(abtune.open_dataset("tvm14009-rtx3080"))
    assert abtune.describe(table, "single-run") == abtune.describe(table, "single_run")


@pytest.mark.parametrize(
    ("section", "options", "message"),
    [
        ("noisy", {}, "unknown section 'noisy'; did you mean: noise"),
        ("noise", {"weights": "x"}, "unknown option of noise 'weights'"),
        ("curve", {"figure": "a.png"}, "unknown option of curve 'figure'"),
        ("explain", {}, "explain needs explain=VALUE"),
        ("explain", {"explain": 3}, "explain is a list, such as"),
        ("same_schedule", {}, "transfers"),
    ],
)
def test_what_is_missing_is_said(
    analysis: Analysis, section: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        abtune.describe(analysis, section, **options)


def test_several_shapes_are_explained(analysis: Analysis) -> None:
    """A list of labels gives the stories of these shapes."""
    labels = [row.shape for row in analysis.comparisons]
    stories = abtune.describe(analysis, "explain", explain=labels[:2])
    assert [story.comparison.shape for story in stories] == labels[:2]


def test_a_section_is_of_an_analysis() -> None:
    """A dataset in its place is refused with what to do."""
    with pytest.raises(InputError, match=r"type Dataset is not an analysis; make one with abtune\.analyze"):
        abtune.describe(abtune.open_dataset("h200-pilot"), "noise")  # type: ignore[arg-type]
