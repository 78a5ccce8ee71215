"""One real sweep: MetaSchedule on this CPU through the command line, killed half-way and resumed."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import children, heeds, wait_until

import abtune
from abtune.dataset.schema import RunStatus, TrialStatus

SWEEP = (
    "sweep --shapes M=16_N=16_K=16 --seeds 2 --trials 2 --trials-per-iter 1 --target cpu --rounds 2 "
    "--baseline random --candidate quick_configurations:QUICK"
)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How many signals of each kind a test sends.
SIGNALS = int(os.environ.get("ABTUNE_SIGNALS", "1"))
MOST = 6.0  # seconds; two on an idle machine, of which the test tells
STREAMS: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}


def command(words: str) -> list[str]:
    return [sys.executable, "-m", "abtune", *words.split()]


@pytest.mark.slow
@pytest.mark.kills
def test_a_real_sweep_is_killed_and_resumed(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that was killed and resumed leaves a complete dataset and no process."""
    monkeypatch.setenv("ABTUNE_TEST_MARK", str(empty_folder))
    runs = Path("abtune.nc.runs")
    with subprocess.Popen(command(SWEEP), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        wait_until(
            lambda: [*runs.glob("searches/*.gz"), *runs.glob("runs/*.json")] or process.poll() is not None,
            "a first iteration",
        )
        process.kill()
    before = {path: path.stat().st_mtime_ns for path in runs.glob("runs/*.json")}
    assert len(before) < 4
    done = subprocess.run(command(SWEEP), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "next: abtune analyze\n")
    assert "abtune.nc: 4 of 4 runs done\n" in done.stdout
    assert all(path.stat().st_mtime_ns == changed for path, changed in before.items())
    dataset = abtune.open_dataset("abtune.nc")
    assert dict(dataset.sizes) == {"shape": 1, "config": 2, "seed": 2, "round": 2, "repeat": 5, "trial": 2}
    assert (dataset["run_status"] == RunStatus.COMPLETE).all()
    latency = dataset["latency"].values
    assert ((latency > 1e-8) & (latency < 1)).all()
    assert (dataset["trial_status"].values != TrialStatus.NOT_RUN).all()
    best = np.nanmin(dataset["trial_latency"].values, axis=-1)
    np.testing.assert_array_equal(dataset["search_latency"].values, best)
    assert all(json.loads(str(winner)) for winner in dataset["winner"].values.ravel())
    assert dataset.attrs["device"]
    assert dataset.attrs["tvm_version"].startswith("0.27")
    analysed = subprocess.run(
        command("analyze --format json"), capture_output=True, text=True, check=True
    ).stdout
    (row,) = json.loads(analysed)["comparisons"]
    assert row["shape"] == "M=16_N=16_K=16"
    wait_until(lambda: not children(str(empty_folder)), "the end of all children")


@pytest.mark.slow
def test_what_is_worse_by_construction_is_found_worse(empty_folder: Path) -> None:
    """A configuration that builds no tiles loses, although it is given the same schedules."""
    words = (
        "sweep --share --shapes M=64_N=256_K=256 --seeds 6 --trials 8 --trials-per-iter 4 --target cpu "
        "--baseline random --candidate quick_configurations:UNTILED"
    )
    subprocess.run(command(words), capture_output=True, check=True)
    (row,) = abtune.analyze(abtune.open_dataset("abtune.nc")).comparisons
    assert row.verdict == "regressed", (row.boost, row.boost_low, row.boost_high)


@pytest.mark.slow
def test_a_sweep_can_compare_cost_models(empty_folder: Path) -> None:
    """One search has a cost model of its own, the other MetaSchedule's; they can share what they find."""
    words = (
        "sweep --share --shapes M=64_N=64_K=64 --seeds 1 --trials 8 --trials-per-iter 4 --target cpu "
        "--baseline quick_configurations:UNGUIDED --candidate quick_configurations:QUICK"
    )
    done = subprocess.run(command(words), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "next: abtune analyze\n")
    dataset = abtune.open_dataset("abtune.nc")
    assert (dataset["run_status"] == RunStatus.COMPLETE).all()
    first, second = json.loads(dataset.attrs["configurations"])
    assert first["cost_model"] == "quick_configurations:scattered"
    assert "cost_model" not in second


@pytest.mark.slow
@pytest.mark.kills
def test_a_signal_at_any_moment_ends_a_sweep(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """One line, code 130, soon no process, no temporary file, and no finished run is lost."""
    for number in ENDING:  # background jobs and nohup ignore some
        before = signal.signal(number, signal.default_int_handler)
        request.addfinalizer(lambda number=number, before=before: signal.signal(number, before))
    temporary = empty_folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    random, seconds, slowest, late = np.random.default_rng(1), 0.0, 0.0, 0
    for count, number in enumerate([None, *ENDING * SIGNALS]):  # the first is not disturbed
        folder = empty_folder / str(count)
        folder.mkdir()
        with subprocess.Popen(command(SWEEP), cwd=folder, **STREAMS) as process:
            sent = time.monotonic()
            if number:
                wait_until(functools.partial(heeds, process.pid, number), "its first lines")
                time.sleep(random.uniform(0.0, seconds))
                sent = time.monotonic()
            while number and process.poll() is None:  # again and again, as the impatient do
                process.send_signal(number)
                time.sleep(0.02)
            said = process.communicate()[1].splitlines()
        ended = time.monotonic()
        seconds = seconds or ended - sent
        if said[-1] == "next: abtune analyze":  # the signal came too late
            assert process.returncode == 0
            late += number is not None
        else:
            assert (process.returncode, len(said)) == (130, 1), said
            assert re.match("abtune: interrupted(; what is done is kept in abtune.nc|$)", said[0])
            wait_until(lambda: not children(str(temporary), command=b""), "the end of all processes")
            slowest = max(slowest, time.monotonic() - sent)
        assert not list(temporary.iterdir()), said
        if runs := list(folder.glob("abtune.nc.runs/runs/*.json")):
            dataset = abtune.open_dataset(folder / "abtune.nc")
            assert (dataset["run_status"] == RunStatus.COMPLETE).sum() == len(runs)
    assert late < len(ENDING) * SIGNALS
    assert slowest < MOST
    sys.stdout.write(f"{SIGNALS} of each signal, {late} too late; all gone after {slowest:.1f} s at most\n")
