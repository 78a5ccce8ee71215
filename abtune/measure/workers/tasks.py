"""The tasks of a search that dask workers carry out, in the child processes of their pools."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dask.system import cpu_count

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Kernel, Problem, Settings
from abtune.measure.plan.records import Candidate, History, Trial
from abtune.measure.workers.child import Slot
from abtune.measure.workers.fork_server import CallFailed, CallTimedOut, ChildError
from abtune.measure.workers.pool import ProcessPool

# A search iteration takes seconds to minutes; after this time it hangs.
SEARCH_TIMEOUT = 3600.0
# A CUDA context keeps the local memory that the greediest of its kernels needed: gigabytes, and sometimes
# nearly all there is. A process that took more than this share of its device's memory is replaced.
MEMORY_SHARE = 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The candidates of one iteration."""

    candidates: tuple[Candidate, ...]  # to be tried
    cost_model: bytes  # state of the cost model that picked them
    seconds: float  # duration of the search, summed over its threads
    repeated: bool  # whether it was made again with MetaSchedule's own postprocessors


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Kernels to time, and trials of candidates that could not be built, in the order of the search."""

    candidates: Sequence[Candidate]
    built: tuple[Kernel | Trial, ...]  # one per candidate
    seconds: float  # duration of building them


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A batch that was timed."""

    trials: tuple[Trial, ...]  # one per candidate, in the order of the search
    seconds: float  # duration of building and timing
    building: float  # of that, the duration of building


def in_process(pool: ProcessPool, function: str, *args: Any) -> tuple[Any, float]:
    """Return what a function returns in a process that searches, and how many seconds that took."""
    started = time.monotonic()
    with pool.searcher() as slot:
        answer = slot.call(function, *args, timeout=SEARCH_TIMEOUT)
    return answer, time.monotonic() - started


def propose(
    pool: ProcessPool, problem: Problem, history: History, count: int, rng_seed: int, threads: int
) -> Proposal:
    """Return the candidates of one iteration, searched with `threads`, but no more than there are cores."""
    threads = min(threads, cpu_count())
    answer, seconds = in_process(pool, "propose", problem, history, count, rng_seed, threads)
    candidates, cost_model, repeated = answer
    return Proposal(
        candidates=candidates, cost_model=cost_model, seconds=seconds * threads, repeated=repeated
    )


def build_batch(
    pool: ProcessPool, problem: Problem, candidates: Sequence[Candidate], timeout: float
) -> Batch:
    """Return the kernels of candidates; a candidate that cannot be built within `timeout` has failed."""
    started = time.monotonic()
    with pool.searcher() as slot:
        built = tuple(_build(slot, problem, candidate, timeout) for candidate in candidates)
    return Batch(candidates=candidates, built=built, seconds=time.monotonic() - started)


def build_kernel(slot: Slot, problem: Problem, record: list[Any], timeout: float) -> Kernel:
    """Return the kernel of a tuning record; ChildError if it cannot be built within `timeout` seconds."""
    library = slot.call("build", problem, record, timeout=timeout)
    return Kernel(shape=problem.shape, target=problem.target, library=library)


def _build(slot: Slot, problem: Problem, candidate: Candidate, timeout: float) -> Kernel | Trial:
    try:
        return build_kernel(slot, problem, candidate.record, timeout)
    except ChildError as error:
        return _failed(candidate, TrialStatus.BUILD_FAILED, error)


def _failed(candidate: Candidate, status: TrialStatus, error: ChildError) -> Trial:
    """Return the trial of a candidate that has this status unless time ran out."""
    actual = TrialStatus.TIMED_OUT if isinstance(error, CallTimedOut) else status
    return Trial(candidate=candidate, status=actual, latency=math.nan, message=str(error))


def time_batch(pool: ProcessPool, settings: Settings, batch: Batch) -> Timed:
    """Return the trials of a batch, timed on one device."""
    with pool.device() as slot:
        started = time.monotonic()  # the wait for the device is no time of the run
        trials = tuple(
            built if isinstance(built, Trial) else _time(pool, slot, settings, candidate, built)
            for candidate, built in zip(batch.candidates, batch.built, strict=True)
        )
        relieve(pool, slot, settings)
    seconds = batch.seconds + time.monotonic() - started
    return Timed(trials=trials, seconds=seconds, building=batch.seconds)


def _time(pool: ProcessPool, slot: Slot, settings: Settings, candidate: Candidate, kernel: Kernel) -> Trial:
    try:
        times = timings(slot, "time_candidate", kernel, settings.search_timing, timeout=settings.run_timeout)
    except ChildError as error:
        recover(pool, slot, error)
        return _failed(candidate, TrialStatus.RUN_FAILED, error)
    return Trial(candidate=candidate, status=TrialStatus.OK, latency=statistics.median(times), message="")


def timings(slot: Slot, function: str, *args: Any, timeout: float) -> list[float]:
    """Return the seconds that a call times; CallFailed where the device's clock is too coarse."""
    times: list[float] = slot.call(function, *args, timeout=timeout)
    if min(times) <= 0:  # no logarithm
        raise CallFailed(f"{function}: a call took {min(times):g} s by the device's clock")
    return times


def recover(pool: ProcessPool, slot: Slot, error: ChildError) -> None:
    """Replace a process that lives on after an error of its device: later calls in it may fail as well."""
    if pool.device_is_apart and isinstance(error, CallFailed):
        slot.replace()


def relieve(pool: ProcessPool, slot: Slot, settings: Settings) -> None:
    """Replace a process that keeps too much of the memory of its device."""
    if not pool.device_is_apart:
        return
    try:
        grown: float = slot.call("memory_grown", timeout=settings.run_timeout)
    except ChildError:  # the device has just failed
        return
    if grown > MEMORY_SHARE:  # False if it is unknown
        slot.replace()
