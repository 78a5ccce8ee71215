"""Tell real autotuning speedups from search noise.

abtune repeats random searches such as TVM's MetaSchedule over many seeds, keeps every sample, and says of
each shape whether a candidate configuration is faster than a baseline, slower, equivalent, or not yet
known. Importing this package is cheap: nothing heavy is loaded before it is used, and TVM never is.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from abtune.analyse import Analysis, Comparison, Verdict, analyze
    from abtune.datasets import open_dataset, save_dataset
    from abtune.errors import AbtuneError
    from abtune.schema import make_dataset

__all__ = [
    "AbtuneError",
    "Analysis",
    "Comparison",
    "Verdict",
    "__version__",
    "analyze",
    "make_dataset",
    "open_dataset",
    "save_dataset",
]

_HOME = {
    "AbtuneError": "abtune.errors",
    "Analysis": "abtune.analyse",
    "Comparison": "abtune.analyse",
    "Verdict": "abtune.analyse",
    "analyze": "abtune.analyse",
    "make_dataset": "abtune.schema",
    "open_dataset": "abtune.datasets",
    "save_dataset": "abtune.datasets",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'abtune' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
