"""Each kind of process of a sweep is killed in each phase, once: nothing but the step in flight is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from forked import Forked
from measure_builders import OTHER, SMALL
from processes import children, wait_until
from sweeping import without_circumstances

import abtune
from abtune.dataset.schema import RunStatus

SWEEP = (
    *("sweep", "--shapes", f"{SMALL.label},{OTHER.label}", "--trials", "4", "--trials-per-iter", "2"),
    *("--baseline", "fake_configurations:PLAIN", "--candidate", "fake_configurations:NEW", "--seeds", "2"),
    *("--cores", "2", "--share", "--transfer", "--out", "abtune.nc"),
)
# The process that is killed, by the name of its fault.
KINDS = {"killed": "the child", "kill_server": "the fork server", "kill_worker": "the sweep itself"}
MOST_IN_FLIGHT = 3  # two searchers and a device
PHASES = (
    "propose",
    "propose_later",
    "build",
    "time_candidate",
    "adopt",
    "check_kernel",
    "time_kernel",
    "device_state",
    "carry_over",
)


def carried_out(folder: Path) -> tuple[xr.Dataset, list[int]]:
    """Give the command until it succeeds; return the dataset and the exit codes."""
    codes: list[int] = []
    while not codes or codes[-1] != 0:
        assert len(codes) < 3, codes
        with Forked("fake_abtune", *SWEEP, output=folder / f"sweep-{len(codes)}.out") as process:
            code = process.wait()
        assert code is not None
        codes.append(code)
    return abtune.open_dataset("abtune.nc"), codes


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Return the dataset of the same command without a fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        dataset, codes = carried_out(folder)
    assert codes == [0]
    return dataset


@pytest.mark.kills
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_is_killed_costs_the_step_in_flight(
    kind: str,
    phase: str,
    undisturbed: xr.Dataset,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty_folder: Path,
) -> None:
    """All runs are complete in the end; what the process was at work on may be a failed trial."""
    temporary = log.with_name("temporary")
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    fault = log.with_name("fault")
    # A sweep that shares tries an exchange for its first shape before it starts.
    label = {"adopt": OTHER.label, "device_state": ""}.get(phase, SMALL.label)
    monkeypatch.setenv("FAKE_FAULT", f"{phase}@{label}:{kind}:{fault}")
    dataset, codes = carried_out(empty_folder)
    assert fault.exists()
    wait_until(lambda: not children(str(log)), "the end of all children")
    assert (dataset["run_status"] == RunStatus.COMPLETE).all()
    if kind == "kill_worker":
        assert codes == [-9, 0]
        assert without_circumstances(dataset).identical(without_circumstances(undisturbed))
        return
    assert not list(temporary.iterdir())
    assert codes == [0]
    lost = int((dataset["trial_status"] != undisturbed["trial_status"]).sum())
    assert lost <= (MOST_IN_FLIGHT if kind == "kill_server" else 1)
    assert dataset["transfer_status"].equals(undisturbed["transfer_status"])
    assert np.isfinite(dataset["latency"]).all()
