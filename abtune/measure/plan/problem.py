"""What the functions of a child process are given: values that travel together on every hop."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.configurations import Configuration
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
    # ``"warm"``: calls follow back to back. ``"cold"``: something else fills the caches before each call.
    # Each timing is then the median of :data:`COLD_CALLS` single calls, and `repeat_ms` does not count
    cache: str


# Single calls with a cold cache scatter, so the median of this many calls is one repeat.
COLD_CALLS = 20
