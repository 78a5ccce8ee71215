"""What the functions of a child process are given: values that travel together on every hop."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.configurations import Configuration
from abtune.shapes import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is tuned, how, and for which target.

    Attributes
    ----------
    shape : Shape
        The workload.
    config : Configuration
        Search space, build options and search strategy.
    target : str
        The TVM target, as JSON.
    """

    shape: Shape
    config: Configuration
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A compiled candidate.

    Attributes
    ----------
    shape : Shape
        The workload that it computes.
    target : str
        The TVM target that it was built for, as JSON.
    library : bytes
        Content of the shared library.
    """

    shape: Shape
    target: str
    library: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How a kernel is timed.

    Attributes
    ----------
    repeats : int
        Number of timings.
    repeat_ms : int
        Least duration of one timing, milliseconds.
    cache : str
        ``"warm"``: calls follow back to back. ``"cold"``: something else fills the caches before each call.
        Each timing is then the median of :data:`COLD_CALLS` single calls, and `repeat_ms` does not count.
    """

    repeats: int
    repeat_ms: int
    cache: str


# Single calls with a cold cache scatter, so the median of this many calls is one repeat.
COLD_CALLS = 20
