"""What child processes are given, and the settings that all runs of a sweep share. TVM is not imported."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from abtune.configurations import Configuration
from abtune.shapes import Shape

# Single calls with a cold cache scatter, so the median of this many calls is one repeat.
COLD_CALLS = 20


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
    # Each timing is then the median of some single calls, and repeat_ms does not count
    cache: str
    cold_calls: int = COLD_CALLS  # number of these calls
    # "graph", a CUDA graph, or "stream": one by one. Then the GPU waits for each launch, and that counts
    launched_by: str = "stream"


# Seconds that it takes to empty the caches of a GPU, and of a CPU, before one call, roughly.
GPU_FLUSH, CPU_FLUSH = 0.0002, 0.005
# Trials that MetaSchedule's cost model learns from before it predicts (``num_warmup_samples``).
WARM_UP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Everything that decides what a run does, beside its shape, configuration and seed."""

    target: str  # the TVM target, as JSON
    trials: int  # candidates of a run, and of one iteration of its search
    trials_per_iteration: int
    # timings of a candidate within a search, and the least duration of one timing, milliseconds
    search_repeats: int = 3
    search_repeat_ms: int = 10
    # rounds of re-measuring the winners, timings per round, and the least milliseconds of one timing
    rounds: int
    repeats: int
    repeat_ms: int = 10
    # limits for building and timing one candidate, seconds; those of MetaSchedule's own builder and runner
    build_timeout: float = 30.0
    run_timeout: float = 30.0
    rng_seed: int  # root of all random numbers that abtune chooses
    # state of the device's caches when a kernel is timed: "warm" or "cold", see Timing
    cache: str = "warm"  # the meaning of old datasets, which have no such setting
    # what launches the calls of a winner: "stream", one by one, or "graph"; old datasets do not say it
    launched_by: str = "stream"
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
    def unguided(self) -> int:
        """Number of iterations of the first hundred trials, in which the cost model predicts at random."""
        return math.ceil(WARM_UP / self.trials_per_iteration)

    @property
    def guided(self) -> int:
        """Number of iterations that the cost model guides."""
        return max(self.iterations - self.unguided, 0)

    @property
    def search_timing(self) -> Timing:
        """How a candidate is timed within its search."""
        return Timing(repeats=self.search_repeats, repeat_ms=self.search_repeat_ms, cache=self.cache)

    @property
    def round_timing(self) -> Timing:
        """How a winner is timed in one round."""
        return Timing(
            repeats=self.repeats, repeat_ms=self.repeat_ms, cache=self.cache, launched_by=self.launched_by
        )

    def winner_seconds(self, latency: float) -> float:
        """Return the estimated time of a device for all rounds of a winner, in seconds."""
        # Loading, checking and warming up take as long as the timing itself.
        return 2 * self.rounds * self.round_seconds(latency)

    def round_seconds(self, latency: float) -> float:
        """Return the estimated duration of one round of a winner, in seconds."""
        if self.cache == "cold":
            flush = GPU_FLUSH if json.loads(self.target)["kind"] == "cuda" else CPU_FLUSH
            return self.repeats * COLD_CALLS * (flush + latency)
        return self.repeats * max(self.repeat_ms / 1000, latency)
