"""Checks of memory, load and disk space."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from abtune.dataset.netcdf import place_for
from abtune.errors import AbtuneError
from abtune.measure.doctor.findings import Finding, ok, problem, warning

# A process that searches held 0.33 GB in its first iteration, and its cost model grows.
_BYTES_PER_SEARCHER = 0.6e9
# Room for the runs, mostly their cost models, and for the dataset: a cautious guess.
_BYTES_OF_OUTPUT = 1e9
_LOAD_PER_CORE = 0.5


def check_host(cores: int) -> Iterator[Finding]:
    """Yield whether cores and memory suffice, and whether the machine is idle."""
    free = _available_memory()
    state = f"{cores} cores, {free / 1e9:.1f} GB of memory free" if free < math.inf else f"{cores} cores"
    if free < _BYTES_PER_SEARCHER * (cores + 1):
        fitting = max(int(free / _BYTES_PER_SEARCHER) - 1, 1)
        yield warning("cores", state, f"searches may run out of memory; abtune sweep --cores {fitting}")
    else:
        yield ok("cores", state)
    with contextlib.suppress(OSError, AttributeError):  # not every system counts its load
        load = os.getloadavg()[0]
        state = f"{load:.1f} in the last minute, on {cores} cores"
        if load > _LOAD_PER_CORE * cores:
            yield warning(
                "load", state, "end other programs: they make timings of a CPU noisy, and slow searches"
            )
        else:
            yield ok("load", state)


def _available_memory() -> float:
    """Return the bytes of memory that are free without swapping; infinite where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    return math.inf


def check_output(out: Path) -> Finding:
    """Return whether the dataset can be written: its folder exists, is writable and has room."""
    try:
        folder = place_for(out).parent
    except AbtuneError as error:
        return problem("output", str(error), "give another --out")
    if not os.access(folder, os.W_OK | os.X_OK):
        return problem("output", f"{folder} cannot be written", "give another --out, or the permission")
    free = shutil.disk_usage(folder).free
    state = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _BYTES_OF_OUTPUT / 20:
        return problem("output", state, "make room, or give another --out")
    if free < _BYTES_OF_OUTPUT:
        return warning("output", state, "a sweep of many shapes and seeds may need more")
    return ok("output", state)
