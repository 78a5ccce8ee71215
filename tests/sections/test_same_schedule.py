"""The same schedules under both configurations, on made-up transfers whose effects are known."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep
from running import Run
from scipy import stats
from transfer_builders import FAILED, FIT, OFFSET, SAME, Effects, with_transfers

import abtune
from abtune.errors import InputError
from abtune.report.formats.machine import plain
from abtune.report.page import Bullets, Column, Grid, Prose
from abtune.samples import extract_transfers
from abtune.sections.same_schedule.same_schedule import (
    Reading,
    SameSchedule,
    describe_same_schedule,
)
from abtune.sections.same_schedule.same_schedule_page import same_schedule_page, summarise


def sweep(shapes: int = 1, seeds: int = 3) -> xr.Dataset:
    return make_sweep([0.0] * shapes, n=seeds, rounds=2, timing_noise=0.001)


def described(of_baseline: Effects, of_candidate: Effects, kernels: Any = None) -> SameSchedule:
    dataset = sweep(len(of_baseline), len(of_baseline[0]))
    dataset = with_transfers(dataset, of_baseline, of_candidate, kernels)
    return describe_same_schedule(abtune.analyze(dataset))


def readings(*pairs: tuple[Sequence[float | str | None], Sequence[float | str | None]]) -> list[Reading]:
    result = described([one for one, _ in pairs], [two for _, two in pairs])
    return [row.reading for row in result.shapes]


def test_only_the_analysed_shapes_are_described() -> None:
    """It has a row for each shape of the analysis."""
    effects = [[0.1, 0.2, 0.3], [0.0, 0.1, FIT]]
    dataset = with_transfers(sweep(2), effects, effects)
    analysis = abtune.analyze(dataset, shapes=[str(dataset["shape"].values[1])])
    (row,) = describe_same_schedule(analysis).shapes
    assert (row.shape, row.of_baseline.fitting) == (analysis.comparisons[0].shape, 2)


def test_effects_are_those_that_were_put_in() -> None:
    """The mean effect of each direction is the boost of its schedules, with their t interval."""
    result = described([[0.1, 0.2, 0.3]], [[0.4, 0.4, 0.7]])
    one, two = result.shapes[0].of_baseline, result.shapes[0].of_candidate
    half = 4.302652729911275 * 0.1 / math.sqrt(3)  # 97.5 % quantile of t with 2 degrees of freedom
    expected = [math.expm1(value) for value in (0.2, 0.2 - half, 0.2 + half)]
    assert [one.effect, one.low, one.high] == pytest.approx(expected)
    test = stats.ttest_1samp([0.1, 0.2, 0.3], 0.0, alternative="greater")
    assert test.pvalue < one.p_faster == 0.5**3  # the share of one flip, which few schedules cannot go below
    assert one.p_slower == pytest.approx(1 - test.pvalue)
    assert two.effect == pytest.approx(math.expm1(0.5))
    interval = stats.ttest_1samp([0.4, 0.4, 0.7], 0.0).confidence_interval(0.95)
    assert [two.low, two.high] == pytest.approx(np.expm1(interval).tolist())


def test_over_shapes_the_shapes_are_the_sample() -> None:
    """The mean over shapes is that of their means, whatever the number of schedules behind each."""
    result = described([[0.1, 0.1, 0.1], [0.3, FIT, FIT], [FIT, FIT, FIT]], [[0.0, 0.2, 0.4]] * 3)
    assert result.of_baseline.effect == pytest.approx(math.expm1(0.2))
    interval = stats.ttest_1samp([0.1, 0.3], 0.0).confidence_interval(0.95)
    assert [result.of_baseline.low, result.of_baseline.high] == pytest.approx(np.expm1(interval).tolist())
    assert (result.of_baseline.fitting, result.of_baseline.does_not_fit) == (4, 5)


def test_a_kernel_that_two_seeds_found_counts_once() -> None:
    """Distinct schedules are the units: of effects, of tests, and of what fits, fails or stays the same."""
    twice = [[["a", "a", "b", "c", "c", "d", "d", "e", "e"]]] * 2
    row = [0.1, 0.1, 0.3, FIT, FIT, FAILED, FAILED, SAME, SAME]
    shape = described([row], [row], twice).shapes[0]
    for side in (shape.of_baseline, shape.of_candidate):
        assert (side.schedules, side.fitting) == (5, 2)
        assert (side.does_not_fit, side.failed, side.same) == (1, 1, 1)
        assert side.effect == pytest.approx(math.expm1(0.2))
        assert side.p_faster == 0.5**2
        assert side.tried == 4
    assert shape.best.schedules == 5


def test_kernels_without_hashes_count_each() -> None:
    """Without hashes nothing says which schedules are the same, and a caveat says so."""
    row = [0.1, 0.1, FIT]
    result = described([row], [row], [[[""] * 3]] * 2)
    side = result.shapes[0].of_baseline
    assert (side.schedules, side.fitting, side.does_not_fit) == (3, 2, 1)
    assert any("no hashes" in caveat for caveat in result.caveats)


def test_a_kernel_that_was_timed_once_did_not_fail() -> None:
    """Where one seed's build failed and another's did not, the schedule fits."""
    result = described([[0.1, FAILED, 0.2]], [[0.1, 0.2, 0.3]], [[["a", "a", "b"]], [["c", "d", "e"]]])
    side = result.shapes[0].of_baseline
    assert (side.schedules, side.fitting, side.failed) == (2, 2, 0)


def test_what_does_not_fit_is_a_result() -> None:
    """What fits is of the schedules tried; those that stay the same kernel are left out."""
    shape = described([[0.1, FIT, FIT, SAME]], [[0.1, 0.2, 0.3, FIT]]).shapes[0]
    assert (shape.of_baseline.fitting, shape.of_baseline.tried) == (1, 3)
    assert (shape.of_candidate.fitting, shape.of_candidate.tried) == (3, 4)
    assert described([[SAME] * 3], [[SAME] * 3]).shapes[0].of_baseline.tried == 0


def test_every_reading_occurs() -> None:
    """Each reading is given to data made for it."""
    steady, mixed = [0.20, 0.21, 0.19, 0.20] * 2, [0.2, -0.2, 0.1, -0.1] * 2
    negative = [-effect for effect in steady]
    none = [0.001, -0.001, 0.002, -0.002] * 2
    open_ones = [0.1, 0.3, 0.001, 0.0] * 2
    pairs: list[Any] = [
        (steady, mixed),
        (mixed, negative),
        (none, none),
        (mixed, mixed),
        ([FIT] * 8, [FIT] * 8),
        ([SAME] * 8, [SAME] * 8),
        ([*[FIT] * 7, 0.1], open_ones),
        ([FIT] * 8, [SAME] * 8),
        ([None] * 8, [None] * 8),
    ]
    assert readings(*pairs) == [
        Reading.FASTER,
        Reading.SLOWER,
        Reading.SAME,
        Reading.MIXED,
        Reading.NOTHING_FITS,
        Reading.SAME_KERNEL,
        Reading.OPEN,
        Reading.NOTHING_FITS,
        Reading.OPEN,
    ]


def test_the_same_kernels_are_said_in_one_sentence() -> None:
    """Without two different kernels there is no table of effects."""
    result = described([[SAME] * 3], [[SAME] * 3])
    page = list(same_schedule_page(result))
    (said,) = (block.text for block in page if isinstance(block, Prose))
    assert said == f"{result.candidate} and {result.baseline} build the same kernels from the same schedules."
    assert not any(isinstance(block, Grid) for block in page)
    assert any(isinstance(block, Grid) for block in same_schedule_page(described([[SAME] * 3], [[FIT] * 3])))
    alike = abtune.analyze(with_transfers(sweep(1), [[SAME] * 3], [[SAME] * 3]))
    with pytest.raises(InputError, match="no schedule gives mainline and async two different kernels"):
        alike.plot("same-schedule")


def test_only_evidence_against_the_bias_counts() -> None:
    """A gain on the candidate's own schedules, or a loss on the baseline's, settles nothing."""
    gain, loss = [0.20, 0.21, 0.19], [-0.20, -0.21, -0.19]
    assert readings((loss, gain), ([FIT] * 3, gain), (loss, [FIT] * 3)) == [
        Reading.MIXED,
        Reading.OPEN,
        Reading.OPEN,
    ]
    result = described([loss], [gain])
    assert [claim.at_least for claim in result.claims] == [0, 0]
    gain = "On schedules that mainline chose, async's code is not shown faster in any single shape."
    assert (
        summarise(result)
        == f"{gain} On schedules that async chose, async's code is not shown slower in any single shape."
    )


def test_schedules_that_cannot_be_built_are_no_evidence() -> None:
    """The sentence says how many could be built; of none it says nothing more."""
    few = "async can build 2 of 6 schedules that mainline chose."
    gain = f"{few} On these, async's code is not shown faster in any single shape."
    few = "mainline can build 2 of 6 schedules that async chose."
    loss = f"{few} On these, async's code is not shown slower in any single shape."
    none_of_baseline = "async could build no schedule that mainline chose."
    none_of_candidate = "mainline could build no schedule that async chose."
    none, some = [[FIT] * 3, [FAILED, FIT, FIT]], [[FIT] * 3, [0.0, SAME, FIT]]
    assert summarise(described(none, some)) == f"{none_of_baseline} {loss}"
    assert summarise(described(some, none)) == f"{gain} {none_of_candidate}"
    assert summarise(described(none, none)) == f"{none_of_baseline} {none_of_candidate}"


def test_a_mean_boost_is_said_where_it_is_evidence_against_the_bias() -> None:
    """The mean is said of a gain on baseline schedules, or of a loss on candidate schedules."""
    gains = [[0.10, 0.12], [0.11, 0.13], [0.09, 0.12]]
    losses = [[-effect for effect in row] for row in gains]
    gained = "On schedules that mainline chose, async's mean boost is +11.8% (95% interval +10 to +14);"
    none = "On schedules that async chose, async's code is not shown slower in any single shape."
    nowhere = "its code is not shown faster in any single shape."
    assert summarise(described(gains, gains)) == f"{gained} {nowhere} {none}"
    lost = "On schedules that async chose, async's mean boost is -10.6% (95% interval -12 to -9);"
    nothing = "On schedules that mainline chose, async's code is not shown faster in any single shape."
    assert (
        summarise(described(losses, losses))
        == f"{nothing} {lost} its code is not shown slower in any single shape."
    )


def test_equal_means_are_no_evidence() -> None:
    """Their interval would have no width, as if nothing were unknown."""
    for effect in (0.1, -0.1):
        assert "mean boost" not in summarise(described([[effect] * 2] * 3, [[effect] * 2] * 3))


def test_an_interval_that_excludes_zero_does_not_end_there() -> None:
    """A limit near zero gets more decimals. None reads as zero."""
    said = summarise(described([[0.05, 0.06], [0.02, 0.03], [0.03, 0.04]], [[0.0] * 2] * 3))
    assert "async's mean boost is +3.9% (95% interval +0.04 to +7.93)" in said


def test_effects_within_the_noise_of_measuring_are_not_of_both_signs() -> None:
    """Effects count as real from three standard errors on; the error is twice the offset of the rounds."""
    limit = 3 * 2 * OFFSET
    below, above = 0.98 * limit, 1.02 * limit
    spoilt = [0.3, 0.0, 0.1]
    assert readings((spoilt, [-below, 0.1, 0.0])) == [Reading.OPEN]
    assert readings((spoilt, [-above, 0.1, 0.0])) == [Reading.MIXED]


def errors(dataset: xr.Dataset) -> list[float]:
    """Return the errors of measuring an effect, one for each origin; the dataset has one shape."""
    names = ("mainline", "async")
    return [float(extract_transfers(dataset, origin, *names).error[0]) for origin in names]


def test_drift_that_both_kernels_share_is_no_error_of_their_difference() -> None:
    """Nor does the same kernel under both, which was timed once, say how large the error is."""
    dataset = with_transfers(sweep(), [[0.3, SAME, 0.1]], [[-0.01, 0.1, SAME]])
    assert errors(dataset) == pytest.approx([2 * OFFSET] * 2)
    drift = xr.DataArray([1.0, 1.2], dims="round")
    assert errors(dataset.assign(transfer_latency=dataset["transfer_latency"] * drift)) == pytest.approx(
        [2 * OFFSET] * 2
    )


def test_the_interval_of_the_strong_evidence_is_the_last_to_give_way() -> None:
    """A gain on the baseline's schedules counts. Without its interval, that of two schedules looks sure."""
    page = same_schedule_page(described([[0.1, 0.2, FIT]], [[0.2, 0.3, 0.1]]))
    (shapes,) = [block for block in page if isinstance(block, Grid) and block.columns[0].heading == "reading"]
    by_importance = sorted(
        (column for column in shapes.columns if column.gives_way), key=lambda column: column.gives_way
    )
    assert [column.heading for column in by_importance[:2]] == ["fit", "interval"]
    assert shapes.columns.index(by_importance[1]) < shapes.columns.index(by_importance[2])


def test_with_one_round_both_kernels_add_their_noise() -> None:
    """Timings of one round are not pairs: their error is that of two medians of two timings each."""
    dataset = with_transfers(sweep(), [[0.3, 0.0, 0.1]], [[-0.01, 0.1, 0.0]])
    times = (
        dataset["transfer_latency"].rename(round="repeat", repeat="round").transpose(..., "round", "repeat")
    )
    of_median = math.pi / 2 * (1.4826 * OFFSET) ** 2 / 2
    assert errors(dataset.drop_dims(["round", "repeat"]).assign(transfer_latency=times)) == pytest.approx(
        [math.sqrt(2 * of_median)] * 2
    )


def exact(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with timings that repeat exactly, as a simulator's."""
    times = dataset["transfer_latency"]
    mean = np.exp(np.log(times).mean("round"))
    return dataset.assign(transfer_latency=mean.broadcast_like(times).transpose(*times.dims))


def reading_of(dataset: xr.Dataset) -> Reading:
    """Return the reading of the first shape."""
    return describe_same_schedule(abtune.analyze(dataset)).shapes[0].reading


def test_exact_timings_show_effects_of_both_signs() -> None:
    """A simulator measures without an error, so the smallest effect is one."""
    both = with_transfers(sweep(), [[0.3, 0.0, 0.1]], [[-0.0001, 0.1, 0.0]])
    assert errors(exact(both)) == [0.0, 0.0]
    assert reading_of(both) is Reading.OPEN
    assert reading_of(exact(both)) is Reading.MIXED
    # But for the rounding of floats, these have one sign.
    one_sign = with_transfers(sweep(), [[0.3, 0.0, 0.1]], [[0.0001, 0.1, -1e-13]])
    assert reading_of(exact(one_sign)) is Reading.OPEN


@pytest.mark.parametrize(("steps", "reading"), [(1, Reading.OPEN), (2, Reading.MIXED)])
def test_one_step_of_a_coarse_timer_is_no_effect(steps: int, reading: Reading) -> None:
    """Timings of one shape agree within each schedule; those of another tell that the timer has steps."""
    step, times = 5e-6, np.array([[300, 300, 300], [300 - steps, 300 + steps, 250]]) * 5e-6
    dataset = with_transfers(sweep(2), [[0.3, 0.0, 0.1]] * 2, [[0.3, 0.0, 0.1]] * 2)
    coarse = (dataset["transfer_latency"] / step).round() * step
    dims = ("config", "seed")
    coarse[{"shape": 0}] = xr.DataArray(times, dims=dims)
    coarse[{"shape": 1, "round": 0}] = coarse[{"shape": 1, "round": 0}] + 3 * step
    assert reading_of(dataset.assign(transfer_latency=coarse)) is reading


def test_readings_are_corrected_over_the_shapes() -> None:
    """What is shown alone is not shown among nineteen shapes without an effect."""
    gain, nothing = [0.10, 0.14, 0.12] * 2, [0.1, -0.1, 0.0] * 2
    assert readings((gain, gain)) == [Reading.FASTER]
    assert readings((gain, gain), *[(nothing, nothing)] * 19)[0] is Reading.OPEN


def test_the_two_directions_are_never_averaged() -> None:
    """Neither direction depends on the other, and no number of the result is their mean."""
    result = described([[0.1, 0.2, 0.3]], [[0.6, 0.8, 1.0]])
    other = described([[0.1, 0.2, 0.3]], [[-0.6, -0.8, -1.0]])
    assert result.shapes[0].of_baseline == other.shapes[0].of_baseline
    assert result.shapes[0].of_candidate != other.shapes[0].of_candidate
    mean = [math.expm1(0.5), (math.expm1(0.2) + math.expm1(0.8)) / 2]
    numbers = list(_numbers(plain(result)))
    assert math.expm1(0.2) == pytest.approx(min(numbers, key=lambda value: abs(value - math.expm1(0.2))))
    assert not [value for value in numbers for average in mean if value == pytest.approx(average)]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, float):
        yield value


def test_best_known_kernels_are_over_the_schedules_of_both() -> None:
    """The candidate's best is of schedules that it changes; kernels that stay the same are the baseline's."""
    # Schedules of seed k take exp(k/100 - 8) s as the baseline builds them.
    row = described([[FIT, 0.0, 0.5]], [[SAME, 0.3, 0.0]]).shapes[0].best
    assert row.baseline == pytest.approx(math.exp(-8))
    assert row.candidate == pytest.approx(math.exp(0.02 - 0.5 - 8))
    assert row.boost == pytest.approx(math.expm1(0.48))


def test_best_known_kernels_include_those_that_the_baseline_cannot_build() -> None:
    """A kernel of the candidate's own searches counts, also if its schedule does not fit the baseline."""
    row = described([[FIT, 0.001, FIT]], [[FIT, FAILED, 0.01]]).shapes[0].best
    assert row.baseline == pytest.approx(math.exp(-8))
    assert row.candidate == pytest.approx(math.exp(-8))


def test_the_page_says_whose_the_same_kernels_are() -> None:
    """Without that, a best known kernel of the baseline alone would read as a loss of the candidate."""
    result = described([[FIT, 0.0, 0.5]], [[SAME, 0.3, 0.0]])
    texts = [block.text for block in same_schedule_page(result) if isinstance(block, Prose)]
    assert any("a kernel of both counts as mainline's" in text for text in texts)


def test_claims_never_exceed_the_shapes_that_show_it() -> None:
    """With sure gains everywhere all shapes are claimed, and those without schedules never are."""
    gain, loss = [0.20, 0.21, 0.19] * 4, [-0.20, -0.21, -0.19] * 4
    everywhere = described([gain] * 5, [loss] * 5)
    assert [(claim.claim, claim.at_least, claim.of) for claim in everywhere.claims] == [
        ("faster", 5, 5),
        ("slower", 5, 5),
    ]
    mixed = described([gain] * 3 + [[FIT] * 12] * 2, [[SAME] * 12] * 5)
    assert [(claim.at_least, claim.of) for claim in mixed.claims] == [(3, 5), (0, 5)]
    assert "faster in at least 3 of 5 shapes" in _words(mixed)


def test_equal_effects_are_as_certain_as_their_signs() -> None:
    """Effects that differ by rounding alone have no noise, and p is the share of one flip."""
    effect, rounded = 0.05, np.nextafter(0.05, 1)
    (same,) = described([[effect] * 6], [[FIT] * 6]).shapes
    (almost,) = described([[effect, rounded] * 3], [[FIT] * 6]).shapes
    for row in (same, almost):
        assert row.reading is Reading.FASTER
        assert (row.of_baseline.p_faster, row.of_baseline.p_slower) == (0.5**6, 1.0)
        assert row.of_baseline.low == row.of_baseline.high == pytest.approx(math.expm1(effect))


def test_schedules_that_failed_have_a_column() -> None:
    """The counts of a direction add up to its schedules; without a failure there is no such column."""
    failed, fitting = (
        next(
            block for block in same_schedule_page(described([effects], [effects])) if isinstance(block, Grid)
        )
        for effects in ([0.1, FIT, FAILED], [0.1, 0.2, FIT])
    )
    cells = {column.heading: column.cells[0].text for column in failed.columns if isinstance(column, Column)}
    parts = [cells[name] for name in ("fit", "same kernel", "do not fit", "failed")]
    assert (cells["schedules"], parts) == ("3", ["1", "0", "1", "1"])
    assert "failed" not in {column.heading for column in fitting.columns}


def test_one_shape_is_no_plural() -> None:
    """A lone shape is 1 of 1 shape."""
    assert "faster in at least 1 of 1 shape." in _words(described([[0.2, 0.21, 0.19] * 2], [[FIT] * 6]))


def test_few_schedules_are_not_counted() -> None:
    """Fewer than five hide a far slower one too often, so counts leave them out, and a caveat says so."""
    for seeds, counted in ((4, 0), (5, 3)):
        result = described([[0.2, 0.21, 0.19, 0.2, 0.2][:seeds]] * 3, [[FIT] * seeds] * 3)
        assert result.claims[0].at_least == counted
        assert any("counts of shapes leave these shapes out" in caveat for caveat in result.caveats) is (
            counted == 0
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("often", "loss", "seeds"), [(0.5, 0.1, 2), (0.5, 0.1, 5), (0.2, 0.16, 3), (0.1, 0.18, 5)]
)
def test_rare_losses_make_few_false_gains(often: float, loss: float, seeds: int) -> None:
    """Most schedules gain a little, the others lose all of it; t-tests alone erred in 65 % or more."""
    rng = np.random.default_rng(8)
    shapes, times = 29, 60
    dataset = sweep(shapes, seeds)
    analysis = abtune.analyze(dataset)
    wrong = 0
    for _ in range(times):
        lost = rng.random((shapes, seeds)) < often
        effects: Any = np.where(lost, -loss, loss * often / (1 - often)) + rng.normal(0, 0.003, lost.shape)
        transfers = with_transfers(dataset, effects.tolist(), [[FIT] * seeds] * shapes)
        result = describe_same_schedule(replace(analysis, dataset=transfers))
        wrong += any(row.reading is Reading.FASTER for row in result.shapes)
    assert wrong <= stats.binom.ppf(0.999, times, 0.05)


@pytest.mark.slow
def test_without_an_effect_claims_are_rare() -> None:
    """Where schedules gain as often as they lose, each claim and each list of readings errs in 5 percent."""
    rng = np.random.default_rng(7)
    shapes, seeds, times = 4, 8, 400
    dataset = sweep(shapes, seeds)
    analysis = abtune.analyze(dataset)
    wrong = np.zeros(4, dtype=int)
    for _ in range(times):
        effects: Any = rng.normal(0, 0.1, (2, shapes, seeds)).tolist()
        result = describe_same_schedule(replace(analysis, dataset=with_transfers(dataset, *effects)))
        said = {row.reading for row in result.shapes}
        claimed = [claim.at_least > 0 for claim in result.claims]
        wrong += [*claimed, Reading.FASTER in said, Reading.SLOWER in said]
    assert (wrong <= stats.binom.ppf(0.999, times, 0.05)).all()
    assert (wrong > 0).all()


def test_shapes_are_those_of_the_analysis() -> None:
    """Shapes that were left out of the analysis are left out here, and the order is that of the report."""
    dataset = with_transfers(sweep(3), [[0.1] * 3, [0.2] * 3, [0.3] * 3], [[FIT] * 3] * 3)
    analysis = abtune.analyze(dataset, shapes=["shape2", "shape0"])
    result = describe_same_schedule(analysis)
    assert [row.shape for row in result.shapes] == [row.shape for row in analysis.comparisons]
    effects = {row.shape: row.of_baseline.effect for row in result.shapes}
    assert effects == pytest.approx({"shape0": math.expm1(0.1), "shape2": math.expm1(0.3)})


def test_one_timing_of_each_kernel_is_enough() -> None:
    """Without a second timing the noise of measuring is unknown; effects are still there."""
    dataset = with_transfers(sweep(2), [[0.1, 0.2, -0.3]] * 2, [[0.1, 0.2, -0.3], [FIT] * 3])
    dataset = dataset.isel(round=[0])
    result = describe_same_schedule(abtune.analyze(dataset))
    assert result.shapes[0].of_baseline.fitting == 3
    assert [row.reading for row in result.shapes] == [Reading.OPEN] * 2


def test_a_direction_that_was_never_tried_is_empty() -> None:
    """A dataset may have the schedules of one configuration only."""
    dataset = with_transfers(sweep(1, 6), [[0.20, 0.21, 0.19] * 2], [[None] * 6])
    for variant in (dataset, dataset.sel(origin=["mainline"])):
        result = describe_same_schedule(abtune.analyze(variant))
        assert result.shapes[0].reading is Reading.FASTER
        assert (result.of_candidate.schedules, result.of_candidate.fitting) == (0, 0)
        assert math.isnan(result.of_candidate.effect)
        assert "nan" not in _words(result)


def test_a_shape_whose_searches_cannot_be_compared_is_on_the_page() -> None:
    """Without a boost of the searches, the effects of the schedules are shown alone."""
    dataset = with_transfers(sweep(2), [[0.20, 0.21, 0.19]] * 2, [[0.1, 0.2, 0.3]] * 2)
    dataset["latency"][1, 1] = math.nan
    result = describe_same_schedule(abtune.analyze(dataset))
    assert "nan" not in _words(result)


def _words(result: SameSchedule) -> str:
    page = tuple(same_schedule_page(result))
    cells = [cell.text for block in page if isinstance(block, Grid) for c in block.columns for cell in _of(c)]
    prose = [block.text for block in page if isinstance(block, Prose)]
    return "\n".join(
        [*cells, *prose, *(item for block in page if isinstance(block, Bullets) for item in block.items)]
    )


def _of(column: Any) -> Sequence[Any]:
    return getattr(column, "cells", ())


def test_a_dataset_without_transfers_is_refused() -> None:
    """One line says what makes them."""
    dataset = sweep()
    with pytest.raises(InputError, match="abtune measure DATASET --transfer --out NEW"):
        describe_same_schedule(abtune.analyze(dataset))


# From the command line


@pytest.fixture
def transferred(empty_folder: Path) -> str:
    """Write a dataset with transfers and return its name."""
    effects = [[0.20, 0.21, 0.19] * 2, [FIT] * 6], [[0.1, 0.2, 0.3] * 2] * 2
    dataset = with_transfers(sweep(2, 6), *effects)
    abtune.save_dataset(dataset, "both.nc")
    return "both.nc"


@pytest.mark.usefixtures("plain_environment")
def test_the_section_appears_where_the_dataset_has_it(run: Run, transferred: str) -> None:
    """It is shown unasked below the report, not in one of some shapes, and in JSON by its name."""
    title = "the same schedules under both configurations"
    assert title in run("analyze", transferred).out
    assert title not in run("analyze", transferred, "--section", "summary").out
    assert title not in run("analyze", transferred, "--show", "improved").out
    assert (
        title in run("analyze", transferred, "--section", "summary", "--section", "report,same-schedule").out
    )
    assert "\nthe code is faster: 1, not settled: 1\n" in run("analyze", transferred).out
    document = json.loads(run("analyze", transferred, "--format", "json").out)
    assert document == json.loads(run("analyze", transferred, "--show", "improved", "--format", "json").out)
    assert [row["reading"] for row in document["same_schedule"]["shapes"]] == [
        "the code is faster",
        "not settled",
    ]
    abtune.save_dataset(sweep(), "plain.nc")
    assert title not in run("analyze", "plain.nc").out
    refused = run("analyze", "plain.nc", "--section", "report,same-schedule")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "abtune measure DATASET --transfer" in refused.err


@pytest.mark.usefixtures("plain_environment")
def test_a_report_of_many_shapes_points_to_the_table_of_each(run: Run) -> None:
    """The report shows what holds of all shapes; who asks for the section sees each shape."""
    report, section = (
        run("analyze", "h200-tvm14009", *asked).out for asked in ((), ("--section", "same-schedule"))
    )
    pointer, table = "\nShape by shape: see --section same-schedule.\n", "best known %"
    assert (pointer in report, table in report) == (True, False)
    assert (pointer in section, table in section) == (False, True)
    assert table in run("analyze", "h200-tvm14009", "--format", "html").out  # behind a line


@pytest.mark.usefixtures("plain_environment")
def test_csv_has_one_table(run: Run, transferred: str) -> None:
    """Unasked, CSV has the comparisons only."""
    report = run("analyze", transferred, "--format", "csv")
    assert (report.code, report.err) == (0, "")
    lines = report.out.splitlines()
    assert len(lines) == 3
    assert "verdict" in lines[0]
    assert "reading" not in lines[0]


@pytest.mark.usefixtures("plain_environment")
def test_the_figure_is_written(run: Run, transferred: str) -> None:
    """`abtune plot --kind same-schedule` draws a dataset with transfers and refuses one without."""
    pytest.importorskip("matplotlib")
    outcome = run("plot", transferred, "--kind", "same-schedule", "--out", "f.png")
    assert (outcome.code, outcome.out, outcome.err) == (0, "f.png: 2 shapes\n", "")
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    abtune.save_dataset(sweep(), "plain.nc")
    refused = run("plot", "plain.nc", "--kind", "same-schedule", "--out", "g.png")
    assert (refused.code, refused.err.count("\n"), Path("g.png").exists()) == (2, 1, False)
