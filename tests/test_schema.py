"""The dataset's contract: what is a valid dataset, and how each fault is named."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import abtune
from abtune.errors import DatasetError, InputError
from abtune.schema import SCHEMA_VERSION, VARIABLES, RunStatus, add_variables, validate


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


def test_runs_without_a_timing_are_missing() -> None:
    """Where there is no timing and no status is given, the run counts as missing, not as failed."""
    dataset = abtune.make_dataset([[[1.0, np.nan]]], shapes=["a"], configs=["b"])
    assert dataset["run_status"].values.tolist() == [[[RunStatus.COMPLETE, RunStatus.MISSING]]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shapes": ["a", "b"]}, "shapes has 2 entries, but latency has 1"),
        ({"configs": []}, "configs has 0 entries, but latency has 2"),
        ({"seeds": [1]}, "seeds has 1 entries, but latency has 2"),
        ({"workloads": []}, "workloads has 0 entries"),
        ({"latency": [[1.0]]}, "latency has 2 axes"),
        ({"latency": [["fast"]]}, "latency is not an array of numbers"),
    ],
)
def test_arguments_that_do_not_fit_are_named(wrong: dict[str, object], message: str) -> None:
    """Each wrong argument of make_dataset is named with its length and the one wanted."""
    right = {"latency": [[[1.0, 2.0], [1.0, 2.0]]], "shapes": ["a"], "configs": ["b", "c"]}
    with pytest.raises(InputError, match=message):
        abtune.make_dataset(**{**right, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_impossible_latencies_are_named_with_their_place(value: float) -> None:
    """Zero, negative and infinite latencies are refused with shape, configuration and seed."""
    with pytest.raises(DatasetError, match="shape a, config c, seed 1"):
        abtune.make_dataset([[[1.0, 2.0], [1.0, value]]], shapes=["a"], configs=["b", "c"])


def test_repeated_labels_are_refused() -> None:
    """Two shapes of one name could not be told apart."""
    with pytest.raises(DatasetError, match="coordinate 'shape' lists 'a' more than once"):
        abtune.make_dataset(np.ones((2, 1, 1)), shapes=["a", "a"], configs=["b"])


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
        (None, "attribute 'schema_version' is missing"),
        (SCHEMA_VERSION + 1, "newer than this abtune"),
        ("one", "'schema_version' is 'one'"),
        (0, "'schema_version' is 0"),
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
        (lambda data: data.assign(latency=data["latency"].transpose()), "'latency' has dimensions"),
        (lambda data: data.assign(latency=data["latency"].astype(str)), "which is not of kind 'f'"),
        (
            lambda data: data.assign(latency=data["latency"].assign_attrs(units="ms")),
            "'latency' is in 'ms'; convert it to 's'",
        ),
        (lambda data: data.assign(run_status=data["run_status"] + 7), "'run_status' holds 7"),
    ],
)
def test_wrong_variables_are_named(small: xr.Dataset, change: object, message: str) -> None:
    """Wrong dimensions, types, units and flags are refused with what was expected."""
    with pytest.raises(DatasetError, match=message):
        validate(change(small))  # type: ignore[operator]


def test_added_variables_must_be_known_and_fit(small: xr.Dataset) -> None:
    """A variable that is not in the schema, or of another size, cannot be added; the dataset is unchanged."""
    before = small.copy(deep=True)
    with pytest.raises(InputError, match="'speed' is not a variable of the schema"):
        add_variables(small, speed=[1.0])
    with pytest.raises(DatasetError, match="do not fit together"):
        add_variables(small, flop=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert small.identical(before)
