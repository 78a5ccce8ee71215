"""``abtune calibrate``: what it prints and what it refuses."""

from __future__ import annotations

import json

import pytest
from golden_files import assert_golden
from running import Run

import abtune

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")

FEW = ["--replications", "100"]


@pytest.fixture(scope="module")
def calibration() -> abtune.Calibration:
    """Return the calibration of the pilot."""
    return abtune.calibrate(abtune.open_dataset("h200-pilot"), replications=100)


@pytest.mark.parametrize("width", [60, 100])
def test_the_page_looks_as_its_golden_file_shows(
    run: Run, monkeypatch: pytest.MonkeyPatch, calibration: abtune.Calibration, width: int
) -> None:
    """The calibration of the pilot looks as its golden file shows."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("abtune.calibrate", lambda *_, **__: calibration)
    outcome = run("calibrate", "h200-pilot", *FEW)
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= width
    assert_golden(f"calibrate-{width}.txt", outcome.out)


def test_json_and_markdown_are_reproducible(run: Run) -> None:
    """JSON holds the shares as fractions, the same for the same seed; markdown has the tables."""
    command = ["calibrate", "h200-pilot", *FEW, "--boost", "20", "--format"]
    first, again = (run(*command, "json").out for _ in range(2))
    assert first == again
    document = json.loads(first)
    assert document["boosts"] == [0.2]
    assert 0.9 < document["simulated"][0]["coverage"] <= 1
    assert "| shape | seeds | coverage |" in run(*command, "markdown", "--rng-seed", "5").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no dataset named and no abtune.nc here"),
        (["tvm14009-rtx3080"], "no shape has 3 seeds per configuration"),
        (["h200-pilot", "--replications", "5"], "'--replications'"),
        (["h200-pilot", "--boost", "0"], "0 is not above 0 and below 1000"),
        (["h200-pilot", "--rng-seed", "-1"], "'--rng-seed'"),
        (["h200-pilot", "--baseline", "asink"], "unknown configuration 'asink'; did you mean: async"),
        (["absent.nc"], "absent.nc: no such file"),
    ],
)
def test_bad_arguments_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What cannot be calibrated is refused in one line, with exit code 2."""
    outcome = run("calibrate", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err
