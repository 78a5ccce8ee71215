"""Trials lost to failures."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.merge import merge_datasets
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.samples import count_trials


def with_trials(status: np.ndarray) -> xr.Dataset:
    """Two shapes of five seeds whose trials ended so; status of shape (config, trial)."""
    dataset = make_sweep([0.1, 0.0], n=5)
    whole = np.broadcast_to(status[np.newaxis, :, np.newaxis], (2, 2, 5, status.shape[1]))
    return add_variables(dataset, trial_status=whole)


def caveats(dataset: xr.Dataset) -> list[str]:
    return [note for note in abtune.analyze(dataset).caveats if " trials failed " in note]


def test_trials_are_counted_by_what_became_of_them() -> None:
    """Trials that were never made are in no share; all others are, each kind by its name."""
    kinds = [
        TrialStatus.OK,
        TrialStatus.OK,
        TrialStatus.RUN_FAILED,
        TrialStatus.TIMED_OUT,
        TrialStatus.NOT_RUN,
    ]
    counts = count_trials(with_trials(np.array([kinds, kinds])), "async")
    assert counts is not None
    assert counts.by_status == {"ok": 20, "build_failed": 0, "run_failed": 10, "timed_out": 10}
    assert (counts.tried, counts.lost_share) == (40, 0.5)


def test_unequal_losses_are_said_once() -> None:
    """A side that loses more of its trials is named in the report, with both shares."""
    status = np.zeros((2, 100), dtype=int)
    status[1, :4] = TrialStatus.RUN_FAILED
    (note,) = caveats(with_trials(status))
    assert note.startswith("4% of async's trials failed (mainline: none)")
    status[0, :4] = TrialStatus.BUILD_FAILED
    assert caveats(with_trials(status)) == []
    status[1] = TrialStatus.RUN_FAILED
    (note,) = caveats(with_trials(status))
    assert note.startswith("100% of async's trials failed (mainline: 4%)")


def test_the_reason_of_most_lost_trials_is_told() -> None:
    """One run that lost many trials outweighs several that lost one each."""
    status = np.zeros((2, 100), dtype=int)
    dataset = with_trials(status)
    trials, told = dataset["trial_status"].values.copy(), np.full((2, 2, 5), "", dtype=object)
    trials[0, 1, 0, :50], told[0, 1, 0] = TrialStatus.RUN_FAILED, "run: misaligned"
    trials[0, 1, 1:4, 0], told[0, 1, 1:4] = TrialStatus.BUILD_FAILED, "build: no header"
    dataset = add_variables(make_sweep([0.1, 0.0], n=5), trial_status=trials, trial_failure=told)
    (note,) = caveats(dataset)
    assert note.endswith("had fewer schedules to choose from. Most often: run: misaligned")


def test_searches_of_unequal_length_are_no_fair_comparison() -> None:
    """Where one side made twice as many trials, the sentence and a caveat say so; a tenth more is nothing."""
    status = np.full((2, 100), TrialStatus.NOT_RUN)
    status[0, :50] = status[1] = TrialStatus.OK
    analysis = abtune.analyze(with_trials(status))
    both = "on average a search of async made 100 trials, and one of mainline 50."
    said = f"ore differs than the configuration: {both}"
    assert f"But m{said}" in analysis.sentence
    assert any(text.startswith(f"M{said}") for text in analysis.caveats)
    assert "50 to 100 trials a run" in analysis.report()
    status[0, :91] = TrialStatus.OK
    analysis = abtune.analyze(with_trials(status))
    assert not [text for text in (analysis.sentence, *analysis.caveats) if "ore differs" in text]


def test_failed_searches_and_budgets_of_shapes_are_fair() -> None:
    """Searches that failed early, or are longer in one shape with fewer seeds, are no unequal budgets."""
    dataset = with_trials(np.full((2, 100), TrialStatus.OK))
    trials, run = dataset["trial_status"].values.copy(), dataset["run_status"].values.copy()
    trials[:, 0, :2, 1:], run[:, 0, :2] = TrialStatus.NOT_RUN, RunStatus.FAILED
    trials[0, ..., 20:], run[1, 1, 2:] = TrialStatus.NOT_RUN, RunStatus.MISSING
    dims = dataset["run_status"].dims
    unlike = dataset.assign(
        run_status=(dims, run, dataset["run_status"].attrs),
        trial_status=((*dims, "trial"), trials, dataset["trial_status"].attrs),
    )
    analysis = abtune.analyze(unlike)
    assert not [text for text in analysis.caveats if "ore differs" in text]
    assert "20 to 100 trials a run" in analysis.report()


@pytest.mark.parametrize("dataset", [make_sweep(0.1, n=5), with_trials(np.full((2, 3), TrialStatus.NOT_RUN))])
def test_without_histories_nothing_is_said(dataset: xr.Dataset) -> None:
    """A dataset without trials, or whose trials were never made, has no such caveat."""
    assert caveats(dataset) == []


def test_the_pilot_says_that_async_lost_trials() -> None:
    """In the pilot 90 of 5,760 asynchronous candidates failed and none of the baseline's."""
    dataset = abtune.open_dataset("h200-pilot")
    (note,) = caveats(dataset)
    assert note.startswith("1.6% of async's trials failed (mainline: none)")


@pytest.mark.parametrize("text", ['[1, null, {"a": 1}]', '{"a": 1}'])
def test_only_texts_are_caveats_of_a_dataset(text: str) -> None:
    """Reports and merges leave out what an attribute ``caveats`` holds besides texts."""
    dataset = make_sweep(0.1, n=5)
    odd = dataset.assign_attrs(caveats=text)
    assert abtune.analyze(odd).caveats == abtune.analyze(dataset).caveats
    again = odd.assign_coords(seed=odd["seed"] + 100)
    assert "caveats" not in merge_datasets({"one": odd, "two": again}).attrs
