"""The processes of one machine, and the tasks that run on them.

A dask worker holds one crew: posts that search and build, and one post for each device that measures. A
worker's threads only wait for their post, so one worker process with many threads drives all cores, and
whatever crashes is a servant and not the worker.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Worker, WorkerPlugin, get_worker

from abtune.measure.nvml import DeviceState
from abtune.measure.plan import Run, Settings
from abtune.measure.records import Rounds, WinnerTimes
from abtune.measure.servant import CallFailed, CallTimedOut, Post, ServantError, Template
from abtune.measure.target import ONE_THREAD, REMOTE, TVM_MODULE, TargetFacts
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

# One or two candidates in a hundred poison the CUDA context of their process, and a new process takes
# seconds to start while all cores search: searches give way, and a few spares stand ready.
NICENESS = 10
SPARES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A candidate that was built."""

    candidate: Candidate
    library: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one iteration of a search wants to try, and what it has learned."""

    candidates: tuple[Candidate, ...]
    cost_model: bytes
    seconds: float


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


class Crew(WorkerPlugin):
    """The posts of one worker, for one sweep.

    Parameters
    ----------
    facts : TargetFacts
        What is tuned for.
    searchers : int
        Posts that search and build.
    devices : int
        Devices of this worker; each is measured by exactly one process.
    """

    def __init__(self, facts: TargetFacts, *, searchers: int, devices: int) -> None:
        self.name = f"abtune-{uuid.uuid4().hex}"  # a worker may serve several sweeps
        self._facts = facts
        self._counts = (searchers, devices)
        self._posts: list[Post] = []

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - called by dask
        """Set up the posts; their processes start in the background."""
        self._template = Template(TVM_MODULE, ONE_THREAD)
        self._searchers: queue.SimpleQueue[Post] = queue.SimpleQueue()
        self._devices: queue.SimpleQueue[Post] = queue.SimpleQueue()
        searchers, devices = self._counts
        for _ in range(searchers):
            post = Post(self._template, {"CUDA_VISIBLE_DEVICES": ""}, niceness=NICENESS)
            self._add(self._searchers, post)
        for index in range(devices):
            environment = _device_environment(self._facts, index)
            self._add(self._devices, Post(self._template, environment, spares=SPARES if self.on_gpu else 0))
        threading.Thread(target=self._start, daemon=True).start()

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - called by dask
        """End all processes."""
        if not self._template.is_ready:  # nobody waits for it any more
            self._template.close()
        self.interrupt()
        for post in self._posts:
            post.close()
        self._template.close()

    @property
    def on_gpu(self) -> bool:
        """Whether an error of the device outlives the call that caused it."""
        return self._facts.kind == "cuda" or bool(self._facts.remote)

    @contextlib.contextmanager
    def searcher(self) -> Iterator[Post]:
        """Occupy a post that searches and builds."""
        with _occupied(self._searchers) as post:
            yield post

    @contextlib.contextmanager
    def device(self) -> Iterator[Post]:
        """Occupy a post that measures."""
        with _occupied(self._devices) as post:
            yield post

    def interrupt(self) -> None:
        """Kill whatever is being done; the calls in progress fail."""
        for post in self._posts:
            post.interrupt()

    def _add(self, posts: queue.SimpleQueue[Post], post: Post) -> None:
        self._posts.append(post)
        posts.put(post)

    def _start(self) -> None:
        for post in self._posts:
            post.start()


@contextlib.contextmanager
def _occupied(posts: queue.SimpleQueue[Post]) -> Iterator[Post]:
    post = posts.get()
    try:
        post.resume()
        yield post
    finally:
        posts.put(post)


def _device_environment(facts: TargetFacts, index: int) -> dict[str, str]:
    if facts.remote:
        return {"CUDA_VISIBLE_DEVICES": "", REMOTE: facts.remote}
    if facts.kind != "cuda":
        return {"TVM_NUM_THREADS": str(facts.threads), "CUDA_VISIBLE_DEVICES": ""}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": _visible(index)}


def _visible(index: int) -> str:
    listed = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return listed[index] if index < len(listed) else str(index)


def with_crew(name: str, task: Callable[..., Any], *args: Any) -> Any:
    """Carry out a task with the crew of this name that the worker holds."""
    return task(get_worker().plugins[name], *args)


def interrupt_crew(name: str, dask_worker: Worker) -> None:
    """Kill what a crew is doing; dask hands the worker to a function of this signature."""
    crew = dask_worker.plugins[name]
    assert isinstance(crew, Crew)  # noqa: S101 - the plugin of this name is ours
    crew.interrupt()


# --- tasks ------------------------------------------------------------------------------------------


def propose(
    crew: Crew, run: Run, settings: Settings, history: History, count: int, rng_seed: int
) -> Proposal:
    """Carry out the search part of an iteration.

    Raises
    ------
    ServantError
        If the search itself fails.
    """
    started = time.monotonic()
    arguments = (run.shape, run.config, settings.target, history, count, rng_seed)
    with crew.searcher() as post:
        candidates, cost_model = post.call("propose", *arguments, timeout=SEARCH_TIMEOUT)
    return Proposal(candidates=candidates, cost_model=cost_model, seconds=time.monotonic() - started)


def build_batch(crew: Crew, run: Run, settings: Settings, candidates: Sequence[Candidate]) -> Batch:
    """Build candidates; one that cannot be built is a failed trial."""
    started = time.monotonic()
    with crew.searcher() as post:
        entries = tuple(
            _build(post, run, settings, candidate, settings.build_timeout) for candidate in candidates
        )
        started_in = post.started_in
    return Batch(entries=entries, seconds=time.monotonic() - started, started_in=started_in)


def build_winner(
    crew: Crew, run: Run, settings: Settings, record: list[Any], latency: float
) -> Winner | WinnerTimes:
    """Build a winner again from its record; `latency` is what its search measured, seconds."""
    candidate = Candidate(record=record, module_hash="")
    with crew.searcher() as post:
        built = _build(post, run, settings, candidate, WINNER_PATIENCE * settings.build_timeout)
    if isinstance(built, Trial):
        return WinnerTimes.lost(
            run.config.name, run.seed, f"the winner could not be built again: {built.message}"
        )
    return Winner(config=run.config.name, seed=run.seed, latency=latency, library=built.library)


def time_batch(crew: Crew, shape: Shape, settings: Settings, batch: Batch) -> Timed:
    """Time the kernels of a batch on one device."""
    started = time.monotonic()
    with crew.device() as post:
        trials = tuple(
            entry if isinstance(entry, Trial) else _time(crew, post, shape, settings, entry)
            for entry in batch.entries
        )
        _relieve(crew, post, settings)
    return Timed(trials=trials, seconds=batch.seconds + time.monotonic() - started)


def time_winners(
    crew: Crew, shape: Shape, settings: Settings, winners: Sequence[Winner], rng_seed: int
) -> Rounds:
    """Check the winners of a shape, then time them in rounds, each in a new random order, on one device."""
    rng = np.random.default_rng(rng_seed)
    with crew.device() as post:
        tables = [_Table(winner) for winner in winners]
        for table in tables:
            table.failure = _check(crew, post, shape, settings, table.winner)
        for _ in range(settings.rounds):
            for index in rng.permutation(len(tables)):
                if not tables[index].failure:
                    tables[index].add_round(crew, post, shape, settings)
        device = _device_name(post, settings)
        _relieve(crew, post, settings)
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

    def add_round(self, crew: Crew, post: Post, shape: Shape, settings: Settings) -> None:
        how = (settings.repeats, settings.repeat_ms, settings.cache)
        arguments = (shape, settings.target, self.winner.library, *how)
        expected = settings.round_seconds(self.winner.latency)
        timeout = settings.run_timeout + WINNER_PATIENCE * expected
        try:
            self._latency.append(post.call("time_kernel", *arguments, timeout=timeout))
            self._states.append(post.call("device_state", timeout=settings.run_timeout))
        except ServantError as error:
            self.failure = f"the winner could not be measured again: {error}"
            _recover(crew, post, error)

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


def _device_name(post: Post, settings: Settings) -> str:
    try:
        name: str = post.call("device_name", settings.target, timeout=settings.run_timeout)
    except ServantError:  # of a device that has just failed
        return ""
    return name


def _build(post: Post, run: Run, settings: Settings, candidate: Candidate, timeout: float) -> Kernel | Trial:
    arguments = (run.shape, run.config, settings.target, candidate.record)
    try:
        library = post.call("build", *arguments, timeout=timeout)
    except CallTimedOut as error:
        return failed(candidate, TrialStatus.TIMED_OUT, str(error))
    except ServantError as error:
        return failed(candidate, TrialStatus.BUILD_FAILED, str(error))
    return Kernel(candidate=candidate, library=library)


def _time(crew: Crew, post: Post, shape: Shape, settings: Settings, kernel: Kernel) -> Trial:
    how = (settings.search_repeats, settings.search_repeat_ms, settings.cache)
    arguments = (shape, settings.target, kernel.library, *how)
    try:
        times = post.call("time_candidate", *arguments, timeout=settings.run_timeout)
    except ServantError as error:
        _recover(crew, post, error)
        timed_out = isinstance(error, CallTimedOut)
        status = TrialStatus.TIMED_OUT if timed_out else TrialStatus.RUN_FAILED
        return failed(kernel.candidate, status, str(error))
    latency = statistics.median(times)
    return Trial(candidate=kernel.candidate, status=TrialStatus.OK, latency=latency, message="")


def _check(crew: Crew, post: Post, shape: Shape, settings: Settings, winner: Winner) -> str:
    try:
        error = post.call(
            "check_kernel", shape, settings.target, winner.library, timeout=settings.run_timeout
        )
    except ServantError as failure:
        _recover(crew, post, failure)
        return f"the winner could not be run again: {failure}"
    if error < ERROR_LIMIT:
        return ""
    return f"the winner computes a wrong result: relative error {error:.2g} against NumPy"


def _recover(crew: Crew, post: Post, error: ServantError) -> None:
    """Replace a process that lives on after a CUDA error: every later call in it would fail as well."""
    if crew.on_gpu and isinstance(error, CallFailed):
        post.replace()


def _relieve(crew: Crew, post: Post, settings: Settings) -> None:
    """Replace a process that keeps too much of the memory of its device."""
    if not crew.on_gpu:
        return
    try:
        grown: float = post.call("memory_grown", timeout=settings.run_timeout)
    except ServantError:  # of a device that has just failed
        return
    if grown > MEMORY_SHARE:  # not if it is unknown
        post.replace()
