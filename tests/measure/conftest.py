"""Fixtures of the measuring half: plans, stores, and processes that find the modules of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from abtune.measure.child import ChildProcess
from abtune.measure.fork_server import ForkServer
from abtune.measure.slot import Slot
from abtune.measure.store import Store

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def modules_for_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes import the modules of this folder."""
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), before])))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "abtune.nc")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps of this process search with the fake in place of TVM."""
    monkeypatch.setattr("abtune.measure.pool.TVM_MODULE", "fake_metaschedule")
    monkeypatch.setattr("abtune.measure.pool.SPARES", 1)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the fake note its calls."""
    path = tmp_path / "calls.log"
    path.touch()
    monkeypatch.setenv("FAKE_LOG", str(path))
    return path


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    with ForkServer("faulty", {"IMPORTED": "with"}) as fork_server:
        yield fork_server


@pytest.fixture
def child(fork_server: ForkServer) -> Iterator[ChildProcess]:
    child = ChildProcess(fork_server, {"FAULTY": "set"})
    yield child
    child.close()


@pytest.fixture
def slot(fork_server: ForkServer) -> Iterator[Slot]:
    slot = Slot(fork_server, {})
    yield slot
    slot.close()
