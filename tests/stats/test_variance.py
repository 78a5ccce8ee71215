"""From timings to seed values, and their scatter."""

import numpy as np
import pytest

from abtune.stats.variance import (
    ClusteredVariance,
    floored,
    moments,
    quantile,
    rounding_of,
    seed_values,
    timer_step,
    variance_of_both,
)

NAN = np.nan


def test_a_seed_is_the_mean_over_rounds_of_their_medians() -> None:
    """A spike in a round does not move the value; rounds count equally whatever their repeats."""
    value, variance = seed_values([[[1.0, 1.2, 9.0], [2.0, NAN, NAN]]])
    assert value == pytest.approx([(1.2 + 2.0) / 2])
    assert variance == pytest.approx([np.var([1.2, 2.0], ddof=1) / 2])


def test_one_round_falls_back_on_its_repeats() -> None:
    """With a single round the measurement variance is the variance of a median of its repeats."""
    rng = np.random.default_rng(0)
    _, variance = seed_values(rng.normal(0, 0.01, (400, 1, 25)))
    medians = np.median(rng.normal(0, 0.01, (4000, 25)), axis=1)
    assert variance.mean() == pytest.approx(medians.var(), rel=0.1)


def test_a_lone_timing_is_itself_with_unknown_variance() -> None:
    """Nothing can be said of measurement from one timing, nor anything from none."""
    value, variance = seed_values([[[2.5]], [[NAN]]])
    assert value[0] == 2.5
    assert np.isnan(value[1])
    assert np.isnan(variance).all()


def test_equal_rounds_have_no_variance_and_their_own_value() -> None:
    """The mean of equal numbers may be rounded, but rounding is no noise of measuring."""
    logs = np.log(np.random.default_rng(0).uniform(1e-5, 1e-3, 500))
    for rounds in (3, 6, 7):
        value, variance = seed_values(np.tile(logs[:, np.newaxis, np.newaxis], (1, rounds, 2)))
        assert value.tolist() == logs.tolist()
        assert not variance.any()


def test_moments_agree_with_numpy_and_use_the_sample_variance() -> None:
    """The denominator is n - 1, and NaN do not count."""
    values = np.array([[1.0, 4.0, 2.0, NAN], [3.0, NAN, NAN, NAN], [NAN] * 4])
    result = moments(values)
    assert result.n.tolist() == [3, 1, 0]
    assert result.mean[:2] == pytest.approx([7 / 3, 3.0])
    assert result.variance[0] == pytest.approx(np.var([1, 4, 2], ddof=1))
    assert np.isnan(result.variance[1:]).all()
    assert np.isnan(result.mean[2])


def test_constant_samples_have_no_variance_at_all() -> None:
    """The rounding of a mean is not scatter."""
    assert moments(np.full((1, 7), 0.1)).variance[0] == 0.0


def test_the_floor_raises_and_an_unknown_one_does_not() -> None:
    """Variances are raised to the measurement variance where that is known."""
    assert floored(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.5, NAN])).tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("micros", "step"),
    [
        ([[20, 21, 20], [30, 30, NAN]], 1e-6),
        ([[20, 21.5, 20], [30, 30, 30]], 1e-7),
        ([[2000, 2000, 2100], [3000, 3000, 3000]], 1e-4),
        ([[20.41267, 21.59, 20], [30, 30, 30]], 1e-10),  # the sixth digit of the smallest timing
        ([[20, 20.5, 21], [30, 31.5, 33]], 5e-7),  # six timings in steps of half a microsecond
        ([[20, 22, 20], [30, 30, 40]], 1e-6),  # four timings may be even by chance
        ([[20, 21, 20], [20, 20, 20]], 0.0),  # two timings may be round by chance
        ([[20, 20, 20], [30, 30, 30], [40, 40, 40]], 0.0),  # a simulator, whose timings agree
        ([[NAN, NAN, NAN], [0, -1, NAN]], 0.0),
    ],
)
def test_the_step_of_a_timer_divides_all_timings(micros: list[list[float]], step: float) -> None:
    """It is the last decimal place that any timing has."""
    assert timer_step(np.array(micros) * 1e-6) == pytest.approx(step)


def test_a_step_beyond_the_digits_of_a_float_is_looked_for_without_a_warning() -> None:
    """Timings of microseconds beside those of years are no whole multiples of a step."""
    seconds = np.array([[1.23456e-6, 2.34567e-6, 1.5e-6], [1.1e8, 1.23456e8, 2.2e8]])
    with np.errstate(all="raise"):
        assert timer_step(seconds) == pytest.approx(1e-11)


def test_rounding_counts_where_it_hides_the_noise() -> None:
    """Half a step of a shape's mean, unless the medians of its rounds vary by more than half a step."""
    seconds = np.array([[20.0, 20, 21, 20], [20, 22, 21, 19], [40, 40, 40, NAN], [NAN, NAN, NAN, NAN]])
    seconds = seconds.reshape(4, 2, 2, 1)
    assert rounding_of(seconds, 1.0) == pytest.approx([0.5 / 20.25, 0, 0.5 / 40, 0])
    assert not rounding_of(seconds, 0.0).any()


def test_timings_that_vary_do_not_undo_the_rounding_of_their_median() -> None:
    """Nine timings of 19 to 21 steps have a median of a whole step, however many seeds repeat that."""
    seconds = np.array([20.0, 19, 21, 20, 19, 21, 20, 19, 21] * 6).reshape(1, 3, 2, 9)
    assert rounding_of(seconds, 1.0) == pytest.approx([0.5 / 20])


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6, 1e9])
def test_two_neighbouring_steps_count_alike_in_every_unit(unit: float) -> None:
    """Half of the timings at one step, half at the next: they vary by half a step, and no less."""
    seconds = np.array([[[[step]], [[step + 1]]] for step in range(19, 60)]) * 1e-6 * unit
    assert not rounding_of(seconds, 1e-6 * unit).any()


@pytest.mark.parametrize(("few", "many", "welch"), [(2, 12, 0.108), (2, 6, 0.072), (3, 12, 0.067)])
def test_two_or_three_seeds_beside_many_have_few_degrees_of_freedom(
    few: int, many: int, welch: float
) -> None:
    """Of 5,000 intervals at 95 %, Welch's miss the truth too often; swapped sides have the same."""
    rng = np.random.default_rng(few * many)
    missed = np.zeros(2)
    for _ in range(5000):
        drawn = [rng.normal(size=size) for size in (few, many)]
        one, two = (
            ClusteredVariance(variance=values.var(ddof=1) / values.size, freedom=values.size - 1.0)
            for values in drawn
        )
        both = variance_of_both(one, two)
        assert variance_of_both(two, one) == both
        plain = both.variance**2 / (one.variance**2 / one.freedom + two.variance**2 / two.freedom)
        t = abs(drawn[0].mean() - drawn[1].mean()) / both.variance**0.5
        missed += [t > quantile(freedom, 0.95) for freedom in (plain, both.freedom)]
    assert missed[0] / 5000 == pytest.approx(welch, abs=0.012)
    assert missed[1] / 5000 < 0.072


@pytest.mark.parametrize(("few", "many"), [(2, 3), (3, 5), (4, 12), (10, 10)])
def test_other_numbers_of_seeds_keep_welchs_degrees_of_freedom(few: int, many: int) -> None:
    """Of equal variances, they are the Welch-Satterthwaite formula's."""
    one, two = (ClusteredVariance(variance=1.0 / n, freedom=n - 1.0) for n in (few, many))
    expected = (1 / few + 1 / many) ** 2 / (1 / few**2 / (few - 1) + 1 / many**2 / (many - 1))
    assert variance_of_both(one, two).freedom == pytest.approx(expected)
