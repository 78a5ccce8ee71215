"""Raw timings of single processes: what is said of each, what is left out, and that nothing is judged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torchvision_dump import dumped_dataset, dumped_series

import abtune
from abtune.dataset.schema import RunStatus
from abtune.report.page import Bullets
from abtune.sections.raw_timings import Series, Timings, describe_timings, section_of_timings
from abtune.stats.time_series import cosine_mean


def of(dataset: xr.Dataset, *, level: float = 0.95) -> Timings:
    return describe_timings(dataset, level=level)


def one_process(*logs: Any, **fields: Any) -> xr.Dataset:
    """One shape, and a configuration a, b, ... for each series of logs, with one seed and one round."""
    longest = max(map(len, logs))
    padded = np.full((1, len(logs), 1, 1, longest), np.nan)
    for index, log in enumerate(logs):
        padded[0, index, 0, 0, : len(log)] = log
    latency = np.exp(padded - 8)
    return abtune.make_dataset(latency, shapes=["s"], configs=list("abcdefgh"[: len(logs)]), **fields)


def noise(seed: int, n: int = 50) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.01, n)


def only(timings: Timings) -> Series:
    (row,) = timings.series
    return row


def said(row: Series, words: str) -> bool:
    return any(words in caveat for caveat in row.caveats)


@pytest.mark.parametrize(
    ("lengths", "named"),
    [
        ((10, 10), "Every row: 10 timings are few"),
        ((10, 40), "a: 10 timings are few"),
        ((10, 10, 40), "a; b: 10 timings are few"),
        ((10, 10, 10, 10, 10, 40), "a; b; c; 2 more: 10 timings are few"),
    ],
)
def test_a_caveat_of_several_rows_is_said_once(lengths: tuple[int, ...], named: str) -> None:
    """Five benchmarks of two files would have the same line ten times."""
    dataset = one_process(*(noise(3, length) for length in lengths))
    (bullets,) = (
        element for element in section_of_timings(dataset, level=0.95).page if isinstance(element, Bullets)
    )
    assert [text.split(",")[0] for text in bullets.items if "are few" in text] == [named]


def test_the_published_dump() -> None:
    """Eight series in order, with the interval that the stats give, and none is worth too little."""
    timings = of(dumped_dataset())
    assert [row.n for row in timings.series] == [50] * 8
    assert [row.round for row in timings.series] == [0, 1, *[0] * 6]
    for row, seconds in zip(timings.series, dumped_series(), strict=True):
        assert row.half_width == pytest.approx(cosine_mean(np.log(seconds)).half_width(0.95))
        assert row.median == pytest.approx(np.median(seconds), rel=1e-5)
        assert row.mean == pytest.approx(stats.gmean(seconds))
        assert math.log(row.high / row.low) == pytest.approx(2 * row.half_width)
    assert not [note for row in timings.series for note in row.caveats if "independent ones" in note]


def test_the_repeated_variant_shows_what_intervals_leave_out() -> None:
    """The variant that is there twice differs by 8.3 % where its intervals reach 0.36 %, which is said."""
    timings = of(dumped_dataset())
    assert any("8.3% apart" in note and "23 times less" in note for note in timings.caveats)


@given(scale=st.floats(1e-6, 1e3), seed=st.integers(0, 30))
def test_units_do_not_matter(scale: float, seed: int) -> None:
    """Times in another unit have the same intervals, relative to their means, and the same caveats."""
    dataset = one_process(noise(seed), noise(seed + 1))
    scaled = dataset.assign(latency=dataset["latency"] * scale)
    scaled["latency"].attrs.update(dataset["latency"].attrs)
    here, there = of(dataset), of(scaled)
    for one, two in zip(here.series, there.series, strict=True):
        assert (two.mean, two.low) == pytest.approx((scale * one.mean, scale * one.low))
        assert (two.slowest_at, two.caveats) == (one.slowest_at, one.caveats)


@pytest.mark.parametrize(("n", "degrees"), [(5, "1 degree"), (19, "3 degrees")])
def test_few_timings(n: int, degrees: str) -> None:
    """Below 20 timings there is an interval and a caveat."""
    row = only(of(one_process(noise(3, n))))
    assert said(row, f"{n} timings are few, so the interval has {degrees} of freedom")
    assert row.half_width > 0


def test_too_few_timings_are_left_out() -> None:
    """Of fewer than 5 timings nothing is said but that."""
    timings = of(one_process(noise(3, 4)))
    assert timings.series == ()
    assert any("1 round of fewer than 5 timings" in note for note in timings.caveats)


def test_twenty_timings_are_not_few() -> None:
    """From 20 timings on, nothing is said of too few."""
    assert not only(of(one_process(noise(3, 20)))).caveats


def test_constant_series_have_no_width_and_say_why() -> None:
    """Timings that all agree have an interval without width, and a caveat."""
    row = only(of(one_process(np.zeros(30))))
    assert row.half_width == 0
    assert row.low == row.mean == row.high
    assert row.caveats == (
        "All 30 timings agree exactly. Differences below the resolution of the clock are not seen.",
    )


def test_ties_are_said() -> None:
    """Where the clock ticks coarsely, so that half of the timings are ties, the caveat counts the values."""
    row = only(of(one_process(np.round(noise(1), 2))))
    assert said(row, "values among 50 timings")
    assert not only(of(one_process(noise(1)))).caveats


def test_gaps_are_said_and_the_end_of_a_row_is_none() -> None:
    """Missing timings between others are counted; a shorter series than others has none."""
    values = noise(1)
    values[[3, 10]] = np.nan
    first, second = of(one_process(values, noise(2, 40))).series
    assert (first.n, second.n) == (48, 40)
    assert said(first, "2 timings missing. Those before and after a gap")
    assert not said(second, "missing")


def test_a_first_timing_that_is_slowest_is_said_and_counted() -> None:
    """A slow start is pointed at; it is in the mean all the same."""
    values = noise(1)
    values[0] = 0.2
    row = only(of(one_process(values)))
    assert row.slowest_at == 1
    assert said(row, "The first timing is the slowest, ")
    assert row.mean == pytest.approx(math.exp(values.mean() - 8))


def test_strong_dependence_is_said() -> None:
    """A random walk is worth a few timings, and its interval is called doubtful. A drift's holds."""
    assert said(only(of(one_process(np.cumsum(noise(1))))), "50 dependent timings are worth ")
    assert not only(of(one_process(np.linspace(0, 0.02, 50) + noise(1)))).caveats


def test_several_seeds_are_left_to_the_report() -> None:
    """A configuration with two seeds is left out and pointed to the section noise; the other is shown."""
    rng = np.random.default_rng(1)
    latency = np.exp(rng.normal(-8, 0.01, (1, 2, 2, 1, 30)))
    latency[0, 1, 1] = np.nan
    timings = of(abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"]))
    assert [row.config for row in timings.series] == ["b"]
    assert any("1 cell of shape and configuration with several seeds" in note for note in timings.caveats)


def test_failed_runs_have_no_timings() -> None:
    """What a failed run timed is not shown, and a dataset without timings says so."""
    timings = of(one_process(noise(1), run_status=np.full((1, 1, 1), RunStatus.FAILED)))
    assert timings.series == ()
    assert timings.caveats == ("There are no timings.",)


def test_rounds_that_agree_are_not_called_apart() -> None:
    """Two rounds of the same level may agree, which is said in place of how many times they do not."""
    latency = np.exp(np.random.default_rng(2).normal(-8, 0.01, (1, 1, 1, 2, 30)))
    timings = of(abtune.make_dataset(latency, shapes=["s"], configs=["a"]))
    assert [row.round for row in timings.series] == [0, 1]
    assert any("so they may agree" in note for note in timings.caveats)


def test_shapes_stand_by_themselves() -> None:
    """Series are in the order of the shapes, also where a shape lacks one."""
    logs = np.random.default_rng(4).normal(-8, 0.01, (2, 3, 1, 1, 30))
    logs[1, 0] = np.nan
    timings = of(abtune.make_dataset(np.exp(logs), shapes=["x", "y"], configs=["a", "b", "c"]))
    assert [(row.shape, row.config) for row in timings.series] == [
        ("x", "a"),
        ("x", "b"),
        ("x", "c"),
        ("y", "b"),
        ("y", "c"),
    ]
