"""Methods, tests and corrections by name: one entry is all that one more of them takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from running import Run

from abtune.lazy import load
from abtune.stats.estimates import Intervals, standard_error, t_interval
from abtune.stats.intervals.interval_methods import METHODS, Method
from abtune.stats.testing.difference_tests import CORRECTIONS, TESTS, Correction, DifferenceTest
from abtune.stats.testing.significance import welch_tests
from abtune.stats.two_sample import TwoSample

MEAN = "geometric-mean"


def toy_interval(samples: TwoSample, *, level: float) -> Intervals:
    return t_interval(standard_error(samples), level=(1 + level) / 2)


def bonferroni(p: np.ndarray) -> np.ndarray:
    return np.minimum(np.asarray(p) * np.count_nonzero(~np.isnan(p)), 1.0)


def toy_test(samples: TwoSample, *, rng: np.random.Generator) -> np.ndarray:
    return welch_tests(samples).difference_p()


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more interval, one more correction and one more test, an entry each."""
    interval = Method(name="toy", estimand=MEAN, words="toy interval", function=toy_interval)
    correction = Correction(
        name="toy",
        words="Bonferroni over the shapes",
        promise="at most {alpha}",
        family_wise=True,
        function=bonferroni,
    )
    test = DifferenceTest(
        name="toy",
        words="toy test",
        function=toy_test,
        confirmed_by="",
    )
    monkeypatch.setitem(METHODS, (MEAN, "toy"), interval)
    monkeypatch.setitem(CORRECTIONS, "toy", correction)
    monkeypatch.setitem(TESTS, (MEAN, False), test)


@pytest.mark.usefixtures("toys", "empty_folder")
def test_one_entry_is_enough_for_the_command_line(run: Run) -> None:
    """A toy interval, correction and test are offered, judge a report, and are named in it."""
    options = ("--method", "toy", "--correction", "toy", "--format", "json")
    outcome = run("analyze", "h200-pilot", *options)
    assert (outcome.code, outcome.err) == (0, "")
    report = json.loads(outcome.out)
    assert report["interval_method"] == "toy interval"
    assert report["correction"] == "Bonferroni over the shapes"
    assert report["test_method"] == "toy test"
    rows = report["comparisons"]
    assert [row["p_adjusted"] for row in rows] == pytest.approx([min(3 * row["p"], 1) for row in rows])
    default = json.loads(run("analyze", "h200-pilot", "--format", "json").out)["comparisons"]
    for row, other in zip(rows, default, strict=True):
        assert row["p"] == row["p_welch"]
        assert row["boost_low"] < other["boost_low"]
        assert row["boost_high"] > other["boost_high"]


@pytest.mark.usefixtures("toys", "empty_folder")
def test_the_help_and_the_errors_of_an_option_list_it(run: Run) -> None:
    """Names come from the registries when an option is parsed."""
    assert run("analyze", "--help").out.count("|toy]") == 2
    refused = run("analyze", "h200-pilot", "--correction", "toys")
    assert refused.code == 2
    assert "'toy'" in refused.err


@pytest.mark.slow
@pytest.mark.usefixtures("toys", "empty_folder")
def test_it_is_calibrated_like_any_other(run: Run) -> None:
    """The calibration knows its promise, and judges with it."""
    options = ("--method", "toy", "--correction", "toy", "--replications", "100")
    outcome = run("calibrate", "h200-pilot", *options)
    assert outcome.code == 0
    assert "(promised: at most 5%)" in " ".join(outcome.out.split())


def functions() -> Iterator[object]:
    """Yield the functions that the registries name."""
    for registry, names in (
        (METHODS, ("function",)),
        (CORRECTIONS, ("function", "joint")),
        (TESTS, ("function",)),
    ):
        records: Mapping[object, object] = registry
        for record in records.values():
            yield from (getattr(record, name) for name in names if getattr(record, name) is not None)


@pytest.mark.parametrize("function", list(functions()), ids=str)
def test_every_function_is_where_the_registry_says(function: str) -> None:
    """Paths are read when a function is used, so a wrong one would be found late."""
    assert load(function).__name__ == function.partition(":")[2]


def test_a_function_is_its_own_address() -> None:
    """What is already loaded need not be named by its path."""
    assert load(toy_test) is toy_test
