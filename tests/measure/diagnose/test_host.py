"""Checks of memory, load and disk: every defect is a finding that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from measure_builders import make_record, small_plan
from sweeping import ABOUT

import abtune
from abtune.errors import StoreError
from abtune.measure import diagnose
from abtune.measure.diagnose import Level
from abtune.measure.store.store import Store


def test_memory_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory for the cores and a busy machine are warnings with numbers."""
    monkeypatch.setattr(diagnose, "_available_memory", lambda: 4e9)
    monkeypatch.setattr(diagnose, "allocator", lambda: {"LD_PRELOAD": "fast"})
    monkeypatch.setattr("os.getloadavg", lambda: (9.0, 0.0, 0.0))
    memory, _, load = diagnose.check_host(16)
    assert (memory.level, load.level) == (Level.WARNING, Level.WARNING)
    assert memory.advice.endswith("abtune sweep --cores 5")
    assert load.state == "9.0 in the last minute, on 16 cores"
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.0, 0.0))
    assert [finding.level for finding in diagnose.check_host(2)] == [Level.OK] * 3
    monkeypatch.delattr("os.getloadavg")
    assert len(list(diagnose.check_host(2))) == 2


def test_an_allocator_that_is_missing_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tcmalloc the advice is how to install it; an allocator that the user chose is left alone."""
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
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
    """A missing folder, permission or room is a problem; little room is a warning."""
    assert diagnose.check_output(tmp_path / "x.nc").level is Level.OK
    assert "there is no folder" in diagnose.check_output(tmp_path / "absent" / "x.nc").state
    assert "not a regular file" in diagnose.check_output(tmp_path).state
    for free, level in ((10e6, Level.PROBLEM), (200e6, Level.WARNING)):
        usage = shutil.disk_usage(tmp_path)._replace(free=int(free))
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, usage=usage: usage)
        assert diagnose.check_output(tmp_path / "x.nc").level is level
    monkeypatch.setattr("os.access", lambda *arguments: False)
    assert "its folder may not be written" in diagnose.check_output(tmp_path / "x.nc").state


@pytest.mark.parametrize("name", ["sweep.json", "runs/x.json", "rounds/x.json", "searches/x.json.gz"])
def test_what_a_sweep_would_go_on_with_has_to_be_readable(tmp_path: Path, name: str) -> None:
    """A damaged file of a sweep is named, also without a trial."""
    store, plan = Store(tmp_path / "abtune.nc"), small_plan()
    with store.opened(plan, ABOUT):
        store.save_record(make_record(plan.runs[0]))
        (store.folder / name).write_text("{")
    finding = diagnose.check_output(store.dataset)
    assert finding.level is Level.PROBLEM
    assert finding.state.startswith(f"{store.folder / name} cannot be read")


def test_a_dataset_of_another_origin_is_refused_as_a_sweep_does(tmp_path: Path) -> None:
    """The line is the one with which a sweep would end: for a dataset that is no sweep, or is merged."""
    store, plan = Store(tmp_path / "abtune.nc"), small_plan()
    mine = abtune.make_dataset([[[1.0], [2.0]]], shapes=["a"], configs=["x", "y"])
    for sweep in (False, True):
        if sweep:
            with store.opened(plan, ABOUT):
                store.save_record(make_record(plan.runs[0]))
            mine = mine.assign_attrs(created="another day")
        abtune.save_dataset(mine, store.dataset)
        with pytest.raises(StoreError) as refused:
            store.check(plan)
        finding = diagnose.check_output(store.dataset)
        assert f"{finding.state}; {finding.advice}" == str(refused.value)
        store.dataset.unlink()
