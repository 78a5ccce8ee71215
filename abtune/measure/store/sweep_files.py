"""The files of one sweep: one per finished run, search in progress and re-measurement, and a description."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from abtune.measure.plan.plan import Run, run_key
from abtune.measure.plan.records import Rounds, RunRecord
from abtune.measure.plan.trials import History
from abtune.measure.store.json_files import read_json, write_json, writing
from abtune.measure.store.record_json import (
    history_from_json,
    history_to_json,
    record_from_json,
    record_to_json,
    rounds_from_json,
    rounds_to_json,
)
from abtune.shapes import parse_shape


class SweepFiles(abc.ABC):
    """The files of one sweep.

    Every method that reads raises :class:`~abtune.errors.StoreError` for a damaged file, and every method
    that writes does so for a full disk or a missing folder.
    """

    @property
    @abc.abstractmethod
    def folder(self) -> Path:
        """The folder with the files."""

    @property
    def description(self) -> Path:
        """The file with the identity of the sweep and the facts about it."""
        return self.folder / "sweep.json"

    @property
    def has_work(self) -> bool:
        """Whether any run is finished or any search in progress."""
        files = (self.folder / name for name in ("runs/*.json", "searches/*.json.gz"))
        return any(any(path.parent.glob(path.name)) for path in files)

    def make_folders(self) -> None:
        """Make the folders that are missing."""
        with writing(self.folder):
            for name in ("runs", "searches", "rounds"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)

    def remove_fragments(self) -> None:
        """Remove the temporary files of a sweep that was killed while it wrote."""
        for fragment in self.folder.rglob(".*.tmp"):
            fragment.unlink(missing_ok=True)

    # The description

    def about(self) -> dict[str, Any]:
        """Return the identity of the sweep, and the facts that it recorded about itself."""
        return read_json(self.description, _about, "remove its folder to begin anew")

    def save_about(self, content: Mapping[str, Any]) -> None:
        """Write the identity of the sweep, and the facts about it."""
        write_json(self.description, content)

    # Finished runs

    def is_finished(self, run: Run) -> bool:
        """Tell whether a run is on disk."""
        return self._run_path(run.key).exists()

    def save_finished(self, record: RunRecord) -> None:
        """Write a finished run, and nothing else."""
        write_json(self._run_path(run_key(record.shape, record.config, record.seed)), record_to_json(record))

    def save_record(self, run: Run, record: RunRecord) -> None:
        """Write a finished run; remove its search in progress, and the timings of an earlier winner."""
        self._forget_times(run)
        write_json(self._run_path(run.key), record_to_json(record))
        self._search_path(run.key).unlink(missing_ok=True)

    def records(self) -> list[RunRecord]:
        """Return all finished runs, including those that the present plan does not contain."""
        return [_read_record(path) for path in sorted((self.folder / "runs").glob("*.json"))]

    # Searches in progress

    def save_history(self, run: Run, history: History, started: str) -> None:
        """Write a search between two of its steps."""
        write_json(self._search_path(run.key), history_to_json(history, started), compress=True)

    def history(self, run: Run) -> tuple[History, str]:
        """Return a search in progress and when it started; both are empty before the first step."""
        path = self._search_path(run.key)
        return read_json(path, history_from_json) if path.exists() else (History.empty(), "")

    # Re-measurements

    def save_rounds(self, rounds: Rounds) -> None:
        """Write the re-measurement of one shape in place of an earlier one."""
        write_json(self._rounds_path(rounds.shape), rounds_to_json(rounds))

    def rounds(self) -> dict[str, Rounds]:
        """Return all re-measurements by the label of their shape."""
        paths = sorted((self.folder / "rounds").glob("*.json"))
        measured = [read_json(path, rounds_from_json) for path in paths]
        return {rounds.shape: rounds for rounds in measured}

    def _forget_times(self, run: Run) -> None:
        """Remove the timings of an earlier winner of a run."""
        path = self._rounds_path(run.shape.label)
        if not path.exists():
            return
        rounds = read_json(path, rounds_from_json)
        others = tuple(
            times for times in rounds.winners if (times.config, times.seed) != (run.config.name, run.seed)
        )
        if others != rounds.winners:
            self.save_rounds(replace(rounds, winners=others))

    def _run_path(self, key: str) -> Path:
        return self.folder / "runs" / f"{key}.json"

    def _search_path(self, key: str) -> Path:
        return self.folder / "searches" / f"{key}.json.gz"

    def _rounds_path(self, label: str) -> Path:
        return self.folder / "rounds" / f"{label}.json"


def _about(content: dict[str, Any]) -> dict[str, Any]:
    identity, about = content["identity"], content["about"]
    return {"identity": {**identity, "settings": identity["settings"]}, "about": {**about}}


def _read_record(path: Path) -> RunRecord:
    def parse(content: dict[str, Any]) -> RunRecord:
        record = record_from_json(content)
        if run_key(record.shape, record.config, record.seed) != path.stem:
            raise ValueError(f"it is the run of seed {record.seed} of {record.config} for {record.shape}")
        parse_shape(record.shape)
        return record

    return read_json(path, parse)
