"""Whether a sweep can run on this machine: what there is, and what is missing.

Each check returns findings and never raises: a machine that is not fit is an answer. TVM is asked in a
process of its own, as always, so nothing that it prints or breaks reaches the caller.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from abtune.datasets import place_for
from abtune.errors import AbtuneError, TargetError
from abtune.measure import nvrtc
from abtune.measure.child import ChildError
from abtune.measure.fork_server import ForkServer
from abtune.measure.slot import Slot
from abtune.measure.target import ONE_THREAD, TargetFacts, find_target, require_tvm

# A process that searches was seen to hold 0.33 GB in its first iteration; its cost model grows.
_BYTES_A_SEARCHER = 0.6e9
# Room for runs, of which cost models are the largest part, and the dataset: a guess on the safe side.
_BYTES_OF_OUTPUT = 1e9
_LOAD_A_CORE = 0.5

_KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }'


class Level(Enum):
    """What a finding means for a sweep."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    name : str
        What was looked at, in a word or two.
    level : Level
        Whether a sweep can run so.
    found : str
        What there is.
    advice : str
        What to do; empty where nothing is to be done.
    """

    name: str
    level: Level
    found: str
    advice: str


def ok(name: str, found: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(name=name, level=Level.OK, found=found, advice="")


def warning(name: str, found: str, advice: str) -> Finding:
    """Return a finding with which a sweep runs, but not as well as it could."""
    return Finding(name=name, level=Level.WARNING, found=found, advice=advice)


def problem(name: str, found: str, advice: str) -> Finding:
    """Return a finding with which no sweep can run."""
    return Finding(name=name, level=Level.PROBLEM, found=found, advice=advice)


def refused(name: str, error: AbtuneError) -> Finding:
    """Return an error's line as a problem; what follows its last semicolon is what to do."""
    found, _, advice = str(error).rpartition("; ")
    return problem(name, found or advice, advice if found else "see docs/sweep.md")


# --- software -----------------------------------------------------------------------------------------


def check_python() -> Finding:
    """Look at interpreter and system: processes that measure are handed sockets as POSIX does."""
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return problem("Python", found, "sweep on Linux; analysis works here")
    if sys.platform != "linux":
        return warning("Python", found, "sweeps are tested on Linux only")
    return ok("Python", found)


def check_packages() -> Finding:
    """Compare what is installed with what abtune asks for."""
    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in importlib.metadata.requires("abtune") or []]
    except importlib.metadata.PackageNotFoundError:
        return warning("packages", "abtune is not installed, only imported", "pip install abtune")
    needed = [each for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = []
    for each in needed:
        try:
            version = importlib.metadata.version(each.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{each.name} is missing")
            continue
        if not each.specifier.contains(version, prereleases=True):
            wrong.append(f"{each.name} {version} is not {each.specifier}")
    if wrong:
        return problem("packages", ", ".join(wrong), "pip install --upgrade abtune")
    return ok("packages", f"all {len(needed)} that abtune requires")


def check_tvm() -> Iterator[Finding]:
    """Look for a TVM that works, and for the compiler that it links with."""
    compiler = next(filter(None, map(shutil.which, ("g++", "gcc", "clang", "cc"))), "")
    try:
        require_tvm()
    except TargetError as error:
        if "compiler" in str(error):
            yield ok("TVM", _tvm_versions())
            yield refused("C compiler", error)
        else:
            yield refused("TVM", error)
    else:
        yield ok("TVM", _tvm_versions())
        yield ok("C compiler", compiler)


def _tvm_versions() -> str:
    names = ("apache-tvm", "apache-tvm-ffi")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


# --- hardware -----------------------------------------------------------------------------------------


def check_target(spec: str) -> tuple[TargetFacts | None, tuple[Finding, ...]]:
    """Ask TVM for the target; there is none if it cannot be used."""
    try:
        facts = find_target(spec)
    except AbtuneError as error:
        return None, (refused("target", error),)
    names = ", ".join(
        f"{facts.devices.count(name)} x {name}" if facts.devices.count(name) > 1 else name
        for name in dict.fromkeys(facts.devices)
    )
    findings = [ok("target", f"{facts.kind}: {names}")]
    if facts.kind == "cuda":
        findings += [_about_cuda(facts), _about_nvrtc(f"sm_{facts.arch}"), *_about_busy_gpus()]
    elif spec == "auto":
        nvrtc.load_libraries()
        advice = "a sweep tunes this CPU; for a GPU it takes the NVIDIA driver and abtune[cuda]"
        findings.append(warning("GPU", nvrtc.why_no_gpu(), advice))
    return facts, tuple(findings)


def _about_cuda(facts: TargetFacts) -> Finding:
    versions = ", ".join(
        f"{name} {facts.versions[name]}" for name in ("driver", "cuda") if name in facts.versions
    )
    if not versions:
        return warning(
            "CUDA", "versions, clocks and temperature cannot be read", "pip install 'nvidia-ml-py>=13'"
        )
    return ok("CUDA", f"{versions}, compute capability {facts.arch // 10}.{facts.arch % 10}")


def _about_nvrtc(arch: str) -> Finding:
    """Compile a kernel in a process of its own."""
    advice = "pip install 'abtune[cuda]', or have a CUDA toolkit that TVM finds"
    with ForkServer(nvrtc.__name__, ONE_THREAD) as fork_server, closing(Slot(fork_server, {})) as slot:
        try:
            slot.call("load_libraries", timeout=60.0)
            started = time.monotonic()
            cubin = slot.call("compile_cubin", _KERNEL, arch, timeout=60.0)
        except ChildError as error:
            return problem("NVRTC", f"cannot compile for {arch}: {error}", advice)
    if cubin is None:
        return warning("NVRTC", "only as TVM itself calls it, which takes longer", advice)
    return ok("NVRTC", f"compiles for {arch} in {time.monotonic() - started:.1f} s")


def _about_busy_gpus() -> Iterator[Finding]:
    for index, share in enumerate(_utilization()):
        if share > 5:
            yield warning(
                "GPU load",
                f"GPU {index} is {share:.0f}% busy",
                "end what runs there, or set CUDA_VISIBLE_DEVICES: timings next to it are not to be trusted",
            )


def _utilization() -> list[float]:
    """Return how busy each GPU is, in percent; nothing where NVML cannot be asked."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return [float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu) for handle in handles]
    except Exception:  # noqa: BLE001 - no library, no driver, no permission: nothing is known
        return []


def check_machine(cores: int) -> Iterator[Finding]:
    """Look at cores, memory, and what else the machine does."""
    free = _available_memory()
    found = f"{cores} cores, {free / 1e9:.1f} GB of memory free" if free < math.inf else f"{cores} cores"
    if free < _BYTES_A_SEARCHER * (cores + 1):
        fitting = max(int(free / _BYTES_A_SEARCHER) - 1, 1)
        yield warning("cores", found, f"searches may run out of memory; abtune sweep --cores {fitting}")
    else:
        yield ok("cores", found)
    with contextlib.suppress(OSError, AttributeError):  # not every system counts its load
        load = os.getloadavg()[0]
        said = f"{load:.1f} in the last minute, on {cores} cores"
        if load > _LOAD_A_CORE * cores:
            yield warning(
                "load", said, "end what else runs here: it makes a CPU's timings noisy, and slows searches"
            )
        else:
            yield ok("load", said)


def _available_memory() -> float:
    """Return the bytes that can be had without swapping; infinite where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    return math.inf


def check_output(out: Path) -> Finding:
    """Look at the folder of the dataset: writable, with room, and no sweep's that is in the way."""
    try:
        folder = place_for(out).parent
    except AbtuneError as error:
        return problem("output", str(error), "give another --out")
    if not os.access(folder, os.W_OK | os.X_OK):
        return problem("output", f"{folder} cannot be written", "give another --out, or the permission")
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _BYTES_OF_OUTPUT / 20:
        return problem("output", found, "make room, or give another --out")
    if free < _BYTES_OF_OUTPUT:
        return warning("output", found, "a sweep of many shapes and seeds may need more")
    return ok("output", found)


def check_dask() -> Finding:
    """Look for the library that spreads the work."""
    try:
        return ok("dask", f"distributed {importlib.metadata.version('distributed')}")
    except importlib.metadata.PackageNotFoundError:
        return problem("dask", "distributed is not installed", "pip install distributed")
