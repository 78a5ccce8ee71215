"""The noise of all shapes together: slow runs of one shape count for all."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from noise_kinds import Array, lognormal

from abtune.stats.across_shapes import at_least
from abtune.stats.intervals import bootstrap_t
from abtune.stats.intervals.bootstrap_t import NO_RESAMPLES
from abtune.stats.testing import common_noise as module
from abtune.stats.testing.common_noise import CommonNoise, common_noise
from abtune.stats.testing.significance import OneSided, resampled
from abtune.stats.two_sample import TwoSample

UNKNOWN = np.full((12, 2), np.nan)


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def noise_of(samples: TwoSample) -> CommonNoise:
    """Return the noise that adds the larger error."""
    return common_noise(samples, rng=generator())[1]


def drawn(shapes: int = 12, n: int = 6, m: int = 6) -> TwoSample:
    """Return noise whose second side is skewed."""
    rng = np.random.default_rng([3, n, m])
    return TwoSample.without_floor(rng.normal(0, 0.02, (shapes, n)), rng.exponential(0.1, (shapes, m)))


def ragged() -> TwoSample:
    """Return noise with three designs; one shape has a single seed of the second side."""
    samples = drawn(n=8, m=6)
    samples.first[:4, 5:] = np.nan
    samples.second[2:6, 0] = np.nan
    samples.second[6, 1:] = np.nan
    return samples


def pairs() -> TwoSample:
    """Return pairs whose differences are skewed; one shape lacks a run, and one has a single pair."""
    samples = drawn(n=6, m=6)
    samples.first[3, 2] = np.nan
    samples.second[7, 1:] = np.nan
    return TwoSample.of_pairs(samples.first, samples.second, UNKNOWN)


ALL_KINDS = [drawn(), drawn(n=2, m=2), drawn(n=4, m=9), ragged(), pairs()]


def estimated(samples: TwoSample) -> tuple[Array, Array]:
    """Return the difference and the standard error of each shape."""
    estimate = resampled(samples, rng=generator()).estimate
    return estimate.difference, estimate.error


def test_four_shapes_have_none() -> None:
    """Five shapes have none either, if one of them has a single seed."""
    assert common_noise(drawn(shapes=4), rng=generator()) == ()
    five = drawn(shapes=5)
    assert len(common_noise(five, rng=generator())) == 2
    five.first[1, 1:] = np.nan
    assert common_noise(five, rng=generator()) == ()


@pytest.mark.parametrize("samples", ALL_KINDS)
def test_exchanged_sides_have_mirrored_shares(samples: TwoSample) -> None:
    """Shares and widths are the same to the last bit."""
    noise, other = noise_of(samples), noise_of(samples.swapped())
    difference, error = estimated(samples)
    mirrored = noise.mirrored()
    share = mirrored.share_above(-difference, error)
    assert np.array_equal(share, other.share_above(-difference, error), equal_nan=True)
    width = mirrored.half_width(error, 0.05)
    assert np.array_equal(width, other.half_width(error, 0.05), equal_nan=True)
    # Skewed noise has other shares of each side.
    assert (noise.half_width(error, 0.05) != other.half_width(error, 0.05)).any()


@pytest.mark.parametrize("samples", ALL_KINDS)
def test_the_order_of_shapes_and_seeds_does_not_matter(samples: TwoSample) -> None:
    """Shapes and seeds in another order have the same shares."""
    rng = np.random.default_rng(2)
    order, seeds = rng.permutation(len(samples)), rng.permutation(samples.first.shape[1])
    other = samples.rows(order)
    if samples.paired:
        other = replace(other, first=other.first[:, seeds], second=other.second[:, seeds])
    else:
        other = replace(other, first=other.first[:, seeds], second=other.second[:, ::-1])
    difference, error = estimated(samples)
    share, again = noise_of(samples), noise_of(other)
    assert np.array_equal(
        again.share_above(difference[order], error[order]), share.share_above(difference, error)[order]
    )


def test_shapes_with_a_single_seed_have_no_share() -> None:
    """Nothing is said of them, and others have the share of their own numbers of seeds."""
    samples = ragged()
    noise, lone = noise_of(samples), samples.sizes.min(axis=1) == 1
    assert lone.sum() == 1
    assert len(noise.of_size) == 4
    share, width = noise.share_above(np.zeros(12), np.ones(12)), noise.half_width(np.ones(12), 0.05)
    assert (share[lone] == 0).all()
    assert (width[lone] == -np.inf).all()
    assert (share[~lone] > 0.1).all()
    few, many = (samples.sizes == (5, 6)).all(axis=1), (samples.sizes == (8, 6)).all(axis=1)
    assert noise.added[few].min() > noise.added[many].max()


def test_drawn_t_are_those_of_normal_noise() -> None:
    """A shape of normal noise has the share that a million fresh samples have."""
    rng, n = np.random.default_rng(5), 6
    samples = TwoSample.without_floor(rng.normal(0, 1, (4000, n)), rng.normal(0, 1, (4000, n)))
    noise = noise_of(samples)
    # Deviations from the median of six vary by as much as is computed here.
    values = samples.first - np.median(samples.first, axis=1)[:, np.newaxis]
    assert noise.added[0] == pytest.approx(0.5 * np.sqrt(2 * values.var() / n), rel=0.04)
    fresh = rng.normal(0, values.std(), (2, 1_000_000, n))
    error = np.sqrt(fresh.var(axis=2, ddof=1).sum(axis=0) / n)
    t = (fresh[0].mean(axis=1) - fresh[1].mean(axis=1)) / (error + noise.added[0])
    for limit in (0.5, 1.0, 1.5):
        share = noise.share_above(np.full(4000, limit * (1 + noise.added[0])), np.ones(4000))
        assert share[0] == pytest.approx(np.mean(t >= limit), abs=0.01)


@pytest.mark.parametrize("losses", [0.0, 0.1])
def test_pairs_have_the_noise_of_their_differences(losses: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn t are those of fresh differences, whichever side each shape favours."""
    monkeypatch.setattr(module, "_NOISIEST", 1e9)
    rng, n, favours = np.random.default_rng(1), 5, np.tile([[1.0], [-1.0]], (15, 1))
    logs = rng.normal(-0.03, 0.01, (30, n)) + 0.3 * (rng.random((30, n)) < losses)
    noise = noise_of(TwoSample.of_pairs(favours - logs, np.zeros((30, n)), np.full((30, 2), np.nan)))
    gains = (np.median(logs, axis=1)[:, np.newaxis] - logs).ravel()
    values = np.concatenate([gains, [gains.min(), gains.max()]])
    fresh = rng.choice(values - values.mean(), (400_000, n))
    t = fresh.mean(axis=1) / (fresh.std(axis=1, ddof=1) / np.sqrt(n) + noise.added[0])
    for limit in (0.5, 1.0, 1.5):
        share = noise.share_above(np.full(30, limit * (1 + noise.added[0])), np.ones(30))
        true = np.mean(t >= limit)
        assert share[0] == pytest.approx(
            true, abs=4 * np.sqrt(true * (1 - true) / bootstrap_t.RESAMPLES) + 0.001
        )


@pytest.mark.parametrize("paired", [False, True])
def test_a_slow_run_in_one_shape_raises_p_of_the_others(paired: bool) -> None:  # noqa: FBT001
    """The others may have such runs, too, and did not show them."""

    def p(slower: float) -> Array:
        rng = np.random.default_rng(4)
        logs = rng.normal(0, 0.02, (2, 12, 5))
        logs[1, 0, 0] += slower
        samples = TwoSample.without_floor(*logs)
        if paired:
            samples = TwoSample.of_pairs(*logs, UNKNOWN)
        tests = replace(resampled(samples, rng=generator()), pool=NO_RESAMPLES)
        shifted = replace(tests.estimate, difference=np.full(12, 0.03), error=np.full(12, 0.003))
        return replace(tests, estimate=shifted).p_above(0.0)[1:]

    assert (p(0.5) > 2 * p(0.0)).all()
    # The slow run leaves room for a fast second side, not for a slow one.
    assert (p(0.5) > 2 * p(-0.5)).all()


@pytest.mark.parametrize("samples", ALL_KINDS)
@pytest.mark.parametrize("share", [0.2, 0.05, 0.01])
def test_a_width_has_its_share_beyond(samples: TwoSample, share: float) -> None:
    """A difference just above the width has a share of at most this, and just below it more."""
    noise, (_, error) = noise_of(samples), estimated(samples)
    width = noise.half_width(error, share)
    known = np.isfinite(width)
    assert known.sum() >= 11
    step = 0.003 * (error + noise.added)
    assert (noise.share_above(width + step, error)[known] <= share).all()
    assert (noise.share_above(width - step, error)[known] > share).all()


def test_bounds_of_few_seeds_know_it() -> None:
    """Below five seeds there are no resamples, so bounds are as wide as the noise of all shapes asks for."""
    rng = np.random.default_rng(4)
    logs = rng.normal(0, 0.02, (2, 12, 4))
    logs[1, 0, 0] += 0.5
    tests = resampled(TwoSample.without_floor(*logs), rng=generator())
    alone = replace(tests, common=())
    assert not tests.pool.above[0]
    assert (tests.lower(0.05)[1:] < alone.lower(0.05)[1:]).all()
    width = np.max([noise.half_width(tests.estimate.error, 0.05) for noise in tests.common], axis=0)
    np.testing.assert_allclose(tests.lower(0.05)[1:], (tests.estimate.difference - width)[1:])


def test_blocks_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that are drawn in small blocks are those that are drawn at once."""
    whole = noise_of(drawn())
    monkeypatch.setattr(module, "_BLOCK", 600)
    for one, other in zip(whole.of_size, noise_of(drawn()).of_size, strict=True):
        assert np.array_equal(one.counts, other.counts)


def test_thousands_of_seeds_take_little_memory() -> None:
    """Drawn at once, 40,000 samples of 4,000 seeds per side would take 1.3 GB each."""
    samples = drawn(shapes=5, n=4000, m=4000)
    tracemalloc.start()
    noise_of(samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


@pytest.mark.parametrize("n", [3, 5])
def test_where_nothing_varies_every_difference_counts(n: int) -> None:
    """It is beyond all drawn samples, which are equal. No difference has a share of 1."""
    samples = TwoSample.without_floor(np.full((6, n), 2.0), np.tile([[1.0], [2.0], [3.0]], (2, n)))
    noise, none = noise_of(samples), np.zeros(6)
    share = noise.share_above(np.tile([1.0, 0.0, -1.0], 2), none)
    np.testing.assert_allclose(share, np.tile([1 / (bootstrap_t.RESAMPLES + 1), 1, 1], 2), rtol=1e-3)
    assert (noise.half_width(none, 0.05) == 0).all()
    assert (noise.half_width(none, 1e-9) == np.inf).all()  # beyond what was drawn nothing is known
    p = resampled(samples, rng=generator()).p_above(0.0)
    assert (p[::3] <= 0.05).all()
    assert (p[1::3] == 1).all()


def test_a_shape_without_noise_is_not_certain_beside_others() -> None:
    """Its difference is small beside the noise of the others."""
    samples = drawn()
    samples.first[0], samples.second[0] = 0.01, 0.0
    assert resampled(samples, rng=generator()).p_above(0.0)[0] > 0.2


def _counts_some(logs: Array, *, know_all: bool) -> bool:
    tests: OneSided = resampled(TwoSample.without_floor(logs[:, 0], logs[:, 1]), rng=generator())
    p = replace(tests, common=tests.common if know_all else ()).p_above(0.0)
    return at_least(p, correlation=0.0, alpha=0.05) > 0


@pytest.mark.parametrize("n", [3, 5, 10])
def test_one_noisy_shape_hides_no_gains(n: int) -> None:
    """It counts as three times as noisy as most. Its own noise would hide every gain of the others."""
    rng = np.random.default_rng(11)
    logs = rng.normal(0, 0.02, (2, 12, n))
    logs[:, -1] *= 50
    logs[1, :-1] -= 0.2
    tests = resampled(TwoSample.without_floor(*logs), rng=generator())
    assert (tests.p_above(0.0)[:-1] < 0.03).all()


def test_a_third_of_the_shapes_keep_their_noise() -> None:
    """Where they show slow runs and most show none, the slow runs of all of them count in full."""
    logs = np.random.default_rng(11).normal(0, 0.001, (2, 12, 6))
    logs[1, :4, ::2] += 0.3
    noise = common_noise(TwoSample.without_floor(*logs), rng=generator())[0]
    assert noise.difference(0.025)[0] > 0.06


def test_doubted_noise_takes_off_the_error_of_its_mean() -> None:
    """Over 16 shapes alike it is a quarter of the error of a difference; each claim needs as much more."""
    logs = np.random.default_rng(11).normal(0, 0.02, (2, 16, 5))
    noise = common_noise(TwoSample.without_floor(*logs), rng=generator())[0]
    doubted, difference, error = noise.doubted(), np.full(16, 0.03), np.full(16, 0.01)
    assert doubted.doubt == pytest.approx(noise.differences[0].std() / 4)
    assert np.array_equal(
        doubted.share_above(difference, error), noise.share_above(difference - doubted.doubt, error)
    )


@pytest.mark.parametrize("slower", [0.0, 2.3, 4.6])
def test_one_far_slower_run_of_hundreds_hides_no_gains(slower: float) -> None:
    """One run in 145 hardly moves a mean, so it leaves the other shapes as they are."""
    rng = np.random.default_rng(12)
    logs = rng.normal(0, 0.02, (2, 29, 5))
    logs[1, -1, 0] += slower
    logs[1, :10] -= 0.1
    tests = replace(resampled(TwoSample.without_floor(*logs), rng=generator()), pool=NO_RESAMPLES)
    assert at_least(tests.p_above(0.0), correlation=0.0, alpha=0.05) >= 8


def test_the_larger_p_of_both_added_errors_counts() -> None:
    """The small one doubts quiet shapes beside rare slow runs, the large one seeds that agree by chance."""
    rng, doubts = np.random.default_rng(6), np.zeros(2)
    for spread in (0.002, 0.02):
        logs = rng.normal(0, spread, (2, 29, 5))
        logs[1] += 0.3 * ((rng.random((29, 5)) < 1 / 15) - 1 / 15)
        tests = resampled(TwoSample.without_floor(*logs), rng=generator())
        estimate = tests.estimate
        shares = [noise.share_above(estimate.difference, estimate.error) for noise in tests.common]
        assert (tests.p_above(0.0) >= np.maximum(*shares)).all()
        doubts += [(shares[0] > shares[1]).any(), (shares[1] > shares[0]).any()]
    assert (doubts == 2).all()


def test_rare_slow_runs_make_few_false_counts() -> None:
    """If 1 run in 15 of one side is 30 % slower, most reports of five seeds counted some shape as faster."""
    rng, false = np.random.default_rng(17), np.zeros(2)
    for _ in range(60):
        logs = lognormal(0.02)(rng, (29, 2, 5))
        logs[:, 1] += np.log(1.3) * ((rng.random((29, 5)) < 1 / 15) - 1 / 15)
        false += [_counts_some(logs, know_all=True), _counts_some(logs, know_all=False)]
    assert false[0] <= 8
    assert false[1] >= 15
