"""Sweeps for tests: in this process, or in one of their own that can be killed."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import xarray as xr
from measure_builders import make_workplace

from abtune.configurations import Configuration
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.workplace import TargetFacts
from abtune.measure.store.store import Store
from abtune.measure.sweep.run_sweep import Outcome, sweep

ABOUT = {
    "title": "a sweep",
    "created": "2026-01-01T00:00:00+00:00",
    "device": "a device",
    "tvm_version": "0.27",
}
# What depends on when and where a sweep was done, and on nothing else.
CIRCUMSTANCES = ("tuning_time", "started", "finished", "host")


class Steps:
    """A progress that counts."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, int, int]] = []
        self.done: list[int] = []
        self.news: list[str] = []

    def begin(self, phase: str, total: int, done: int) -> None:
        self.phases.append((phase, total, done))
        self.done.append(done)

    def advance(self, steps: int) -> None:
        self.done[-1] += steps

    def tell(self, news: str) -> None:
        self.news.append(news)

    def warn(self, line: str) -> None:
        self.news.append(line)


def run_sweep(
    plan: Plan,
    store: Store,
    *,
    facts: TargetFacts | None = None,
    scheduler: str = "",
    cores: int = 2,
    time_limit: float = math.inf,
    **changes: Any,
) -> Outcome:
    """Carry out a plan here."""
    arguments = {"about": ABOUT, "progress": Steps(), **changes, "end": time.monotonic() + time_limit}
    return sweep(plan, store, make_workplace(facts, scheduler=scheduler, cores=cores), **arguments)


def config(name: str, **faults: str) -> Configuration:
    """Return a configuration with faults, which a sweep does not try out first as it does its own."""
    return Configuration(name=name, pass_config=faults, space="module:function")


def without_circumstances(dataset: xr.Dataset) -> xr.Dataset:
    """Return what two sweeps of one plan must agree on."""
    return dataset.drop_vars(CIRCUMSTANCES).drop_attrs(deep=False)


def names(folder: Path) -> list[str]:
    """Return the names of all files under a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def calls(log: Path) -> list[list[Any]]:
    """Return what the fake noted: function, words, process, visible devices."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
