"""The tasks of re-measuring that dask workers carry out, in the child processes of their pools."""

from __future__ import annotations

import hashlib
import itertools
import math
import socket
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from abtune.dataset.schema import TransferStatus
from abtune.measure.plan.problem import Kernel, Problem, Settings
from abtune.measure.plan.records import STATES, Rounds, RunRecord, WinnerTimes
from abtune.measure.tvm.cuda.nvml import DeviceState
from abtune.measure.workers.child import Slot
from abtune.measure.workers.fork_server import CallTimedOut, ChildDied, ChildError
from abtune.measure.workers.pool import ProcessPool
from abtune.measure.workers.tasks import build_kernel, recover, relieve, timings

# float32 sums of a few thousand terms differ by 1e-6 or so between orders of summation.
ERROR_LIMIT = 1e-4
# A winner was built and timed before, so it works; the machine may be busier or slower now than it was then.
WINNER_PATIENCE = 10
# Rounds that choose the fastest variant of a transfer; they are not kept.
CHOOSING_ROUNDS = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A winner, built by one configuration and ready to be timed."""

    times: WinnerTimes  # whose winner it is, and which configuration built it; without timings so far
    latency: float  # seconds of one call as its search measured it
    kernels: tuple[Kernel, ...]  # variants of it; the fastest is timed. Its own configuration builds one

    @property
    def is_own(self) -> bool:
        """Whether the configuration that found the schedule built it."""
        return not self.times.origin


def _insist(call: Callable[..., T], *args: Any, timeout: float) -> T:
    """Return what a call of a process returns; one that dies gets a second chance in a new process."""
    # Winners were built and timed before, so the machine may have ended it, such as for lack of memory.
    try:
        return call(*args, timeout=timeout)
    except ChildDied:
        return call(*args, timeout=timeout)


def rebuild(pool: ProcessPool, problem: Problem, settings: Settings, won: RunRecord) -> Built | WinnerTimes:
    """Return a winner as the configuration of a problem, its own or another, builds it; or its failure."""
    is_own, timeout = problem.config.name == won.config, WINNER_PATIENCE * settings.build_timeout
    times = WinnerTimes(config=problem.config.name, seed=won.seed, origin="" if is_own else won.config)
    kernels: list[Kernel] = []
    failures: list[str] = []
    with pool.searcher() as slot:
        variants = [won.winner]
        try:
            if not is_own:
                variants = _insist(slot.call, "carry_over", problem, won.winner, timeout=timeout)
        except (ChildDied, CallTimedOut) as error:  # one that raises is wrong, and ends the sweep
            variants, failures = [], [str(error)]
        for variant in variants:
            try:
                kernels.append(_insist(build_kernel, slot, problem, variant, timeout=timeout))
            except ChildError as error:
                failures.append(str(error))
    if kernels:
        return Built(times=times, latency=won.search_latency, kernels=tuple(kernels))
    if not failures:
        return replace(times, status=TransferStatus.DOES_NOT_FIT)
    failure = f"the winner could not be built again: {failures[0]}" if is_own else failures[0]
    return replace(times, status=TransferStatus.FAILED, failure=failure)


def time_winners(
    pool: ProcessPool, label: str, settings: Settings, built: Sequence[Built], rng_seed: int
) -> Rounds:
    """Return the rounds of all winners of a shape on one device: checked, then timed in random order."""
    # Where a winner has several variants, one is chosen first, in rounds that are not kept: the fastest of a
    # few timings looks faster than it is.
    rng = np.random.default_rng(rng_seed)
    variants = [[_Table(one, kernel) for kernel in one.kernels] for one in built]
    several = [table for tables in variants if len(tables) > 1 for table in tables]
    with pool.device() as slot:
        bench = _Bench(pool, slot, settings)
        for table in itertools.chain(*variants):
            bench.check(table)
        bench.time(several, CHOOSING_ROUNDS, rng)
        fastest = [min(tables, key=_Table.median) for tables in variants]
        chosen = [_Table(table.built, table.kernel, table.failure) for table in fastest]
        bench.time(chosen, settings.rounds, rng)
        device = bench.device_name()
        relieve(pool, slot, settings)
    any_transfer = any(not one.is_own for one in built)  # only transfers need to know which kernels are equal
    rounds = Rounds(shape=label, device=device, host=socket.gethostname())
    return rounds.with_times(table.times(hashed=any_transfer) for table in chosen)


@dataclass(slots=True)
class _Table:
    """The rounds of one kernel, as they come in."""

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
    settings: Settings

    def check(self, table: _Table) -> None:
        """Run a kernel once; a wrong result is its failure."""
        try:
            error = self._call("check_kernel", table.kernel)
        except ChildError as failure:
            recover(self.pool, self.slot, failure)
            table.failure = f"the winner could not be run again: {failure}"
            return
        # Not >=, which would let NaN pass.
        if not error < ERROR_LIMIT:
            table.failure = f"the winner computes a wrong result: relative error {error:.2g} against NumPy"

    def time(self, tables: Sequence[_Table], rounds: int, rng: np.random.Generator) -> None:
        """Time kernels that work, in rounds of random order."""
        for _ in range(rounds):
            for index in rng.permutation(len(tables)):
                if not tables[index].failure:
                    self._add_round(tables[index])

    def device_name(self) -> str:
        """Return the name of the device; empty if it has just failed."""
        try:
            return str(self._call("device_name", self.settings.target))
        except ChildError:
            return ""

    def _call(self, function: str, *arguments: Any) -> Any:
        return _insist(self.slot.call, function, *arguments, timeout=self.settings.run_timeout)

    def _add_round(self, table: _Table) -> None:
        settings = self.settings
        # A round of a slow kernel, or of cold calls, takes longer than one candidate may.
        expected = settings.round_seconds(table.built.latency)
        timeout = settings.run_timeout + WINNER_PATIENCE * expected
        try:
            arguments = (self.slot, "time_kernel", table.kernel, settings.round_timing)
            latency, state = _insist(timings, *arguments, timeout=timeout), self._call("device_state")
            table.latency.append(latency)
            table.states.append(state)
        except ChildError as error:
            table.failure = f"the winner could not be measured again: {error}"
            recover(self.pool, self.slot, error)


def library_hash(kernel: Kernel) -> str:
    """Return the hash by which equal kernels are known: of the library, which is built alike each time."""
    return hashlib.sha256(kernel.library).hexdigest()[:16]
