"""The dataset's contract: what is a valid dataset, and how each fault is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.check import validate
from abtune.dataset.schema import SCHEMA_VERSION, VARIABLES, RunStatus
from abtune.errors import DatasetError, InputError


def test_every_variable_says_its_units_and_meaning(small: xr.Dataset) -> None:
    """Variables and coordinates carry units and a name in words; enumerations their flags."""
    for name, values in small.variables.items():
        assert values.attrs["units"], name
        assert values.attrs["long_name"], name
    flags = small["run_status"].attrs
    assert flags["flag_values"].tolist() == [status.value for status in RunStatus]
    assert flags["flag_meanings"] == "complete failed missing"


def test_three_axes_are_enough() -> None:
    """An array over shape, configuration and seed gets one round and one repeat."""
    dataset = abtune.make_dataset([[[1.0, 2.0]]], shapes=["a"], configs=["b"])
    assert dict(dataset.sizes) == {"shape": 1, "config": 1, "seed": 2, "round": 1, "repeat": 1}


def test_labels_may_be_arrays_of_xarray(small: xr.Dataset) -> None:
    """A dataset built from the parts of another has its labels, not descriptions of arrays."""
    labels = {"shapes": small["shape"], "configs": small["config"], "workloads": small["workload"]}
    again = abtune.make_dataset(small["latency"], **labels)
    assert again["latency"].equals(small["latency"])
    assert again["workload"].equals(small["workload"])


def test_a_list_may_be_any_iterable() -> None:
    """Keys of a dictionary and generators are lists of labels, too."""
    names = iter("bc")
    dataset = abtune.make_dataset(
        np.ones((1, 2, 2)), shapes={"a": 0}, configs=names, seeds={3: 0, 4: 0}.keys()
    )
    assert dataset["config"].values.tolist() == ["b", "c"]
    assert dataset["seed"].values.tolist() == [3, 4]


def test_a_dataset_keeps_its_values_when_an_array_is_filled_again() -> None:
    """A script that fills one array for each kernel would change all earlier datasets."""
    latency, kinds = np.ones((1, 2, 3)), np.array(["gemm"], dtype=object)
    dataset = abtune.make_dataset(latency, shapes=["a"], configs=["b", "c"], workloads=kinds)
    extended = abtune.add_variables(dataset, search_latency=latency)
    latency[:], kinds[:] = 2.0, "conv"
    assert (dataset["latency"] == 1.0).all()
    assert (extended["search_latency"] == 1.0).all()
    assert dataset["workload"].item() == "gemm"


def test_runs_without_a_timing_are_missing() -> None:
    """Where there is no timing and no status is given, the run counts as missing, not as failed."""
    dataset = abtune.make_dataset([[[1.0, np.nan]]], shapes=["a"], configs=["b"])
    assert dataset["run_status"].values.tolist() == [[[RunStatus.COMPLETE, RunStatus.MISSING]]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shapes": ["a", "b"]}, "shapes has length 2, but latency has 1"),
        ({"configs": []}, "configs has length 0, but latency has 2"),
        ({"configs": "bc"}, r"configs is a list, such as \['a', 'b'\], not 'bc'"),
        ({"configs": {"b", "c"}}, "configs is a list, .* not {"),
        ({"shapes": frozenset("a")}, "shapes is a list, .* not frozenset"),
        ({"shapes": 1}, "shapes is a list, .* not 1"),
        ({"configs": None}, "configs is a list, .* not None"),
        ({"configs": np.array([["b"], ["c"]])}, "configs is a list, .* not array"),
        ({"configs": [b"b", b"c"]}, "configs has b'b', which is not text; decode it"),
        ({"configs": np.array([b"b", b"c"])}, "configs has .*b'b'.?, which is not text; decode it"),
        ({"configs": ["b", np.nan]}, "configs has nan, which is not text; give a name"),
        ({"shapes": [None]}, "shapes has None, which is not text; give a name"),
        ({"shapes": pd.array([pd.NA], dtype="string")}, "shapes has <NA>, which is not text; give a name"),
        ({"seeds": 2}, r"seeds is a list, such as \[0, 1, 2\], not 2"),
        ({"seeds": "01"}, "seeds is a list, .* not '01'"),
        ({"seeds": {1, 0}}, "seeds is a list, .* not {0, 1}"),
        ({"seeds": [1]}, "seeds has length 1, but latency has 2"),
        ({"workloads": []}, "workloads has length 0"),
        (
            {"latency": [[1.0]]},
            "latency has 2 dimensions; give 3: shape, config and seed; or 5: these, round",
        ),
        ({"latency": [1.0]}, "latency has 1 dimension; give 3"),
        ({"latency": [["fast"]]}, "latency is not an array of numbers"),
        ({"seeds": ["p", "q"]}, "seeds is not an array of numbers"),
        ({"seeds": [1.5, 2.5]}, "seeds must be whole numbers, and has 1.5"),
        ({"seeds": [1.0, np.nan]}, "seeds must be whole numbers, and has nan"),
        ({"seeds": np.ma.masked_equal([1, 2], 2)}, "seeds must be whole numbers, and has nan"),
        ({"seeds": [1, 2**63]}, "seeds must be whole numbers, and has 9.22337e"),
        ({"run_status": [[[0, 0], [0, 0.9]]]}, "run_status must be whole numbers, and has 0.9"),
        ({"run_status": [[0, 0]]}, "run_status has 2 dimensions; give 3: shape, config and seed"),
        ({"attrs": [1]}, r"attrs is a mapping from names to values, not \[1\]"),
        ({"attrs": {"fast": True}}, "attribute 'fast' is True, which no netCDF file can hold"),
        ({"attrs": {"note": None}}, "attribute 'note' is None"),
        ({"attrs": {"settings": {"trials": 64}}}, "attribute 'settings' is {'trials': 64}"),
        ({"attrs": {"sizes": [[1, 2], [3]]}}, r"attribute 'sizes' is \[\[1, 2\], \[3\]\]"),
        ({"attrs": {"a/b": 1}}, "attribute 'a/b': a name is a text without /"),
    ],
)
def test_arguments_that_do_not_fit_are_named(wrong: dict[str, object], message: str) -> None:
    """Each wrong argument of make_dataset is named with its length and the one wanted."""
    right = {"latency": [[[1.0, 2.0], [1.0, 2.0]]], "shapes": ["a"], "configs": ["b", "c"]}
    with pytest.raises(InputError, match=message):
        abtune.make_dataset(**{**right, **wrong})  # type: ignore[arg-type]


def test_named_dimensions_keep_the_order_of_the_schema(small: xr.Dataset) -> None:
    """Else an array of xarray over config, shape and seed would give each time to another run."""
    swapped = xr.DataArray(np.ones((2, 2, 3)), dims=("config", "shape", "run"))
    with pytest.raises(InputError, match="transpose it to the order shape, config"):
        abtune.make_dataset(swapped, shapes=["a", "b"], configs=["c", "d"])
    with pytest.raises(InputError, match="transpose it to the order shape, config, seed"):
        abtune.add_variables(small, tuning_time=small["run_status"].transpose("seed", ...))
    times = small["run_status"] * 2.0
    assert abtune.add_variables(small, tuning_time=times)["tuning_time"].equals(times)


def test_an_array_with_another_unit_is_refused() -> None:
    """Arrays of xarray may say that they are milliseconds, which would count as seconds."""
    times = xr.DataArray(np.ones((1, 2, 3)), dims=("shape", "config", "seed"), attrs={"units": "ms"})
    with pytest.raises(
        InputError, match=r"latency has units 'ms'; convert it to s, and set its units to 's'"
    ):
        abtune.make_dataset(times, shapes=["a"], configs=["b", "c"])
    abtune.make_dataset(times.assign_attrs(units="s"), shapes=["a"], configs=["b", "c"])


def test_named_labels_are_those_that_are_given(small: xr.Dataset) -> None:
    """Else times of new, which pandas and xarray sort before old, would be those of old."""
    own = xr.DataArray(
        np.ones((1, 2, 3)), dims=("shape", "config", "seed"), coords={"config": ["new", "old"]}
    )
    dataset = abtune.make_dataset(own, shapes=["a"], configs=["new", "old"])
    assert dataset["config"].values.tolist() == ["new", "old"]
    with pytest.raises(InputError, match=r"latency has config \['new', 'old'\], not \['old', 'new'\]"):
        abtune.make_dataset(own, shapes=["a"], configs=["old", "new"])
    named = own.isel(seed=[0, 1]).rename(config="branch", shape="kernel")
    with pytest.raises(InputError, match=r"latency has branch \['new', 'old'\], not \['old', 'new'\]"):
        abtune.make_dataset(named, shapes=["a"], configs=["old", "new"])
    with pytest.raises(InputError, match=r"latency has branch \['new', 'old'\], not \['x', 'y'\]"):
        abtune.make_dataset(named.transpose("branch", ...), shapes=["x", "y"], configs=["new"])
    abtune.make_dataset(named, shapes=["a"], configs=["1.2", "1.3"])  # which names them anew
    numbered = own.assign_coords(seed=[3, 5, 4])
    with pytest.raises(InputError, match=r"latency has seed \[3, 5, 4\], not \[3, 4, 5\]; give its own"):
        abtune.make_dataset(numbered, shapes=["a"], configs=["new", "old"], seeds=[3, 4, 5])
    for seeds in (numbered["seed"], None):  # by default, they are numbered anew
        abtune.make_dataset(numbered, shapes=["a"], configs=["new", "old"], seeds=seeds)
    operations = small["run_status"].isel(config=0, seed=1) + 1.0  # its two labels stay with it
    assert abtune.add_variables(small, flop=operations)["flop"].values.tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match=r"tuning_time has seed \[1, 0\], not \[0, 1\]"):
        abtune.add_variables(small, tuning_time=small["run_status"].isel(seed=[1, 0]) * 2.0)
    with pytest.raises(InputError, match=r"tuning_time has config \['.*'\], not \['.*'\]; give its own"):
        abtune.add_variables(small, tuning_time=small["run_status"].isel(config=[1, 0]) * 2.0)


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_impossible_latencies_are_named_with_their_place(value: float) -> None:
    """Zero, negative and infinite latencies are refused with shape, configuration and seed."""
    with pytest.raises(DatasetError, match="shape a, config c, seed 1"):
        abtune.make_dataset([[[1.0, 2.0], [1.0, value]]], shapes=["a"], configs=["b", "c"])


def test_repeated_labels_are_refused() -> None:
    """Two shapes of one name could not be told apart."""
    with pytest.raises(DatasetError, match="coordinate 'shape' lists 'a' more than once"):
        abtune.make_dataset(np.ones((2, 1, 1)), shapes=["a", "a"], configs=["b"])


@pytest.mark.parametrize("name", ["shape", "config"])
def test_empty_labels_are_refused(name: str) -> None:
    """A report would speak of nothing."""
    with pytest.raises(DatasetError, match=f"coordinate '{name}' has an empty label; name it"):
        abtune.make_dataset(np.ones((1, 1, 1)), **{"shapes": ["a"], "configs": ["b"], f"{name}s": [""]})


def test_a_version_may_be_a_float(small: xr.Dataset) -> None:
    """Matlab and others write every number so."""
    validate(small.assign_attrs(schema_version=np.float64(SCHEMA_VERSION)))


@pytest.mark.parametrize("name", [name for name, variable in VARIABLES.items() if variable.required])
def test_missing_variables_are_named(small: xr.Dataset, name: str) -> None:
    """A dataset without a variable that analysis needs is refused by its name."""
    with pytest.raises(DatasetError, match=f"no variable '{name}'"):
        validate(small.drop_vars(name))


@pytest.mark.parametrize("name", ["shape", "config", "seed"])
def test_missing_coordinates_are_named(small: xr.Dataset, name: str) -> None:
    """A dataset whose axes have no labels is refused by the name of the axis."""
    with pytest.raises(DatasetError, match=f"no coordinate '{name}'"):
        validate(small.drop_vars(name))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "attribute 'schema_version' is missing; abtune.make_dataset builds one"),
        (SCHEMA_VERSION + 1, "newer than this abtune"),
        ("one", "'schema_version' is 'one'"),
        (0, "'schema_version' is 0"),
        (1.5, "'schema_version' is 1.5"),
        (np.nan, "'schema_version' is nan"),
    ],
)
def test_other_versions_are_refused(small: xr.Dataset, version: object, message: str) -> None:
    """A dataset without a version, of a newer one or of none that ever was is refused as such."""
    attrs = {name: value for name, value in small.attrs.items() if name != "schema_version"}
    changed = small.drop_attrs(deep=False).assign_attrs(
        attrs if version is None else {**attrs, "schema_version": version}
    )
    with pytest.raises(DatasetError, match=message):
        validate(changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data.assign(latency=data["latency"].transpose()),
            "'latency' has dimensions .*; select by lists, as in dataset.sel.shape=.label.., or transpose",
        ),
        (
            lambda data: data.isel(shape=0),
            "'latency' has dimensions .*; select by lists",
        ),
        (lambda data: data.assign(latency=data["latency"].astype(str)), "which is not of kind 'f'"),
        (
            lambda data: data.assign(latency=data["latency"].assign_attrs(units="ms")),
            "'latency' is in 'ms'; convert it to 's'",
        ),
        (
            lambda data: data.assign(latency=data["latency"].assign_attrs(units=np.array([1, 2]))),
            "'latency' is in '.1 2.'; convert it to 's'",
        ),
        *(
            (
                lambda data, name=name: data.assign(latency=data["latency"].assign_attrs({name: 1e-3})),
                f"'latency' is packed, as its attribute '{name}' says; open it with abtune.open_dataset",
            )
            for name in ("scale_factor", "add_offset", "missing_value", "_FillValue")
        ),
        (
            lambda data: data.assign(latency=data["latency"].astype("float16")),
            r"'latency' holds float16; convert it: dataset\['latency'\].astype\('float64'\)",
        ),
        (lambda data: data.assign(run_status=data["run_status"] + 7), "'run_status' holds 7"),
        *(
            (lambda data, name=name: data.isel({name: []}), f"dimension '{name}' is empty")
            for name in ("shape", "config", "seed", "round", "repeat")
        ),
        (
            lambda data: data.assign_coords(shape=[1, 2]),
            r"coordinate 'shape' holds 1, which is not text; name each: dataset.assign_coords\(shape=",
        ),
        (lambda data: data.assign_coords(shape=[b"a", b"b"]), "coordinate 'shape' holds b'a', which is not"),
        (
            lambda data: data.assign(workload=("shape", np.array(["a", b"b"], dtype=object))),
            "variable 'workload' holds b'b', which is not text$",
        ),
        (
            lambda data: data.assign(workload=("shape", np.array([None, "a"]))),
            r"variable 'workload' holds (nan|None), which is not text; .* dataset\['workload'\].fillna\(''\)",
        ),
        (lambda data: data.assign_coords(config=[0.5, 2]), "coordinate 'config' holds 0.5"),
        (lambda data: data.assign_coords(seed=["p", "q"]), "coordinate 'seed' holds <U1, not whole numbers"),
        (
            lambda data: data.assign_coords(seed=[0.0, 1.0]),
            r"coordinate 'seed' holds float64, not whole numbers; .*seed=dataset\['seed'\].astype\(int\)",
        ),
    ],
)
def test_wrong_variables_are_named(small: xr.Dataset, change: object, message: str) -> None:
    """Wrong dimensions, types, units and flags are refused with what was expected."""
    with pytest.raises(DatasetError, match=message):
        validate(change(small))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tuning_time", -3.0, "tuning_time must be zero, positive or NaN; shape mine, config async, seed 1"),
        ("tuning_time", np.inf, "tuning_time must be zero, positive or NaN; .* has inf"),
        ("search_latency", np.inf, "search_latency must be positive seconds or NaN, from .* has inf"),
        ("search_latency", 1e31, "must be positive seconds or NaN, from 1e-30 to 1e30; .* has 1e\\+31"),
        ("search_latency", 1e-31, "must be positive seconds or NaN, from 1e-30 to 1e30; .* has 1e-31"),
        ("search_latency", -1.0, "search_latency must be positive seconds or NaN"),
        ("trial_latency", -1.0, "trial_latency must be zero, positive or NaN"),
        ("trial_status", 6, r"'trial_status' holds 6, none of its flags \[0, 1, 2, 3, 4, 5\]"),
        ("trial_status", 256, "'trial_status' holds 256, none of its flags"),
        ("trial_status", 0.5, "trial_status must be whole numbers, and has 0.5"),
        ("run_status", 256, "'run_status' holds 256, none of its flags"),
        ("throttle_reasons", -1.0, "throttle_reasons must be a sum of bits or NaN"),
        ("throttle_reasons", 0.5, "throttle_reasons must be a sum of bits or NaN"),
        ("throttle_reasons", 1e20, r"throttle_reasons must be a sum of bits or NaN; .* has 1e\+20"),
        ("flop", -1.0, "flop must be zero, positive or NaN; shape mine has -1.0"),
        ("sm_clock", -1.0, "sm_clock must be zero, positive or NaN"),
        ("temperature", np.inf, "temperature must be finite or NaN"),
    ],
)
def test_impossible_values_are_named_with_their_place(
    small: xr.Dataset, name: str, value: float, message: str
) -> None:
    """Every variable of numbers says what it cannot hold; gaps are no mistake."""
    sizes = {**small.sizes, "trial": 3}
    values = np.ones([sizes[dim] for dim in VARIABLES[name].dims])
    values.flat[0] = 0 if VARIABLES[name].flags else np.nan
    further = {"trial_status": np.zeros((2, 2, 2, 3))} if name == "trial_latency" else {}
    assert name in add_variables(small, **further, **{name: values})
    values.flat[-1] = value
    with pytest.raises((DatasetError, InputError), match=message):
        add_variables(small, **further, **{name: values})


def test_masked_means_missing() -> None:
    """The fill value below the mask of an array, as netCDF4 returns gaps, is no time."""
    fill = 9.969209968386869e36
    latency = np.ma.masked_equal([[[1.0, fill], [2.0, 3.0]]], fill)
    dataset = abtune.make_dataset(latency, shapes=["a"], configs=["b", "c"])
    assert np.isnan(dataset["latency"].values[0, 0, 1, 0, 0])
    assert dataset["run_status"].values[0, 0].tolist() == [RunStatus.COMPLETE, RunStatus.MISSING]
    names = np.ma.masked_equal(np.array([[["x", "-"], ["x", "x"]]]), "-")
    extended = add_variables(dataset, search_latency=latency, device=names)
    assert np.isnan(extended["search_latency"].values[0, 0, 1])
    assert extended["device"].values[0, 0].tolist() == ["x", ""]
    times = np.ma.masked_array(np.full((1, 2, 2), "2020-01-01", "datetime64[s]"), [[[0, 1], [0, 0]]])
    assert np.isnat(add_variables(dataset, started=times)["started"].values[0]).tolist() == [
        [False, True],
        [False, False],
    ]
    with pytest.raises(InputError, match="run_status must be whole numbers"):
        add_variables(dataset, run_status=np.ma.masked_equal([[[0, 9], [0, 0]]], 9))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[[True, False], [True, True]]]), "latency holds bool, not numbers; give numbers in s"),
        (np.array([[[1 + 2j, 1], [1, 1]]]), "latency holds complex128, not numbers"),
        (np.array([[[1, 2], [3, 4]]], dtype="M8[s]"), r"latency holds datetime64\[s\], not numbers"),
        (
            np.array([[[1, 2], [3, 4]]], dtype="m8[ms]"),
            r"latency holds timedelta64\[ms\], not numbers; give numbers in s",
        ),
        ([[[2.0, 1.0], [1.0]]], "latency is not an array of numbers: its rows differ in length; fill"),
        ([[[10**400, 1], [1, 1]]], "latency is not an array of numbers: int too large"),
    ],
)
def test_what_is_no_number_is_refused(values: Any, message: str) -> None:
    """NumPy would turn truth into one second, and forget what is imaginary."""
    with pytest.raises(InputError, match=message):
        abtune.make_dataset(values, shapes=["a"], configs=["b", "c"])


def test_a_mask_is_no_status() -> None:
    """True would be a run that failed."""
    with pytest.raises(InputError, match="run_status holds bool, not numbers; give numbers"):
        abtune.make_dataset([[[1.0]]], shapes=["a"], configs=["b"], run_status=[[[True]]])


@pytest.mark.parametrize(
    "change",
    [lambda data: data.where(data["seed"] < 1), lambda data: data.reindex(seed=range(4))],
    ids=["where", "reindex"],
)
def test_gaps_of_xarray_say_what_to_do(small: xr.Dataset, change: Callable[[xr.Dataset], xr.Dataset]) -> None:
    """Where xarray leaves gaps, flags become floats; both ways around that work as the message says."""
    with pytest.raises(
        DatasetError, match=r"'run_status' holds float32, .*where and reindex do that"
    ) as raised:
        validate(change(small))
    assert "dataset.isel(seed=dataset.seed < 5)" in str(raised.value)
    validate(small.isel(seed=small.seed < 1))
    filled = small.reindex(seed=range(4), fill_value={"run_status": 2, "trial_status": 4})
    validate(filled)
    assert (filled["run_status"].isel(seed=3) == RunStatus.MISSING).all()


def test_gaps_of_a_join_say_how_to_fill_them(small: xr.Dataset) -> None:
    """A shape that only one dataset has was of the kind nan, and the message fills flags and texts."""
    joined = small.reindex(shape=[*small["shape"].values, "new"])
    for name in ("run_status", "workload"):
        with pytest.raises(DatasetError, match=f"'{name}' holds .*fill") as raised:
            validate(joined)
        (remedy,) = re.findall(r"dataset\[.*\)", str(raised.value))[-1:]
        joined = joined.assign({name: eval(remedy, {"dataset": joined})})  # noqa: S307
    rows = abtune.analyze(joined).comparisons
    assert [row.workload for row in rows] == ["", "", ""]
    assert rows[-1].n == (0, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "h200-pilot",
            r"'h200-pilot' is not a dataset but its name; open it first: abtune.open_dataset\('h2",
        ),
        (Path("a.nc"), r"'a.nc' is not a dataset but its name; open it first: abtune.open_dataset\('a.nc'\)"),
        (None, "of type NoneType is not a dataset; open one with abtune.open_dataset, or build one with"),
        (np.ones(3), "of type ndarray is not a dataset"),
        (xr.DataArray(1.0), "of type DataArray is not a dataset"),
    ],
)
def test_what_is_no_dataset_is_told_how_to_get_one(value: Any, message: str) -> None:
    """Analysing, saving and adding take datasets, not names or arrays."""
    for attempt in (abtune.analyze, lambda value: abtune.save_dataset(value, "x.nc"), add_variables):
        with pytest.raises(InputError, match=message):
            attempt(value)


def test_numbers_are_no_times(small: xr.Dataset) -> None:
    """Seconds since 1970 were read as milliseconds, so that a run of today had started in January 1970."""
    with pytest.raises(InputError, match="started holds numbers, not times; give datetimes in UTC"):
        add_variables(small, started=np.full((2, 2, 2), 1.7e9))


def test_histories_need_their_status(small: xr.Dataset) -> None:
    """Times of trials alone do not say which of them ran."""
    with pytest.raises(DatasetError, match="'trial_latency' needs 'trial_status'"):
        add_variables(small, trial_latency=np.ones((2, 2, 2, 3)))


def test_added_variables_must_be_known_and_fit(small: xr.Dataset) -> None:
    """A variable that is not in the schema, or of another size, cannot be added; the dataset is unchanged."""
    before = small.copy(deep=True)
    with pytest.raises(InputError, match="'speed' is not a variable of the schema"):
        add_variables(small, speed=[1.0])
    with pytest.raises(DatasetError, match="flop has length 5 along shape, but the dataset has 2"):
        add_variables(small, flop=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert small.identical(before)


@pytest.mark.parametrize(
    "change",
    [
        lambda data, long: data.assign(latency=data["latency"].assign_attrs(units=long)),
        lambda data, long: data.assign_attrs(schema_version=long),
        lambda data, long: data.assign_attrs(design=long),
        lambda data, long: data.assign_coords(shape=[long, long]),
        lambda data, long: data.assign(latency=-data["latency"]).assign_coords(shape=[long, "b"]),
    ],
)
def test_long_texts_of_a_file_stay_out_of_the_message(
    small: xr.Dataset, change: Callable[[xr.Dataset, str], xr.Dataset]
) -> None:
    """A label or attribute of any length is refused in one line."""
    with pytest.raises(DatasetError) as refused:
        validate(change(small, "x" * 50_000))
    assert len(str(refused.value)) < 300


def test_what_concat_made_is_told_how_to_concat(small: xr.Dataset) -> None:
    """By default, xarray's concat gives every variable the new dimension, and repeats the seeds."""
    parts = [small.isel(seed=[0])] * 2
    with pytest.raises(DatasetError, match="concat needs data_vars='minim"):
        validate(xr.concat(parts, "seed", data_vars="all"))
    joined = xr.concat(parts, "seed", data_vars="minimal")
    with pytest.raises(DatasetError, match=r"if these are different runs: dataset.assign_coords\(seed=range"):
        validate(joined)
    validate(joined.assign_coords(seed=range(2)))
