"""Devices behind TVM's RPC tracker: the tracker and a server run here, as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from processes import wait_until

import abtune
from abtune.cli import main
from abtune.configurations import RANDOM
from abtune.errors import TargetError
from abtune.measure.plan.problem import Kernel, Problem, Timing
from abtune.measure.plan.records import History
from abtune.measure.plan.workplace import ONE_THREAD, REMOTE, TVM_MODULE
from abtune.measure.workers.child import Slot
from abtune.measure.workers.find_target import find_target
from abtune.measure.workers.fork_server import ForkServer
from abtune.shapes import Gemm

TARGET = json.dumps({"kind": "llvm", "num-cores": 1})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def knows_the_board(port: int) -> bool:
    """Tell whether the server has told the tracker of itself, which it does after it has its port."""
    from abtune.measure.tvm.load_tvm import tvm

    return "board" in tvm.rpc.connect_tracker("127.0.0.1", port).summary()["queue_info"]


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder under which the server keeps what it is sent."""
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def tracker(uploads: Path) -> Iterator[str]:
    """Run a tracker on this machine, and a server that offers it this CPU under the key ``board``."""
    port, own = free_port(), free_port()
    host = ["--host", "127.0.0.1"]
    commands = [
        ["tvm.exec.rpc_tracker", *host, "--port", str(port), "--port-end", str(port + 1)],
        [
            "tvm.exec.rpc_server",
            *host,
            "--port",
            str(own),
            "--port-end",
            str(own + 1),
            "--tracker",
            f"127.0.0.1:{port}",
            "--key",
            "board",
        ],
    ]
    processes = []
    try:
        for command in commands:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", *command],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "TMPDIR": str(uploads)},
                    start_new_session=True,
                )
            )
            wait_until(lambda: listens(own if processes[1:] else port), "a port")
        wait_until(lambda: knows_the_board(port), "the board")
        yield f"127.0.0.1:{port}"
    finally:
        for process in reversed(processes):
            os.killpg(process.pid, signal.SIGKILL)  # the server has workers of its own
            process.wait(timeout=20)


@pytest.mark.slow
def test_a_sweep_measures_through_rpc(
    tracker: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Candidates and winners are timed on the server's device, and winners are checked there."""
    out = tmp_path / "rpc.nc"
    words = ["sweep", "--rpc-tracker", tracker, "--rpc-key", "board", "--target", TARGET, "--out", str(out)]
    words += ["--shapes", "M=16_N=16_K=16", "--seeds", "1", "--trials", "2", "--trials-per-iter", "2"]
    words += ["--baseline", "random", "--candidate", "quick_configurations:SAMPLED"]
    assert main(words) == 0, capsys.readouterr().err
    dataset = abtune.open_dataset(out)
    assert set(dataset["device"].values.ravel()) == {f"{tracker}/board"}
    assert np.isfinite(dataset["latency"].values).all()
    assert tracker not in dataset.attrs["command"]


@pytest.mark.slow
def test_kernels_do_not_fill_the_disk_of_the_server(tracker: str, uploads: Path) -> None:
    """A library's file is removed as soon as it is loaded, also while the session goes on."""
    remote = f"{tracker}/board"
    problem = Problem(shape=Gemm(m=16, n=16, k=16), config=RANDOM, target=TARGET)
    with ForkServer(TVM_MODULE, ONE_THREAD) as server, closing(Slot(server, {REMOTE: remote})) as slot:
        (candidate,), *_ = slot.call("propose", problem, History(), 1, 1, timeout=100.0)
        library = slot.call("build", problem, candidate.record, timeout=100.0)
        kernel = Kernel(shape=problem.shape, target=TARGET, library=library)
        assert slot.call("time_kernel", kernel, Timing(repeats=1, repeat_ms=1, cache="warm"), timeout=100.0)
        assert uploads.is_dir()
        assert [path.name for path in uploads.rglob("*.so")] == []


@pytest.mark.slow
def test_a_remote_cpu_has_to_be_described(tracker: str) -> None:
    """The CPU behind a tracker must be described, and a missing GPU is found by asking the server."""
    with pytest.raises(TargetError, match="give it as a target"):
        find_target("auto", f"{tracker}/board")
    with pytest.raises(TargetError, match="no usable CUDA device"):
        find_target("cuda", f"{tracker}/board")
    with pytest.raises(TargetError, match="no device 'phone'; it has: board"):
        find_target("auto", f"{tracker}/phone")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rpc-tracker", "127.0.0.1:9190"], "go together"),
        (["--rpc-key", "board"], "go together"),
        (["--rpc-tracker", "here", "--rpc-key", "board"], "no address"),
    ],
)
def test_half_an_address_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tracker and key go together, and a tracker is a host and a port."""
    assert main(["sweep", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("port", [None, 99999])  # None: one at which nobody listens
def test_a_tracker_that_is_not_there_is_refused_without_waiting(
    port: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TVM would try for a minute; no process of it is started before somebody listens."""
    monkeypatch.delattr("abtune.measure.workers.find_target.ForkServer")
    port = port or free_port()
    with pytest.raises(TargetError, match=f"no RPC tracker answers at 127.0.0.1:{port}; start one, or give"):
        find_target("auto", f"127.0.0.1:{port}/board")
