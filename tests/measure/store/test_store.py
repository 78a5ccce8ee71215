"""A sweep on disk: one sweep at a time, and never two kinds mixed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from measure_builders import NEW, OTHER, PLAIN, SMALL, make_record, small_plan
from sweeping import ABOUT, names

import abtune
from abtune.configurations import Configuration
from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store import store as store_module
from abtune.measure.store.disk import locked
from abtune.measure.store.store import Store
from abtune.measure.sweep.run_sweep import require_design

# One sweep at a time, and one kind


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": 5}, "trials: 4, now 5"),
        ({"rng_seed": 1}, "rng seed: 0, now 1"),
        ({"target": "other"}, 'target: {"kind": "fake"}, now other'),
        ({"configs": (NEW, PLAIN)}, "configurations plain and new, now new and plain"),
        ({"configs": (PLAIN,)}, "configurations plain and new, now plain"),
        (
            {"configs": (PLAIN, Configuration(name="third"))},
            "configurations plain and new, now plain and third",
        ),
        ({"configs": (PLAIN, replace(NEW, pass_config={"x": 1}))}, "x: None, now 1"),
        (
            {"configs": (PLAIN, replace(NEW, strategy="replay-trace"))},
            "strategy: evolutionary, now replay-trace",
        ),
    ],
)
def test_other_settings_are_refused_by_name(kept: Store, changes: dict[str, object], said: str) -> None:
    """A sweep with other settings than the files is refused, and the difference is named."""
    before = (kept.folder / "sweep.json").read_bytes()
    with pytest.raises(StoreError) as caught, kept.opened(small_plan(**changes), ABOUT):  # type: ignore[arg-type]
        raise AssertionError("opened")
    assert f"was begun with other settings ({said})" in str(caught.value)
    assert (kept.folder / "sweep.json").read_bytes() == before


def test_files_of_another_version_are_refused_as_such(kept: Store, plan: Plan) -> None:
    """No option could repeat the format of the files."""
    content = json.loads(kept.description.read_text("utf-8"))
    content["identity"]["format"] = 99
    kept.description.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(StoreError, match="begun by another version of abtune; go on with that version"):
        kept.check(plan)


def test_runs_of_unknown_settings_are_refused(kept: Store) -> None:
    """Without description and dataset the settings of the runs are lost, so the sweep is refused."""
    (kept.folder / "sweep.json").unlink()
    before = names(kept.folder)
    for plan in (small_plan(), small_plan(trials=9)):
        with pytest.raises(StoreError) as caught, kept.opened(plan, ABOUT):
            raise AssertionError("opened")
        assert str(caught.value).startswith(
            f"{kept.folder} holds runs, but no sweep.json with their settings"
        )
        assert "put back a copy of it, or the one that a sweep with the same options" in str(caught.value)
    assert names(kept.folder) == before


def test_lost_settings_come_back_from_another_sweep(kept: Store, plan: Plan, tmp_path: Path) -> None:
    """The advice works: sweep.json of the same command elsewhere, copied here, keeps the runs."""
    kept.description.unlink()
    other = Store(tmp_path / "other.nc")
    with other.opened(plan, ABOUT):
        pass
    shutil.copy(other.description, kept.description)
    with kept.opened(plan, ABOUT):
        assert kept.is_finished(plan.runs[0])


def test_a_pipe_in_place_of_the_lock_does_not_hang(store: Store, plan: Plan) -> None:
    """The lock is held on it as on a file."""
    store.folder.mkdir()
    os.mkfifo(store.folder / "lock")
    with store.opened(plan, ABOUT), pytest.raises(StoreError, match="another sweep is writing"):
        store.opened(plan, ABOUT).__enter__()


def test_settings_may_change_before_anything_is_done(store: Store, plan: Plan) -> None:
    """Settings may change as long as there is no run and no search in progress."""
    with store.opened(plan, ABOUT):
        pass
    with store.opened(small_plan(trials=5), ABOUT):
        assert store.about()["identity"]["settings"]["trials"] == 5


def test_a_sweep_of_an_earlier_version_goes_on_with_its_timing(kept: Store) -> None:
    """Its winners were launched one by one; a new sweep may use graphs, and keeps to them."""
    plan = small_plan(launched_by="graph")
    assert "launched_by" not in kept.identity()["settings"]
    assert kept.timed_alike(plan).settings.launched_by == "stream"
    fresh = Store(kept.dataset.with_name("fresh.nc"))
    assert fresh.timed_alike(plan) == plan
    with fresh.opened(plan, ABOUT):
        fresh.save_record(make_record(plan.runs[0]))
    assert fresh.timed_alike(plan) == plan
    with pytest.raises(StoreError, match="CUDA graphs launched, and here are none; pip install"):
        fresh.check(fresh.timed_alike(small_plan()))


def test_more_shapes_and_seeds_are_welcome(kept: Store) -> None:
    """The same settings with more shapes and seeds go on with the files that are there."""
    with kept.opened(small_plan(OTHER, SMALL, seeds=9), ABOUT):
        assert len(kept.records()) == 1


def test_the_first_session_gives_the_date(kept: Store, plan: Plan) -> None:
    """A later session replaces the facts, but the date of creation stays."""
    with kept.opened(plan, {"title": "again", "created": "2027-01-01T00:00:00+00:00"}):
        assert kept.about()["about"] == {"title": "again", "created": ABOUT["created"]}


def test_a_run_of_another_sweep_is_refused(kept: Store, plan: Plan) -> None:
    """A file that was put among the runs is named before anything is searched."""
    stray = kept.folder / "runs" / "M=4_N=4_K=4--third--0000.json"
    stray.touch()
    with pytest.raises(StoreError, match=r"--third--0000.json is no run of this sweep; move it away"):
        kept.check(plan)


def test_a_broken_netcdf_is_told_before_the_searches(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it no dataset can be written, and the searches may take hours."""
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    with pytest.raises(ImportError, match="netCDF4"):
        store.check(plan)


def test_a_second_sweep_is_refused(store: Store, plan: Plan) -> None:
    """A second process cannot open a store while another holds it, and can afterwards."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from measure_builders import small_plan\n"
        "from abtune.errors import StoreError\n"
        "from abtune.measure.store.store import Store\n"
        "try:\n"
        "    with Store(Path(sys.argv[1])).opened(small_plan(), {'created': ''}):\n"
        "        print('opened')\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )

    def second() -> str:
        command = [sys.executable, "-c", script, str(store.dataset)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with store.opened(plan, ABOUT):
        assert second().startswith(f"another sweep is writing {store.dataset}; wait, or")
    assert second() == "opened\n"


def test_a_sweep_does_not_write_into_the_files_of_another(store: Store, plan: Plan) -> None:
    """Its folder is removed while it runs, and a sweep with other settings begins in its place."""
    other, later = small_plan(trials=5), Store(store.dataset)
    said = "was removed or replaced while this sweep was writing it"
    with store.opened(plan, ABOUT):
        store.save_record(make_record(plan.runs[0]))
        dataset = store.to_dataset(plan)
        shutil.rmtree(store.folder)
        with later.opened(other, ABOUT):
            for run in plan.runs[:2]:
                with pytest.raises(StoreError, match=said):
                    store.save_record(make_record(run))
            with pytest.raises(StoreError, match=said):
                store.save_dataset(dataset)
            assert later.records() == []
            later.save_record(make_record(other.runs[0]))
    assert not store.dataset.exists()


def test_a_link_and_its_file_have_one_lock(store: Store, plan: Plan) -> None:
    """A dataset that is opened by two names is written by one sweep at a time."""
    link = store.dataset.with_name("link.nc")
    link.symlink_to(store.dataset)
    with store.opened(plan, ABOUT), pytest.raises(StoreError, match=r"another sweep is writing .*link\.nc"):
        Store(link).opened(plan, ABOUT).__enter__()


@pytest.mark.parametrize("loops", [["loop.nc"], ["one.nc", "loop.nc"]])
def test_links_in_a_circle_are_one_line(tmp_path: Path, plan: Plan, loops: list[str]) -> None:
    """A link that leads nowhere is refused as any other place that cannot be written."""
    for name, target in zip(loops, loops[1:] + loops[:1], strict=True):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(StoreError, match="cannot write"):
        Store(tmp_path / "loop.nc").check(plan)


def test_settings_written_while_the_lock_was_awaited_are_kept(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep is refused if another one starts between its check and its lock."""
    other = small_plan(trials=5)

    def be_overtaken(*late: Path) -> AbstractContextManager[IO[bytes]]:
        monkeypatch.undo()
        with (first := Store(store.dataset)).opened(other, ABOUT):
            first.save_record(make_record(other.runs[0]))
        return locked(*late)

    monkeypatch.setattr(store_module, "locked", be_overtaken)
    with pytest.raises(StoreError, match=r"\(trials: 5, now 4\)"), store.opened(plan, ABOUT):
        raise AssertionError("opened")
    assert store.about()["identity"]["settings"]["trials"] == 5


def test_a_file_system_without_locks_is_no_second_sweep(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the missing locks, and does not claim that another sweep holds one."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    said = "No locks available; give an --out on another file system"
    with pytest.raises(StoreError, match=said), store.opened(plan, ABOUT):
        raise AssertionError("opened")


def test_only_ones_own_left_overs_are_removed(tmp_path: Path, plan: Plan) -> None:
    """Leftovers of a killed sweep are removed, even if its name is a pattern; those of other sweeps stay."""
    own = tmp_path / ".a[b].nc.0123abcd.tmp"
    others = [tmp_path / ".ab.nc.0123abcd.tmp", tmp_path / ".a[b].nc.old.nc.0123abcd.tmp"]
    for path in (own, *others):
        path.touch()
    with Store(tmp_path / "a[b].nc").opened(plan, ABOUT):
        pass
    assert (own.exists(), *(path.exists() for path in others)) == (False, True, True)


def test_the_lock_is_released_after_an_error(store: Store, plan: Plan) -> None:
    """A sweep that ends with an error, or is refused, does not keep the store locked."""
    with pytest.raises(ZeroDivisionError), store.opened(plan, ABOUT):
        raise ZeroDivisionError
    with store.opened(plan, ABOUT):
        store.save_record(make_record(plan.runs[0]))
    with pytest.raises(StoreError), store.opened(small_plan(trials=9), ABOUT):
        raise AssertionError("opened")
    with store.opened(plan, ABOUT):
        pass


def test_a_dataset_of_another_origin_is_left_alone(store: Store, plan: Plan) -> None:
    """A file that is not a sweep's dataset stays as it is, and nothing is put beside it."""
    store.dataset.write_bytes(b"mine")
    with pytest.raises(
        StoreError, match=r"is no sweep to go on with: not a netCDF file, or damaged .*; give"
    ):
        store.opened(plan, ABOUT).__enter__()
    assert store.dataset.read_bytes() == b"mine"
    assert [path.name for path in store.dataset.parent.iterdir()] == ["abtune.nc"]


def test_a_dataset_put_where_a_sweep_could_not_begin_is_left_alone(store: Store, plan: Plan) -> None:
    """Files of a sweep that did nothing do not claim a dataset that came later."""
    with store.opened(plan, ABOUT):
        pass
    (store.folder / "runs" / ".left-over.json.77.tmp").touch()
    mine = abtune.make_dataset([[[1.0, 2.0], [1.0, 2.0]]], shapes=["a"], configs=["old", "new"])
    abtune.save_dataset(mine, store.dataset)
    before = store.dataset.read_bytes()
    with pytest.raises(
        StoreError, match=r"go on with: the dataset does not say how it was made .*; give another --out"
    ):
        store.opened(plan, ABOUT).__enter__()
    assert store.dataset.read_bytes() == before


def test_a_dataset_alone_has_its_timings(kept: Store, plan: Plan) -> None:
    """They come out of the dataset as the runs do, so that a dry run does not count them as missing."""
    with kept.opened(plan, ABOUT):
        abtune.save_dataset(kept.to_dataset(plan), kept.dataset)
    known = kept.rounds()
    shutil.rmtree(kept.folder)
    assert {label: rounds.winners[0].latency for label, rounds in kept.rounds().items()} == {
        label: rounds.winners[0].latency for label, rounds in known.items()
    }


def test_a_dataset_that_was_put_beside_the_files_of_a_sweep_is_left_alone(kept: Store, plan: Plan) -> None:
    """A merged dataset, or another sweep's, is not replaced by what the files have; a damaged one is."""
    with kept.opened(plan, ABOUT):
        own = kept.to_dataset(plan)
    undated = own.copy()
    del undated.attrs["created"]
    later, merged = own.assign_attrs(created="2026-02-02T00:00:00+00:00"), own.assign_attrs(sources="[]")
    refused = r"does not come from abtune\.nc\.runs; move it away, or give another --out"
    for dataset in (later, merged, undated):
        abtune.save_dataset(dataset, kept.dataset)
        before = kept.dataset.read_bytes()
        with pytest.raises(StoreError, match=refused):
            kept.opened(plan, ABOUT).__enter__()
        assert kept.dataset.read_bytes() == before
    kept.dataset.write_bytes(before[:3000])
    kept.check(plan)


def test_a_dataset_that_is_put_there_while_a_sweep_runs_is_left_alone(kept: Store, plan: Plan) -> None:
    """It may be all that is left of a merge; what the sweep has done is in its files."""
    with kept.opened(plan, ABOUT):
        own = kept.to_dataset(plan)
        kept.save_dataset(own)
        abtune.save_dataset(own.assign_attrs(sources="[]"), kept.dataset)
        before = kept.dataset.read_bytes()
        with pytest.raises(StoreError, match=r"does not come from abtune\.nc\.runs; move it away"):
            kept.save_dataset(own)
    assert kept.dataset.read_bytes() == before


def test_a_sweeps_dataset_is_gone_on_with_where_another_could_not_begin(store: Store, plan: Plan) -> None:
    """The runs come out of the dataset, although the description beside it has other settings."""
    with store.opened(plan, {**ABOUT, "device": "a device", "tvm_version": "0.27"}):
        store.save_record(make_record(plan.runs[0]))
        abtune.save_dataset(store.to_dataset(plan), store.dataset)
    shutil.rmtree(store.folder)
    elsewhere = Store(store.dataset.with_name("other.nc"))
    with elsewhere.opened(small_plan(trials=9), ABOUT):
        pass
    elsewhere.folder.rename(store.folder)
    with store.opened(plan, ABOUT):
        assert [record.seed for record in store.records()] == [plan.runs[0].seed]
        assert store.about()["identity"]["settings"]["trials"] == plan.settings.trials


@pytest.mark.parametrize(("name", "value"), [("settings", "[]"), ("configurations", "[1]")])
def test_a_dataset_with_damaged_attributes_is_not_gone_on_with(
    store: Store, plan: Plan, name: str, value: str
) -> None:
    """What cannot be compared with the plan is refused in one line, as a dataset without it is."""
    with store.opened(plan, {**ABOUT, "device": "a device", "tvm_version": "0.27"}):
        dataset = store.to_dataset(plan)
    shutil.rmtree(store.folder)
    abtune.save_dataset(dataset.assign_attrs({name: value}), store.dataset)
    with pytest.raises(StoreError, match="is no sweep to go on with"):
        store.check(plan)


@pytest.mark.parametrize("target", ["absent/abtune.nc", "file/abtune.nc", ".", "..", "a" * 300, "nul\0.nc"])
def test_impossible_places_are_one_line(tmp_path: Path, plan: Plan, target: str) -> None:
    """An impossible place of the dataset is refused in one line, and nothing is written."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / target).opened(plan, ABOUT).__enter__()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("cannot write ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["mine", "h200-pilot"])
def test_a_dataset_may_have_a_name_without_an_ending(tmp_path: Path, plan: Plan, name: str) -> None:
    """No bundled dataset is meant by such a name, so the file is written at the end of the sweep."""
    store = Store(tmp_path / name)
    with contextlib.chdir(tmp_path), Store(Path(name)).opened(plan, ABOUT):
        store.save_record(make_record(plan.runs[0]))
        Store(Path(name)).save_dataset(store.to_dataset(plan))
    assert store.dataset.is_file()


def test_a_place_where_nothing_can_be_made_is_one_line(plan: Plan) -> None:
    """The error says what to do."""
    said = r"cannot write /proc/x.nc.runs: .*; give another --out"
    with pytest.raises(StoreError, match=said):
        Store(Path("/proc/x.nc")).opened(plan, ABOUT).__enter__()


def test_a_name_too_long_for_what_is_put_beside_it_is_refused(tmp_path: Path, plan: Plan) -> None:
    """A name that is too long is refused before the sweep begins."""
    with pytest.raises(StoreError, match="the name is too long; give another place"):
        Store(tmp_path / f"{'x' * 242}.nc").check(plan)


def test_a_place_that_cannot_be_written_is_one_line(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says why no folder can be made."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=f"cannot write .*: {os.strerror(errno.EACCES)}"):
        store.opened(plan, ABOUT).__enter__()


@pytest.mark.parametrize("moment", ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05-01:00", "now"])
def test_moments_have_no_time_zone(kept: Store, plan: Plan, moment: str) -> None:
    """Numpy would print a warning, and read another moment."""
    path = next(kept.folder.glob("runs/*"))
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "started": moment}), encoding="utf-8")
    with pytest.raises(StoreError, match="is no moment in UTC"):
        kept.to_dataset(plan)


@pytest.mark.parametrize("looks", ["[{", "[{}]", "[7]", "7"])
def test_damaged_looks_are_one_line(kept: Store, plan: Plan, looks: str) -> None:
    """Looks that cannot be read are named before anything is searched."""
    kept.note_looks(looks)
    with pytest.raises(StoreError, match=r"the looks of .*abtune\.nc cannot be read \("):
        require_design(plan, kept, until_settled=False)
