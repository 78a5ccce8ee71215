"""What a sweep runs on, as data: facts about the target, and who works for it. TVM is not imported."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from abtune.errors import TargetError

# The one module that child processes import, and whose functions they call by name.
TVM_MODULE = "abtune.measure.tvm.metaschedule"
# Searches run side by side, and a process with several threads cannot be forked safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}
# NVML numbers GPUs by their bus. So must CUDA, whose first GPU is otherwise the fastest.
BUS_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """A target and the facts about it."""

    kind: str  # "cuda" or "llvm"
    target: str  # the TVM target, as JSON
    arch: int  # compute capability times ten, such as 90; zero for a CPU
    devices: tuple[str, ...]  # names of the devices that can measure: GPUs, or this CPU
    threads: int  # threads that a kernel may use on a CPU
    versions: Mapping[str, str]  # versions of TVM, CUDA and the driver, where they apply
    # random schedules a second that each core samples while all do, in a short trial; zero without one
    rate: float = 0.0
    launched_by: str = "stream"  # what launches the calls of a winner, see Timing

    @property
    def shares_cores(self) -> bool:
        """Whether kernels are timed on the cores that search."""
        return self.kind != "cuda"


# More load than this is busy: searches get less, and timings of a CPU are noisy.
LOAD_PER_CORE = 0.5
# Seconds over which it is measured.
LOAD_SECONDS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where the work is done."""

    facts: TargetFacts  # the target to tune for
    scheduler: str  # address of a dask scheduler, such as "tcp://host:8786"; empty for this machine alone
    cores: int  # cores of this machine that search. A scheduler has its own
    load: float = 0.0  # number of these cores that others keep busy

    @property
    def is_busy(self) -> bool:
        """Whether other programs slow searches down and make timings of a CPU noisy."""
        return self.load > LOAD_PER_CORE * self.cores


def busy_cores() -> float | None:
    """Return how many cores of this host are busy now, on average over a moment; None if unknown."""
    # Not the load average of a minute, in which the last sweep of the same user still counts.
    try:
        import psutil  # comes with dask

        return psutil.cpu_percent(LOAD_SECONDS) / 100 * (os.cpu_count() or 1)
    except (ImportError, OSError, ValueError):  # a system that does not say
        return None


def machine_load(cores: int) -> float | None:
    """Return how many of these cores others keep busy; None if unknown."""
    busy = busy_cores()
    # A container sees the load of its whole host, so what the host's other cores can take is left out.
    return None if busy is None else max(busy - max((os.cpu_count() or cores) - cores, 0), 0.0)


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and its container's quota."""
    try:
        from dask.system import cpu_count
    except ImportError:  # abtune doctor says so
        return os.cpu_count() or 1
    return int(cpu_count())


def require_kind(facts: TargetFacts, target: str) -> None:
    """Refuse to build winners of one kind of target for another kind."""
    try:
        tuned_for = str(json.loads(target)["kind"])
    except (ValueError, LookupError, TypeError):
        raise TargetError(f"{target!r} is no target; give a dataset that abtune sweep made") from None
    if tuned_for != facts.kind:
        here = f"this target is of kind {facts.kind}"
        remedy = f"give --target {tuned_for}, on a machine with such a device"
        raise TargetError(f"these winners were tuned for {tuned_for}, and {here}; {remedy}")
