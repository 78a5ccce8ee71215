"""What tables with one run a cell support."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep

import abtune
from abtune.errors import InputError
from abtune.sections.single_run import SingleRun, Together, describe_single_runs

PUBLISHED = "tvm14009-rtx3080"


def table(boosts: list[float], **fields: Any) -> xr.Dataset:
    """Build a table with one run a cell and exactly these boosts."""
    latency = [[[1e-4 * (1 + boost)], [1e-4]] for boost in boosts]
    labels = [f"shape{number}" for number in range(len(boosts))]
    return abtune.make_dataset(latency, shapes=labels, configs=["mainline", "async"], **fields)


def describe(dataset: xr.Dataset, **options: Any) -> SingleRun:
    return describe_single_runs(abtune.analyze(dataset, **options))


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
    (row,) = [line for line in published.together if line.name == name]
    assert row.faster == faster
    percent = [100 * x for x in (row.mean.value, row.mean.low, row.mean.high)]
    assert percent == pytest.approx(mean, abs=0.006)
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


def test_swapped_sides_and_units_change_no_tipping_point() -> None:
    """With the sides swapped, and with other units of time, the same noise makes a boost luck."""
    dataset = table([0.1, 0.02, -0.03])
    plain = describe(dataset)
    swapped = describe(dataset, baseline="async", candidate="mainline")
    slower = describe(dataset.assign(latency=1000 * dataset["latency"]))
    for pair, other, same in zip(plain.shapes, swapped.shapes, slower.shapes, strict=True):
        assert math.log1p(other.boost) == pytest.approx(-math.log1p(pair.boost))
        assert (other.tipping, same.tipping) == pytest.approx((pair.tipping, pair.tipping))


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        (make_sweep(0.1, n=4), "the report itself judges shapes with several seeds"),
        (table([NAN]), "no shape has exactly one run of mainline and one of async"),
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
    result = describe(abtune.make_dataset(latency, shapes=labels, configs=["a", "b"]))
    assert [pair.shape for pair in result.shapes] == ["lone", "equal"]
    assert result.left_out == ("lacking", "swept")


def numbers(row: Together) -> list[float]:
    return [
        getattr(estimate, field.name)
        for estimate in (row.mean, row.share)
        for field in dataclasses.fields(estimate)
    ]


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
    result = describe(table(boosts))
    assert said in " ".join(result.caveats)
    row = result.together[-1]
    assert row.mean.value == pytest.approx(math.expm1(np.log1p(boosts).mean()))
    assert not any(math.isinf(number) for number in numbers(row))
    for pair in result.shapes:
        assert pair.tipping == pytest.approx(abs(math.log1p(pair.boost)) / (1.959964 * math.sqrt(2)))


def test_kinds_of_workload_stand_apart() -> None:
    """Each kind has a row where there are several, and shapes without a kind are the others."""
    result = describe(table([0.1, 0.2, 0.3], workloads=["gemm", "", "gemm"]))
    assert [(row.name, row.shapes) for row in result.together] == [
        ("gemm", 2),
        ("others", 1),
        ("all shapes", 3),
    ]
    assert [row.name for row in describe(table([0.1, 0.2])).together] == ["all shapes"]


def test_verdicts_stay_invalid() -> None:
    """However large the boosts are, one run makes no verdict."""
    analysis = abtune.analyze(table([0.5, 0.4]))
    assert {row.verdict for row in analysis.comparisons} == {abtune.Verdict.INVALID}
