"""Values of single runs in padded arrays: each in its cell, and what is not there is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import abtune
from abtune.dataset.build import RunLabels, dataset_from_cells
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import InputError

AXES = {"shape": ["one", "two"], "config": ["old", "new"], "seed": [3, 5]}
FIRST, SECOND = ("one", "old", 3), ("two", "new", 5)
VARIABLES = ("search_latency", "started", "winner", "trial_latency", "trial_status", "sm_clock")


def build(cells: dict[RunLabels, dict[str, Any]], **changes: Any) -> xr.Dataset:
    arguments = {"variables": VARIABLES, "shape_values": {}, "attrs": {}, **changes}
    return dataset_from_cells(cells, AXES, **arguments)


def test_every_value_is_in_its_cell() -> None:
    """Numbers, texts, times and flags of a run are where its labels say, with the axes of the schema."""
    values = {
        "run_status": RunStatus.COMPLETE,
        "latency": [[1.0, 2.0], [3.0, 4.0]],
        "search_latency": 0.5,
        "started": "2026-01-02T03:04:05.006",
        "winner": '["a", "b"]',
        "trial_latency": [0.5, 0.7],
        "trial_status": [TrialStatus.OK, TrialStatus.OK],
        "sm_clock": [1500.0, 1600.0],
    }
    one = build({SECOND: values}).sel(shape="two", config="new", seed=5)
    assert one["latency"].values.tolist() == values["latency"]
    assert one["sm_clock"].values.tolist() == values["sm_clock"]
    assert one["trial_latency"].values.tolist() == values["trial_latency"]
    assert (float(one["search_latency"]), str(one["winner"].item())) == (0.5, values["winner"])
    assert one["started"].values == np.datetime64(values["started"])
    assert int(one["run_status"]) == RunStatus.COMPLETE


def test_what_no_cell_has_is_missing() -> None:
    """Without a single value all variables are there: numbers are NaN, texts empty, flags say so."""
    dataset = build({})
    assert dict(dataset.sizes) == {"shape": 2, "config": 2, "seed": 2, "round": 1, "repeat": 1, "trial": 0}
    assert (dataset["run_status"] == RunStatus.MISSING).all()
    assert (dataset["winner"] == "").all()
    for name in ("latency", "search_latency", "started", "sm_clock"):
        assert dataset[name].isnull().all()


def test_short_values_are_padded_to_the_longest() -> None:
    """Each axis is as long as the longest value, or as the least length that was asked for."""
    trials = {"trial_latency": [1.0], "trial_status": [TrialStatus.OK]}
    longer = {"trial_latency": [1.0, 2.0], "trial_status": [TrialStatus.OK, TrialStatus.TIMED_OUT]}
    least = {"round": 3, "repeat": 2}
    dataset = build({FIRST: {**trials, "latency": [[1.0]]}, SECOND: longer}, least=least)
    assert {dim: dataset.sizes[dim] for dim in ("round", "repeat", "trial")} == {
        "round": 3,
        "repeat": 2,
        "trial": 2,
    }
    short = dataset.sel(shape="one", config="old", seed=3)
    assert short["trial_status"].values.tolist() == [TrialStatus.OK, TrialStatus.NOT_RUN]
    assert np.isnan(short["trial_latency"].values).tolist() == [False, True]
    assert int(short["latency"].notnull().sum()) == 1


def test_a_single_number_is_one_round_of_one_repeat() -> None:
    """Who has one timing of a run need not nest it."""
    dataset = build({FIRST: {"latency": 2.0}})
    assert dataset["latency"].shape == (2, 2, 2, 1, 1)
    assert float(dataset["latency"].sum()) == 2.0


def test_values_of_shapes_and_attributes_are_kept() -> None:
    """What belongs to a shape is given once for each, and attributes are those of the dataset."""
    dataset = build({}, shape_values={"flop": [1.0, 2.0], "workload": ["a", "b"]}, attrs={"title": "mine"})
    assert dataset["flop"].values.tolist() == [1.0, 2.0]
    assert dataset["workload"].values.tolist() == ["a", "b"]
    assert dataset.attrs["title"] == "mine"
    assert build({})["workload"].values.tolist() == ["", ""]


def test_the_dataset_survives_its_file(tmp_path: Any) -> None:
    """What is built is valid, can be written, and is read back the same."""
    dataset = build({FIRST: {"latency": 2.0, "winner": "w", "started": "2026-01-01"}})
    abtune.save_dataset(dataset, tmp_path / "mine.nc")
    xr.testing.assert_identical(abtune.open_dataset(tmp_path / "mine.nc"), dataset)


@pytest.mark.parametrize("cell", [("three", "old", 3), ("one", "old", 4)])
def test_a_run_that_is_not_on_the_axes_is_refused(cell: RunLabels) -> None:
    """A run of another shape or seed is named."""
    with pytest.raises(InputError, match="is not among the axes"):
        build({cell: {"latency": 1.0}})
