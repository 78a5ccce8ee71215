"""What a dask worker is asked to do, in the child processes of its pool."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.system import cpu_count

from abtune.configurations import Configuration
from abtune.measure.child import CallFailed, CallTimedOut, ChildError
from abtune.measure.nvml import DeviceState
from abtune.measure.plan import Run, Settings
from abtune.measure.pool import ProcessPool
from abtune.measure.records import Rounds, WinnerTimes
from abtune.measure.slot import Slot
from abtune.measure.trials import Candidate, History, Trial, failed
from abtune.schema import TrialStatus
from abtune.shapes import Shape

# A search iteration takes seconds to minutes; one that takes this long hangs.
SEARCH_TIMEOUT = 3600.0
# float32 sums of a few thousand terms differ by 1e-6 or so between orders of summation.
ERROR_LIMIT = 1e-4

# A winner was built and timed before, so it can be; the machine may be busier or slower now than it was then.
WINNER_PATIENCE = 10
# A CUDA context keeps what the greediest of its kernels needed for local memory: gigabytes, once in a while
# nearly all there is. A process that made more than this share of its device's memory its own is replaced.
MEMORY_SHARE = 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A candidate that was built."""

    candidate: Candidate
    library: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one iteration of a search wants to try, what it has learned, and how long so many threads took."""

    candidates: tuple[Candidate, ...]
    cost_model: bytes
    seconds: float
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Kernels to time, and candidates that could not be built, in the order of the search.

    Attributes
    ----------
    entries : tuple of Kernel or Trial
    seconds : float
        That building took.
    started_in : float
        Seconds that the process which built took to start, before; NaN if unknown.
    """

    entries: tuple[Kernel | Trial, ...]
    seconds: float
    started_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A batch that was timed."""

    trials: tuple[Trial, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """A kernel to measure again, and whose winner it is."""

    config: str
    seed: int
    latency: float  # seconds, as its search measured it
    library: bytes


def check(pool: ProcessPool, shape: Shape, config: Configuration, target: str) -> None:
    """Set up the search of a configuration and leave it at that.

    Raises
    ------
    ChildError
        If its options or its design space cannot be used.
    """
    with pool.searcher() as slot:
        slot.call("check", shape, config, target, timeout=SEARCH_TIMEOUT)


def propose(
    pool: ProcessPool, run: Run, settings: Settings, history: History, count: int, rng_seed: int, threads: int
) -> Proposal:
    """Carry out the search part of an iteration, with as many threads, or as many as there are cores here.

    Raises
    ------
    ChildError
        If the search itself fails.
    """
    started = time.monotonic()
    threads = min(threads, cpu_count())
    arguments = (run.shape, run.config, settings.target, history, count, rng_seed, threads)
    with pool.searcher() as slot:
        candidates, cost_model = slot.call("propose", *arguments, timeout=SEARCH_TIMEOUT)
    return Proposal(
        candidates=candidates, cost_model=cost_model, seconds=time.monotonic() - started, threads=threads
    )


def build_batch(pool: ProcessPool, run: Run, settings: Settings, candidates: Sequence[Candidate]) -> Batch:
    """Build candidates; one that cannot be built is a failed trial."""
    started = time.monotonic()
    with pool.searcher() as slot:
        entries = tuple(
            _build(slot, run, settings, candidate, settings.build_timeout) for candidate in candidates
        )
        started_in = slot.started_in
    return Batch(entries=entries, seconds=time.monotonic() - started, started_in=started_in)


def build_winner(
    pool: ProcessPool, run: Run, settings: Settings, record: list[Any], latency: float
) -> Winner | WinnerTimes:
    """Build a winner again from its record; `latency` is what its search measured, seconds."""
    candidate = Candidate(record=record, module_hash="")
    with pool.searcher() as slot:
        built = _build(slot, run, settings, candidate, WINNER_PATIENCE * settings.build_timeout)
    if isinstance(built, Trial):
        return WinnerTimes.lost(
            run.config.name, run.seed, f"the winner could not be built again: {built.message}"
        )
    return Winner(config=run.config.name, seed=run.seed, latency=latency, library=built.library)


def time_batch(pool: ProcessPool, shape: Shape, settings: Settings, batch: Batch) -> Timed:
    """Time the kernels of a batch on one device."""
    started = time.monotonic()
    with pool.device() as slot:
        trials = tuple(
            entry if isinstance(entry, Trial) else _time(pool, slot, shape, settings, entry)
            for entry in batch.entries
        )
        _relieve(pool, slot, settings)
    return Timed(trials=trials, seconds=batch.seconds + time.monotonic() - started)


def time_winners(
    pool: ProcessPool, shape: Shape, settings: Settings, winners: Sequence[Winner], rng_seed: int
) -> Rounds:
    """Check the winners of a shape, then time them in rounds, each in a new random order, on one device."""
    rng = np.random.default_rng(rng_seed)
    with pool.device() as slot:
        tables = [_Table(winner) for winner in winners]
        for table in tables:
            table.failure = _check(pool, slot, shape, settings, table.winner)
        for _ in range(settings.rounds):
            for index in rng.permutation(len(tables)):
                if not tables[index].failure:
                    tables[index].add_round(pool, slot, shape, settings)
        device = _device_name(slot, settings)
        _relieve(pool, slot, settings)
    return Rounds(
        shape=shape.label,
        device=device,
        host=socket.gethostname(),
        winners=tuple(table.times() for table in tables),
    )


class _Table:
    """The rounds of one winner, as they come in."""

    def __init__(self, winner: Winner) -> None:
        self.winner = winner
        self.failure = ""
        self._latency: list[list[float]] = []
        self._states: list[DeviceState] = []

    def add_round(self, pool: ProcessPool, slot: Slot, shape: Shape, settings: Settings) -> None:
        how = (settings.repeats, settings.repeat_ms, settings.cache)
        arguments = (shape, settings.target, self.winner.library, *how)
        expected = settings.round_seconds(self.winner.latency)
        timeout = settings.run_timeout + WINNER_PATIENCE * expected
        try:
            self._latency.append(slot.call("time_kernel", *arguments, timeout=timeout))
            self._states.append(slot.call("device_state", timeout=settings.run_timeout))
        except ChildError as error:
            self.failure = f"the winner could not be measured again: {error}"
            _recover(pool, slot, error)

    def times(self) -> WinnerTimes:
        if self.failure:
            return WinnerTimes.lost(self.winner.config, self.winner.seed, self.failure)
        return WinnerTimes(
            config=self.winner.config,
            seed=self.winner.seed,
            latency=self._latency,
            sm_clock=[state.sm_clock for state in self._states],
            temperature=[state.temperature for state in self._states],
            throttle_reasons=[state.throttle_reasons for state in self._states],
            failure="",
        )


def _device_name(slot: Slot, settings: Settings) -> str:
    try:
        name: str = slot.call("device_name", settings.target, timeout=settings.run_timeout)
    except ChildError:  # of a device that has just failed
        return ""
    return name


def _build(slot: Slot, run: Run, settings: Settings, candidate: Candidate, timeout: float) -> Kernel | Trial:
    arguments = (run.shape, run.config, settings.target, candidate.record)
    try:
        library = slot.call("build", *arguments, timeout=timeout)
    except CallTimedOut as error:
        return failed(candidate, TrialStatus.TIMED_OUT, str(error))
    except ChildError as error:
        return failed(candidate, TrialStatus.BUILD_FAILED, str(error))
    return Kernel(candidate=candidate, library=library)


def _time(pool: ProcessPool, slot: Slot, shape: Shape, settings: Settings, kernel: Kernel) -> Trial:
    how = (settings.search_repeats, settings.search_repeat_ms, settings.cache)
    arguments = (shape, settings.target, kernel.library, *how)
    try:
        times = slot.call("time_candidate", *arguments, timeout=settings.run_timeout)
    except ChildError as error:
        _recover(pool, slot, error)
        timed_out = isinstance(error, CallTimedOut)
        status = TrialStatus.TIMED_OUT if timed_out else TrialStatus.RUN_FAILED
        return failed(kernel.candidate, status, str(error))
    latency = statistics.median(times)
    return Trial(candidate=kernel.candidate, status=TrialStatus.OK, latency=latency, message="")


def _check(pool: ProcessPool, slot: Slot, shape: Shape, settings: Settings, winner: Winner) -> str:
    try:
        error = slot.call(
            "check_kernel", shape, settings.target, winner.library, timeout=settings.run_timeout
        )
    except ChildError as failure:
        _recover(pool, slot, failure)
        return f"the winner could not be run again: {failure}"
    if error < ERROR_LIMIT:
        return ""
    return f"the winner computes a wrong result: relative error {error:.2g} against NumPy"


def _recover(pool: ProcessPool, slot: Slot, error: ChildError) -> None:
    """Replace a process that lives on after an error of its device: later calls in it may fail as well."""
    if pool.device_is_apart and isinstance(error, CallFailed):
        slot.replace()


def _relieve(pool: ProcessPool, slot: Slot, settings: Settings) -> None:
    """Replace a process that keeps too much of the memory of its device."""
    if not pool.device_is_apart:
        return
    try:
        grown: float = slot.call("memory_grown", timeout=settings.run_timeout)
    except ChildError:  # of a device that has just failed
        return
    if grown > MEMORY_SHARE:  # not if it is unknown
        slot.replace()
