"""The tasks of searches and of winners that dask workers carry out, in the child processes of their pools."""

from __future__ import annotations

import hashlib
import itertools
import math
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from dask.system import cpu_count

from abtune.dataset.schema import TransferStatus, TrialStatus
from abtune.measure.plan.nvml import DeviceState
from abtune.measure.plan.problem import Kernel, Problem, RunSettings
from abtune.measure.plan.records import (
    STATES,
    Candidate,
    Rounds,
    RunRecord,
    SearchHistory,
    Trial,
    WinnerTimes,
)
from abtune.measure.workers.child import Slot
from abtune.measure.workers.fork_server import CallFailed, CallTimedOut, ChildDied, ChildError
from abtune.measure.workers.pool import ProcessPool
from abtune.shapes import Shape

# A search iteration takes seconds to minutes; after this time it hangs.
SEARCH_TIMEOUT = 3600.0
# To set a search up takes seconds; minutes where all cores are busy. A user's own code may never end.
SET_UP_TIMEOUT = 300.0
# A CUDA context keeps the local memory that the greediest of its kernels needed: gigabytes, and sometimes
# nearly all there is. A process that took more than this share of its device's memory is replaced.
MEMORY_SHARE = 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Kernels to time, and trials of candidates that could not be built, in the order of the search."""

    candidates: Sequence[Candidate]
    built: tuple[Kernel | Trial, ...]  # one per candidate
    seconds: float  # duration of building them


def in_process(pool: ProcessPool, function: str, *args: Any) -> tuple[Any, float]:
    """Return what a function returns in a process that searches, and how many seconds that took."""
    started = time.monotonic()
    with pool.slot("search") as slot:
        answer = slot.call(function, *args, timeout=SEARCH_TIMEOUT)
    return answer, time.monotonic() - started


def set_up(pool: ProcessPool, function: str, subject: Problem | Shape) -> str:
    """Return the hash that a function gives what it sets up; ChildError if that fails or takes too long."""
    with pool.slot("search") as slot:
        return slot.call(function, subject, timeout=SET_UP_TIMEOUT)


def propose(
    pool: ProcessPool, problem: Problem, history: SearchHistory, count: int, rng_seed: int, threads: int
) -> tuple[tuple[tuple[Candidate, ...], bytes, bool], float]:
    """Return what :func:`abtune.measure.tvm.propose.propose` does, and its seconds summed over `threads`."""
    threads = min(threads, cpu_count())
    answer, seconds = in_process(pool, "propose", problem, history, count, rng_seed, threads)
    return answer, seconds * threads


def build_batch(
    pool: ProcessPool, problem: Problem, candidates: Sequence[Candidate], timeout: float
) -> Batch:
    """Return the kernels of candidates; a candidate that cannot be built within `timeout` has failed."""
    started = time.monotonic()
    with pool.slot("search") as slot:
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


def time_batch(
    pool: ProcessPool, settings: RunSettings, batch: Batch
) -> tuple[tuple[Trial, ...], float, float]:
    """Return the trials of a batch, timed on one device, and the seconds of building and of timing them."""
    with pool.slot("device") as slot:
        started = time.monotonic()  # the wait for the device is no time of the run
        trials = tuple(
            built if isinstance(built, Trial) else _time(pool, slot, settings, candidate, built)
            for candidate, built in zip(batch.candidates, batch.built, strict=True)
        )
        relieve(pool, slot, settings)
    return trials, batch.seconds, time.monotonic() - started


def _time(
    pool: ProcessPool, slot: Slot, settings: RunSettings, candidate: Candidate, kernel: Kernel
) -> Trial:
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


def relieve(pool: ProcessPool, slot: Slot, settings: RunSettings) -> None:
    """Replace a process that keeps too much of the memory of its device."""
    if not pool.device_is_apart:
        return
    try:
        grown: float = slot.call("memory_grown", timeout=settings.run_timeout)
    except ChildError:  # the device has just failed
        return
    if grown > MEMORY_SHARE:  # False if it is unknown
        slot.replace()


# A winner was built and timed before, so it works; the machine may be busier or slower now than it was then.
WINNER_PATIENCE = 10
# Rounds that choose the fastest variant of a transfer; they are not kept.
CHOOSING_ROUNDS = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A winner, as one configuration builds it, before it is timed."""

    times: WinnerTimes  # whose winner it is, which configuration built it, and why it is not to be timed
    latency: float  # seconds of one call as its search measured it
    # Variants of it; the fastest is timed. Its own configuration builds one. There are none if it failed.
    kernels: tuple[Kernel, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether the configuration that found the schedule built it."""
        return not self.times.origin


def _insist(
    call: Callable[..., T], *args: Any, timeout: float, after: tuple[type[ChildError], ...] = (ChildDied,)
) -> T:
    """Return what a call of a process returns; one that dies gets a second chance in a new process."""
    # Winners were built and timed before, so the machine may have ended it, such as for lack of memory.
    try:
        return call(*args, timeout=timeout)
    except after:
        return call(*args, timeout=timeout)


def rebuild(pool: ProcessPool, problem: Problem, settings: RunSettings, won: RunRecord) -> Built:
    """Return a winner as the configuration of a problem, its own or another, builds it."""
    is_own, timeout = problem.config.name == won.config, WINNER_PATIENCE * settings.build_timeout
    times = WinnerTimes(config=problem.config.name, seed=won.seed, origin="" if is_own else won.config)
    kernels: list[Kernel] = []
    failures: list[str] = []
    with pool.slot("search") as slot:
        variants = [won.winner]
        try:
            if not is_own:
                variants = _insist(slot.call, "carry_over", problem, won.winner, timeout=timeout)
        except (ChildDied, CallTimedOut) as error:  # one that raises is wrong, and ends the sweep
            variants, failures = [], [str(error)]
        for variant in variants:
            try:
                # The machine may have ended the linker, too, or its disk was full for a moment.
                after = ChildDied, CallFailed
                kernels.append(_insist(build_kernel, slot, problem, variant, timeout=timeout, after=after))
            except ChildError as error:
                failures.append(str(error))
    if not kernels and not failures:
        times = replace(times, status=TransferStatus.DOES_NOT_FIT)
    elif not kernels:
        failure = f"the winner could not be built again: {failures[0]}" if is_own else failures[0]
        times = replace(times, status=TransferStatus.FAILED, failure=failure)
    return Built(times=times, latency=won.search_latency, kernels=tuple(kernels))


def time_winners(
    pool: ProcessPool, label: str, settings: RunSettings, built: Sequence[Built], rng_seed: int
) -> Rounds:
    """Return the rounds of all winners of a shape on one device: checked, then timed in random order."""
    # Of several variants, one is chosen first, in rounds that are not kept: the fastest timing is too fast.
    rng = np.random.default_rng(rng_seed)
    variants = [[_TimedKernel(one, kernel) for kernel in one.kernels] for one in built if one.kernels]
    several = [timed for kernels in variants if len(kernels) > 1 for timed in kernels]
    with pool.slot("device") as slot:
        bench = _Bench(pool, slot, settings)
        for timed in itertools.chain(*variants):
            bench.check(timed)
        bench.time(several, CHOOSING_ROUNDS, rng)
        fastest = [min(kernels, key=_TimedKernel.median) for kernels in variants]
        chosen = [_TimedKernel(timed.built, timed.kernel, timed.failure) for timed in fastest]
        bench.time(chosen, settings.rounds, rng)
        device = bench.device_name()
        relieve(pool, slot, settings)
    # Only transfers need to know which kernels are equal.
    any_transfer = any(not timed.built.is_own for timed in chosen)
    rounds = Rounds(shape=label, device=device, host=socket.gethostname())
    times = [timed.times(hashed=any_transfer) for timed in chosen]
    return rounds.with_times([*times, *(one.times for one in built if not one.kernels)])


@dataclass(slots=True)
class _TimedKernel:
    """A kernel with its rounds so far, or why it failed."""

    built: Built
    kernel: Kernel
    failure: str = ""
    latency: list[list[float]] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)

    def median(self) -> float:
        """Return the median of all timings; zero before the first, infinite after a failure."""
        if self.failure:
            return math.inf
        return statistics.median(itertools.chain(*self.latency)) if self.latency else 0.0

    def times(self, *, hashed: bool) -> WinnerTimes:
        """Return all rounds, or the failure; with the hash of the kernel if that is needed."""
        times = replace(self.built.times, kernel=library_hash(self.kernel) if hashed else "")
        if self.failure:
            return replace(times, status=TransferStatus.FAILED, failure=self.failure)
        states: dict[str, Any] = {}
        if self.built.is_own:
            states = {name: [getattr(state, name) for state in self.states] for name in STATES}
        return replace(times, latency=self.latency, **states)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A device, and how kernels are timed on it."""

    pool: ProcessPool
    slot: Slot
    settings: RunSettings

    def check(self, timed: _TimedKernel) -> None:
        """Run a kernel once; a wrong result is its failure."""
        try:
            error, limit = self._call("check_kernel", timed.kernel)
        except ChildError as failure:
            recover(self.pool, self.slot, failure)
            timed.failure = f"the winner could not be run again: {failure}"
            return
        # Not >, which would let NaN pass.
        if not error <= limit:
            timed.failure = f"the winner computes a wrong result: relative error {error:.2g}"

    def time(self, kernels: Sequence[_TimedKernel], rounds: int, rng: np.random.Generator) -> None:
        """Time kernels that work, in rounds of random order."""
        for _ in range(rounds):
            for index in rng.permutation(len(kernels)):
                if not kernels[index].failure:
                    self._add_round(kernels[index])

    def device_name(self) -> str:
        """Return the name of the device; empty if it has just failed."""
        try:
            return str(self._call("device_name", self.settings.target))
        except ChildError:
            return ""

    def _call(self, function: str, *arguments: Any) -> Any:
        return _insist(self.slot.call, function, *arguments, timeout=self.settings.run_timeout)

    def _add_round(self, timed: _TimedKernel) -> None:
        settings = self.settings
        # A round of a slow kernel, or of cold calls, takes longer than one candidate may.
        expected = settings.round_seconds(timed.built.latency)
        timeout = settings.run_timeout + WINNER_PATIENCE * expected
        try:
            arguments = (self.slot, "time_kernel", timed.kernel, settings.round_timing)
            latency, state = _insist(timings, *arguments, timeout=timeout), self._call("device_state")
            timed.latency.append(latency)
            timed.states.append(state)
        except ChildError as error:
            timed.failure = f"the winner could not be measured again: {error}"
            recover(self.pool, self.slot, error)


def library_hash(kernel: Kernel) -> str:
    """Return the hash by which equal kernels are known: of the library, which is built alike each time."""
    return hashlib.sha256(kernel.library).hexdigest()[:16]
