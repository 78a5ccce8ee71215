"""Fixtures of the measuring half: stores, and processes that serve fakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from abtune.measure.store.store import Store
from abtune.measure.workers.child import ChildProcess, Slot
from abtune.measure.workers.fork_server import ForkServer


@pytest.fixture(autouse=True)
def processes_find_helpers(helpers_for_processes: None) -> None:
    """Let every process that a test starts import the helpers of tests."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "abtune.nc")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the fake note its calls."""
    path = tmp_path / "calls.log"
    path.touch()
    monkeypatch.setenv("FAKE_LOG", str(path))
    return path


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    # As for most users: Python keeps output back unless it is told otherwise.
    with closing(ForkServer("faulty", {"IMPORTED": "with", "PYTHONUNBUFFERED": ""})) as fork_server:
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
