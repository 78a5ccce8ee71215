"""Error rates of the method on a dataset's own noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep

import abtune
from abtune.compare.results import Rule
from abtune.errors import InputError
from abtune.report.page import Prose
from abtune.samples import Samples, extract, extract_both, what_varies
from abtune.sections.calibration import Pool, calibration_page, noise_pools, simulate
from abtune.stats.estimand import Estimand


def pool(values: np.ndarray) -> Pool:
    """Take one shape's seeds for a side, as a calibration does."""
    dataset = make_sweep([0.0], n=len(values))
    dataset["latency"][0, 0, :, 0, 0] = np.exp(values)
    return noise_pools(extract(dataset, "mainline"))[0]


def calibrated(dataset: xr.Dataset, **options: Any) -> abtune.Calibration:
    return abtune.calibrate(dataset, **{"boosts": (0.02, 0.1), "replications": 200, **options})


@pytest.mark.slow
def test_the_method_keeps_its_promises_on_normal_noise() -> None:
    """Coverage is near 95 %, false alarms near 5 %, and power grows with the boost."""
    calibration = calibrated(make_sweep([0.1, 0.0, 0.3], n=10, noise=(0.03, 0.05)))
    for row in calibration.simulated:
        assert row.coverage == pytest.approx(0.95, abs=0.04)
        assert row.false_alarm <= 0.09
        assert row.power[0] <= row.power[1]
    assert calibration.any_false_alarm <= 0.09
    assert calibration.error == pytest.approx(0.0154, abs=1e-4)


class Unchanged:
    """Draws that are the seeds of a dataset themselves, in place of a simulation."""

    def __init__(self, *sides: Samples) -> None:
        self.values = iter([side.value for side in sides])

    def __call__(self, *_: object) -> np.ndarray:
        return next(self.values)[np.newaxis]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("h200-pilot", {}),
        ("h200-deep-winners", {"level": 0.9}),
        ("h200-shared-winners", {}),
        ("h200-tvm14009", {"estimand": "best-of:2"}),
        ("h200-tvm14009", {"correction": "max-t"}),
    ],
)
def test_sweeps_are_judged_as_an_analysis_judges(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any]
) -> None:
    """A simulated sweep with the very seeds of a dataset has the gates of its analysis, with every p."""
    dataset = abtune.open_dataset(name)
    analysis = abtune.analyze(dataset, **options)
    sides = what_varies(*extract_both(dataset, analysis.baseline, analysis.candidate))
    monkeypatch.setattr("abtune.sections.calibration._draw", Unchanged(*sides))
    ((rows, _),) = simulate(dataset, analysis.settings, (0.0, 0.1), 1)
    for simulated, row in zip(rows, analysis.comparisons, strict=True):
        judged = [[gate for gate in one.gates if gate.of is not Rule.NOT_SLOWER] for one in (simulated, row)]
        assert judged[0] == judged[1]


def test_a_skewed_side_has_to_pass_bootstrap_t() -> None:
    """Where only the candidate is skewed, the test that has to confirm differences prevents false alarms."""
    dataset = make_sweep(np.zeros(12), n=10, noise=0.01)
    dataset["latency"][:, 1] *= np.exp(np.random.default_rng(1).exponential(0.1, (12, 10, 1, 1)))
    assert calibrated(dataset, boosts=(), replications=100).any_false_alarm <= 0.1


def test_boosts_of_the_dataset_do_not_matter() -> None:
    """Only the noise enters: the same seeds with another boost give the same shares."""
    with_boost, without = (
        calibrated(make_sweep([boost, boost], n=6, seed=3), replications=50).simulated for boost in (0.5, 0.0)
    )
    for one, two in zip(with_boost, without, strict=True):
        assert one == two


def test_quiet_noise_shows_equivalence_and_small_boosts() -> None:
    """Where seeds hardly scatter, no difference is called equivalent, and every boost is found."""
    (row,) = calibrated(make_sweep([0.0], n=8, noise=0.001), replications=50).simulated
    assert row.equivalent > 0.9
    assert row.power == (1, 1)


def test_the_same_seed_gives_the_same_numbers() -> None:
    """Two runs agree to the last digit, another seed of the generator about."""
    dataset = make_sweep([0.0, 0.1], n=6, m=5)
    one, two, other = (calibrated(dataset, rng_seed=seed, replications=40) for seed in (0, 0, 1))
    assert one == two
    assert one != dataclasses.replace(other, settings=one.settings)
    for here, there in zip(one.simulated, other.simulated, strict=True):
        assert here.coverage == pytest.approx(there.coverage, abs=0.15)


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 4.0, NAN], [0.0] * 8 + [1.0, 1.1], list(np.random.default_rng(0).gamma(1, 1, 20))]
)
def test_what_is_drawn_has_the_spread_of_the_noise(values: list[float]) -> None:
    """The distribution that is drawn from has mean zero and the unbiased variance of the seeds."""
    known = np.array([value for value in values if not np.isnan(value)])
    drawn = pool(np.array(values)).draw((400_000,), np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.var() == pytest.approx(known.var(ddof=1), rel=0.01)


def test_two_modes_stay_apart() -> None:
    """Where one search in five goes wrong, the draws do so too, and hardly anything lies between."""
    values = np.concatenate([np.linspace(-0.005, 0.005, 16), np.linspace(0.095, 0.105, 4)])
    drawn = pool(values).draw((20_000,), np.random.default_rng(2)) + values.mean()
    assert (drawn > 0.06).mean() == pytest.approx(0.2, abs=0.02)
    assert ((drawn > 0.03) & (drawn < 0.07)).mean() < 0.01


def test_shapes_with_few_seeds_are_left_out() -> None:
    """A shape without enough seeds on a side is in no table; where none has enough, there is one line."""
    dataset = make_sweep([0.0, 0.0], n=4)
    dataset["latency"][0, 1, 2:] = NAN
    calibration = calibrated(dataset, replications=20)
    assert [row.shape for row in calibration.simulated] == ["shape1"]
    with pytest.raises(InputError, match="no shape has 3 seeds per configuration"):
        calibrated(make_sweep([0.0, 0.0], n=2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"boosts": [20]}, "boost is a fraction between 0 and 10, such as 0.05, not 20"),
        ({"replications": 0}, "replications is a whole number from 10 on, not 0"),
        ({"level": 95}, "level is a fraction between 0 and 1"),
        ({"method": "guess"}, "no interval 'guess'"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        calibrated(make_sweep([0.0]), **options)


def test_unequal_and_constant_seeds_do_not_stop_it() -> None:
    """Other numbers of seeds, and seeds that all agree, give shares like any others."""
    dataset = make_sweep([0.0, 0.0], n=6, m=9)
    dataset["latency"][0, 1, :9] = 1e-3
    for row in calibrated(dataset, replications=50).simulated:
        assert all(0 <= share <= 1 for share in (row.coverage, row.false_alarm, row.equivalent, *row.power))


def test_the_pilot_keeps_its_promises() -> None:
    """On the pilot's noise the interval covers and false alarms stay near their level."""
    calibration = abtune.calibrate(abtune.open_dataset("h200-pilot"), boosts=(), replications=200)
    assert all(0.92 <= row.coverage <= 0.98 for row in calibration.simulated)
    assert calibration.any_false_alarm <= 0.07


@pytest.mark.parametrize(
    "options",
    [
        {"method": "welch"},
        {"correction": "max-t"},
        {"correction": "none"},
    ],
    ids=str,
)
def test_what_is_chosen_is_calibrated(options: dict[str, str]) -> None:
    """Other methods are judged by what they do: no correction errs often."""
    dataset = make_sweep(np.zeros(4), n=7, noise=(0.02, 0.03))
    calibration = calibrated(dataset, replications=150, boosts=(0.1,), **options)
    coverage = np.mean([row.coverage for row in calibration.simulated])
    assert coverage > 0.91
    assert (
        calibration.any_false_alarm >= 0.09
        if options.get("correction") == "none"
        else calibration.any_false_alarm <= 0.1
    )
    assert all(row.power[0] > 0.5 for row in calibration.simulated)
    assert {**dataclasses.asdict(calibration.settings), **options} == dataclasses.asdict(calibration.settings)


@pytest.mark.parametrize("estimand", list(Estimand))
def test_what_is_typical_of_a_pool(estimand: Estimand) -> None:
    """What an estimand is of, as a large sample has it, so that no difference is none."""
    noise_pool = pool(np.array([0.0, 0.01, 0.02, 0.3, 0.02, 0.05]))
    drawn = noise_pool.draw((400_000,), np.random.default_rng(3))
    kept = drawn[: 400_000 // estimand.searches * estimand.searches].reshape(-1, estimand.searches)
    assert noise_pool.typical(estimand) == pytest.approx(kept.min(axis=1).mean(), abs=2e-3)
    constant = pool(np.zeros(4))
    assert constant.typical(estimand) == 0


def test_shapes_share_the_form_of_their_noise_and_lend_each_other_its_size() -> None:
    """Shared pools have one form, spreads nearer to each other than the samples', and constant seeds none."""
    dataset = make_sweep(np.zeros(8), n=5, noise=0.03)
    dataset["latency"][7, 0] = 1e-3
    samples = extract(dataset, "mainline")
    pools = noise_pools(samples)
    spread = np.array([np.hypot(one.residuals.std(), one.width) for one in pools])
    assert np.ptp(spread[:7]) < np.ptp(samples.noise[:7])
    assert spread[7] == 0
    form = [one.residuals / size for one, size in zip(pools[:7], spread[:7], strict=True)]
    np.testing.assert_allclose(form, [form[0]] * 7)
    flat = extract(make_sweep([0.0], n=4, noise=0.0), "async")
    assert noise_pools(flat)[0].width == 0


def test_shapes_with_too_few_seeds_are_named() -> None:
    """They are part of a report and of its correction, and a simulation leaves them out."""
    dataset = make_sweep([0.0, 0.1, 0.0], n=6)
    dataset["latency"][1, 0, 2:] = NAN
    calibration = calibrated(dataset, replications=10)
    left_out = dataset["shape"].values[1]
    assert [row.shape for row in calibration.simulated] == [*np.delete(dataset["shape"].values, 1)]
    assert calibration.left_out == (left_out,)
    assert Prose(f"Too few seeds to simulate: {left_out}.") in calibration_page(calibration)
    assert calibrated(make_sweep([0.0], n=6), replications=10).left_out == ()
