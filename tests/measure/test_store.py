"""The files of a sweep: whole or not there, one sweep at a time, and never two kinds mixed."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from measure_builders import (
    NEW,
    OTHER,
    PLAIN,
    SMALL,
    make_failed_record,
    make_history,
    make_lost,
    make_record,
    make_rounds,
    make_times,
    small_plan,
)

import abtune
from abtune.configurations import Configuration
from abtune.errors import StoreError
from abtune.measure.assemble import assemble_store
from abtune.measure.plan import Plan
from abtune.measure.store import Store
from abtune.measure.trials import History
from abtune.schema import RunStatus, TrialStatus

NAN = math.nan
ABOUT = {"title": "a sweep", "created": "2026-01-01T00:00:00+00:00"}


@pytest.fixture
def plan() -> Plan:
    return small_plan()


@pytest.fixture
def kept(store: Store, plan: Plan) -> Store:
    """Keep one run, one search in progress and one shape that was measured again."""
    run, other = plan.runs[:2]
    with store.opened(plan, ABOUT):
        store.save_record(run, make_record(run))
        store.save_history(other, make_history(1e-3, NAN), "2026-01-01T00:00:00.000")
        store.save_rounds(make_rounds(run.shape, make_times(run, plan)))
    return store


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def read_all(store: Store, plan: Plan) -> None:
    """Read every file of a store."""
    store.records()
    store.rounds()
    for run in plan.runs:
        store.history(run)


# Round trips


def test_a_record_survives_its_file(store: Store, plan: Plan) -> None:
    """A finished run is read back equal, NaN, statuses and all."""
    for run, record in zip(plan.runs, map(make_record, plan.runs), strict=True):
        with store.opened(plan, ABOUT):
            store.save_record(run, record)
    again = {(found.shape, found.config, found.seed): found for found in store.records()}
    for run in plan.runs:
        found, record = again[run.shape.label, run.config.name, run.seed], make_record(run)
        assert repr(found) == repr(record)
        assert isinstance(found.status, RunStatus)
        assert all(isinstance(status, TrialStatus) for status in found.trial_status)


def test_a_failed_record_survives_its_file(store: Store, plan: Plan) -> None:
    """A run without a winner is read back without one."""
    record = make_failed_record(plan.runs[0], trial_latency=[], trial_status=[])
    with store.opened(plan, ABOUT):
        store.save_record(plan.runs[0], record)
    (found,) = store.records()
    assert repr(found) == repr(record)


@pytest.mark.parametrize("history", [make_history(1e-3, NAN, 2e-3), History.empty()])
def test_a_search_survives_its_file(store: Store, plan: Plan, history: History) -> None:
    """A search in progress is read back equal, with the bytes of its cost model."""
    with store.opened(plan, ABOUT):
        store.save_history(plan.runs[0], history, "then")
    found, started = store.history(plan.runs[0])
    assert repr(found) == repr(history)
    assert started == "then"


def test_a_search_that_has_not_begun_is_empty(store: Store, plan: Plan) -> None:
    """Without a file the search is the one that has seen nothing."""
    with store.opened(plan, ABOUT):
        assert store.history(plan.runs[0]) == (History.empty(), "")


def test_rounds_survive_their_file(store: Store, plan: Plan) -> None:
    """A re-measurement is read back equal, by the label of its shape, and replaces an earlier one."""
    run, other = plan.runs[:2]
    failed = make_lost(other, "wrong")
    rounds = make_rounds(SMALL, make_times(run, plan), failed)
    with store.opened(plan, ABOUT):
        store.save_rounds(make_rounds(SMALL))
        store.save_rounds(rounds)
    assert repr(store.rounds()) == repr({SMALL.label: rounds})


def test_a_finished_run_ends_its_search(store: Store, plan: Plan) -> None:
    """Once a run is on disk it is finished, and its search in progress is gone."""
    run = plan.runs[0]
    with store.opened(plan, ABOUT):
        store.save_history(run, make_history(1e-3), "then")
        assert not store.is_finished(run)
        store.save_record(run, make_record(run))
    assert store.is_finished(run)
    assert store.history(run) == (History.empty(), "")


# Whole or not at all


def test_an_interrupted_write_leaves_the_old_file(
    kept: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When flushing fails the earlier file is untouched and no fragment lies beside it."""
    before = names(kept.folder)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with kept.opened(plan, ABOUT):
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StoreError, match=f"cannot write .*: {os.strerror(errno.EIO)}"):
            kept.save_record(plan.runs[0], make_record(plan.runs[0], host="elsewhere"))
    assert kept.records()[0].host == "here"
    assert names(kept.folder) == before


def test_a_fragment_of_a_killed_write_is_ignored(kept: Store, plan: Plan) -> None:
    """What a killed process left under a temporary name is no run, no search, no re-measurement, and goes."""
    before = names(kept.folder)
    for place in ("runs/.x.json.77.tmp", "searches/.x.json.gz.77.tmp", "rounds/.x.json.77.tmp"):
        (kept.folder / place).write_bytes(b'{"half')
    assert len(kept.records()) == 1
    assert len(kept.rounds()) == 1
    with kept.opened(plan, ABOUT):
        assert names(kept.folder) == before


def test_a_full_disk_is_one_line_and_loses_nothing(kept: Store) -> None:
    """A run that does not fit is refused by name; what was there before is still there and whole."""
    before = names(kept.folder)
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from measure_builders import make_record, small_plan\n"
        "from abtune.errors import StoreError\n"
        "from abtune.measure.store import Store\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "plan, store = small_plan(), Store(Path(sys.argv[1]))\n"
        "with store.opened(plan, {'created': ''}):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "    try:\n"
        "        store.save_record(plan.runs[0], make_record(plan.runs[0], failure='x' * 1000))\n"
        "    except StoreError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(kept.dataset)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith("cannot write ")
    assert f"{os.strerror(errno.EFBIG)}; make room and give the same command again" in done.stdout
    assert names(kept.folder) == before
    assert kept.records()[0].failure == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda _: b"",
        lambda _: b"\x00\xff not JSON",
        lambda _: b"{}",
        lambda _: b"[]",
        lambda _: b"null",
        lambda whole: whole[:-1],
        lambda whole: whole[:40] + bytes(20) + whole[60:],
    ],
)
@pytest.mark.parametrize("place", ["runs/*.json", "searches/*.json.gz", "rounds/*.json"])
def test_a_damaged_file_is_one_line(
    kept: Store, plan: Plan, place: str, damage: Callable[[bytes], bytes]
) -> None:
    """A damaged file is named in one line, with what to do about it."""
    (path,) = kept.folder.glob(place)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError) as caught:
        read_all(kept, plan)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be read (")
    assert message.endswith("remove it to have that part done again")
    assert "\n" not in message


def test_a_damaged_search_in_valid_compression_is_one_line(kept: Store, plan: Plan) -> None:
    """A search whose content is not what it should be is refused as a truncated one is."""
    (path,) = kept.folder.glob("searches/*")
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["cost_model"] = "not base64 \N{SNOWMAN}"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(StoreError, match="cannot be read"):
        kept.history(plan.runs[1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial_latency": [1e-3]}, "1 latencies of 2 trials are there"),
        ({"trial_latency": ["x", 1e-3]}, "trial_latency: 'x'"),
        ({"trial_status": [1, 99]}, "99 is not a valid TrialStatus"),
        ({"search_latency": "x"}, "search_latency: 'x'"),
        ({"tuning_time": None}, "tuning_time: None"),
        ({"shape": "foo"}, "it is of seed 0 of "),
        ({"config": "other"}, "it is of seed 0 of other for "),
        ({"seed": 7}, "it is of seed 7 of "),
        ({"seed": "0"}, "seed: '0'"),
        ({"winner": "garbage"}, "status COMPLETE and its winner do not go together"),
        ({"winner": None}, "status COMPLETE and its winner do not go together"),
        ({"status": RunStatus.MISSING, "winner": []}, "status MISSING and its winner do not go together"),
        ({"started": "yesterday"}, "yesterday"),
        ({"host": 5}, "host: 5"),
        ({"more": 5}, "unexpected keyword argument 'more'"),
    ],
)
def test_a_damaged_run_in_valid_json_is_one_line(kept: Store, changes: dict[str, object], said: str) -> None:
    """A run that is not what a run is made of is named, too, and does not get into a dataset."""
    (path,) = kept.folder.glob("runs/*")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        kept.records()
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path} cannot be read (")


def test_a_run_of_no_shape_is_one_line(kept: Store) -> None:
    """Nor does one whose file is named after it."""
    (path,) = kept.folder.glob("runs/*")
    content = {**json.loads(path.read_bytes()), "shape": "foo", "config": "new", "seed": 0}
    path.unlink()
    path.with_name("foo--new--0000.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(StoreError, match=r"foo--new--0000.json cannot be read \(unknown shape 'foo'"):
        kept.records()


@pytest.mark.parametrize(
    "changes",
    [
        {"latency": [[1.0, 2.0, 3.0]]},
        {"latency": [[1.0, 2.0, 3.0], [1.0, 2.0]]},
        {"latency": [[1.0, 2.0, 3.0], [1.0, 2.0, "x"]]},
        {"latency": 5},
        {"sm_clock": [1500.0]},
        {"temperature": ["x", "y"]},
    ],
)
def test_damaged_rounds_in_valid_json_are_one_line(kept: Store, changes: dict[str, object]) -> None:
    """Timings that are no numbers, or not as many as there are rounds, are refused likewise."""
    (path,) = kept.folder.glob("rounds/*")
    content = json.loads(path.read_bytes())
    content["winners"][0].update(changes)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        kept.rounds()
    assert str(caught.value).startswith(f"{path} cannot be read (")


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"identity": {}}'])
def test_a_damaged_description_is_one_line(kept: Store, plan: Plan, damage: bytes) -> None:
    """A sweep whose own description is damaged is refused in one line."""
    (kept.folder / "sweep.json").write_bytes(damage)
    with pytest.raises(StoreError, match=r"sweep\.json"), kept.opened(plan, ABOUT):
        raise AssertionError("opened")


# One sweep at a time, and one kind


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": 5}, "trials: 4, now 5"),
        ({"rng_seed": 1}, "rng seed: 0, now 1"),
        ({"target": "other"}, 'target: {"kind": "fake"}, now other'),
        ({"configs": (NEW, PLAIN)}, "configurations plain and new, now new and plain"),
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
    """A sweep with other settings than the files it finds is told which setting differs."""
    before = (kept.folder / "sweep.json").read_bytes()
    with pytest.raises(StoreError) as caught, kept.opened(small_plan(**changes), ABOUT):  # type: ignore[arg-type]
        raise AssertionError("opened")
    assert f"was begun with other settings ({said})" in str(caught.value)
    assert (kept.folder / "sweep.json").read_bytes() == before


def test_runs_of_unknown_settings_are_refused(kept: Store) -> None:
    """Where the description is lost and no dataset is there, nobody knows with what the runs may be mixed."""
    (kept.folder / "sweep.json").unlink()
    before = names(kept.folder)
    for plan in (small_plan(), small_plan(trials=9)):
        with pytest.raises(StoreError) as caught, kept.opened(plan, ABOUT):
            raise AssertionError("opened")
        assert str(caught.value).startswith(
            f"{kept.folder} holds runs, but sweep.json, which says with which"
        )
        assert str(caught.value).endswith("remove the folder to begin anew, or give another --out")
    assert names(kept.folder) == before


def test_settings_may_change_before_anything_is_done(store: Store, plan: Plan) -> None:
    """A sweep that could not begin binds nobody: without a run or a search in progress, settings are free."""
    with store.opened(plan, ABOUT):
        pass
    with store.opened(small_plan(trials=5), ABOUT):
        assert store.about()["identity"]["settings"]["trials"] == 5


def test_more_shapes_and_seeds_are_welcome(kept: Store) -> None:
    """The same settings with more shapes and seeds go on with the files that are there."""
    with kept.opened(small_plan(OTHER, SMALL, seeds=9), ABOUT):
        assert len(kept.records()) == 1


def test_the_first_sitting_gives_the_date(kept: Store, plan: Plan) -> None:
    """A later sitting says anew how it was done, but the sweep was created when it began."""
    with kept.opened(plan, {"title": "again", "created": "2027-01-01T00:00:00+00:00"}):
        assert kept.about()["about"] == {"title": "again", "created": ABOUT["created"]}


def test_a_second_sweep_is_refused(store: Store, plan: Plan) -> None:
    """While one process holds the store another cannot open it; afterwards it can."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from measure_builders import small_plan\n"
        "from abtune.errors import StoreError\n"
        "from abtune.measure.store import Store\n"
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
        assert second().startswith(f"another sweep is writing {store.dataset}; wait for it")
    assert second() == "opened\n"


def test_settings_written_while_the_lock_was_awaited_are_kept(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that another one overtakes between its check and its lock is refused, as if it came later."""
    acquire, other = Store._acquire, small_plan(trials=5)

    def be_overtaken(late: Store) -> None:
        monkeypatch.setattr(Store, "_acquire", acquire)
        with (first := Store(store.dataset)).opened(other, ABOUT):
            first.save_record(other.runs[0], make_record(other.runs[0]))
        acquire(late)

    monkeypatch.setattr(Store, "_acquire", be_overtaken)
    with pytest.raises(StoreError, match=r"\(trials: 5, now 4\)"), store.opened(plan, ABOUT):
        raise AssertionError("opened")
    assert store.about()["identity"]["settings"]["trials"] == 5


def test_a_file_system_without_locks_is_no_second_sweep(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be locked that is said, and not that somebody else holds the lock."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    said = "No locks available; give an --out on another file system"
    with pytest.raises(StoreError, match=said), store.opened(plan, ABOUT):
        raise AssertionError("opened")


def test_only_ones_own_left_overs_are_removed(tmp_path: Path, plan: Plan) -> None:
    """What a killed sweep left is removed, though its name may look like a pattern; that of others is not."""
    own, other = tmp_path / ".a[b].nc.77.tmp", tmp_path / ".ab.nc.77.tmp"
    own.touch()
    other.touch()
    with Store(tmp_path / "a[b].nc").opened(plan, ABOUT):
        pass
    assert (own.exists(), other.exists()) == (False, True)


def test_the_lock_is_released_after_an_error(store: Store, plan: Plan) -> None:
    """A sweep that ends with an error, or is refused, does not keep the store locked."""
    with pytest.raises(ZeroDivisionError), store.opened(plan, ABOUT):
        raise ZeroDivisionError
    with store.opened(plan, ABOUT):
        store.save_record(plan.runs[0], make_record(plan.runs[0]))
    with pytest.raises(StoreError), store.opened(small_plan(trials=9), ABOUT):
        raise AssertionError("opened")
    with store.opened(plan, ABOUT):
        pass


def test_a_dataset_of_another_origin_is_left_alone(store: Store, plan: Plan) -> None:
    """A file that is no sweep's dataset is not touched, and nothing is put beside it."""
    store.dataset.write_bytes(b"mine")
    with pytest.raises(StoreError, match="not a sweep to go on with; give another --out"):
        store.opened(plan, ABOUT).__enter__()
    assert store.dataset.read_bytes() == b"mine"
    assert [path.name for path in store.dataset.parent.iterdir()] == ["abtune.nc"]


def test_a_dataset_put_where_a_sweep_could_not_begin_is_left_alone(store: Store, plan: Plan) -> None:
    """Files of a sweep that did nothing are no claim on whatever dataset is there afterwards."""
    with store.opened(plan, ABOUT):
        pass
    (store.folder / "runs" / ".left-over.json.77.tmp").touch()
    mine = abtune.make_dataset([[[1.0, 2.0], [1.0, 2.0]]], shapes=["a"], configs=["old", "new"])
    abtune.save_dataset(mine, store.dataset)
    before = store.dataset.read_bytes()
    with pytest.raises(StoreError, match="not a sweep to go on with; give another --out"):
        store.opened(plan, ABOUT).__enter__()
    assert store.dataset.read_bytes() == before


def test_a_sweeps_dataset_is_gone_on_with_where_another_could_not_begin(store: Store, plan: Plan) -> None:
    """Its runs come back out of it, whatever the description beside it says."""
    with store.opened(plan, {**ABOUT, "device": "a device", "tvm_version": "0.27"}):
        store.save_record(plan.runs[0], make_record(plan.runs[0]))
        abtune.save_dataset(assemble_store(plan, store), store.dataset)
    shutil.rmtree(store.folder)
    elsewhere = Store(store.dataset.with_name("other.nc"))
    with elsewhere.opened(small_plan(trials=9), ABOUT):
        pass
    elsewhere.folder.rename(store.folder)
    with store.opened(plan, ABOUT):
        assert [record.seed for record in store.records()] == [plan.runs[0].seed]
        assert store.about()["identity"]["settings"]["trials"] == plan.settings.trials


@pytest.mark.parametrize("place", ["absent/abtune.nc", "file/abtune.nc", ".", "..", "a" * 300, "nul\0.nc"])
def test_impossible_places_are_one_line(tmp_path: Path, plan: Plan, place: str) -> None:
    """A missing folder, a file in place of one, a folder, an impossible name: one line, nothing written."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / place).opened(plan, ABOUT).__enter__()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("cannot write ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_place_where_nothing_can_be_made_is_one_line(plan: Plan) -> None:
    """Where a folder is there and takes none, it is not said that it is gone."""
    said = r"cannot write /proc/x.nc.runs: nothing can be made in /proc; give another --out"
    with pytest.raises(StoreError, match=said):
        Store(Path("/proc/x.nc")).opened(plan, ABOUT).__enter__()


def test_a_name_too_long_for_what_is_put_beside_it_is_refused(tmp_path: Path, plan: Plan) -> None:
    """It is refused before the sweep, not when the dataset is written in the end."""
    with pytest.raises(StoreError, match="the name is too long; give a shorter one"):
        Store(tmp_path / f"{'x' * 242}.nc").check(plan)


def test_a_place_that_cannot_be_written_is_one_line(
    store: Store, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no folder can be made the line says why."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=f"cannot write .*: {os.strerror(errno.EACCES)}"):
        store.opened(plan, ABOUT).__enter__()
