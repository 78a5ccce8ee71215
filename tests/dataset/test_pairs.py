"""A shared design in the dataset: its attribute, the origin of trials, files and merging."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import abtune
from abtune.dataset.check import validate
from abtune.dataset.merge import merge_datasets
from abtune.dataset.schema import TrialOrigin, is_paired
from abtune.errors import DatasetError


def sweep(design: str | None = "shared", seeds: range = range(2), shape: str = "s") -> xr.Dataset:
    latency = np.full((1, 2, len(seeds)), 1e-3)
    return abtune.make_dataset(latency, shapes=[shape], configs=["a", "b"], seeds=list(seeds), design=design)


def test_the_design_is_an_attribute() -> None:
    """Absent means independent; what is given is kept."""
    assert "design" not in sweep(None).attrs
    paired = [is_paired(sweep(design)) for design in (None, "independent", "paired", "shared")]
    assert paired == [False, False, True, True]
    assert sweep().attrs["design"] == "shared"


@pytest.mark.parametrize("design", ["pairs", "", 1])
def test_an_unknown_design_is_refused(design: object) -> None:
    """One line names it, from Python as from a file."""
    message = f"attribute 'design' is {design!r}; this abtune knows independent, paired and shared"
    with pytest.raises(DatasetError) as refused:
        validate(sweep().assign_attrs(design=design))
    assert str(refused.value) == message
    with pytest.raises(DatasetError, match="attribute 'design' is 'pairs'"):
        sweep("pairs")


def test_files_keep_the_design_and_the_origin_of_trials(tmp_path: Path) -> None:
    """Both come back as they were; flags are written as flags."""
    status, origin = np.zeros((1, 2, 2, 3), dtype=int), np.zeros((1, 2, 2, 3), dtype=int)
    origin[..., 2] = TrialOrigin.CARRIED_OVER
    dataset = abtune.add_variables(sweep(), trial_status=status, trial_origin=origin)
    abtune.save_dataset(dataset, tmp_path / "shared.nc")
    again = abtune.open_dataset(tmp_path / "shared.nc")
    assert is_paired(again)
    assert again["seed"].attrs["long_name"] == "number of the replicate; a pair between configurations"
    assert sweep(None)["seed"].attrs["long_name"].endswith("not paired between configurations")
    assert again["trial_origin"].values.tolist() == origin.tolist()
    assert again["trial_origin"].attrs["flag_meanings"] == "own carried_over missing"


def test_the_origin_of_trials_needs_their_status() -> None:
    """And it has flags of its own only."""
    origin = np.zeros((1, 2, 2, 3), dtype=int)
    with pytest.raises(DatasetError, match="'trial_origin' needs 'trial_status'"):
        abtune.add_variables(sweep(), trial_origin=origin)
    with pytest.raises(DatasetError, match="'trial_origin' holds 3, none of its flags"):
        abtune.add_variables(sweep(), trial_status=origin, trial_origin=origin + 3)


def test_designs_are_not_merged() -> None:
    """Not given and independent are the same; shared with either is refused in one line."""
    more = range(2, 4)
    assert not is_paired(merge_datasets({"a": sweep(None), "b": sweep("independent", more)}))
    for other in (None, "independent"):
        with pytest.raises(DatasetError) as refused:
            merge_datasets({"a": sweep(), "b": sweep(other, more)})
        assert str(refused.value) == (
            "design is 'shared' in a, but 'independent' in b; datasets that were measured differently "
            "cannot be merged"
        )


def test_shared_datasets_of_other_seeds_or_shapes_are_merged() -> None:
    """The result is shared, has all pairs, and trials of a file without origins have none."""
    status = np.zeros((1, 2, 2, 3), dtype=int)
    first = abtune.add_variables(sweep(), trial_status=status, trial_origin=status)
    for second in (sweep(seeds=range(2, 4)), sweep(shape="t")):
        merged = merge_datasets({"a": first, "b": second})
        assert is_paired(merged)
        assert (merged["trial_origin"] == TrialOrigin.OWN).sum() == status.size
        assert (merged["trial_origin"] == TrialOrigin.MISSING).sum() == merged[
            "trial_origin"
        ].size - status.size


def test_runs_of_two_files_are_no_pair() -> None:
    """The baseline of one file and the candidate of another exchanged nothing."""
    dataset = sweep()
    halves = {"a.nc": dataset.sel(config=["a"]), "b.nc": dataset.sel(config=["b"])}
    with pytest.raises(DatasetError) as refused:
        merge_datasets(halves)
    assert str(refused.value) == (
        "a.nc and b.nc both have runs of s, seed 0, which would become one pair; give one of them other seed "
        "numbers"
    )
    alone = {name: half.assign_attrs(design="independent") for name, half in halves.items()}
    assert merge_datasets(alone).sizes["config"] == 2
