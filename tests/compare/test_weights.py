"""What a boost of shapes is worth to a program."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compare_builders import NAN, make_sweep
from scipy import stats

import abtune
from abtune.compare.results import Weighted
from abtune.compare.settings import Weights, built_in_weights
from abtune.errors import InputError
from abtune.shapes import PRESETS


def weighted(dataset: object, calls: dict[str, float], *, strict: bool = True) -> Weighted:
    weights = Weights(name="mine", calls=calls, not_covered="", strict=strict)
    estimate = abtune.analyze(dataset, weights=weights).overall.weighted  # type: ignore[arg-type]
    assert estimate is not None
    return estimate


def test_resnet50_weights_are_those_of_the_published_network() -> None:
    """Each of the 17 published convolutions has a count; with three projections they are the 53 layers."""
    calls = built_in_weights("resnet50").calls
    shapes = {shape.label: shape for shape in PRESETS["tvm14009"] if shape.workload == "conv2d_nhwc"}
    assert set(calls) == set(shapes)
    assert sum(calls.values()) == 50
    # The 3.8e9 multiply-adds of the paper, with the strided projections of three stages and the classifier.
    projections = (28 * 28 * 256 * 512) + (14 * 14 * 512 * 1024) + (7 * 7 * 1024 * 2048)
    layers = sum(number * shapes[label].flop / 2 for label, number in calls.items())
    assert (layers + projections + 2048 * 1000) / 1e9 == pytest.approx(3.86, abs=0.01)


def test_the_time_is_the_sum_of_all_calls() -> None:
    """Times are sums of calls times geometric means, and the boost their ratio minus one."""
    dataset = make_sweep([0.1, 0.5], n=6, seed=2)
    estimate = weighted(dataset, {"shape0": 3, "shape1": 1})
    latency = np.exp(np.log(dataset["latency"].values[..., 0, 0]).mean(axis=2))
    times = 3 * latency[0] + latency[1]
    assert (estimate.baseline_time, estimate.candidate_time) == pytest.approx(tuple(times))
    assert estimate.boost == pytest.approx(times[0] / times[1] - 1)
    assert (estimate.weight, estimate.total) == (4, 4)


def test_one_shape_has_the_interval_of_welch() -> None:
    """With a single shape the whole time has that shape's closed-form interval."""
    dataset = make_sweep([0.1, 0.5], n=6, seed=3)
    estimate = weighted(dataset, {"shape1": 7})
    logs = np.log(dataset["latency"].values[1, :, :, 0, 0])
    oracle = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(np.log1p([estimate.boost_low, estimate.boost_high]), [oracle.low, oracle.high])


def test_the_interval_allows_for_the_noise_and_the_steps_of_the_timer() -> None:
    """Where seeds agree, or all round to one step, the time of a shape is as unknown as its boost."""
    labels, configs = ["shape0", "shape1"], ["a", "b"]
    noise = np.random.default_rng(5).normal(0, 0.3, (2, 2, 8))
    coarse = np.round(np.array([[[18.1], [18.2]], [[20.3], [21.4]]]) + noise) / 1e6
    one_run = make_sweep([0.1, 0.1], n=1, rounds=3, repeats=5, timing_noise=0.05)["latency"].values
    alike = np.repeat(one_run, 6, axis=2)  # the seeds agree, but not the rounds
    for latency, design in ((coarse, None), (alike, None), (alike, "shared")):
        dataset = abtune.make_dataset(latency, shapes=labels, configs=configs, design=design)
        one = abtune.analyze(dataset, method="paired-t" if design else "welch").comparisons[0]
        estimate = weighted(dataset, {"shape0": 1})
        assert (estimate.boost_low, estimate.boost_high) == pytest.approx((one.boost_low, one.boost_high))


def test_scaling_all_weights_changes_no_boost() -> None:
    """Ten programs gain as much as one."""
    dataset = make_sweep([0.1, 0.5], n=6)
    one, ten = (weighted(dataset, {"shape0": w, "shape1": 2 * w}) for w in (1, 10))
    assert one.boost == pytest.approx(ten.boost)
    assert one.boost_high == pytest.approx(ten.boost_high)
    assert ten.baseline_time == pytest.approx(10 * one.baseline_time)


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Nominal 95 % holds for a sum of times whose seeds share their luck."""
    rng = np.random.default_rng(4)
    calls = {f"shape{index}": float(index + 1) for index in range(4)}
    covered = 0
    for _ in range(300):
        shared = rng.normal(0, 0.03, (1, 2, 8))
        latency = np.exp(rng.normal(0, 0.05, (4, 2, 8)) + shared) * np.array([1, 3, 2, 5])[:, None, None]
        dataset = abtune.make_dataset(latency, shapes=list(calls), configs=["a", "b"])
        estimate = weighted(dataset, calls)
        covered += estimate.boost_low <= 0 <= estimate.boost_high
    assert covered / 300 == pytest.approx(0.95, abs=0.035)


def test_shapes_without_timings_are_left_out_and_named() -> None:
    """A shape that one side lacks is not in the time, and is named with its weight."""
    dataset = make_sweep([0.1, 0.5], n=4)
    dataset["latency"][1, 1] = NAN
    estimate = weighted(dataset, {"shape0": 1, "shape1": 2})
    assert estimate.left_out == ("shape1",)
    assert (estimate.weight, estimate.total) == (1, 3)


def test_single_runs_have_no_interval() -> None:
    """Without seeds there is a time but no error of it."""
    estimate = weighted(make_sweep([0.1, 0.5], n=1), {"shape0": 1})
    assert math.isnan(estimate.boost_low)
    assert not math.isnan(estimate.boost)


def test_labels_that_the_dataset_lacks() -> None:
    """A misspelt label of one's own is a mistake, a layer that was not tuned is listed."""
    dataset = make_sweep([0.1, 0.5], n=4)
    with pytest.raises(InputError, match="mine: unknown shape 'shap1'; did you mean: shape1"):
        weighted(dataset, {"shap1": 1})
    assert weighted(dataset, {"shape0": 1, "x": 2}, strict=False).left_out == ("x",)
    with pytest.raises(InputError, match="no shape with a weight has timings"):
        weighted(dataset, {"x": 2}, strict=False)
    with pytest.raises(InputError, match="unknown weights 'resnet5'; did you mean: resnet50"):
        built_in_weights("resnet5")


def test_weights_may_be_of_shapes_that_were_not_chosen() -> None:
    """A file has the calls of a whole program, and its other shapes are listed."""
    dataset = make_sweep([0.1, 0.5], n=4)
    calls = {"shape0": 1.0, "shape1": 2.0}
    estimate = abtune.analyze(dataset, shapes=["shape0"], weights=calls).overall.weighted
    assert estimate is not None
    assert (estimate.weight, estimate.total, estimate.left_out) == (1, 3, ("shape1",))
    with pytest.raises(InputError, match="unknown shape 'shap1'"):
        abtune.analyze(dataset, shapes=["shape0"], weights={"shape0": 1.0, "shap1": 2.0})


def test_a_plain_mapping_is_taken_for_weights() -> None:
    """Calls by label are enough; a label that the dataset lacks is a mistake."""
    dataset = make_sweep([0.1, 0.3])
    first, second = dataset["shape"].values.tolist()
    calls = {first: 3.0, second: np.int64(2)}
    estimate = abtune.analyze(dataset, weights=calls).overall.weighted
    assert estimate is not None
    expected = weighted(dataset, calls)  # type: ignore[arg-type]
    assert (estimate.boost, estimate.boost_low, estimate.weight) == (
        expected.boost,
        expected.boost_low,
        expected.weight,
    )
    for wrong, said in (
        ({"absent": 1.0}, "unknown shape 'absent'"),
        ({first: -1.0}, "-1.0 is not a number of calls"),
        ({first: "2"}, "'2' is not a number of calls"),
        ({first: True}, "True is not a number of calls"),
        ({first: math.nan}, "nan is not a number of calls"),
        ({first: 0.0}, "no shape has a weight"),
        ([(first, 1.0)], "weights is a mapping"),
    ):
        with pytest.raises(InputError, match=said):
            abtune.analyze(dataset, weights=wrong)  # type: ignore[arg-type]
