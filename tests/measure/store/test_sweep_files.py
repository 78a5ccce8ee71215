"""The files of a sweep: complete or not there, and a damaged one is named in one line."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from measure_builders import (
    SMALL,
    make_failed_record,
    make_history,
    make_lost,
    make_record,
    make_rounds,
    make_times,
)
from sweeping import ABOUT, names

from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import SearchHistory
from abtune.measure.store.store import Store

NAN = math.nan


def read_all(store: Store, plan: Plan) -> None:
    """Read every file of a store."""
    store.records()
    store.rounds()
    for run in plan.runs:
        store.history(run)


# Round trips


def test_a_record_survives_its_file(store: Store, plan: Plan) -> None:
    """A finished run is read back equal, with NaN and statuses."""
    for run in plan.runs:
        with store.opened(plan, ABOUT):
            store.save_record(make_record(run))
    again = {(saved.shape, saved.config, saved.seed): saved for saved in store.records()}
    for run in plan.runs:
        saved, record = again[run.shape.label, run.config.name, run.seed], make_record(run)
        assert repr(saved) == repr(record)
        assert isinstance(saved.status, RunStatus)
        assert all(isinstance(status, TrialStatus) for status in saved.trial_status)


def test_a_failed_record_survives_its_file(store: Store, plan: Plan) -> None:
    """A run without a winner is read back without one."""
    record = make_failed_record(plan.runs[0], trial_latency=[], trial_status=[])
    with store.opened(plan, ABOUT):
        store.save_record(record)
    (saved,) = store.records()
    assert repr(saved) == repr(record)


@pytest.mark.parametrize("history", [make_history(1e-3, NAN, 2e-3), SearchHistory()])
def test_a_search_survives_its_file(store: Store, plan: Plan, history: SearchHistory) -> None:
    """A search in progress is read back equal, with the bytes of its cost model."""
    with store.opened(plan, ABOUT):
        store.save_history(plan.runs[0], history, "2026-01-01T00:00:00.000")
    saved, started = store.history(plan.runs[0])
    assert repr(saved) == repr(history)
    assert started == "2026-01-01T00:00:00.000"


def test_a_search_of_an_earlier_version_goes_on(store: Store, plan: Plan) -> None:
    """Earlier versions kept tuning records as lists; they are read as the text that is kept now."""
    history = make_history(1e-3, NAN)
    with store.opened(plan, ABOUT):
        store.save_history(plan.runs[0], history, "2026-01-01T00:00:00.000")
        (path,) = store.folder.glob("searches/*.json.gz")
        content = json.loads(gzip.decompress(path.read_bytes()))
        for candidate in [*(trial["candidate"] for trial in content["trials"]), *content["pending"]]:
            candidate["record"] = json.loads(candidate.pop("text"))
        path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert repr(store.history(plan.runs[0])[0]) == repr(history)


def test_a_search_that_has_not_begun_is_empty(store: Store, plan: Plan) -> None:
    """Without a file a search has an empty history."""
    with store.opened(plan, ABOUT):
        assert store.history(plan.runs[0]) == (SearchHistory(), "")


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
    """Once a run is on disk it is finished; its search stays until its partner is finished, too."""
    run = plan.runs[0]
    with store.opened(plan, ABOUT):
        store.save_history(run, make_history(1e-3), "2026-01-01T00:00:00.000")
        assert not store.is_finished(run)
        store.save_record(make_record(run))
    assert store.is_finished(run)
    assert store.history(run)[0].trials  # its partner may ask for them
    store.forget_search(run)
    assert store.history(run) == (SearchHistory(), "")


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
            kept.save_record(make_record(plan.runs[0], host="elsewhere"))
    assert kept.records()[0].host == "here"
    assert names(kept.folder) == before


def test_a_fragment_of_a_killed_write_is_ignored(kept: Store, plan: Plan) -> None:
    """A temporary file of a killed process is not read, and is removed."""
    before = names(kept.folder)
    for name in ("runs/.x.json.77.tmp", "searches/.x.json.gz.77.tmp", "rounds/.x.json.77.tmp"):
        (kept.folder / name).write_bytes(b'{"half')
    assert len(kept.records()) == 1
    assert len(kept.rounds()) == 1
    with kept.opened(plan, ABOUT):
        assert names(kept.folder) == before


def test_a_full_disk_is_one_line_and_loses_nothing(kept: Store) -> None:
    """A run that does not fit on the disk is refused by name; the earlier files stay complete."""
    before = names(kept.folder)
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from measure_builders import make_record, small_plan\n"
        "from abtune.errors import StoreError\n"
        "from abtune.measure.store.store import Store\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "plan, store = small_plan(), Store(Path(sys.argv[1]))\n"
        "with store.opened(plan, {'created': ''}):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "    try:\n"
        "        store.save_record(make_record(plan.runs[0], failure='x' * 1000))\n"
        "    except StoreError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(kept.dataset)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith("cannot write ")
    assert f"{os.strerror(errno.EFBIG)}; raise ulimit -f and give the same command again" in done.stdout
    assert names(kept.folder) == before
    assert kept.records()[0].failure == ""


@pytest.mark.parametrize("name", ["runs", "rounds"])
def test_a_file_in_place_of_a_folder_is_named(store: Store, plan: Plan, name: str) -> None:
    """What is in the way is named, with what to do about it."""
    store.folder.mkdir()
    (in_the_way := store.folder / name).touch()
    with pytest.raises(StoreError) as caught:
        store.opened(plan, ABOUT).__enter__()
    reason = f"{os.strerror(errno.EEXIST)}; move it away and give the same command again"
    assert str(caught.value) == f"cannot write {in_the_way}: {reason}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda _: b"",
        lambda _: b"\x00\xff not JSON",
        lambda _: b"{}",
        lambda _: b"[]",
        lambda _: b"null",
        lambda _: b"[" * 100_000,
        lambda whole: whole[:-1],
        lambda whole: whole[:40] + bytes(20) + whole[60:],
    ],
)
@pytest.mark.parametrize("pattern", ["runs/*.json", "searches/*.json.gz", "rounds/*.json"])
def test_a_damaged_file_is_one_line(
    kept: Store, plan: Plan, pattern: str, damage: Callable[[bytes], bytes]
) -> None:
    """A damaged file is named in one line, with what to do about it."""
    (path,) = kept.folder.glob(pattern)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError) as caught:
        read_all(kept, plan)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be read (")
    assert message.endswith("remove it to have that part done again")
    assert "\n" not in message


def test_damaged_files_of_all_kinds_are_named_at_once(kept: Store, plan: Plan) -> None:
    """They can be removed together, whichever is read first."""
    paths = [path for kind in ("runs", "rounds", "searches") for path in (kept.folder / kind).iterdir()]
    for path in paths:
        path.write_bytes(b"")
    for read in (kept.records, kept.rounds, lambda: kept.history(plan.runs[1])):
        with pytest.raises(StoreError, match=r"; remove them to have those parts done again$") as caught:
            read()
        assert all(f"{path} cannot be read (" in str(caught.value) for path in paths)


@pytest.mark.parametrize("is_later", [False, True])
def test_a_damaged_run_is_the_one_of_the_dataset(kept: Store, plan: Plan, *, is_later: bool) -> None:
    """Its timings stay, unless they are those of a later winner, which the damaged file had."""
    kept.save_dataset(kept.to_dataset(plan))
    (path,), (run, *_) = kept.folder.glob("runs/*"), plan.runs
    if is_later:
        kept.save_rounds(make_rounds(run.shape, make_times(run, plan, latency=[[1.0, 2.0, 3.0]] * 2)))
    path.write_bytes(b"")
    assert [record.key for record in kept.records()] == [run.key]
    with kept.opened(plan, ABOUT):
        again = replace(kept.record(run), host="here")  # the dataset has the host that timed the winner
        assert repr(again) == repr(make_record(run))
        assert len(kept.rounds()[run.shape.label].winners) == (not is_later)


def test_a_link_to_a_device_is_not_read(kept: Store, plan: Plan) -> None:
    """It would be read without end."""
    (path,) = kept.folder.glob("searches/*")
    path.unlink()
    path.symlink_to("/dev/null")
    with pytest.raises(StoreError, match="it is no regular file"):
        kept.history(plan.runs[1])


def test_a_damaged_search_in_valid_compression_is_one_line(kept: Store, plan: Plan) -> None:
    """A search with wrong content is refused like a truncated one."""
    (path,) = kept.folder.glob("searches/*")
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["cost_model"] = "not base64 \N{SNOWMAN}"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(StoreError, match="cannot be read"):
        kept.history(plan.runs[1])


def test_a_search_that_began_at_no_moment_is_refused(kept: Store, plan: Plan) -> None:
    """Its run would be written at its end, and could then not be read."""
    (path,) = kept.folder.glob("searches/*")
    content = {**json.loads(gzip.decompress(path.read_bytes())), "started": "yesterday"}
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(StoreError, match=r"cannot be read \(yesterday is no moment in UTC"):
        kept.history(plan.runs[1])


def test_a_file_without_permission_is_not_to_be_removed(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run in it may be whole, so the advice is another one than for a damaged file."""

    def refuse(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(
        StoreError, match=r"^cannot read .*\.json: Permission denied; mend this and give the "
    ):
        kept.records()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial_latency": [1e-3]}, "it has 1 latencies for 2 trials"),
        ({"trial_latency": ["x", 1e-3]}, "trial_latency: 'x'"),
        ({"trial_status": [1, 99]}, "99 is not a valid TrialStatus"),
        ({"search_latency": "x"}, "search_latency: 'x'"),
        ({"tuning_time": None}, "tuning_time: None"),
        ({"tuning_time": 10**400}, "int too large"),
        ({"trial_latency": [10**400, 1e-3]}, "int too large"),
        ({"shape": "foo"}, "it is the run of seed 0 of "),
        ({"config": "other"}, "it is the run of seed 0 of other for "),
        ({"seed": 7}, "it is the run of seed 7 of "),
        ({"seed": "0"}, "seed: '0'"),
        ({"winner": "garbage"}, "winner: 'garbage'"),
        ({"winner": None}, "status COMPLETE and its winner do not go together"),
        ({"status": RunStatus.MISSING, "winner": []}, "status MISSING and its winner do not go together"),
        ({"started": "yesterday"}, "yesterday"),
        ({"host": 5}, "host: 5"),
        ({"more": 5}, "(unknown field more); remove it"),
    ],
)
def test_a_damaged_run_in_valid_json_is_one_line(kept: Store, changes: dict[str, object], said: str) -> None:
    """A run with a wrong value is refused by name, before it gets into a dataset."""
    (path,) = kept.folder.glob("runs/*")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        kept.records()
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path} cannot be read (")


def test_a_run_without_values_says_which(kept: Store) -> None:
    """The line names what is missing, in words of the file."""
    (path,) = kept.folder.glob("runs/*")
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot be read \(it lacks shape, config and seed\); remove it"):
        kept.records()
    path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot be read \(it is JSON, but no object\); remove it"):
        kept.records()
    kept.description.write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot be read \(it lacks 'identity'\)"):
        kept.about()


def test_a_run_of_no_shape_is_one_line(kept: Store) -> None:
    """A run of an unknown shape is refused, even if its file has the matching name."""
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
        {"latency": [], "sm_clock": [], "temperature": [], "throttle_reasons": []},
        {"sm_clock": [1500.0]},
        {"temperature": ["x", "y"]},
        {"latency": [[1.0, 2.0, 10**400], [1.0, 2.0, 3.0]]},
        {"failure": 5},
        {"kernel": None},
        {"seed": "0"},
    ],
)
def test_damaged_rounds_in_valid_json_are_one_line(kept: Store, changes: dict[str, object]) -> None:
    """Timings that are not numbers, or do not match the rounds, are refused."""
    (path,) = kept.folder.glob("rounds/*")
    content = json.loads(path.read_bytes())
    content["winners"][0].update(changes)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        kept.rounds()
    assert str(caught.value).startswith(f"{path} cannot be read (")


def test_a_copy_of_timings_is_refused(kept: Store) -> None:
    """It would replace the newer timings of its shape without a word, by the order of the names."""
    (path,) = kept.folder.glob("rounds/*")
    copy = path.with_name(f"{path.stem}_backup.json")
    copy.write_bytes(path.read_bytes())
    said = (
        rf"^{re.escape(str(copy))} cannot be read \(it has the winners of {re.escape(path.stem)}\); remove it"
    )
    with pytest.raises(StoreError, match=said):
        kept.rounds()


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"identity": {}}'])
def test_a_damaged_description_is_one_line(kept: Store, plan: Plan, damage: bytes) -> None:
    """A sweep whose own description is damaged is refused in one line."""
    (kept.folder / "sweep.json").write_bytes(damage)
    with pytest.raises(StoreError, match=r"sweep\.json"), kept.opened(plan, ABOUT):
        raise AssertionError("opened")


def test_a_damaged_description_beside_a_dataset_can_be_removed(kept: Store, plan: Plan) -> None:
    """Nothing is lost by it: the dataset has the settings, and the runs stay."""
    kept.save_dataset(kept.to_dataset(plan))
    kept.description.write_bytes(b"")
    with pytest.raises(StoreError, match=r"; remove it to go on$"), kept.opened(plan, ABOUT):
        raise AssertionError("opened")
    kept.description.unlink()
    with kept.opened(plan, ABOUT):
        assert len(kept.records()) == 1
