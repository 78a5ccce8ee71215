"""A sweep on disk: its dataset, and the files that the dataset is built from.

A sweep keeps every finished run, search in progress and re-measurement in a file of its own. Where the files
are gone, the finished runs come back out of the dataset. One sweep at a time holds the lock of a store, and a
sweep with other settings than it finds is refused.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from abtune.dataset.netcdf import open_dataset, place_for, write_dataset
from abtune.errors import DatasetError, StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import RunRecord
from abtune.measure.store.from_dataset import (
    identity_from_dataset,
    records_from_dataset,
    rounds_from_dataset,
)
from abtune.measure.store.identity import FORMAT, first_difference, plan_identity
from abtune.measure.store.store_lock import locked
from abtune.measure.store.sweep_files import SweepFiles
from abtune.stats.design.looks import LOOKS, looks_from_json


class Store(SweepFiles):
    """The dataset of one sweep, and its files in a folder beside it."""

    def __init__(self, dataset: Path) -> None:
        self.dataset = dataset

    @property
    def folder(self) -> Path:
        """The folder with the files."""
        return self.dataset.with_name(self.dataset.name + ".runs")

    @property
    def _is_dataset_alone(self) -> bool:
        """Whether there is a dataset without the files that it was built from."""
        return self.dataset.exists() and not (self.description.exists() and self.has_work)

    # Opening

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be carried out here, before anything slow begins; write nothing."""
        place_for(self.dataset)
        if self._is_dataset_alone:
            known = self._identity_of_dataset()
        elif not self.has_work:  # nothing was done yet, so settings may still change
            return
        elif self.description.exists():
            known = self.about()["identity"]
        else:
            raise StoreError(
                f"{self.folder} holds runs, but {self.description.name}, which says with which "
                "settings they were made, is gone; remove the folder to begin anew, or give another --out"
            )
        difference = first_difference(known, plan_identity(plan))
        if difference:
            raise StoreError(
                f"{self.dataset} was begun with other settings ({difference}); "
                "repeat those to go on, or give another --out"
            )

    @contextlib.contextmanager
    def opened(self, plan: Plan, about: Mapping[str, Any]) -> Iterator[None]:
        """Hold the lock of the store while a sweep runs, after checking that the sweep may run."""
        self.check(plan)
        self.make_folders()
        with locked(self.folder, self.dataset):
            for fragment in self.dataset.parent.glob(f".{glob.escape(self.dataset.name)}.*.tmp"):
                fragment.unlink(missing_ok=True)  # of a sweep that was killed while it wrote
            self.remove_fragments()
            self.check(plan)  # again, now that no other sweep writes
            self._claim(plan, about)
            yield

    def adopt(self, plan: Plan, about: Mapping[str, Any], records: Iterable[RunRecord]) -> None:
        """Write runs that were searched elsewhere, unless they are here."""
        with self.opened(plan, about):
            here = {(record.shape, record.config, record.seed) for record in self.records()}
            for record in records:
                if (record.shape, record.config, record.seed) not in here:
                    self.save_finished(record)

    def _claim(self, plan: Plan, about: Mapping[str, Any]) -> None:
        recorded = self.recorded()
        if self._is_dataset_alone:
            self._adopt_dataset()
        # The date of creation stays, and the looks that were made. Looks that were only planned do not.
        kept = {name: recorded[name] for name in ("created", LOOKS) if name in recorded}
        if LOOKS in about or (LOOKS in kept and not looks_from_json(kept[LOOKS])[1]):
            kept.pop(LOOKS, None)
        self.save_about({"identity": plan_identity(plan), "about": {**about, **kept}})

    def _adopt_dataset(self) -> None:
        """Write files for the runs in the dataset; without a description they do not count yet."""
        self.description.unlink(missing_ok=True)
        dataset = open_dataset(self.dataset)
        for record in records_from_dataset(dataset):
            self.save_finished(record)
        for rounds in rounds_from_dataset(dataset):
            self.save_rounds(rounds)

    def _identity_of_dataset(self) -> dict[str, Any]:
        try:
            identity = identity_from_dataset(open_dataset(self.dataset))
        except DatasetError as error:
            raise StoreError(
                f"{self.dataset} exists and is not a sweep to go on with; give another --out"
            ) from error
        return {"format": FORMAT, **identity}

    # Facts about the sweep

    def recorded(self) -> Mapping[str, Any]:
        """Return the facts that earlier sessions recorded about themselves; empty if nothing was done."""
        if self._is_dataset_alone:
            return {str(name): value for name, value in open_dataset(self.dataset).attrs.items()}
        return self.about()["about"] if self.description.exists() and self.has_work else {}

    def amend(self, **facts: str) -> None:
        """Add facts to the ones that the sweep recorded about itself."""
        content = self.about()
        self.save_about({**content, "about": {**content["about"], **facts}})

    def records(self) -> list[RunRecord]:
        """Return all finished runs, including those that the present plan does not contain."""
        if self._is_dataset_alone:
            return records_from_dataset(open_dataset(self.dataset))
        return super().records()

    def save_dataset(self, dataset: xr.Dataset) -> None:
        """Write the dataset that was built from the files."""
        remedy = f"what is done is kept in {self.folder.name}: make room and give the same command again"
        write_dataset(dataset, self.dataset, remedy=remedy)
