"""The dataset's contract: which variables there are, over which dimensions, in which units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray as xr

SCHEMA_VERSION = 1
MILLISECONDS = "milliseconds since 1970-01-01"  # the units of times in files
# Attribute of a dataset that says how runs with one seed number belong together.
DESIGN = "design"

RUN = ("shape", "config", "seed")
ROUND = (*RUN, "round")
REPEAT = (*ROUND, "repeat")
TRIAL = (*RUN, "trial")
# The winner of a run of `origin`, rebuilt under `config`.
TRANSFER = ("shape", "config", "origin", "seed")


class RunStatus(IntEnum):
    """Outcome of one tuning run."""

    COMPLETE = 0
    FAILED = 1
    MISSING = 2


class TrialStatus(IntEnum):
    """Outcome of one candidate schedule within a run."""

    OK = 0
    BUILD_FAILED = 1
    RUN_FAILED = 2
    TIMED_OUT = 3
    NOT_RUN = 4
    UNKNOWN = 5  # it was made, and nothing says how it ended: a log that tells the best time only


class TrialOrigin(IntEnum):
    """Where a candidate schedule of a run comes from."""

    OWN = 0
    CARRIED_OVER = 1  # found by the other configuration's search of the same shape and seed
    MISSING = 2


class SeedDesign(StrEnum):
    """How runs with one seed number belong together; the values of the attribute ``design``."""

    INDEPENDENT = "independent"  # also where the attribute is absent
    PAIRED = "paired"  # the runs of a seed were timed side by side, so they are a pair
    SHARED = "shared"  # the searches of a seed exchanged their best schedules, so they are a pair


def design_of(attrs: Mapping[str, Any]) -> str:
    """Return the design that the attributes of a dataset record."""
    return str(attrs.get(DESIGN, SeedDesign.INDEPENDENT))


def is_paired(dataset: xr.Dataset) -> bool:
    """Return whether seed k of one configuration and seed k of another are a pair."""
    return design_of(dataset.attrs) != SeedDesign.INDEPENDENT


def labels_of(dataset: xr.Dataset, axis: str) -> list[str]:
    """Return the labels along an axis."""
    return [str(label) for label in dataset[axis].values.tolist()]


def in_order(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset whose seeds are in the order of their numbers: the same one, if they are already."""
    numbers = dataset["seed"].values
    return dataset if (numbers[:-1] < numbers[1:]).all() else dataset.isel(seed=np.argsort(numbers))


def runs_of(dataset: xr.Dataset, name: str, config: str) -> npt.NDArray[Any]:
    """Return a variable of the runs of one configuration, shape (shape, seed, ...)."""
    # A valid dataset has its axes in the order of the schema.
    return dataset[name].values[:, labels_of(dataset, "config").index(config)]


class TransferStatus(IntEnum):
    """Outcome of a winner that was rebuilt under another configuration."""

    OK = 0
    DOES_NOT_FIT = 1
    FAILED = 2
    SAME_KERNEL = 3
    MISSING = 4


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of the schema."""

    dims: tuple[str, ...]
    kind: str  # of NumPy: "f" float, "i" integer, "U" text, "M" time (UTC)
    units: str  # UDUNITS notation; "1" where there is none
    long_name: str
    flags: type[IntEnum] | None = None  # an enumeration, written as CF flag_values and flag_meanings
    required: bool = False

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that the variable carries in memory and in the file."""
        attrs: dict[str, Any] = {"long_name": self.long_name}
        if self.kind != "M":  # xarray keeps the units of times in the encoding
            attrs["units"] = self.units
        if self.flags is not None:
            # CF asks for the type of the variable, which add_variables() makes int8.
            attrs["flag_values"] = np.array([flag.value for flag in self.flags], dtype=np.int8)
            attrs["flag_meanings"] = " ".join(flag.name.lower() for flag in self.flags)
        return attrs

    @property
    def fill(self) -> Any:
        """What stands where there is no value."""
        if self.flags is not None:
            return self.flags["NOT_RUN" if self.flags is TrialStatus else "MISSING"]
        return {"f": math.nan, "U": "", "M": np.datetime64("NaT", "ms")}[self.kind]


VARIABLES: Mapping[str, Variable] = {
    "latency": Variable(
        REPEAT, "f", "s", "time of one call of the winner, measured again after the search", required=True
    ),
    "run_status": Variable(RUN, "i", "1", "outcome of the tuning run", flags=RunStatus, required=True),
    "workload": Variable(("shape",), "U", "1", "kind of tensor workload", required=True),
    "flop": Variable(("shape",), "f", "1", "floating-point operations of one call"),
    "search_latency": Variable(RUN, "f", "s", "time of the winner as the search itself measured it"),
    "trial_latency": Variable(TRIAL, "f", "s", "time of each candidate, in the order of the search"),
    "trial_status": Variable(TRIAL, "i", "1", "outcome of each candidate", flags=TrialStatus),
    "trial_origin": Variable(TRIAL, "i", "1", "whose search found each candidate", flags=TrialOrigin),
    "trial_failure": Variable(RUN, "U", "1", "most frequent reason why trials of the run failed"),
    "tuning_time": Variable(RUN, "f", "s", "time spent on the run: searching, building and measuring"),
    "started": Variable(RUN, "M", MILLISECONDS, "start of the run (UTC)"),
    "finished": Variable(RUN, "M", MILLISECONDS, "end of the run (UTC)"),
    "device": Variable(RUN, "U", "1", "device that measured the winner"),
    "host": Variable(RUN, "U", "1", "machine that measured the winner"),
    "sm_clock": Variable(ROUND, "f", "MHz", "clock of the multiprocessors in the round"),
    "temperature": Variable(ROUND, "f", "degC", "temperature of the device in the round"),
    "throttle_reasons": Variable(
        ROUND, "f", "1", "why the clock was not higher in the round: sum of NVML's nvmlClocksEventReason bits"
    ),
    "winner": Variable(RUN, "U", "1", "trace of the winning schedule (JSON)"),
    "failure": Variable(RUN, "U", "1", "why the run failed"),
    "transfer_latency": Variable(
        (*TRANSFER, "round", "repeat"), "f", "s", "time of one call of a winner of origin, built as config"
    ),
    "transfer_status": Variable(
        TRANSFER, "i", "1", "outcome of a winner of origin, built as config", flags=TransferStatus
    ),
    "transfer_kernel": Variable(TRANSFER, "U", "1", "hash of the kernel that was timed"),
}

COORDINATES = {
    "shape": "label of the tensor workload",
    "config": "configuration that was tuned with",
    "seed": "number of the replicate; not paired between configurations",
    "round": "round of re-measurement",
    "repeat": "timing within a round",
    "trial": "candidate within a search",
    "origin": "configuration whose search found the schedule",
}
