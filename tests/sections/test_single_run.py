"""What tables with one run a cell support."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep

import abtune
from abtune.dataset.schema import RunStatus
from abtune.errors import InputError
from abtune.sections.single_run.borrowed_noise import Standing
from abtune.sections.single_run.single_run import SingleRun, Together, describe_single_runs
from abtune.stats.across_shapes import noise_bound

PUBLISHED = "tvm14009-rtx3080"


def table(boosts: list[float], **fields: Any) -> xr.Dataset:
    """Build a table with one run a cell and exactly these boosts."""
    latency = [[[1e-4 * (1 + boost)], [1e-4]] for boost in boosts]
    labels = [f"shape{at}" for at in range(len(boosts))]
    return abtune.make_dataset(latency, shapes=labels, configs=["mainline", "async"], **fields)


def describe(dataset: xr.Dataset, outside: xr.Dataset | None = None, **options: Any) -> SingleRun:
    analysis = abtune.analyze(dataset, **options)
    lender = None if outside is None else ("sweep.nc", outside)
    return describe_single_runs(analysis, lender)


def standing(found: SingleRun, what: str) -> tuple[Standing, str]:
    assert found.outside is not None
    (assumption,) = [part for part in found.outside.assumptions if part.what == what]
    return assumption.standing, assumption.detail


@pytest.fixture(scope="module")
def published() -> SingleRun:
    return describe(abtune.open_dataset(PUBLISHED))


@pytest.mark.parametrize(
    ("name", "faster", "mean", "share", "p", "noise"),
    [
        (
            "conv2d_nhwc",
            17,
            (15.01, 9.75, 20.52),
            (80, 100),
            (9.9e-6, 1.5e-5),
            None,
        ),
        ("gemm_nn", 9, (7.51, 0.92, 14.54), (43, 95), (0.029, 0.15), None),
        (
            "all shapes",
            26,
            (11.85, 7.72, 16.14),
            (73, 98),
            (1.4e-6, 1.5e-5),
            (9.9, 7.0, 9.0),
        ),
    ],
)
def test_the_published_table_as_a_whole(
    published: SingleRun,
    name: str,
    faster: int,
    mean: tuple[float, ...],
    share: tuple[float, ...],
    p: tuple[float, ...],
    noise: tuple[float, ...] | None,
) -> None:
    """Mean and sign test with their p-values, and the bound of the noise."""
    (row,) = [part for part in published.together if part.name == name]
    assert row.faster == faster
    found = [100 * x for x in (row.mean.value, row.mean.low, row.mean.high)]
    assert found == pytest.approx(mean, abs=0.006)
    assert (100 * row.share.low, 100 * row.share.high) == pytest.approx(share, abs=0.6)
    assert (row.mean.p, row.share.p) == pytest.approx(p, rel=0.03)
    if noise is not None:
        assert [100 * x for x in (row.spread, row.noise, row.noise_limit)] == pytest.approx(noise, abs=0.05)


def test_tipping_points_of_the_published_table(published: SingleRun) -> None:
    """The first convolution tips at 2.15 % (1.34 % among 29), the one with +40.66 % at 12.31 (7.70)."""
    first, largest = published.shapes[0], max(published.shapes, key=lambda pair: pair.boost)
    assert 100 * first.tipping == pytest.approx(2.15, abs=0.005)
    assert 100 * first.tipping_simultaneous == pytest.approx(1.34, abs=0.005)
    assert 100 * largest.boost == pytest.approx(40.66, abs=0.005)
    assert 100 * largest.tipping == pytest.approx(12.31, abs=0.005)
    assert 100 * largest.tipping_simultaneous == pytest.approx(7.70, abs=0.005)
    assert sum(pair.tipping < 0.02 for pair in published.shapes) == 8


def test_the_whole_is_that_of_the_report(published: SingleRun) -> None:
    """The mean of all shapes is the report's line of shapes like these."""
    overall = abtune.analyze(abtune.open_dataset(PUBLISHED)).overall.shapes_like_these
    mean = published.together[-1].mean
    assert (mean.value, mean.low, mean.high) == pytest.approx(
        (overall.boost, overall.boost_low, overall.boost_high)
    )


def test_noise_comes_from_another_sweep() -> None:
    """With noise of 2 % known from many seeds, the interval is about 1.96 sqrt(2) 2 % to either side."""
    outside = make_sweep([0.3] * 30, n=20, noise=0.02)
    found = describe(table([0.1, 0.0, -0.02]), outside)
    for pair in found.shapes:
        assert pair.predicted is not None
        half = math.log1p(pair.predicted.boost_high) - math.log1p(pair.boost)
        assert half == pytest.approx(1.96 * math.sqrt(2) * 0.02, rel=0.15)
        assert pair.predicted.boost_low_simultaneous < pair.predicted.boost_low
        assert pair.predicted.known
    assert standing(found, "configurations")[0] is Standing.AGREES
    assert standing(found, "shapes")[0] is Standing.AGREES


def test_swapped_sides_and_units_change_nothing() -> None:
    """With the sides swapped, log intervals negate; other units of time leave everything."""
    outside = make_sweep([0.0] * 5, n=6, noise=(0.02, 0.05))
    dataset = table([0.1, 0.02, -0.03])
    found = describe(dataset, outside)
    swapped = describe(dataset, outside, baseline="async", candidate="mainline")
    slower = describe(dataset.assign(latency=1000 * dataset["latency"]), outside)
    for pair, other, same in zip(found.shapes, swapped.shapes, slower.shapes, strict=True):
        assert pair.predicted is not None
        assert other.predicted is not None
        assert math.log1p(other.predicted.boost_high) == pytest.approx(-math.log1p(pair.predicted.boost_low))
        assert other.tipping == pytest.approx(pair.tipping)
        assert same.predicted is not None
        assert same.predicted.boost_low == pytest.approx(pair.predicted.boost_low)


def test_other_names_and_shapes_get_the_usual_noise() -> None:
    """A configuration and shapes that the sweep lacks get what is usual there, and the assumptions say so."""
    outside = make_sweep([0.0] * 6, n=8, noise=0.03).assign_coords(config=["old", "new"])
    dataset = table([0.1, 0.05]).assign_coords(shape=["shape0", "elsewhere"])
    found = describe(dataset, outside)
    assert found.outside is not None
    assert found.outside.baseline.sources == ("old", "new")
    assert standing(found, "configurations") == (
        Standing.DIFFERS,
        "no shape there has two seeds of mainline or async, so the noise of old, new is pooled",
    )
    assert standing(found, "shapes") == (
        Standing.DIFFERS,
        "1 of 2 have no seeds there and get the usual noise of its shapes",
    )
    assert [pair.predicted.known for pair in found.shapes if pair.predicted] == [True, False]


def test_what_the_datasets_say_of_themselves_is_compared() -> None:
    """Hardware and trials differ, are alike, or are not recorded."""
    outside = make_sweep([0.0] * 3, n=3, attrs={"gpu": "H200", "trials": 192})
    there = describe(table([0.1], attrs={"gpu": "h200", "trials": 5000}), outside)
    assert standing(there, "hardware") == (Standing.AGREES, "h200")
    assert standing(there, "trials per run") == (Standing.DIFFERS, "5,000 here, 192 there")
    assert standing(there, "tuner") == (Standing.NOT_RECORDED, "")
    bare = describe(table([0.1]), outside)
    assert standing(bare, "hardware") == (Standing.NOT_RECORDED, "H200 there")


def test_noise_too_large_for_the_table_is_told() -> None:
    """Boosts that scatter by 1 % cannot come from searches that scatter by 10 %."""
    boosts = (0.1 + np.random.default_rng(3).normal(0, 0.01, 20)).tolist()
    large = describe(table(boosts), make_sweep([0.0] * 20, n=5, noise=0.1))
    assert standing(large, "size of the noise")[0] is Standing.DIFFERS
    small = describe(table(boosts), make_sweep([0.0] * 20, n=5, noise=0.003))
    assert standing(small, "size of the noise")[0] is Standing.AGREES


def test_failed_runs_of_the_sweep_are_left_out() -> None:
    """A sweep part of which failed lends the noise of the rest."""
    outside = make_sweep([0.0] * 4, n=5)
    status = np.full((4, 2, 5), RunStatus.COMPLETE)
    status[0, 0, 1:], status[:, 1, 3:] = RunStatus.FAILED, RunStatus.FAILED
    outside = outside.assign(run_status=outside["run_status"].copy(data=status))
    found = describe(table([0.1, 0.05]), outside)
    assert found.outside is not None
    assert (found.outside.baseline.shapes, found.outside.candidate.shapes) == (3, 4)
    assert (found.outside.baseline.seeds, found.outside.candidate.seeds) == (5, 3)
    assert [pair.predicted.known for pair in found.shapes if pair.predicted] == [False, True]


def test_a_sweep_without_noise_lends_none() -> None:
    """Where all seeds agree exactly there is no interval, and a caveat instead of certainty."""
    found = describe(table([0.1, 0.05]), make_sweep([0.0] * 4, n=5, noise=0.0))
    assert all(pair.predicted and math.isnan(pair.predicted.boost_low) for pair in found.shapes)
    assert "2 shapes without an interval" in " ".join(found.caveats)


def test_noise_is_lent_as_large_as_its_measurement() -> None:
    """Where rounds scatter more than seeds, what the rounds leave unknown of a seed is lent."""
    latency = 1e-4 * np.exp(np.tile([[-0.05], [0.05]], (4, 2, 5, 1, 1)))
    names = {"shapes": [f"shape{at}" for at in range(4)], "configs": ["mainline", "async"]}
    found = describe(table([0.1, 0.05]), abtune.make_dataset(latency, **names))
    assert found.outside is not None
    assert found.outside.baseline.spread == pytest.approx(0.05)  # two rounds, 0.1 apart


def test_a_sweep_of_two_shapes_says_little_of_others() -> None:
    """With fewer than three shapes the caveat says what is not known."""
    found = describe(table([0.1, 0.05, 0.02]), make_sweep([0.0] * 2, n=5))
    assert "Fewer than three shapes" in " ".join(found.caveats)
    assert all(pair.predicted and pair.predicted.boost_low < pair.boost for pair in found.shapes)


def test_a_table_cannot_lend_noise() -> None:
    """A dataset with one seed is refused in one line."""
    with pytest.raises(InputError, match=r"sweep\.nc has no shape with two seeds of one configuration"):
        describe(table([0.1]), table([0.2]))


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        (make_sweep(0.1, n=4), "with several seeds, the report itself judges the shapes"),
        (table([NAN]), "no shape has one run of both mainline and async"),
    ],
)
def test_other_designs_are_refused(dataset: xr.Dataset, said: str) -> None:
    """Where no shape has one run a side, the line says what there is instead."""
    with pytest.raises(InputError, match=said):
        describe(dataset)


def test_other_shapes_are_left_out_by_name() -> None:
    """A shape that lacks a run, or has more than one a side, is not of this table."""
    latency = np.full((4, 2, 2), 1e-4)
    latency[:3, :, 1], latency[0, 1, 0], latency[1, 0, 0] = NAN, NAN, 1.2e-4
    labels = ["lacking", "lone", "equal", "swept"]
    found = describe(abtune.make_dataset(latency, shapes=labels, configs=["a", "b"]))
    assert [pair.shape for pair in found.shapes] == ["lone", "equal"]
    assert found.left_out == ("lacking", "swept")


def numbers(row: Together) -> list[float]:
    return [getattr(part, field.name) for part in (row.mean, row.share) for field in dataclasses.fields(part)]


@pytest.mark.parametrize(
    ("boosts", "said"),
    [
        ([0.1], "one shape says nothing about other shapes"),
        ([0.0], "one shape says nothing about other shapes"),
        ([0.1, 0.1, 0.1], "all shapes have the same ratio"),
        ([0.0, 0.0], "leaves out 2 shapes with exactly equal times"),
        ([0.1, 0.05], "the sign test of 2 shapes cannot give a p below 0.5"),
        ([0.1, 0.05, 0.0, -0.01], "leaves out 1 shape with exactly equal times"),
    ],
)
def test_too_little_comes_with_a_caveat(boosts: list[float], said: str) -> None:
    """One shape, equal ratios, equal times: what can be said is said, and what cannot has a caveat."""
    found = describe(table(boosts), make_sweep([0.0] * 4, n=5))
    assert said in " ".join(found.caveats)
    row = found.together[-1]
    assert row.mean.value == pytest.approx(math.expm1(np.log1p(boosts).mean()))
    assert not any(math.isinf(number) for number in numbers(row))
    for pair in found.shapes:
        assert pair.predicted is not None
        assert pair.predicted.boost_low < pair.boost < pair.predicted.boost_high
        assert pair.tipping == pytest.approx(abs(math.log1p(pair.boost)) / (1.959964 * math.sqrt(2)))


def test_kinds_of_workload_stand_apart() -> None:
    """Each kind has a row where there are several, and shapes without a kind are the others."""
    found = describe(table([0.1, 0.2, 0.3], workloads=["gemm", "", "gemm"]))
    assert [(row.name, row.shapes) for row in found.together] == [
        ("gemm", 2),
        ("others", 1),
        ("all shapes", 3),
    ]
    assert [row.name for row in describe(table([0.1, 0.2])).together] == ["all shapes"]


def test_verdicts_stay_invalid() -> None:
    """No noise from elsewhere makes a verdict."""
    analysis = abtune.analyze(table([0.5, 0.4]))
    assert {row.verdict for row in analysis.comparisons} == {abtune.Verdict.INVALID}


def test_the_coverage_that_is_stated_is_that_of_the_simulation() -> None:
    """The caveat's numbers are the extremes of the table that docs/single-runs.md holds."""
    text = (Path(__file__).parents[2] / "docs" / "single-runs.md").read_text(encoding="utf-8")
    lines = text.split("<!-- generated: single run -->")[1].split("<!-- end -->")[0].strip().splitlines()[2:]
    rows = [[cell.split("/") for cell in line.strip("| ").split("|")] for line in lines]
    cells = [(row[0][0].split()[-1], [float(part) for part in cell]) for row in rows for cell in row[1:]]
    alone = [round(parts[0]) for _, parts in cells]
    noisiest = [round(parts[1]) for differ, parts in cells if differ != "0"]
    together = min(round(parts[2]) for _, parts in cells)
    said = " ".join(describe(abtune.open_dataset(PUBLISHED), abtune.open_dataset("h200-pilot")).caveats)
    assert f"{min(alone)} to {max(alone)}% of the shapes" in said
    assert f"which cannot be identified, it is {min(noisiest)} to {max(noisiest)}%" in said
    assert f"in only {together}% of tables" in said


@pytest.mark.parametrize(("times", "expected"), [(0.9, Standing.AGREES), (1.1, Standing.DIFFERS)])
def test_borrowed_noise_is_held_against_the_limit_of_the_spread(times: float, expected: Standing) -> None:
    """Noise that is more than the boosts' own spread allows, even by a tenth, differs."""
    boosts = [0.1, 0.2]
    _, _, limit = noise_bound(np.log1p(boosts), level=0.95)
    apart = math.sqrt(2) * times * limit  # of two seeds with this standard deviation
    lender = abtune.make_dataset(
        1e-4 * np.exp(np.tile([0.0, apart], (2, 2, 1))),
        shapes=["shape0", "shape1"],
        configs=["mainline", "async"],
    )
    assert standing(describe(table(boosts), lender), "size of the noise")[0] is expected
