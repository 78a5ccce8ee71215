"""The report says of which times its boosts are."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

import abtune

TIMES = np.array([[[1.0, 1.1, 1.2], [0.9, 1.0, 1.1]]])


def dataset(**attrs: str) -> xr.Dataset:
    return abtune.make_dataset(TIMES, shapes=["s"], configs=["a", "b"], attrs=attrs)


def test_times_of_a_search_are_called_that() -> None:
    """Where winners were not measured again the report says so, and warns of the luckiest timing."""
    analysis = abtune.analyze(dataset(latency_source="search"))
    assert "Each winner has the time that its own search measured." in analysis.definition
    assert any("luckiest timing" in note for note in analysis.caveats)


def test_winners_measured_again_are_called_that() -> None:
    """A sweep's winners were measured again."""
    analysis = abtune.analyze(abtune.open_dataset("h200-pilot"))
    assert "measured again after its search" in analysis.definition
    assert not any("luckiest timing" in note for note in analysis.caveats)


def test_winners_in_graphs_are_called_that() -> None:
    """Without the pauses between launches, short kernels have other times."""
    pilot = abtune.open_dataset("h200-pilot")
    made = {**json.loads(pilot.attrs["settings"]), "launched_by": "graph"}
    analysis = abtune.analyze(pilot.assign_attrs(settings=json.dumps(made)))
    assert "measured again after its search, by CUDA graphs." in analysis.definition


def test_other_timings_have_no_winners() -> None:
    """Of timings without a search nothing is said of winners."""
    assert abtune.analyze(dataset()).definition.endswith("candidate's, minus 1.")
