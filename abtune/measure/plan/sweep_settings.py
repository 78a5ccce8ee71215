"""The settings of a sweep, which all of its runs share."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.measure.plan.problem import COLD_CALLS, Timing

# Seconds that it takes to empty the caches before one call, roughly.
FLUSH_SECONDS = 0.005


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
    # state of the device's caches when a kernel is timed: ``"warm"`` or ``"cold"``, see
    # :class:`~abtune.measure.plan.problem.Timing`
    cache: str = "warm"  # the meaning of old datasets, which have no such setting

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
