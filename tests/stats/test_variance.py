"""From timings to seed values, and their scatter."""

import numpy as np
import pytest

from abtune.stats.variance import floored, moderated, moments, seed_values

NAN = np.nan


def test_a_seed_is_the_mean_over_rounds_of_their_medians() -> None:
    """A spike in a round does not move the value; rounds count equally whatever their repeats."""
    found = seed_values([[[1.0, 1.2, 9.0], [2.0, NAN, NAN]]])
    assert found.value == pytest.approx([(1.2 + 2.0) / 2])
    assert found.measurement_variance == pytest.approx([np.var([1.2, 2.0], ddof=1) / 2])


def test_one_round_falls_back_on_its_repeats() -> None:
    """With a single round the measurement variance is that of a median of its repeats."""
    rng = np.random.default_rng(0)
    found = seed_values(rng.normal(0, 0.01, (400, 1, 25)))
    medians = np.median(rng.normal(0, 0.01, (4000, 25)), axis=1)
    assert found.measurement_variance.mean() == pytest.approx(medians.var(), rel=0.1)


def test_a_lone_timing_is_itself_with_unknown_variance() -> None:
    """Nothing can be said of measurement from one timing, nor anything from none."""
    found = seed_values([[[2.5]], [[NAN]]])
    assert found.value[0] == 2.5
    assert np.isnan(found.value[1])
    assert np.isnan(found.measurement_variance).all()


def test_moments_agree_with_numpy_and_use_the_sample_variance() -> None:
    """The denominator is n - 1, and NaN do not count."""
    values = np.array([[1.0, 4.0, 2.0, NAN], [3.0, NAN, NAN, NAN], [NAN] * 4])
    found = moments(values)
    assert found.n.tolist() == [3, 1, 0]
    assert found.mean[:2] == pytest.approx([7 / 3, 3.0])
    assert found.variance[0] == pytest.approx(np.var([1, 4, 2], ddof=1))
    assert np.isnan(found.variance[1:]).all()
    assert np.isnan(found.mean[2])


def test_constant_samples_have_no_variance_at_all() -> None:
    """The rounding of a mean is not scatter."""
    assert moments(np.full((1, 7), 0.1)).variance[0] == 0.0


def test_the_floor_raises_and_an_unknown_one_does_not() -> None:
    """Variances are raised to the measurement variance where that is known."""
    assert floored(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.5, NAN])).tolist() == [2.0, 1.0, 1.0]


def test_moderation_pools_what_agrees_and_leaves_what_does_not() -> None:
    """Variances of one common level come out nearly equal, those of many levels nearly unchanged."""
    rng = np.random.default_rng(1)
    common = rng.chisquare(4, 200) / 4
    assert np.ptp(moderated(common, np.full(200, 4))) < 0.2 * np.ptp(common)
    spread = common * np.exp(rng.normal(0, 3, 200))
    assert np.median(np.abs(np.log(moderated(spread, np.full(200, 4)) / spread))) < 0.3


def test_moderation_is_closer_to_the_truth() -> None:
    """Shrunken variances err less, on logs, than the samples' own."""
    rng = np.random.default_rng(2)
    truth = np.exp(rng.normal(0, 0.7, 300))
    sample = truth * rng.chisquare(4, 300) / 4
    error = [
        np.mean(np.log(estimate / truth) ** 2) for estimate in (moderated(sample, np.full(300, 4)), sample)
    ]
    assert error[0] < 0.7 * error[1]


def test_moderation_needs_company() -> None:
    """With fewer than three shapes, or NaN, variances stay as they are."""
    assert moderated(np.array([1.0, 2.0]), np.array([4, 4])).tolist() == [1.0, 2.0]
    assert np.isnan(moderated(np.array([1.0, NAN, 3.0, 2.0]), np.array([4, -1, 4, 4]))[1])
