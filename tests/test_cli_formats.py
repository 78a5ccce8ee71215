"""Formats of reports: every command offers every format, on the standard output and in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xarray as xr
from example_sweep import swept
from running import Run

import abtune
from abtune.report.formats.format_registry import FORMATS, Format, format_of
from abtune.report.page import Report

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")

COMMANDS = {
    "analyze": ["analyze", "abtune.nc"],
    "history": ["history", "h200-deep", "h200-pilot"],
    "power": ["power", "--cv", "3", "--boost", "5"],
    "calibrate": ["calibrate", "abtune.nc", "--replications", "100"],
}
STARTS = {"markdown": "## ", "html": "<!DOCTYPE html>", "json": "{", "latex": "% \\usepackage{"}


def few_shapes() -> xr.Dataset:
    """Return a dataset of three shapes."""
    return swept().isel(shape=slice(3))


@pytest.fixture
def sweep(empty_folder: Path) -> None:
    """Put a dataset of three shapes into the working folder."""
    abtune.save_dataset(few_shapes(), "abtune.nc")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a format that counts parts."""

    def render(report: Report) -> str:
        return f"{report.title}: {sum(len(section.page) for section in report.sections)} parts\n"

    counted = Format(name="toy", suffixes=(".toy",), function=render)
    monkeypatch.setitem(FORMATS, counted.name, counted)


@pytest.mark.usefixtures("sweep", "toy")
@pytest.mark.parametrize("command", ["analyze", "power"])
def test_a_registered_format_works_everywhere(run: Run, command: str) -> None:
    """A format is one entry of the registry: by its name, by a suffix, and in the help."""
    title = {"analyze": "async against mainline", "power": "power"}[command]
    shown = run(*COMMANDS[command], "--format", "toy")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"{title}: ")
    assert run(*COMMANDS[command], "--out", "r.toy").out == ""
    assert Path("r.toy").read_text(encoding="utf-8") == shown.out
    assert "toy" in run(command, "--help").out
    assert run(*COMMANDS[command], "--format", "tay").code == 2


@pytest.fixture(scope="module")
def calibration() -> abtune.Calibration:
    """Return the calibration of the dataset of these tests."""
    return abtune.calibrate(few_shapes(), replications=100)


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_every_format(
    run: Run, monkeypatch: pytest.MonkeyPatch, calibration: abtune.Calibration, command: str, name: str
) -> None:
    """A format looks the same whether it is chosen by name or by the suffix of a file."""
    monkeypatch.setattr("abtune.calibrate", lambda *_, **__: calibration)  # which takes seconds
    outcome = run(*COMMANDS[command], "--format", name)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(STARTS[name])
    for suffix in FORMATS[name].suffixes:
        assert run(*COMMANDS[command], "--out", f"r{suffix}").out == ""
        assert Path(f"r{suffix}").read_text(encoding="utf-8") == outcome.out


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("csv", "shape,"),
        ("junit", "<?xml"),
        ("github", "::notice title=async against mainline::"),
        ("sentence", "async and mainline are not shown to differ"),
    ],
)
def test_some_formats_are_for_rows(run: Run, monkeypatch: pytest.MonkeyPatch, name: str, start: str) -> None:
    """A command without rows does not offer them, and refuses their files before it computes anything."""
    monkeypatch.setattr("abtune.sections.power.seed_plan.power", lambda *_, **__: pytest.fail("computed"))
    assert run(*COMMANDS["analyze"], "--format", name).out.startswith(start)
    assert name not in run("power", "--help").out
    assert "is not one of 'table'" in run(*COMMANDS["power"], "--format", name).err
    for suffix in FORMATS[name].suffixes:
        outcome = run(*COMMANDS["power"], "--out", f"r{suffix}")
        assert (outcome.code, outcome.out) == (2, "")
        assert (
            outcome.err == f"abtune: abtune power has no {name}; take --format json, or another file name\n"
        )
        assert not Path(f"r{suffix}").exists()


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_report_replaces_a_dataset(run: Run, command: str) -> None:
    """A file with a dataset is refused before anything is computed."""
    before = Path("abtune.nc").read_bytes()
    outcome = run(*COMMANDS[command], "--out", "abtune.nc", "--format", "json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("abtune: cannot write abtune.nc: ")
    assert Path("abtune.nc").read_bytes() == before


def test_several_files_are_written_at_once(run: Run) -> None:
    """Each file has the format of its name; the first ones of several were lost without a word.

    ``--output`` is another name of ``--out``.
    """
    assert run(*COMMANDS["power"], "--out", "r.json", "--output", "r.md").out == ""
    assert json.loads(Path("r.json").read_text("utf-8"))["goal"]
    assert Path("r.md").read_text("utf-8").startswith("#")
    refused = run(*COMMANDS["power"], "--out", "more.md", "--out", "data.nc")
    assert "cannot write data.nc" in refused.err
    assert not Path("more.md").exists()


def test_suffixes_choose_one_format() -> None:
    """No two formats share a suffix, and a name without any of them is a table's."""
    suffixes = [suffix for form in FORMATS.values() for suffix in form.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(
        format_of(Path(f"R{form.suffixes[0].upper()}")) is form for form in FORMATS.values() if form.suffixes
    )
    assert format_of(Path("report")).name == format_of(None).name == "table"


def test_json_of_a_plan_has_its_fields_at_the_top(run: Run) -> None:
    """A command with one result has its fields beside the version."""
    document = json.loads(run(*COMMANDS["power"], "--format", "json").out)
    assert {"abtune_version", "goal", "needs", "reaches"} <= set(document)
