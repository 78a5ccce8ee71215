"""What other tools get wrong, held against this one."""

from pathlib import Path

import numpy as np
import pytest
from compare_builders import NAN, make_sweep

import abtune
from abtune.cli import main
from abtune.compare.results import Verdict
from abtune.errors import InputError


def test_a_single_sample_is_never_significant() -> None:
    """Pyperf calls any two samples of unequal or single size significant."""
    row = abtune.analyze(make_sweep(9.0, n=1, m=10)).comparisons[0]
    assert row.verdict is Verdict.INVALID
    assert np.isnan(row.p)


def test_unequal_numbers_of_samples_are_not_significant_by_themselves() -> None:
    """Pyperf's test fails on unequal sizes, and the failure counts as significant."""
    analysis = abtune.analyze(make_sweep(np.zeros(400), n=10, m=7))
    assert np.mean([row.p <= 0.05 for row in analysis.comparisons]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_more_timings_are_not_more_evidence() -> None:
    """benchstat, google/benchmark and pyperf call a difference in 79 % of null comparisons of all timings."""
    few = abtune.analyze(make_sweep(np.zeros(40), noise=0.05, repeats=1, seed=3))
    many = abtune.analyze(make_sweep(np.zeros(40), noise=0.05, repeats=50, seed=3))
    for one, two in zip(few.comparisons, many.comparisons, strict=True):
        assert two.p == pytest.approx(one.p)
    assert np.mean([row.p <= 0.05 for row in many.comparisons]) <= 0.15


def test_three_seeds_a_side_give_few_false_alarms() -> None:
    """Otava uses the population standard deviation: 8.5 % false alarms at n = 3."""
    analysis = abtune.analyze(make_sweep(np.zeros(2000), n=3))
    outside = [row.boost_low > 0 or row.boost_high < 0 for row in analysis.comparisons]
    assert np.mean(outside) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.slow
def test_the_level_is_that_of_a_two_sided_test() -> None:
    """Autorank picks the better side first and then tests one-sided: 7.5 % at nominal 5 %."""
    analysis = abtune.analyze(make_sweep(np.zeros(2000), n=8))
    assert np.mean([row.p <= 0.05 for row in analysis.comparisons]) <= 0.055 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_results_depend_on_the_resampling_seed_alone() -> None:
    """Rliable ignores its random state and cannot be reproduced."""
    dataset = make_sweep([0.03, 0.0], n=20)
    np.random.seed(1)  # noqa: NPY002
    first = abtune.analyze(dataset, rng_seed=5)
    np.random.seed(2)  # noqa: NPY002
    assert abtune.analyze(dataset, rng_seed=5) == first


def test_no_p_value_is_zero() -> None:
    """DABEST and criterion print p = 0."""
    for n in (4, 10, 30):
        row = abtune.analyze(make_sweep(5.0, n=n, noise=1e-6)).comparisons[0]
        assert 0 < row.p <= row.p_adjusted
        assert row.p_equivalence == 1.0 or row.p_equivalence > 0


def test_identical_values_have_an_interval() -> None:
    """Scipy's BCa gives NaN for identical values, and arch's refuses unequal numbers of them."""
    row = abtune.analyze(make_sweep(0.1, n=6, m=9, noise=0.0)).comparisons[0]
    assert row.boost_low == pytest.approx(0.1)
    assert row.boost_high == pytest.approx(0.1)


@pytest.mark.parametrize("method", ["expanded-percentile", "welch"])
def test_intervals_take_identical_values_and_unequal_numbers(method: str) -> None:
    """Scipy's BCa gives NaN for identical values; arch's refuses unequal numbers of seeds."""
    same = abtune.analyze(make_sweep(0.1, n=6, m=9, noise=0.0), method=method).comparisons[0]
    assert (same.boost_low, same.boost_high) == (pytest.approx(0.1), pytest.approx(0.1))
    row = abtune.analyze(make_sweep(0.1, n=6, m=9), method=method).comparisons[0]
    assert row.boost_low < row.boost < row.boost_high


@pytest.mark.parametrize("method", ["expanded-percentile", "welch"])
def test_no_interval_of_a_shape_depends_on_its_company(method: str) -> None:
    """In arch the acceleration of one output depends on the others."""
    dataset = make_sweep([0.1, 0.0, 3.0], n=7, m=5)
    alone = abtune.analyze(dataset, shapes=["shape1"], method=method).comparisons[0]
    among = abtune.analyze(dataset, method=method).comparisons[1]
    assert (alone.boost_low, alone.boost_high) == pytest.approx((among.boost_low, among.boost_high))


def test_an_interval_is_an_error_and_not_a_spread() -> None:
    """Hyperfine's plus-minus of a ratio is a spread: it does not shrink however often one measures."""
    width = []
    for n in (10, 40):
        rows = abtune.analyze(make_sweep(np.zeros(40), n=n, noise=0.05)).comparisons
        width.append(np.mean([row.boost_high - row.boost_low for row in rows]))
    assert width[1] == pytest.approx(width[0] / 2, rel=0.15)


def test_boosts_are_compared_as_numbers() -> None:
    """Asv sorts ratios as strings, so that 10 comes before 9."""
    extremes = abtune.analyze(make_sweep([8.0, 9.0, 10.0], n=4, noise=1e-6)).overall.leave_one_out
    assert extremes is not None
    assert (extremes.low.shape, extremes.high.shape) == ("shape2", "shape0")
    assert extremes.low.boost < extremes.high.boost


def test_a_shape_does_not_depend_on_its_company() -> None:
    """In arch one output's acceleration depends on the others."""
    dataset = make_sweep([0.1, 0.0, 3.0], n=7, m=5)
    alone = abtune.analyze(dataset, shapes=["shape1"]).comparisons[0]
    among = abtune.analyze(dataset).comparisons[1]
    assert (alone.boost_low, alone.boost_high, alone.p) == pytest.approx(
        (among.boost_low, among.boost_high, among.p), rel=1e-12
    )


def test_unmatched_shapes_stay_out_of_the_mean() -> None:
    """google/benchmark's geometric mean includes benchmarks that one side lacks."""
    dataset = make_sweep([0.1, 0.2], n=3, noise=1e-9)
    dataset["latency"][1, 0] = NAN
    overall = abtune.analyze(dataset).overall
    assert overall.these_shapes.boost == pytest.approx(0.1, abs=1e-6)
    assert overall.unmatched == ("shape1",)


def test_a_level_in_percent_is_refused() -> None:
    """Scipy's bootstrap answers (nan, nan) to a confidence level of 95."""
    with pytest.raises(InputError, match=r"level is a fraction between 0 and 1, such as 0\.95, not 95"):
        abtune.analyze(make_sweep(0.1), level=95)


@pytest.mark.parametrize("content", [b"", b"not a dataset"])
def test_input_that_cannot_be_read_is_an_error(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Benchstat exits with 0 on input errors, so that a gate behind it passes."""
    damaged = tmp_path / "damaged.nc"
    damaged.write_bytes(content)
    for path in (damaged, tmp_path / "absent.nc"):
        assert main(["analyze", str(path), "--fail-on", "regressed"]) == 2
        assert path.name in capsys.readouterr().err
