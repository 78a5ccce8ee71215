"""Merging: the parts of a dataset give it back, and what overlaps or contradicts is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import abtune
from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.merge import left_out, merge_datasets, new_seeds
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError, InputError


@pytest.fixture(scope="module")
def deep() -> xr.Dataset:
    return abtune.open_dataset("h200-deep")


def made(shapes: str, configs: str, seeds: list[int], *, start: float = 1.0, **attrs: Any) -> xr.Dataset:
    """Return a dataset whose timings are start, start + 1, ...; shapes and configurations are letters."""
    size = (len(shapes), len(configs), len(seeds), 1, 1)
    latency = start + np.arange(math.prod(size), dtype=float).reshape(size)
    return make_dataset(latency, shapes=list(shapes), configs=list(configs), seeds=seeds, attrs=attrs)


@settings(max_examples=30)  # each merges 30 variables
@given(data=st.data())
def test_parts_give_the_dataset_back(data: st.DataObject) -> None:
    """However the runs are shared out, every value of every variable is where it was."""
    whole = abtune.open_dataset("h200-pilot").isel(seed=slice(4), trial=slice(5))
    owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=24, max_size=24))).reshape(3, 2, 4)
    parts = {}
    for number in range(3):
        status = np.where(owner == number, whole["run_status"].values, RunStatus.MISSING)
        parts[f"{number}.nc"] = add_variables(whole, run_status=status)
    merged = merge_datasets(parts)
    for name in whole.data_vars:
        np.testing.assert_array_equal(merged[name].values, whole[name].values, err_msg=str(name))
        assert merged[name].dtype == whole[name].dtype
    assert merged.attrs["settings"] == whole.attrs["settings"]


def test_the_analysis_is_that_of_the_whole(deep: xr.Dataset) -> None:
    """Shapes from one file and configurations from two others are analysed as if one sweep had made them."""
    parts = {
        "shapes.nc": deep.isel(shape=[0, 1]),
        "first.nc": deep.isel(shape=[2, 3, 4], config=[0]),
        "second.nc": deep.isel(shape=[2, 3, 4], config=[1]),
    }
    merged = merge_datasets(parts)
    assert abtune.analyze(merged).comparisons == abtune.analyze(deep).comparisons
    (mixed,) = json.loads(merged.attrs["caveats"])
    assert mixed.startswith("The configurations of 3 shapes come from different files.")


def test_what_differs_between_configurations_stays_until_all_are_timed_again(deep: xr.Dataset) -> None:
    """Caveats of the parts and of the merge are in the result once, unless all winners are timed again."""
    told = {"caveats": '["More differs than the configuration: device."]'}
    parts = {str(config): deep.isel(config=[config]).assign_attrs(told) for config in (0, 1)}
    first, second = json.loads(merge_datasets(parts).attrs["caveats"])
    assert first == "More differs than the configuration: device."
    assert second.startswith("The configurations of 5 shapes come from different files.")
    assert "caveats" not in merge_datasets(parts, timed_again=True).attrs


def test_transfers_are_merged_with_the_runs_of_their_origin(deep: xr.Dataset) -> None:
    """Seeds or configurations in files of their own keep the timings of winners under both."""
    halves = {"first": deep.isel(seed=slice(4)), "second": deep.isel(seed=slice(4, None))}
    merged = merge_datasets(halves)
    for name in ("transfer_latency", "transfer_status", "transfer_kernel"):
        np.testing.assert_array_equal(merged[name].values, deep[name].values)
    apart = merge_datasets({str(config): deep.isel(config=[config]) for config in (1, 0)})
    apart = apart.sel(config=deep["config"].values, origin=deep["origin"].values)
    for name in ("transfer_latency", "transfer_status", "transfer_kernel"):
        np.testing.assert_array_equal(apart[name].values, deep[name].values)
    alone = merge_datasets(
        {"first": deep.isel(seed=slice(4), config=[0], origin=[0]), "second": halves["second"]}
    )
    known = alone["transfer_latency"].notnull().any(("round", "repeat"))
    assert not known.isel(seed=slice(4)).sel(origin="async").any()
    assert known.isel(seed=slice(4)).sel(origin="mainline", config="mainline").all()


def test_a_union_has_gaps() -> None:
    """Seeds are sorted, what neither has is missing, and unequal lengths are filled."""
    first = made("ab", "x", [5])
    second = add_variables(
        make_dataset(
            np.full((1, 2, 2, 2, 3), 9.0), shapes=["c"], configs=["y", "x"], seeds=[0, 7], workloads=["w"]
        ),
        trial_latency=np.full((1, 2, 2, 4), 3.0),
        trial_status=np.zeros((1, 2, 2, 4)),
        flop=[12.0],
        winner=np.full((1, 2, 2), "{}"),
    )
    merged = merge_datasets({"1": first, "2": second})
    assert [merged[name].values.tolist() for name in ("shape", "config", "seed")] == [
        *(["a", "b", "c"], ["x", "y"], [0, 5, 7])
    ]
    assert dict(merged.sizes) == {"shape": 3, "config": 2, "seed": 3, "round": 2, "repeat": 3, "trial": 4}
    assert merged["run_status"].sel(shape="a", config="x").values.tolist() == [2, 0, 2]
    latency = merged["latency"]
    np.testing.assert_array_equal(
        latency.sel(shape="b", config="x", seed=5), [[2, math.nan, math.nan], [math.nan] * 3]
    )
    assert (latency.sel(shape="c", seed=[0, 7]) == 9).all()
    assert (merged["trial_status"].sel(shape=["a", "b"]) == TrialStatus.NOT_RUN).all()
    assert set(merged["winner"].sel(shape="a").values.ravel()) == {""}
    np.testing.assert_array_equal(merged["flop"], [math.nan, math.nan, 12])
    assert merged["workload"].values.tolist() == ["", "", "w"]


def test_a_missing_run_gives_way() -> None:
    """A run that one dataset planned and another made is no overlap."""
    planned = made("a", "xy", [0, 1])
    planned["run_status"][0, 1, 1] = RunStatus.MISSING
    planned["latency"][0, 1, 1] = math.nan
    merged = merge_datasets({"1": planned, "2": made("a", "y", [1], start=7)})
    assert merged["latency"].values.ravel().tolist() == [1, 2, 3, 7]


def test_overlaps_are_refused(deep: xr.Dataset) -> None:
    """The first cell that two datasets have is named, with both, and how many there are."""
    parts = {"a.nc": made("ab", "x", [0, 1]), "c.nc": made("c", "x", [0]), "b.nc": made("b", "x", [1, 2])}
    with pytest.raises(
        DatasetError,
        match=r"a.nc and b.nc both have a run of b, x, seed 1 \(1 such run\); a run counts once; .* "
        "give each sweep an --rng-seed of its own, or import all files in one command",
    ):
        merge_datasets(parts)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"latency_source": "search"}, {}, "latency_source is 'search' in 1, but not given in 2"),
        ({"looks": "[1]"}, {"looks": "[2]"}, "looks is"),
        ({"target": "llvm"}, {"target": "cuda"}, "target is 'llvm' in 1, but 'cuda' in 2"),
        ({"gpu": "A"}, {"device": "B"}, "device is 'A' in 1, but 'B' in 2"),
        (
            {"settings": '{"trials": 64}'},
            {"settings": '{"trials": 9}'},
            "setting trials is 64 in 1, but 9",
        ),
        (
            {"settings": '{"trials": 64}'},
            {"settings": '{"trials": 64, "launched_by": "graph"}'},
            "setting launched_by is 'stream' in 1, but 'graph' in 2",
        ),
        (
            {"configurations": '[{"name": "x", "space": ""}]'},
            {"configurations": '[{"name": "x", "space": "other"}]'},
            "configuration x is",
        ),
        (
            {"own_code": '{"mine:a under x": "1"}', "tvm_version": "0.27"},
            {"own_code": '{"mine:a under x": "2"}', "tvm_version": "0.27"},
            r"code of mine:a under x \(TVM 0.27\) is '1' in 1, but '2' in 2",
        ),
    ],
)
def test_contradictions_are_refused(first: dict[str, Any], second: dict[str, Any], said: str) -> None:
    """What was measured has to be the same, where it is known."""
    with pytest.raises(DatasetError, match=said):
        merge_datasets({"1": made("a", "x", [0], **first), "2": made("b", "x", [0], **second)})


def test_what_need_not_agree_is_kept_by_file() -> None:
    """Versions and seeds of generators may differ; each file keeps its own, and its own sources."""
    made_with = [json.dumps({"trials": 64, "rng_seed": seed}) for seed in (1, 2)]
    first = made(
        "a", "x", [0], settings=made_with[0], tvm_version="0.26", sources='{"x": ["runs/a"]}', gpu="A"
    )
    second = made("b", "y", [0], settings=made_with[1], tvm_version="0.27", comment="here", gpu="A")
    attrs = merge_datasets({"runs/1.nc": first, "2.nc": second}).attrs
    assert json.loads(attrs["sources"]) == [
        {"file": "runs/1.nc", "tvm_version": "0.26", "sources": {"x": ["runs/a"]}},
        {"file": "2.nc", "settings": {"trials": 64, "rng_seed": 2}, "tvm_version": "0.27", "comment": "here"},
    ]
    assert (attrs["gpu"], attrs["settings"], attrs["title"]) == ("A", made_with[0], "merged from 2 datasets")
    assert not {"tvm_version", "comment"} & set(attrs)


def test_configurations_are_put_together() -> None:
    """Their meanings are the union, if every file says its own."""
    meanings = [[{"name": "x", "space": ""}], [{"name": "x", "space": ""}, {"name": "y", "space": "s"}]]
    first, second = (
        made(shape, configs, [0], configurations=json.dumps(meaning))
        for shape, configs, meaning in zip("ab", ("x", "xy"), meanings, strict=True)
    )
    merged = merge_datasets({"1": first, "2": second})
    assert json.loads(merged.attrs["configurations"]) == meanings[1]
    assert "configurations" not in merge_datasets({"1": first, "2": made("c", "x", [0])}).attrs


def test_hashes_of_own_code_are_put_together() -> None:
    """Another version of TVM may make another program of the same code."""
    first = made("a", "x", [0], own_code='{"a": "1", "b": "1"}', tvm_version="0.27")
    second = made("b", "x", [0], own_code='{"b": "2"}', tvm_version="0.28")
    merged = merge_datasets({"1": first, "2": second, "3": made("c", "x", [0])})
    assert json.loads(merged.attrs["own_code"]) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("name", "values"), [("workload", ["gemm", "conv"]), ("flop", [1.0, 2.0])])
def test_one_label_is_one_shape(name: str, values: list[Any]) -> None:
    """Two shapes of one label would be compared with each other."""
    first, second = (
        add_variables(made("a", config, [0]), **{name: [value]})
        for config, value in zip("xy", values, strict=True)
    )
    with pytest.raises(DatasetError, match=f"2: {name} of a is {values[1]}, but {values[0]} in another file"):
        merge_datasets({"1": first, "2": second})


def test_what_is_not_in_the_schema_is_left_out() -> None:
    """Variables of other programs have no meaning that could be merged."""
    first = made("a", "x", [0]).assign(mine=("shape", [1.0]))
    named = {"1": first, "2": made("b", "x", [0])}
    assert left_out(named) == ["mine"]
    assert "mine" not in merge_datasets(named)


def test_other_units_are_refused() -> None:
    """A dataset in milliseconds is not the same numbers."""
    other = made("b", "x", [0])
    other["latency"].attrs["units"] = "ms"
    with pytest.raises(DatasetError, match="2: variable 'latency' is in 'ms'; convert it to 's'"):
        merge_datasets({"1": made("a", "x", [0]), "2": other})


def test_one_dataset_is_nothing_to_merge() -> None:
    """Two at least."""
    with pytest.raises(InputError, match="nothing to merge; give two"):
        merge_datasets({"1": made("a", "x", [0])})


def test_arrays_that_memory_does_not_hold_are_refused() -> None:
    """The union has room for every shape with every seed."""
    many = make_dataset(np.ones((1, 1, 20_000)), shapes=["a"], configs=["x"])
    wide = make_dataset(np.ones((10_000, 1, 1)), shapes=[f"s{n}" for n in range(10_000)], configs=["x"])
    with pytest.raises(DatasetError, match=r"latency would have 10001 x 1 x 20000 .* 1 GiB, .*; take fewer"):
        merge_datasets({"1": many, "2": wide})


def swept(shapes: str, configs: str, seeds: list[int], rng_seed: int, **attrs: Any) -> xr.Dataset:
    """Return a dataset of a sweep with these random numbers."""
    return made(shapes, configs, seeds, settings=json.dumps({"rng_seed": rng_seed}), **attrs)


def test_seeds_of_other_random_numbers_are_new() -> None:
    """They get the next free numbers, each seed whole; a second file goes behind the first."""
    parts = {
        "a": swept("ab", "xy", [0, 1], 0),
        "b": swept("b", "xy", [1, 3], 1, start=20),
        "c": swept("ab", "xy", [0], 2),
    }
    assert new_seeds(parts) == {"b": {1: 2, 3: 3}, "c": {0: 4}}
    merged = merge_datasets(parts)
    assert merged["seed"].values.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(
        merged["latency"].sel(shape="b", seed=[2, 3]).squeeze(), [[20, 21], [22, 23]]
    )
    assert (merged["run_status"].sel(shape="a", seed=[2, 3]) == RunStatus.MISSING).all()


def test_seeds_that_meet_new_ones_are_new() -> None:
    """A third sweep may have the numbers that the second one got."""
    parts = {"a": swept("a", "x", [0], 0), "b": swept("a", "x", [0], 1), "c": swept("a", "x", [1], 2)}
    assert new_seeds(parts) == {"b": {0: 1}, "c": {1: 2}}
    assert merge_datasets(parts)["seed"].values.tolist() == [0, 1, 2]


def test_new_seeds_follow_those_of_their_shapes() -> None:
    """That another shape has more seeds leaves no gap, whatever the order of the files."""
    parts = {"a": swept("a", "x", [0, 1, 2], 0), "b": swept("b", "x", [0], 0), "c": swept("b", "x", [0], 1)}
    assert new_seeds(parts) == {"c": {0: 1}}
    assert new_seeds(dict(reversed(parts.items()))) == {"b": {0: 1}}


def test_seeds_that_do_not_meet_keep_their_numbers() -> None:
    """Shapes of two sweeps, or configurations of two, are no seeds more."""
    parts = {"a": swept("a", "x", [0, 1], 0), "b": swept("b", "x", [0], 1), "c": swept("a", "y", [0], 2)}
    assert new_seeds(parts) == {}
    assert merge_datasets(parts)["seed"].values.tolist() == [0, 1]


def test_pairs_of_other_random_numbers_are_new() -> None:
    """Two halves of different pairs never become a pair."""
    parts = {"a": swept("a", "x", [0], 0, design="shared"), "b": swept("a", "y", [0], 1, design="shared")}
    assert new_seeds(parts) == {"b": {0: 1}}
    assert (merge_datasets(parts)["run_status"].values == [[[0, 2], [2, 0]]]).all()


def test_the_same_random_numbers_are_the_same_seeds() -> None:
    """Searches that began with the same draws are not independent, so they count once."""
    first, second = swept("a", "x", [0], 0), swept("a", "x", [0], 1)
    both = merge_datasets({"a": first, "b": second})
    with pytest.raises(DatasetError, match="again and both both have a run of a, x, seed 0"):
        merge_datasets({"again": first, "both": both})
    with pytest.raises(DatasetError, match="both and again both have a run of a, x, seed 0"):
        merge_datasets({"both": both, "again": second})


def test_devices_may_differ_if_all_is_timed_again() -> None:
    """The new timings come from one device."""
    parts = {"1": made("a", "x", [0], device="A"), "2": made("b", "x", [0], device="B")}
    assert "device" not in merge_datasets(parts, timed_again=True).attrs
