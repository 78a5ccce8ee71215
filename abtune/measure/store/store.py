"""A sweep on disk: its dataset, and the files that the dataset is built from.

A sweep keeps every finished run, search in progress and re-measurement in a file of its own. Where the files
are gone, the finished runs come back out of the dataset. One sweep at a time holds the lock of a store, and a
sweep with other settings than it finds is refused.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import xarray as xr

from abtune.dataset.netcdf import open_dataset, place_for, write_dataset
from abtune.dataset.provenance import MEASURED, OWN_CODE, SEARCHED_ON, parsed
from abtune.errors import DatasetError, StoreError
from abtune.files import remove_leftovers
from abtune.measure.plan.plan import FORMAT, Plan, Run
from abtune.measure.plan.records import Rounds, RunRecord, SearchHistory
from abtune.measure.store.as_dataset import (
    first_difference,
    identity_from_dataset,
    records_from_dataset,
    records_to_dataset,
    require_identity,
    rounds_from_dataset,
)
from abtune.measure.store.disk import (
    PARSERS,
    DamagedError,
    locked,
    plain,
    read_file,
    read_json,
    read_whole,
    require_lock,
    write_json,
    writing,
)
from abtune.stats.testing.looks import LOOKS, Look, looks_from_json

# Without this file the runs beside it are of unknown settings.
_RESTORE = "put back a copy of it, or the one that a sweep with the same options and another --out writes"


class Store:
    """The dataset of one sweep, and its files in a folder beside it."""

    def __init__(self, dataset: Path) -> None:
        self.dataset = dataset
        # Beside the file that a link leads to, so that all its names have one lock.
        self._place = Path(os.path.realpath(dataset)) if os.path.islink(dataset) else dataset  # noqa: PTH114
        self.folder = self._place.parent / f"{self._place.name}.runs"
        self.description = self.folder / "sweep.json"  # identity of the sweep, and the facts about it
        self._lock: IO[bytes] | None = None  # while a sweep writes

    @property
    def _is_dataset_alone(self) -> bool:
        """Whether there is a dataset without the files that it was built from."""
        return self.dataset.exists() and not (self.description.exists() and self.has_work)

    @property
    def has_work(self) -> bool:
        """Whether any run is finished or any search in progress."""
        return any(any(self.folder.glob(files)) for files in ("runs/*.json", "searches/*.json.gz"))

    # Opening

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be carried out here, before anything slow begins; write nothing."""
        import netCDF4  # noqa: F401 - one that is broken is told now, and not after the searches

        place_for(self.dataset)
        known = self.identity()
        if known is None:  # nothing was done yet, so settings may still change
            return
        if known.get("format") != FORMAT:
            raise StoreError(
                f"{self.dataset} was begun by another version of abtune; go on with that version, or give "
                "another --out"
            )
        self._require_own_dataset()
        shared = bool(known["settings"].get("exchanged"))
        if shared != plan.settings.is_shared:
            has = "searches that share what they find" if shared else "independent searches"
            option = f"{'with' if shared else 'without'} --share"
            raise StoreError(f"{self.dataset} has {has}; go on {option}, or give another --out")
        kept, wanted = known["settings"], plan.settings
        lacks_graphs = "launched_by" in kept and wanted.launched_by == "stream"
        if lacks_graphs and kept["target"] == wanted.target:  # another target is named below
            remedy = "pip install 'abtune[cuda]', or give another --out"
            raise StoreError(
                f"{self.dataset} has winners that CUDA graphs launched, and here are none; {remedy}"
            )
        identity = plan.identity()
        added = identity["configs"][len(known["configs"]) :]
        difference = first_difference({**known, "configs": known["configs"] + added}, identity)
        if difference:
            remedy = "repeat those to go on, or give another --out"
            raise StoreError(f"{self.dataset} was begun with other settings ({difference}); {remedy}")
        for path in self._files("runs"):
            if not any(f"--{config.name}--" in path.name for config in plan.configs):
                raise StoreError(f"{path} is no run of this sweep; move it away")

    def timed_alike(self, plan: Plan) -> Plan:
        """Return a plan whose calls are launched one by one if earlier versions measured so here."""
        place_for(self.dataset)
        known = self.identity()
        if known is None or "launched_by" in known.get("settings", {}):
            return plan
        return replace(plan, settings=replace(plan.settings, launched_by="stream"))

    def _require_own_dataset(self) -> None:
        """Refuse a dataset that the files did not make, such as a merged one: they would replace it."""
        try:
            attrs = open_dataset(self.dataset).attrs
        except DatasetError:  # one that is missing or damaged is made anew
            return
        recorded = self.recorded()
        if any(attrs.get(name) != recorded.get(name) for name in ("created", "sources")):
            raise StoreError(
                f"{self.dataset} does not come from {self.folder.name}; move it away, or give another --out"
            )

    def identity(self) -> Any:
        """Return what a plan must agree with to be carried out here; None if nothing was done yet."""
        if self._is_dataset_alone:
            try:
                return {"format": FORMAT, **identity_from_dataset(open_dataset(self.dataset))}
            except DatasetError as error:
                reason = str(error).removeprefix(f"{self.dataset}: ").partition(";")[0]
                raise StoreError(
                    f"{self.dataset} is no sweep to go on with: {reason}; give another --out"
                ) from error
        if not self.has_work:
            return None
        if self.description.exists():
            return self.about()["identity"]
        raise StoreError(
            f"{self.folder} holds runs, but no {self.description.name} with their settings; {_RESTORE}"
        )

    @contextlib.contextmanager
    def opened(self, plan: Plan, about: Mapping[str, Any]) -> Iterator[None]:
        """Hold the lock of the store while a sweep runs, after checking that the sweep may run."""
        self.check(plan)
        for folder in (self.folder, *(self.folder / kind for kind in PARSERS)):
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder, self.dataset) as lock:
            # Of a sweep that was killed while it wrote.
            remove_leftovers(self._place, age=-math.inf)  # whatever the clock says
            for fragment in self.folder.rglob(".*.tmp"):
                fragment.unlink(missing_ok=True)
            self.check(plan)  # again, now that no other sweep writes
            self._lock = lock
            try:
                self._claim(plan, about)
                yield
            finally:
                self._lock = None

    def _write(self, path: Path, content: Any) -> None:
        """Write a file of the sweep, unless its folder belongs to another sweep by now."""
        if self._lock is not None:
            require_lock(self._lock, self.folder)
        write_json(path, content)

    def _claim(self, plan: Plan, about: Mapping[str, Any]) -> None:
        recorded = self.recorded()
        if self._is_dataset_alone:
            # A kill from here on leaves the dataset as the source, until the description is there again.
            self.description.unlink(missing_ok=True)
            for record in self.records():
                self._write(self._path("runs", record.key), record)
            for rounds in self.rounds().values():
                self.save_rounds(rounds)
        else:
            self._mend()
        # The date of creation stays, and the looks that were made. Looks that were only planned do not.
        kept = {name: recorded[name] for name in ("created", LOOKS, OWN_CODE) if name in recorded}
        if LOOKS in about or not self.looks()[1]:
            kept.pop(LOOKS, None)
        # So does where runs came from. Merged with one of its sources, they would count twice.
        origin = {name: recorded[name] for name in ("sources", MEASURED, SEARCHED_ON) if name in recorded}
        # A merged dataset has no such date, and would not pass for this sweep's if the files had one.
        new = {name: fact for name, fact in about.items() if name != "created" or not recorded}
        facts = {**origin, **new, **kept}
        self._write(self.description, {"identity": plan.identity(), "about": facts})

    # Facts about the sweep

    def about(self) -> dict[str, Any]:
        """Return the identity of the sweep, and the facts that it recorded about itself."""
        # Without a description, the dataset has the settings of the runs.
        remedy = "remove it to go on" if self.dataset.exists() else _RESTORE
        return read_json(self.description, _about, remedy)

    def recorded(self) -> Mapping[str, Any]:
        """Return the facts that earlier sessions recorded about themselves; empty if nothing was done."""
        if self._is_dataset_alone:
            return {str(name): value for name, value in open_dataset(self.dataset).attrs.items()}
        return self.about()["about"] if self.description.exists() and self.has_work else {}

    def looks(self) -> tuple[tuple[Look, ...], int]:
        """Return the looks at the data that are recorded, and how many of them were made."""
        try:
            return looks_from_json(self.recorded().get(LOOKS, "[]"))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"the looks of {self.dataset} cannot be read ({error}); give another --out"
            ) from None

    def note_looks(self, looks: str) -> None:
        """Note the looks that were made."""
        content = self.about()
        self._write(self.description, {**content, "about": {**content["about"], LOOKS: looks}})

    def note_code(self, hashes: Mapping[str, str]) -> None:
        """Note what the user's own code made; refuse code that makes something else than before."""
        if not hashes:
            return
        content = self.about()
        known = parsed(content["about"], OWN_CODE, dict)
        for name, made in hashes.items():
            if known.get(name, made) != made:
                raise StoreError(
                    f"{name} is not what {self.dataset} was begun with, because its code has changed; undo "
                    "that, or sweep anew with another --out"
                )
        noted = {OWN_CODE: json.dumps({**known, **hashes})}
        self._write(self.description, {**content, "about": {**content["about"], **noted}})

    def records(self) -> list[RunRecord]:
        """Return all finished runs, including those that the present plan does not contain."""
        if self._is_dataset_alone:
            return records_from_dataset(open_dataset(self.dataset))
        whole, damaged = read_whole(self._files("runs"))
        saved = self._saved(damaged)
        if damaged.keys() - saved.keys():
            raise self._damage()
        return [record for _, record in sorted({**whole, **saved}.items())]

    def _saved(self, damaged: Collection[Path]) -> dict[Path, RunRecord]:
        """Return the runs of damaged files that the dataset has."""
        records = list[RunRecord]()
        if damaged:
            with contextlib.suppress(DatasetError):  # one that is missing or damaged has none
                records = records_from_dataset(open_dataset(self.dataset))
        by_path = {self._path("runs", record.key): record for record in records}
        return {path: by_path[path] for path in damaged if path in by_path}

    def _mend(self) -> None:
        """Write the runs of damaged files as the dataset has them."""
        _, damaged = read_whole(self._files("runs"))
        saved = self._saved(damaged)
        if not saved:
            return
        known, timed = self.rounds(), _by_shape(rounds_from_dataset(open_dataset(self.dataset)))
        for path, record in saved.items():
            # The file may have had a later run, whose winner was timed after the dataset was written.
            if _latencies(known, record) != _latencies(timed, record):
                self._forget_times(record)
            self._write(path, record)

    def _damage(self) -> DamagedError:
        """Return an error that names all damaged files, so that they can be removed at once."""
        _, damaged = read_whole(path for kind in PARSERS for path in self._files(kind))
        saved = self._saved(damaged)
        return DamagedError(*(reason for path, reason in damaged.items() if path not in saved))

    def to_dataset(self, plan: Plan) -> xr.Dataset:
        """Return the dataset of all runs, also from earlier plans."""
        content = self.about()
        attrs = {
            **content["about"],
            "settings": json.dumps(content["identity"]["settings"]),
            "configurations": json.dumps(content["identity"]["configs"]),
        }
        return records_to_dataset(plan, self.records(), self.rounds().values(), attrs)

    def save_dataset(self, dataset: xr.Dataset) -> None:
        """Write the dataset that was built from the files."""
        if self._lock is not None:
            require_lock(self._lock, self.folder)
        self._require_own_dataset()  # again, because somebody may have put another one there meanwhile
        remedy = f"what is done is kept in {self.folder.name}: make room and give the same command again"
        write_dataset(dataset, self.dataset, remedy=remedy)

    # Finished runs

    def is_finished(self, run: Run) -> bool:
        """Tell whether a run is on disk."""
        return self._path("runs", run.key).exists()

    def record(self, run: Run) -> RunRecord:
        """Return a finished run."""
        return read_file(self._path("runs", run.key))

    def forget_run(self, run: Run) -> None:
        """Remove a finished run, and the timings of its winner."""
        self._forget_times(self.record(run))
        self._path("runs", run.key).unlink()

    def save_record(self, record: RunRecord) -> None:
        """Write a finished run, and remove the timings of an earlier winner."""
        # In this order: after a kill in between, the run is done again. The other order would leave a new
        # winner with the timings of the old one.
        self._forget_times(record)
        self._write(self._path("runs", record.key), record)

    # Searches in progress

    def save_history(self, run: Run, history: SearchHistory, started: str) -> None:
        """Write a search between two of its steps."""
        self._write(self._path("searches", run.key), {**plain(history), "started": started})

    def history(self, run: Run) -> tuple[SearchHistory, str]:
        """Return a search in progress and when it started; both are empty before the first step."""
        path = self._path("searches", run.key)
        try:
            return read_file(path) if path.exists() else (SearchHistory(), "")
        except DamagedError:
            raise self._damage() from None

    def forget_search(self, run: Run) -> None:
        """Remove the search of a run that is over."""
        self._path("searches", run.key).unlink(missing_ok=True)

    # Re-measurements

    def save_rounds(self, rounds: Rounds) -> None:
        """Write the re-measurement of one shape in place of an earlier one."""
        self._write(self._path("rounds", rounds.shape), rounds)

    def rounds(self) -> dict[str, Rounds]:
        """Return all re-measurements by the label of their shape."""
        if self._is_dataset_alone:
            return _by_shape(rounds_from_dataset(open_dataset(self.dataset)))
        whole, damaged = read_whole(self._files("rounds"))
        if damaged:
            raise self._damage()
        return _by_shape(whole.values())

    def _forget_times(self, record: RunRecord) -> None:
        path = self._path("rounds", record.shape)
        if path.exists():
            self.save_rounds(read_file(path).of(lambda *run: run != (record.config, record.seed)))

    def _files(self, kind: str) -> list[Path]:
        return sorted((self.folder / kind).glob(self._path(kind, "*").name))

    def _path(self, kind: str, name: str) -> Path:
        return self.folder / kind / f"{name}.json{'.gz' * (kind == 'searches')}"


def _about(content: dict[str, Any], _: str) -> dict[str, Any]:
    require_identity(content["identity"])
    if not all(isinstance(fact, str | int | float | list) for fact in content["about"].values()):
        raise TypeError("a fact about it is no text, number or list")
    return content


def _by_shape(measured: Iterable[Rounds]) -> dict[str, Rounds]:
    return {rounds.shape: rounds for rounds in measured}


def _latencies(measured: Mapping[str, Rounds], record: RunRecord) -> list[list[list[float]]]:
    """Return the timings of the winner of a run; empty if it has none."""
    winners = measured[record.shape].winners if record.shape in measured else ()
    return [one.latency for one in winners if (one.config, one.seed) == (record.config, record.seed)]
