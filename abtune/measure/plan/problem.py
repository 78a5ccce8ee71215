"""What a sweep runs on and tunes, as data: target, workplace, problem, settings. TVM is not imported."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from abtune.configurations import Configuration
from abtune.errors import InputError, TargetError
from abtune.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is tuned, how, and for which target."""

    shape: Shape  # the workload
    config: Configuration  # search space, build options and search strategy
    target: str  # the TVM target, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A compiled candidate."""

    shape: Shape  # the workload that it computes
    target: str  # the TVM target that it was built for, as JSON
    library: bytes  # content of the shared library


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How a kernel is timed."""

    repeats: int  # number of timings
    repeat_ms: int  # least duration of one timing, milliseconds
    # "warm": calls follow back to back. "cold": something else fills the caches before each call.
    # Each timing is then the median of COLD_CALLS single calls, and repeat_ms does not count
    cache: str


# Single calls with a cold cache scatter, so the median of this many calls is one repeat.
COLD_CALLS = 20


# Seconds that it takes to empty the caches before one call, roughly.
FLUSH_SECONDS = 0.005


# Trials that MetaSchedule's cost model learns from before it predicts (``num_warmup_samples``).
WARM_UP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides what a run does, beside its shape, configuration and seed."""

    target: str  # the TVM target, as JSON
    trials: int  # candidates of a run, and of one iteration of its search
    trials_per_iteration: int
    # timings of a candidate within a search, and the least duration of one timing, milliseconds
    search_repeats: int
    search_repeat_ms: int
    # rounds of re-measuring the winners, timings per round, and the least duration of one timing,
    # milliseconds
    rounds: int
    repeats: int
    repeat_ms: int
    build_timeout: float  # limits for building and for timing one candidate, seconds
    run_timeout: float
    rng_seed: int  # root of all random numbers that abtune chooses
    # state of the device's caches when a kernel is timed: "warm" or "cold", see Timing
    cache: str = "warm"  # the meaning of old datasets, which have no such setting
    # trials of an iteration that are schedules of the partner's search; zero if searches are independent
    exchanged: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether the two searches of a seed exchange schedules, so that seeds are pairs."""
        return self.exchanged > 0

    @property
    def iterations(self) -> int:
        """Number of iterations that spend the trials."""
        return math.ceil(self.trials / self.trials_per_iteration)

    @property
    def guided(self) -> int:
        """Number of iterations that the cost model guides: those after its first hundred trials."""
        return max(self.iterations - math.ceil(WARM_UP / self.trials_per_iteration), 0)

    def trials_with(self, guided: int) -> int:
        """Return the number of trials that has some guided iterations."""
        return self.trials_per_iteration * (math.ceil(WARM_UP / self.trials_per_iteration) + guided)

    @property
    def search_timing(self) -> Timing:
        """How a candidate is timed within its search."""
        return Timing(repeats=self.search_repeats, repeat_ms=self.search_repeat_ms, cache=self.cache)

    @property
    def round_timing(self) -> Timing:
        """How a winner is timed in one round."""
        return Timing(repeats=self.repeats, repeat_ms=self.repeat_ms, cache=self.cache)

    def round_seconds(self, latency: float) -> float:
        """Return the estimated duration of one round of a winner, in seconds."""
        if self.cache == "cold":
            return self.repeats * COLD_CALLS * (FLUSH_SECONDS + latency)
        return self.repeats * max(self.repeat_ms / 1000, latency)


# The one module that child processes import, and whose functions they call by name.
TVM_MODULE = "abtune.measure.tvm.metaschedule"
# Searches run side by side, and a process with several threads cannot be forked safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}
# This variable tells a process that measures where its device is, in the form of TargetFacts.remote.
REMOTE = "ABTUNE_REMOTE"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """A target and the facts about it."""

    kind: str  # "cuda" or "llvm"
    target: str  # the TVM target, as JSON
    arch: int  # compute capability times ten, such as 90; zero for a CPU
    devices: tuple[str, ...]  # names of the devices that can measure: GPUs, or this CPU
    threads: int  # threads that a kernel may use on a CPU
    versions: Mapping[str, str]  # versions of TVM, CUDA and the driver, where they apply
    remote: str  # address of the device as host:port/key of an RPC tracker; empty for this machine

    @property
    def shares_cores(self) -> bool:
        """Whether kernels are timed on the cores that search."""
        return self.kind != "cuda" and not self.remote


# More load than this is busy: searches get less, and timings of a CPU are noisy.
LOAD_PER_CORE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where the work is done."""

    facts: TargetFacts  # the target to tune for
    scheduler: str  # address of a dask scheduler, such as "tcp://host:8786"; empty for this machine alone
    cores: int  # cores of this machine that search. A scheduler has its own
    load: float = 0.0  # processes that ran or waited on these cores in the last minute, on average

    @property
    def is_busy(self) -> bool:
        """Whether other programs slow searches down and make timings of a CPU noisy."""
        return self.load > LOAD_PER_CORE * self.cores


def machine_load(cores: int) -> float | None:
    """Return how many processes ran or waited in the last minute, on average; None if unknown.

    A container sees the load of its whole host, so what the other cores of the host can take is left out.
    """
    try:
        load = os.getloadavg()[0]
    except (OSError, AttributeError):  # not every system counts
        return None
    return max(load - max((os.cpu_count() or cores) - cores, 0), 0.0)


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and its container's quota."""
    try:
        from dask.system import cpu_count
    except ImportError:  # abtune doctor says so
        return os.cpu_count() or 1
    return int(cpu_count())


def remote_device(tracker: str, key: str) -> str:
    """Return the address of a device behind an RPC tracker, in the form of ``TargetFacts.remote``."""
    if not tracker and not key:
        return ""
    if not (tracker and key):
        raise InputError("--rpc-tracker and --rpc-key go together: give HOST:PORT and the key of a device")
    if not re.fullmatch(r"[^/]+:\d+", tracker):
        raise InputError(f"--rpc-tracker {tracker!r} is no address; give HOST:PORT, such as 127.0.0.1:9190")
    return f"{tracker}/{key}"


def require_kind(facts: TargetFacts, target: str) -> None:
    """Refuse to build winners of one kind of target for another kind."""
    try:
        tuned_for = str(json.loads(target)["kind"])
    except (ValueError, LookupError, TypeError):
        raise TargetError(
            f"the winners were tuned for {target!r}, which is no target as JSON; "
            "give a dataset that abtune sweep made"
        ) from None
    if tuned_for != facts.kind:
        raise TargetError(
            f"these winners were tuned for {tuned_for}, but this target is {facts.kind}; "
            f"give a --target of kind {tuned_for}"
        )
