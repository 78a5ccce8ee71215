"""Work folders of earlier versions: the same command goes on from them.

``samples/format-2`` is the folder of a sweep that version 0.1.0 was interrupted in: two runs are finished and
re-measured, and two searches are in progress.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from measure_builders import SMALL, small_plan
from sweeping import calls, run_sweep, without_circumstances

from abtune.measure.store.store import Store

SAMPLE = Path(__file__).parent / "samples" / "format-2"


@pytest.mark.usefixtures("fake")
def test_a_folder_of_format_2_is_gone_on_with(store: Store, log: Path) -> None:
    """Finished runs stay, proposed candidates are tried, and the dataset equals an uninterrupted sweep's."""
    shutil.copytree(SAMPLE, store.folder)
    finished = {path: path.read_bytes() for path in (store.folder / "runs").iterdir()}
    plan = small_plan(SMALL, seeds=2)
    searches = {run.key: store.history(run)[0] for run in plan.runs if run.seed == 1}
    pending = {candidate.record[0] for history in searches.values() for candidate in history.pending}
    assert pending
    dataset = run_sweep(plan, store).dataset
    assert all(path.read_bytes() == content for path, content in finished.items())
    timed = {call[3] for call in calls(log) if call[0] == "time_candidate"}
    assert pending < timed
    tried = {trial.candidate.record[0] for history in searches.values() for trial in history.trials}
    assert not tried & timed
    whole = run_sweep(plan, Store(store.dataset.with_name("whole.nc"))).dataset
    xr.testing.assert_identical(_by_trace(dataset), _by_trace(whole))


def _by_trace(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset that names winners by trace alone: the records of the old fake say less beside it."""
    traces = [json.loads(winner)[0] for winner in dataset["winner"].values.ravel()]
    shaped = np.reshape(traces, dataset["winner"].shape)
    return without_circumstances(dataset).assign(winner=dataset["winner"].copy(data=shaped))
