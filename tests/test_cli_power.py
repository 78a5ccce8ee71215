"""``abtune power``: what it prints and what it refuses."""

from __future__ import annotations

import json

import pytest
from golden_files import assert_golden
from running import Run

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize(
    ("name", "arguments"), [("power", ["h200-pilot"]), ("power-cv", ["--cv", "3", "--shapes", "29"])]
)
def test_plans_look_as_their_golden_files_show(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, arguments: list[str], width: int
) -> None:
    """The plan from a dataset and that from a given noise look as their golden files show."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("power", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= width
    assert_golden(f"{name}-{width}.txt", outcome.out)


def test_a_narrow_terminal_loses_hours_before_chances(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 60 characters the chances to find all boosts are there, because costs also stand further up."""
    monkeypatch.setenv("COLUMNS", "60")
    headings = run("power", "h200-pilot").out.partition("\nseeds  detectable %  ")[2].splitlines()[0]
    assert headings.split() == ["1%", "2%", "5%", "10%", "20%", "50%", "core", "hours"]


def test_json_and_markdown(run: Run) -> None:
    """JSON holds the plan by the names of its fields, null for what is unknown; markdown has its tables."""
    document = json.loads(run("power", "--cv", "3", "--boost", "5", "--seeds", "10", "--format", "json").out)
    assert document["goal"]["boosts"] == [0.05]
    assert document["needs"][0] == {"boost": 0.05, "seeds": 8, "core_hours": None, "gpu_hours": None}
    assert document["reaches"][0]["power"][0] > 0.9
    assert "| boost | seeds |" in run("power", "--cv", "3", "--format", "markdown").out


def test_more_shapes_than_random_splits_resolve_are_planned(run: Run) -> None:
    """Over 6,000 shapes Holm takes 11 to 15 seeds, and max-T any from five; sentences say so."""
    text = " ".join(run("power", "h200-pilot", "--shapes", "6000").out.split())
    assert " 20% 41 55,743 1,376 50% 13 17,675 436 " in text
    assert "Below 11 and above 15 seeds per configuration the correction is max-T" in text
    assert "Below 5 seeds per configuration no shape can be shown to differ." in text
    assert "max-T" not in run("power", "h200-pilot", "--shapes", "20").out
    for shapes, seeds in (("29", "Below 7"), ("10000000", "With any number of")):
        more = run("power", "h200-pilot", "--shapes", shapes).out
        assert f"• {seeds} seeds per configuration the correction is max-T" in more


def test_the_number_of_shapes_sets_correction_and_cost(run: Run) -> None:
    """More shapes than the dataset has need more seeds and cost more."""
    options = ["--boost", "10", "--format", "json"]
    few, many = (
        json.loads(run("power", "h200-pilot", "--shapes", n, *options).out)["needs"][0] for n in ("3", "29")
    )
    assert many["seeds"] > few["seeds"]
    assert many["core_hours"] / few["core_hours"] == pytest.approx(29 / 3 * many["seeds"] / few["seeds"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no dataset named and no abtune.nc here"),
        (["--cv", "0"], "0 is not above 0 and below 200"),
        (["--cv", "0.15"], "0.15 would be 0.15%; give 15%, or 0.15% if meant"),
        (["--cv", "x"], "'x' is not a number"),
        (["--correlation", "x"], "'x' is not a number"),
        (["h200-pilot", "--cv", "3"], "--cv is instead of a dataset"),
        (["--cv", "3", "--baseline", "a"], "--cv is instead of a dataset"),
        (["--cv", "3", "--shapes", "0"], "'--shapes'"),
        (["--cv", "3", "--seeds", "1"], "'--seeds'"),
        (["--cv", "3", "--boost", "0"], "0 is not above 0 and below 1000"),
        (["--cv", "3", "--power", "100"], "100 is not above 1 and below 100"),
        (["--cv", "3", "--power", "0.8"], "0.8 is not above 1 and below 100; give a percentage, such as 80"),
        (["h200-pilot", "--candidate", "asink"], "unknown configuration 'asink'; did you mean: async"),
        (["tvm14009-rtx3080"], "two seeds of mainline, so its noise is unknown; use abtune power --cv"),
        (["tvm14009"], "unknown dataset 'tvm14009'; did you mean: h200-tvm14009, tvm14009-rtx3080"),
    ],
)
def test_bad_arguments_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What cannot be planned is refused in one line, with exit code 2."""
    outcome = run("power", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err
