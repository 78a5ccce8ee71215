"""Where the noise comes from."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep

import abtune
from abtune.report.page import Grid
from abtune.sections.noise import Noise, describe_noise, noise_page


def noise_of(dataset: xr.Dataset, **options: object) -> Noise:
    return describe_noise(abtune.analyze(dataset, **options))  # type: ignore[arg-type]


def nested(search: float, session: float, timing: float, shapes: int = 40) -> xr.Dataset:
    """Many shapes of six seeds, four rounds and three timings with this noise on both sides."""
    rng = np.random.default_rng(0)
    log = rng.normal(0, search, (shapes, 2, 6, 1, 1)) + rng.normal(0, session, (shapes, 2, 6, 4, 1))
    log = log + rng.normal(0, timing, (shapes, 2, 6, 4, 3))
    return abtune.make_dataset(
        np.exp(log), shapes=[f"s{number}" for number in range(shapes)], configs=["a", "b"]
    )


def test_the_sources_are_told_apart() -> None:
    """Search, session and timing noise come out as they were put in, over many shapes."""
    for source in noise_of(nested(0.06, 0.03, 0.02)).pooled:
        assert source.search == pytest.approx(0.06, rel=0.08)
        assert source.session == pytest.approx(0.03, rel=0.08)
        assert source.timing == pytest.approx(0.02, rel=0.08)
        assert source.correlation == pytest.approx(36 / 49, rel=0.1)
        assert source.measurement**2 == pytest.approx(0.03**2 / 4 + 0.02**2 / 12, rel=0.25)
        assert source.search_low < 0.06 < source.search_high


def test_the_search_is_what_seeds_scatter_beyond_their_measurement() -> None:
    """Of one shape, the search's variance is that of the seeds' values less that of their measurement."""
    dataset = nested(0.06, 0.03, 0.02, shapes=2)
    source = noise_of(dataset).by_shape[0]
    row = abtune.analyze(dataset).comparisons[0]
    assert source.search**2 + source.measurement**2 == pytest.approx(row.baseline.noise**2)
    assert (source.shape, source.config, source.n) == ("s0", "a", 6)


def test_no_search_noise_is_zero_not_negative() -> None:
    """Where seeds scatter less than timings explain, the search's noise is zero."""
    dataset = nested(0.0, 0.05, 0.0, shapes=30)
    noise = noise_of(dataset)
    assert min(source.search for source in noise.by_shape) == 0
    assert noise.pooled[0].search < 0.02
    assert all(source.search_low <= source.search <= source.search_high for source in noise.by_shape)


def test_seeds_that_vary_less_than_their_error_have_no_interval() -> None:
    """An interval from 0 to 0 would say that the noise is known exactly."""
    rounds = np.random.default_rng(0).normal(0, 1e-3, (2, 2, 6, 4, 1))
    rounds += np.array([0.1, -0.1, 0.1, -0.1])[:, np.newaxis]
    noise = noise_of(abtune.make_dataset(np.exp(rounds), shapes=["x", "y"], configs=["a", "b"]))
    assert all(math.isnan(source.search_high) for source in noise.by_shape)
    for table in (block for block in noise_page(noise) if isinstance(block, Grid)):
        assert not any("interval" in column.heading for column in table.columns), "a column of nothing"


def test_single_timings_tell_nothing_apart_and_say_so() -> None:
    """With one timing a winner nothing can be pooled and nothing told apart, which the caveats say."""
    noise = noise_of(make_sweep([0.1, 0.2], n=8))
    assert math.isnan(noise.pooled[0].timing)
    assert noise.pooled[0].search == pytest.approx(0.02, rel=0.5)
    assert [note for note in noise.caveats if "sessions and of timing cannot be told" in note]


def test_repeats_of_one_round_tell_the_noise_of_timing() -> None:
    """Only that of sessions is not told apart, so the caveat does not contradict the table above it."""
    noise = noise_of(make_sweep([0.1, 0.2], n=8, repeats=20))
    assert noise.pooled[0].timing > 0
    assert [note for note in noise.caveats if note.startswith("With one round, session noise cannot be")]


@pytest.mark.parametrize("n", [1, 2])
def test_few_seeds_are_described_as_far_as_they_go(n: int) -> None:
    """One seed has no spread, two have one with an interval without an upper end; neither stops the page."""
    noise = noise_of(make_sweep([0.1, 0.2], n=n, rounds=2, repeats=2, timing_noise=0.01))
    assert math.isnan(noise.pooled[0].search) == (n == 1)
    assert math.isnan(noise.by_shape[0].search_high) == (n == 1)


@pytest.mark.parametrize(("n", "times"), [(2, "32"), (3, "6.3"), (9, "1.9")])
def test_how_little_few_seeds_tell_is_said(n: int, times: str) -> None:
    """The factor is that of the chi-square interval, which the table of noise shows too."""
    notes = noise_of(make_sweep(0.0, n=n, rounds=2, timing_noise=0.001)).caveats
    assert any(
        note.startswith(f"With {n} seeds") and f"may be {times} times as large" in note for note in notes
    )


def test_only_the_analysed_shapes_are_described() -> None:
    """The noise of a restricted analysis is that of its shapes, also where one side is missing."""
    dataset = make_sweep([0.1, 0.2, 0.3], n=4, rounds=2, repeats=2)
    dataset["latency"][1, 0] = NAN
    noise = noise_of(dataset, shapes=["shape1", "shape2"])
    assert [source.shape for source in noise.by_shape] == ["shape1", "shape1", "shape2", "shape2"]


def test_units_do_not_matter() -> None:
    """Times in another unit have the same noise."""
    dataset = nested(0.06, 0.03, 0.02, shapes=3)
    scaled = dataset.assign(latency=dataset["latency"] * 1000)
    scaled["latency"].attrs.update(dataset["latency"].attrs)
    for here, there in zip(noise_of(dataset).by_shape, noise_of(scaled).by_shape, strict=True):
        assert here.search == pytest.approx(there.search)
        assert here.timing == pytest.approx(there.timing)


def test_seeds_that_agree_exactly_are_no_precise_timing() -> None:
    """Without any scatter, nothing is said of the error of timing."""
    dataset = make_sweep([0.1, 0.1], n=5, noise=0.0, rounds=2, repeats=3)
    noise = noise_of(dataset)
    assert not any(" error " in caveat for caveat in noise.caveats)
    dataset["latency"][1] *= np.exp(np.random.default_rng(1).normal(0, 0.02, (2, 5, 1, 1)))
    noise = noise_of(dataset)
    assert noise.caveats[-1].startswith("The error is less than a tenth")


def test_a_lone_shape_has_one_table() -> None:
    """Pooled over one shape, the same rows would stand twice."""
    for shapes, tables in ((1, 1), (2, 2)):
        dataset = make_sweep([0.0] * shapes, n=5, rounds=2)
        assert sum(isinstance(block, Grid) for block in noise_page(noise_of(dataset))) == tables
