"""Reports whose shapes may hide slow runs: all that shows an interval shows the same one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.compare import caveats
from abtune.compare.results import Verdict
from abtune.compare.statistics import compute
from abtune.samples import extract_both, two_sample
from abtune.sections.explain import explain_all
from abtune.stats.intervals.interval_methods import methods_for


def with_slow_runs(boosts: list[float] | None = None) -> xr.Dataset:
    """Return a sweep of 20 shapes in which 1 run of the candidate in 15 is 30 % slower."""
    dataset = make_sweep(boosts or [0.0] * 20, noise=0.015, seed=7)
    latency = dataset["latency"].copy()
    slow = np.random.default_rng(7).random(latency[:, 1].shape) < 1 / 15
    latency[:, 1] = latency[:, 1] * np.exp(np.log(1.3) * (slow - 1 / 15))
    return dataset.assign(latency=latency)


def test_reports_widen_intervals_and_say_so() -> None:
    """An interval alone misses the true boost in many shapes that show no slow run."""
    analysis = abtune.analyze(with_slow_runs())
    sides = extract_both(analysis.dataset, "mainline", "async")
    alone = analysis.settings.interval.compute(two_sample(*sides), level=0.95)
    rows = analysis.comparisons
    assert sum(alone.low > 0) >= 4
    assert sum(row.boost_low > 0 for row in rows) <= 1
    assert caveats._HIDDEN in analysis.caveats
    assert not any("Intervals cannot allow" in caveat for caveat in analysis.caveats)
    assert caveats._HIDDEN not in abtune.analyze(make_sweep([0.0] * 20, noise=0.015)).caveats
    # Those of all shapes at once are nowhere narrower.
    assert all(row.boost_low_simultaneous <= row.boost_low for row in rows)


def test_differences_do_not_contradict_their_intervals() -> None:
    """A verdict of a difference takes an interval beyond zero, however far it was widened."""
    rows = abtune.analyze(with_slow_runs([0.03, 0.1, 0.2, 0.4] * 5), correction="none").comparisons
    improved = [row for row in rows if row.verdict is Verdict.IMPROVED]
    assert 5 <= len(improved) < 20
    assert all(row.boost_low > 0 for row in improved)


def test_simulated_sweeps_have_the_same_intervals() -> None:
    """Without bounds fewer numbers are computed, but the interval is the same."""
    analysis = abtune.analyze(with_slow_runs())
    sides, settings = extract_both(analysis.dataset, "mainline", "async"), analysis.settings
    with_bounds, without = (compute(sides, settings, bounds=bounds) for bounds in (True, False))
    assert with_bounds.hidden
    assert np.array_equal(with_bounds.interval.low, without.interval.low)
    assert np.array_equal(with_bounds.interval.high, without.interval.high)


@pytest.mark.parametrize("method", list(methods_for("geometric-mean")))
def test_a_story_shows_the_intervals_of_reports(method: str) -> None:
    """Each method has the interval that a report by this method has."""
    analysis = abtune.analyze(with_slow_runs())
    sides = extract_both(analysis.dataset, "mainline", "async")
    alone = replace(analysis.settings, method=method).interval.compute(two_sample(*sides), level=0.95)
    rows = abtune.analyze(analysis.dataset, method=method).comparisons
    moved = int(np.argmax([low - np.log1p(row.boost_low) for low, row in zip(alone.low, rows, strict=True)]))
    row, story = rows[moved], explain_all(analysis, rows[moved].shape)[0]
    (shown,) = (interval for interval in story.intervals if interval.method == method)
    assert (shown.boost, shown.boost_low, shown.boost_high) == (row.boost, row.boost_low, row.boost_high)
    assert shown.judged == (method == analysis.settings.method)
    assert np.log1p(shown.boost_low) < alone.low[moved] - 0.005


def test_a_reason_names_no_boost_within_a_widened_interval() -> None:
    """One run a thousand times slower widens all intervals, and no plan knows that."""
    dataset = make_sweep([0.06] * 6, noise=0.02, seed=3)
    latency = dataset["latency"].copy()
    latency[2, 1, 3] *= 1000
    analysis = abtune.analyze(dataset.assign(latency=latency))
    assert all(row.boost_low < 0 < row.boost_high for row in analysis.comparisons)
    reasons = [row.reason for row in analysis.comparisons]
    # The shape with that run knows its own noise.
    assert [index for index, reason in enumerate(reasons) if "find a boost" in reason] == [2]
    row = analysis.comparisons[0]
    assert row.reason == "The tests find a difference, but the interval includes zero."
    assert explain_all(analysis, row.shape)[0].sensitivity.seeds_for_estimate == 0


def test_quiet_shapes_with_rare_slow_runs_make_few_false_counts() -> None:
    """How many runs are slow is not known exactly either, and the error is one for all shapes."""
    rng, false = np.random.default_rng(1), 0
    for seed in range(12):
        dataset = make_sweep([0.0] * 29, n=5, noise=0.003, seed=seed)
        slow = rng.random((29, 5, 1, 1)) < 1 / 15
        factor = np.stack([np.ones(slow.shape), np.exp(np.log(1.3) * (slow - 1 / 15))], axis=1)
        claims = abtune.analyze(dataset.assign(latency=dataset["latency"] * factor)).claims
        false += next(claim.at_least for claim in claims if claim.claim == "faster") > 0
    assert false <= 1


def with_slow_rounds(seed: int) -> xr.Dataset:
    """Return 12 shapes that lose 5 %; 1 round in 30 of the candidate takes three times as long."""
    rng = np.random.default_rng(seed)
    rounds = rng.normal(0, 0.02, (12, 2, 8, 1)) + rng.normal(0, 0.001, (12, 2, 8, 5))
    slow = rng.random(rounds[:, 1].shape) < 1 / 30
    rounds[:, 1] += np.log(3) * (slow - 1 / 30) - np.log(0.95)
    names = [f"shape{index}" for index in range(12)]
    return abtune.make_dataset(
        np.exp(rounds[..., np.newaxis] - 8), shapes=names, configs=["mainline", "async"]
    )


def test_slow_rounds_hide_no_slow_runs() -> None:
    """A slow round raises the noise of measuring, too. That must not make resamples look as noisy."""
    reports = [abtune.analyze(with_slow_rounds(seed), margin=1 / 0.95 - 1) for seed in range(10)]
    rows = [row for report in reports for row in report.comparisons]
    assert sum(row.verdict is Verdict.EQUIVALENT for row in rows) <= 1
    assert sum(row.boost_low_simultaneous > -0.05 for row in rows) <= 2
