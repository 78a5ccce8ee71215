"""Fixtures of the measuring half: plans, stores, and processes that find the modules of this folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from abtune.measure.store import Store

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def modules_for_servants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes import the modules of this folder."""
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), before])))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "abtune.nc")
