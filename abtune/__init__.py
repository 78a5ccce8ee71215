"""Tell real autotuning speedups from search noise.

abtune repeats random searches such as TVM's MetaSchedule over many seeds, and keeps every sample. It says of
each shape whether a candidate configuration is faster than a baseline, slower, equivalent, or not yet known.
Importing this package is cheap: nothing heavy is loaded before it is used, and TVM never is.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from abtune.version import __version__

if TYPE_CHECKING:
    from abtune.compare.compare import analyze, analyze_all
    from abtune.compare.results import Analysis, Comparison, Verdict
    from abtune.configurations import Configuration
    from abtune.dataset.build import add_variables, make_dataset
    from abtune.dataset.netcdf import open_dataset, save_dataset
    from abtune.dataset.schema import RunStatus, TrialOrigin, TrialStatus
    from abtune.errors import AbtuneError
    from abtune.sections.calibration import Calibration, calibrate
    from abtune.sections.change.change import compare_datasets
    from abtune.sections.change.change_results import Change
    from abtune.sections.change.history import History, history
    from abtune.sections.power.seed_plan import SeedPlan, power
    from abtune.sections.section_registry import describe

__all__ = [
    "AbtuneError",
    "Analysis",
    "Calibration",
    "Change",
    "Comparison",
    "Configuration",
    "History",
    "RunStatus",
    "SeedPlan",
    "TrialOrigin",
    "TrialStatus",
    "Verdict",
    "__version__",
    "add_variables",
    "analyze",
    "analyze_all",
    "calibrate",
    "compare_datasets",
    "describe",
    "history",
    "make_dataset",
    "open_dataset",
    "power",
    "save_dataset",
]

# The public names of each module, which is imported when the first of them is used.
_NAMES: dict[str, tuple[str, ...]] = {
    "abtune.compare.compare": ("analyze", "analyze_all"),
    "abtune.compare.results": ("Analysis", "Comparison", "Verdict"),
    "abtune.configurations": ("Configuration",),
    "abtune.dataset.build": ("add_variables", "make_dataset"),
    "abtune.dataset.netcdf": ("open_dataset", "save_dataset"),
    "abtune.dataset.schema": ("RunStatus", "TrialOrigin", "TrialStatus"),
    "abtune.errors": ("AbtuneError",),
    "abtune.sections.calibration": ("Calibration", "calibrate"),
    "abtune.sections.change.change": ("compare_datasets",),
    "abtune.sections.change.change_results": ("Change",),
    "abtune.sections.change.history": ("History", "history"),
    "abtune.sections.power.seed_plan": ("SeedPlan", "power"),
    "abtune.sections.section_registry": ("describe",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'abtune' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
