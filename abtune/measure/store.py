"""A sweep on disk: every finished run, search in progress and re-measurement a file of its own.

Files are written under a temporary name, flushed and renamed, so that whatever has a name is whole. The
dataset is only ever assembled from them; where they are gone, the finished ones come back out of it. One
sweep at a time holds the lock of a store, and a sweep with other settings than those it finds is refused.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import glob
import gzip
import itertools
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from abtune.datasets import open_dataset, place_for, write_dataset
from abtune.errors import DatasetError, StoreError
from abtune.files import replacing
from abtune.measure.plan import Plan, Run, run_key
from abtune.measure.records import Rounds, RunRecord, WinnerTimes
from abtune.measure.restore import identity_of, restore_records, restore_rounds
from abtune.measure.trials import Candidate, History, Trial
from abtune.schema import RunStatus, TrialStatus
from abtune.shapes import parse_shape
from abtune.stats.spending import LOOKS, looks_from_json

FORMAT = 2
# Files end short where a disk, a quota or a limit on the size of files is reached.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

T = TypeVar("T")


@dataclass(slots=True)
class Store:
    """The files of one sweep, in a folder beside its dataset.

    Attributes
    ----------
    dataset : Path
        Where the dataset goes.
    """

    dataset: Path
    _lock: int | None = field(default=None, init=False)

    @property
    def folder(self) -> Path:
        """The folder with the files."""
        return self.dataset.with_name(self.dataset.name + ".runs")

    @property
    def _begun(self) -> Path:
        return self.folder / "sweep.json"

    @property
    def has_work(self) -> bool:
        """Whether any run is finished or any search in progress."""
        files = (self.folder / name for name in ("runs/*.json", "searches/*.json.gz"))
        return any(any(path.parent.glob(path.name)) for path in files)

    def save_dataset(self, dataset: xr.Dataset) -> None:
        """Put what was assembled from the files in its place.

        Raises
        ------
        StoreError
            If it cannot be written; the files are kept.
        """
        remedy = f"what is done is kept in {self.folder.name}: make room and give the same command again"
        write_dataset(dataset, self.dataset, remedy=remedy)

    @property
    def _is_dataset_alone(self) -> bool:
        """Whether there is a dataset, and no files that it was assembled from."""
        return self.dataset.exists() and not (self._begun.exists() and self.has_work)

    def check(self, plan: Plan) -> None:
        """Refuse a place where the plan cannot be carried out, before anything slow begins; write nothing.

        Raises
        ------
        StoreError
            If no file can be there, one is that is not a sweep's, or a sweep with other settings, or with
            settings that are not known any more.
        """
        place_for(self.dataset)
        if self._is_dataset_alone:
            found = self._identity_of_dataset()
        elif not self.has_work:  # nothing was done yet, so settings may still change
            return
        elif self._begun.exists():
            found = self.about()["identity"]
        else:
            raise StoreError(
                f"{self.folder} holds runs, but {self._begun.name}, which says with which settings they were "
                "made, is gone; remove the folder to begin anew, or give another --out"
            )
        difference = _first_difference(found, _identity(plan))
        if difference:
            raise StoreError(
                f"{self.dataset} was begun with other settings ({difference}); "
                "repeat those to go on, or give another --out"
            )

    @contextlib.contextmanager
    def opened(self, plan: Plan, about: Mapping[str, Any]) -> Iterator[None]:
        """Hold the lock of the store while the sweep runs, after checking that it may.

        Parameters
        ----------
        plan : Plan
            What is to be done; its identity must be that of the files found.
        about : mapping
            Facts about this sitting, kept for the dataset's attributes.

        Raises
        ------
        StoreError
            If the place cannot be written, another sweep is writing it, or it holds a different sweep.
        """
        self.check(plan)
        with _writing(self.folder):
            for name in ("runs", "searches", "rounds"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._acquire()
        of_dataset = self.dataset.parent.glob(f".{glob.escape(self.dataset.name)}.*.tmp")
        for left_over in (*of_dataset, *self.folder.rglob(".*.tmp")):
            left_over.unlink(missing_ok=True)  # of a sweep that was killed while it wrote
        try:
            self._claim(plan, about)
            yield
        finally:
            if self._lock is not None:
                os.close(self._lock)
            self._lock = None

    def about(self) -> dict[str, Any]:
        """Return what the sweep recorded about itself."""
        return _read(self._begun, _description, "remove its folder to begin anew")

    def recorded(self) -> Mapping[str, Any]:
        """Return the facts that earlier sittings recorded about themselves; empty if nothing was done."""
        if self._is_dataset_alone:
            return {str(name): value for name, value in open_dataset(self.dataset).attrs.items()}
        return self.about()["about"] if self._begun.exists() and self.has_work else {}

    def amend(self, **facts: str) -> None:
        """Add facts to what the sweep records about itself."""
        content = self.about()
        _write(self._begun, {**content, "about": {**content["about"], **facts}})

    # --- runs ---

    def is_finished(self, run: Run) -> bool:
        """Tell whether the run is on disk."""
        return self._run_path(run.key).exists()

    def save_record(self, run: Run, record: RunRecord) -> None:
        """Keep a finished run and drop its search in progress, and what was measured of an earlier winner."""
        self._forget_times(run)
        _write(self._run_path(run.key), asdict(record))
        self._search_path(run.key).unlink(missing_ok=True)

    def records(self) -> list[RunRecord]:
        """Return all finished runs, also those that the present plan does not ask for."""
        if self._is_dataset_alone:
            return restore_records(open_dataset(self.dataset))
        return [_read_record(path) for path in sorted((self.folder / "runs").glob("*.json"))]

    # --- searches in progress ---

    def save_history(self, run: Run, history: History, started: str) -> None:
        """Keep a search between two of its steps."""
        _write(self._search_path(run.key), _history_to_json(history, started), compress=True)

    def history(self, run: Run) -> tuple[History, str]:
        """Return the search to go on with and when it started; empty if it has not."""
        path = self._search_path(run.key)
        if not path.exists():
            return History.empty(), ""
        return _read(path, lambda content: (_history_from_json(content), str(content["started"])))

    # --- re-measurement ---

    def save_rounds(self, rounds: Rounds) -> None:
        """Keep the re-measurement of one shape, replacing an earlier one."""
        _write(self._rounds_path(rounds.shape), asdict(rounds))

    def rounds(self) -> dict[str, Rounds]:
        """Return all re-measurements by the label of their shape."""
        found = [_read(path, _rounds) for path in sorted((self.folder / "rounds").glob("*.json"))]
        return {rounds.shape: rounds for rounds in found}

    def _forget_times(self, run: Run) -> None:
        path = self._rounds_path(run.shape.label)
        if not path.exists():
            return
        rounds = _read(path, _rounds)
        others = tuple(
            times for times in rounds.winners if (times.config, times.seed) != (run.config.name, run.seed)
        )
        if others != rounds.winners:
            self.save_rounds(replace(rounds, winners=others))

    def _run_path(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.json"

    def _rounds_path(self, label: str) -> Path:
        return self.folder / "rounds" / f"{label}.json"

    def _search_path(self, key: str) -> Path:
        return self.folder / "searches" / f"{key}.json.gz"

    def _acquire(self) -> None:
        import fcntl  # sweeps run on Linux; everything else imports without it

        with _writing(lock := self.folder / "lock"):
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            self._lock = None
            if isinstance(error, BlockingIOError):
                reason = f"another sweep is writing {self.dataset}; wait for it or give another --out"
            else:  # such as a file system without locks
                reason = f"cannot lock {self.folder}: {error.strerror}; give an --out on another file system"
            raise StoreError(reason) from None

    def _claim(self, plan: Plan, about: Mapping[str, Any]) -> None:
        self.check(plan)  # again, now that nobody else writes
        found = self.recorded()
        if self._is_dataset_alone:
            self._adopt()
        # Keep the date of creation, and what looks were made; those that were only planned bind nobody.
        kept = {name: found[name] for name in ("created", LOOKS) if name in found}
        if LOOKS in about or (LOOKS in kept and not looks_from_json(kept[LOOKS])[1]):
            kept.pop(LOOKS, None)
        _write(self._begun, {"identity": _identity(plan), "about": {**about, **kept}})

    def _identity_of_dataset(self) -> dict[str, Any]:
        try:
            identity = identity_of(open_dataset(self.dataset))
        except DatasetError as error:
            raise StoreError(
                f"{self.dataset} exists and is not a sweep to go on with; give another --out"
            ) from error
        return {"format": FORMAT, **identity}

    def _adopt(self) -> None:
        """Write files for what the dataset holds; the description, written last, says that all are there."""
        self._begun.unlink(missing_ok=True)
        dataset = open_dataset(self.dataset)
        for record in restore_records(dataset):
            _write(self._run_path(run_key(record.shape, record.config, record.seed)), asdict(record))
        for rounds in restore_rounds(dataset):
            self.save_rounds(rounds)


def _identity(plan: Plan) -> Any:
    """Return the identity of a plan as it comes back from a file."""
    return json.loads(json.dumps({"format": FORMAT, **plan.identity()}))


def _first_difference(found: Any, wanted: Any, where: str = "") -> str:
    """Return the first setting that differs, as ``name: found, now wanted``; empty if none does."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in {**found, **wanted}:
            difference = _first_difference(found.get(name), wanted.get(name), name)
            if difference:
                return difference
        return ""
    if isinstance(found, list) and isinstance(wanted, list) and where == "configs":
        names = [[entry["name"] for entry in side] for side in (found, wanted)]
        if names[0] != names[1]:
            return f"configurations {' and '.join(names[0])}, now {' and '.join(names[1])}"
        pairs = (_first_difference(a, b, "") for a, b in zip(found, wanted, strict=True))
        return next(filter(None, pairs), "")
    return "" if found == wanted else f"{where.replace('_', ' ')}: {found}, now {wanted}"


def _description(content: dict[str, Any]) -> dict[str, Any]:
    identity, about = content["identity"], content["about"]
    return {"identity": {**identity, "settings": identity["settings"]}, "about": {**about}}


def _rounds(content: dict[str, Any]) -> Rounds:
    winners = tuple(_times(winner) for winner in content.pop("winners"))
    return Rounds(winners=winners, **content)


def _times(content: dict[str, Any]) -> WinnerTimes:
    times = WinnerTimes(**content)
    states = (times.sm_clock, times.temperature, times.throttle_reasons)
    lengths = {len(times.latency), *map(len, states)}
    if len(lengths) > 1 or len({len(repeats) for repeats in times.latency}) > 1:
        raise ValueError("rounds of different lengths")
    for value in itertools.chain(*times.latency, *states):
        _require("a timing", value, _NUMBER)
    return times


# What a record has to be made of, so that nothing is noticed only when the dataset is assembled from it.
_NUMBER = (int, float)
_TEXTS = ("shape", "config", "failure", "started", "finished", "host")


def _read_record(path: Path) -> RunRecord:
    def parse(content: dict[str, Any]) -> RunRecord:
        record = _record(content)
        if run_key(record.shape, record.config, record.seed) != path.stem:
            raise ValueError(f"it is of seed {record.seed} of {record.config} for {record.shape}")
        parse_shape(record.shape)
        return record

    return _read(path, parse)


def _record(content: dict[str, Any]) -> RunRecord:
    content["status"] = RunStatus(content["status"])
    content["trial_status"] = [TrialStatus(status) for status in content["trial_status"]]
    record = RunRecord(**content)
    for name in _TEXTS:
        _require(name, getattr(record, name), str)
    _require("seed", record.seed, int)
    for name in ("search_latency", "tuning_time"):
        _require(name, getattr(record, name), _NUMBER)
    for value in record.trial_latency:
        _require("trial_latency", value, _NUMBER)
    for moment in (record.started, record.finished):
        np.datetime64(moment)
    if len(record.trial_latency) != len(record.trial_status):
        raise ValueError(
            f"{len(record.trial_latency)} latencies of {len(record.trial_status)} trials are there"
        )
    if isinstance(record.winner, list) is not (record.status is RunStatus.COMPLETE):
        raise ValueError(f"status {record.status.name} and its winner do not go together")
    return record


def _require(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {value!r}")


def _history_to_json(history: History, started: str) -> dict[str, Any]:
    # Not asdict(), which copies every record to the bottom: that takes far longer than writing it.
    return {
        "trials": [
            {
                "candidate": _candidate_to_json(trial.candidate),
                "status": trial.status,
                "latency": trial.latency,
                "message": trial.message,
            }
            for trial in history.trials
        ],
        "pending": [_candidate_to_json(candidate) for candidate in history.pending],
        "learned": history.learned,
        "cost_model": base64.b64encode(history.cost_model).decode(),
        "iterations": history.iterations,
        "empty_iterations": history.empty_iterations,
        "seconds": history.seconds,
        "started": started,
    }


def _candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    return {"record": candidate.record, "module_hash": candidate.module_hash}


def _history_from_json(content: dict[str, Any]) -> History:
    trials = tuple(
        Trial(
            candidate=Candidate(**trial["candidate"]),
            status=TrialStatus(trial["status"]),
            latency=trial["latency"],
            message=trial["message"],
        )
        for trial in content["trials"]
    )
    return History(
        trials=trials,
        pending=tuple(Candidate(**candidate) for candidate in content["pending"]),
        learned=content["learned"],
        cost_model=base64.b64decode(content["cost_model"]),
        iterations=content["iterations"],
        empty_iterations=content["empty_iterations"],
        seconds=content["seconds"],
    )


def _write(path: Path, content: Any, *, compress: bool = False) -> None:
    data = json.dumps(content).encode()  # NaN is written as NaN, which only Python reads; it stays here
    with _writing(path), replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, compresslevel=4, mtime=0) if compress else data)


def _read(path: Path, parse: Callable[[Any], T], advice: str = "remove it to have that part done again") -> T:
    try:
        data = path.read_bytes()
        return parse(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))
    except (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError, zlib.error) as error:
        reason = str(error) or type(error).__name__
        raise StoreError(f"{path} cannot be read ({reason}); {advice}") from None


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        if path.parent.exists():  # such as /proc
            reason = f"nothing can be made in {path.parent}; give another --out"
        else:
            reason = "its folder is gone; give the same command again"
        raise StoreError(f"cannot write {path}: {reason}") from None
    except OSError as error:
        remedy = (
            "make room and give the same command again" if error.errno in _NO_ROOM else "give another --out"
        )
        raise StoreError(f"cannot write {path}: {error.strerror}; {remedy}") from None
