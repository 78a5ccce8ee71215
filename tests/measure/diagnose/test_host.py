"""Checks of memory, load and disk: every defect is a finding that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from abtune.measure import diagnose
from abtune.measure.diagnose import Level


def test_memory_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory for the cores and a busy machine are warnings with numbers."""
    monkeypatch.setattr(diagnose, "_available_memory", lambda: 4e9)
    monkeypatch.setattr(diagnose, "allocator", lambda: {"LD_PRELOAD": "fast"})
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 9.0)
    memory, _, load = diagnose.check_host(16)
    assert (memory.level, load.level) == (Level.WARNING, Level.WARNING)
    assert memory.advice.endswith("abtune sweep --cores 5")
    assert load.state == "other programs use 9.0 of 16 cores"
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 0.1)
    assert [finding.level for finding in diagnose.check_host(2)] == [Level.OK] * 3
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: None)
    assert len(list(diagnose.check_host(2))) == 2


def test_an_allocator_that_is_missing_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tcmalloc the advice is how to install it; an allocator that the user chose is left alone."""
    monkeypatch.setattr(diagnose, "allocator", dict)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    _, finding, *_ = diagnose.check_host(2)
    assert (finding.level, finding.advice.partition("apt ")[2]) == (
        Level.WARNING,
        "install libtcmalloc-minimal4",
    )
    monkeypatch.setenv("LD_PRELOAD", "mine.so")
    _, finding, *_ = diagnose.check_host(2)
    assert (finding.level, finding.state) == (Level.OK, "mine.so")


def test_the_place_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing permission or room is a problem; little room is a warning."""
    assert diagnose.check_output(tmp_path).level is Level.OK
    for free, level in ((10e6, Level.PROBLEM), (200e6, Level.WARNING)):
        usage = shutil.disk_usage(tmp_path)._replace(free=int(free))
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, usage=usage: usage)
        assert diagnose.check_output(tmp_path).level is level
    monkeypatch.setattr("os.access", lambda *arguments: False)
    assert "may not be written" in diagnose.check_output(tmp_path).state
