"""``abtune analyze --section timings``: raw timings of single processes on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden_files import assert_golden
from running import Run
from torchvision_dump import PATH, dumped_dataset

import abtune

TITLE = "timings of one process"


@pytest.fixture
def dump(empty_folder: Path, plain_environment: None) -> str:
    """Put the published dump into the folder."""
    abtune.save_dataset(dumped_dataset(), "dump.nc")
    return "dump.nc"


@pytest.fixture
def single(dump: str) -> str:
    """Put a dataset of one configuration into the folder."""
    abtune.save_dataset(dumped_dataset().isel(config=[1]), "single.nc")
    return "single.nc"


@pytest.mark.parametrize("width", [60, 100])
def test_the_page_looks_as_its_golden_file_shows(
    dump: str, run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """The page of the published dump looks as its golden file shows, below the report."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("analyze", dump, "--section", "report,timings")
    assert (outcome.code, outcome.err) == (0, "")
    report, page = outcome.out.split(f"\n{TITLE}\n")
    assert "1 invalid" in report
    assert max(map(len, page.splitlines())) <= width
    assert_golden(f"timings-{width}.txt", f"{TITLE}\n{page}")


def test_what_was_imported_is_what_is_shown(dump: str, run: Run) -> None:
    """The dump imported from its text gives the same page as the one that the tests build."""
    assert run("import", "timings", str(PATH), "--shape", "torchvision", "--out", "imported.nc").code == 0
    imported, made = (run("analyze", name, "--section", "timings").out for name in ("imported.nc", dump))
    assert imported == made


def test_every_format_has_it(dump: str, run: Run) -> None:
    """Markdown and HTML have the same tables, JSON the numbers, and CSV refuses."""
    text = run("analyze", dump, "--section", "report,timings", "--format", "markdown").out
    assert f"\n## {TITLE}\n" in text
    assert "| tvm after scatter rewrite | 50 | 166,442 | 0.26 | 166,239 | +2.92 | 10 |" in text
    page = run("analyze", dump, "--section", "report,timings", "--format", "html").out
    assert "166,442" in page
    document = json.loads(run("analyze", dump, "--section", "report,timings", "--format", "json").out)
    assert len(document["timings"]["series"]) == 8
    refused = run("analyze", dump, "--section", "report,timings", "--format", "csv")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize("format_", ["table", "markdown", "html", "json"])
def test_a_single_configuration_has_timings_too(single: str, run: Run, format_: str) -> None:
    """Without a second configuration there is no report, and the page stands alone."""
    outcome = run("analyze", single, "--section", "timings", "--format", format_)
    assert (outcome.code, outcome.err) == (0, "")
    assert "1 invalid" not in outcome.out
    assert "nan" not in outcome.out.partition("<script>")[0].lower()
    if format_ == "json":
        assert list(json.loads(outcome.out)) == ["abtune_version", "timings"]
    else:
        assert "180,261" in outcome.out


@pytest.mark.parametrize(
    "more", [["--section", "noise"], ["--baseline", "x"], ["--fail-on", "invalid"], ["--section", "curve"]]
)
def test_what_compares_takes_two_configurations(single: str, run: Run, more: list[str]) -> None:
    """Whatever asks for a comparison as well is refused with one configuration."""
    outcome = run("analyze", single, "--section", "timings", *more)
    assert (outcome.code, outcome.out) == (2, "")
    assert "a comparison takes two configurations" in outcome.err


def test_shapes_are_grouped(empty_folder: Path, plain_environment: None, run: Run) -> None:
    """With several shapes each is a row with a line for every configuration, and names say which."""
    rng = np.random.default_rng(0)
    latency = np.exp(rng.normal(-8, 0.01, (2, 2, 1, 1, 40)))
    latency[1, 1, 0, 0, 0] *= 1.5
    abtune.save_dataset(abtune.make_dataset(latency, shapes=["x", "y"], configs=["old", "new"]), "two.nc")
    text = run("analyze", "two.nc", "--section", "report,timings").out
    page = text[text.index(TITLE) :]
    rows = [line.split() for line in page.split("\n\n")[1].splitlines()]
    assert [row[0] for row in rows] == ["shape", "x", "new", "y", "new"]
    assert "y, new: The first timing is the slowest" in page


def test_sweeps_have_nothing_to_show_and_say_so(run: Run) -> None:
    """A dataset of several seeds is left to the report, in one sentence."""
    outcome = run("analyze", "h200-pilot", "--section", "report,timings", "--format", "json")
    timings = json.loads(outcome.out)["timings"]
    assert timings["series"] == []
    assert timings["caveats"][0].startswith(
        "Left out: 6 cells of shape and configuration with several seeds."
    )
