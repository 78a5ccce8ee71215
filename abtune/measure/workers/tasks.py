"""The tasks of a search that dask workers carry out, in the child processes of their pools."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dask.system import cpu_count

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Kernel, Problem
from abtune.measure.plan.sweep_settings import Settings
from abtune.measure.plan.trials import Candidate, History, Trial, failed
from abtune.measure.workers.child_errors import CallFailed, CallTimedOut, ChildError
from abtune.measure.workers.pool import ProcessPool
from abtune.measure.workers.slot import Slot

# A search iteration takes seconds to minutes; after this time it hangs.
SEARCH_TIMEOUT = 3600.0
# A CUDA context keeps the local memory that the greediest of its kernels needed: gigabytes, and sometimes
# nearly all there is. A process that took more than this share of its device's memory is replaced.
MEMORY_SHARE = 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCandidate:
    """A candidate and its kernel."""

    candidate: Candidate
    kernel: Kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The candidates of one iteration.

    Attributes
    ----------
    candidates : tuple of Candidate
        To be tried.
    cost_model : bytes
        State of the cost model that picked them.
    seconds : float
        Duration of the search.
    threads : int
        Number of threads that it used.
    repeated : bool
        Whether it was repeated with MetaSchedule's own postprocessors.
    """

    candidates: tuple[Candidate, ...]
    cost_model: bytes
    seconds: float
    threads: int
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Kernels to time, and trials of candidates that could not be built, in the order of the search.

    Attributes
    ----------
    entries : tuple of BuiltCandidate or Trial
        One per candidate.
    seconds : float
        Duration of building them.
    started_in : float
        Seconds that the process took to start before it built; NaN if unknown.
    """

    entries: tuple[BuiltCandidate | Trial, ...]
    seconds: float
    started_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A batch that was timed.

    Attributes
    ----------
    trials : tuple of Trial
        One per candidate, in the order of the search.
    seconds : float
        Duration of building and timing.
    """

    trials: tuple[Trial, ...]
    seconds: float


def check(pool: ProcessPool, problem: Problem) -> None:
    """Set up the search of a problem, and nothing more.

    Raises
    ------
    ChildError
        If the options or the design space of its configuration cannot be used.
    """
    with pool.searcher() as slot:
        slot.call("check", problem, timeout=SEARCH_TIMEOUT)


def propose(
    pool: ProcessPool, problem: Problem, history: History, count: int, rng_seed: int, threads: int
) -> Proposal:
    """Return the candidates of one iteration, searched with `threads`, but no more than there are cores.

    Raises
    ------
    ChildError
        If the search itself fails.
    """
    started = time.monotonic()
    threads = min(threads, cpu_count())
    with pool.searcher() as slot:
        candidates, cost_model, repeated = slot.call(
            "propose", problem, history, count, rng_seed, threads, timeout=SEARCH_TIMEOUT
        )
    return Proposal(
        candidates=candidates,
        cost_model=cost_model,
        seconds=time.monotonic() - started,
        threads=threads,
        repeated=repeated,
    )


def build_batch(
    pool: ProcessPool, problem: Problem, candidates: Sequence[Candidate], timeout: float
) -> Batch:
    """Return the kernels of candidates; a candidate that cannot be built within `timeout` has failed."""
    started = time.monotonic()
    with pool.searcher() as slot:
        entries = tuple(build_candidate(slot, problem, candidate, timeout) for candidate in candidates)
        started_in = slot.started_in
    return Batch(entries=entries, seconds=time.monotonic() - started, started_in=started_in)


def build_candidate(
    slot: Slot, problem: Problem, candidate: Candidate, timeout: float
) -> BuiltCandidate | Trial:
    """Return a candidate with its kernel, or its trial if it cannot be built within `timeout` seconds."""
    try:
        library = slot.call("build", problem, candidate.record, timeout=timeout)
    except CallTimedOut as error:
        return failed(candidate, TrialStatus.TIMED_OUT, str(error))
    except ChildError as error:
        return failed(candidate, TrialStatus.BUILD_FAILED, str(error))
    kernel = Kernel(shape=problem.shape, target=problem.target, library=library)
    return BuiltCandidate(candidate=candidate, kernel=kernel)


def time_batch(pool: ProcessPool, settings: Settings, batch: Batch) -> Timed:
    """Return the trials of a batch, timed on one device."""
    started = time.monotonic()
    with pool.device() as slot:
        trials = tuple(
            entry if isinstance(entry, Trial) else _time(pool, slot, settings, entry)
            for entry in batch.entries
        )
        relieve(pool, slot, settings)
    return Timed(trials=trials, seconds=batch.seconds + time.monotonic() - started)


def _time(pool: ProcessPool, slot: Slot, settings: Settings, built: BuiltCandidate) -> Trial:
    try:
        times = slot.call(
            "time_candidate", built.kernel, settings.search_timing, timeout=settings.run_timeout
        )
    except ChildError as error:
        recover(pool, slot, error)
        timed_out = isinstance(error, CallTimedOut)
        status = TrialStatus.TIMED_OUT if timed_out else TrialStatus.RUN_FAILED
        return failed(built.candidate, status, str(error))
    latency = statistics.median(times)
    return Trial(candidate=built.candidate, status=TrialStatus.OK, latency=latency, message="")


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
