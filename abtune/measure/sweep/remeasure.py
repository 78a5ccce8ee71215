"""Re-measures the winners of a dataset, later or elsewhere: the searches stay, the timings are new.

The runs go into a store of their own, as if it had searched them. So it is stopped, resumed and distributed
like any sweep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from abtune.configurations import Configuration
from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.sweep_settings import Settings
from abtune.measure.plan.target import TargetFacts, Workplace
from abtune.measure.store.from_dataset import plan_from_dataset, records_from_dataset
from abtune.measure.store.store import Store
from abtune.measure.sweep.run_sweep import Outcome, sweep
from abtune.measure.sweep.session import Progress

# The moment of re-measuring, by which the dataset of a re-measurement is known.
MEASURED = "measured_again"
# Attributes that the store writes anew.
_REWRITTEN = {"settings", "configurations"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasurement:
    """What is measured again, and how."""

    dataset: xr.Dataset  # made by a sweep; it is not changed
    settings: Settings  # rounds and repeats; the target is the workplace's
    # configurations of the user, by which entries of the dataset are known that take code from modules
    own: tuple[Configuration, ...] = ()
    transfer: bool = False  # whether the other configurations rebuild each winner

    def plan(self, facts: TargetFacts) -> Plan:
        """Return the plan, which has no runs: nothing is searched."""
        plan = plan_from_dataset(self.dataset, replace(self.settings, target=facts.target), self.own)
        machine = f"{facts.devices[0]}, TVM {self.dataset.attrs.get('tvm_version', '')}"
        return replace(plan, machine=machine, runs=(), transfer=self.transfer)

    def about(self, facts: TargetFacts, moment: str) -> dict[str, Any]:
        """Return the facts about the dataset of the new timings."""
        stored = {str(name): value for name, value in self.dataset.attrs.items() if name not in _REWRITTEN}
        attrs = {
            name: value.tolist() if hasattr(value, "tolist") else value for name, value in stored.items()
        }
        title = re.sub(r", \d+ shapes?$", "", str(attrs.get("title", "")))
        return {**attrs, "title": title, "device": facts.devices[0], MEASURED: moment}


def remeasure(
    what: Remeasurement,
    store: Store,
    workplace: Workplace,
    *,
    moment: str,
    time_limit: float,
    progress: Progress,
) -> Outcome:
    """Measure all winners again, built anew and checked, write the dataset, and return how it ended."""
    plan, about = what.plan(workplace.facts), what.about(workplace.facts, moment)
    records = records_from_dataset(what.dataset)
    store.check(plan)
    _require_same_winners(store, about)
    store.adopt(plan, about, records)
    return sweep(plan, store, workplace, about=about, time_limit=time_limit, progress=progress)


def _require_same_winners(store: Store, about: Mapping[str, Any]) -> None:
    """Refuse a store of a sweep, or of the winners of another dataset."""
    recorded = store.recorded()
    if recorded and MEASURED not in recorded:
        raise StoreError(f"{store.dataset} exists and was not made by abtune measure; give another --out")
    if recorded and recorded.get("created") != about.get("created"):
        raise StoreError(f"{store.dataset} has the winners of another dataset; give another --out")
