"""Whether a sweep can run on this machine: what is there, what is missing, and a small trial of all of it.

Each check returns findings and never raises: a machine that is not fit is an answer. TVM is asked in a
process of its own, as always, so nothing that it prints or breaks reaches the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import math
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, cast

from abtune.datasets import place_for
from abtune.errors import AbtuneError, TargetError
from abtune.measure import nvrtc
from abtune.measure.cluster import Cluster, open_cluster
from abtune.measure.plan import Plan
from abtune.measure.searching import try_out
from abtune.measure.servant import Post, ServantError
from abtune.measure.sitting import Clock, Progress, Sitting
from abtune.measure.store import Store
from abtune.measure.target import TargetFacts, find_target, require_tvm

TRIAL_LIMIT = 300.0
# A process that searches was seen to hold 0.33 GB in its first iteration; its cost model grows.
_BYTES_A_SEARCHER = 0.6e9
# Of runs and dataset: the published shapes with ten seeds take some 100 MB.
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


def _ok(name: str, found: str) -> Finding:
    return Finding(name=name, level=Level.OK, found=found, advice="")


def _warning(name: str, found: str, advice: str) -> Finding:
    return Finding(name=name, level=Level.WARNING, found=found, advice=advice)


def _problem(name: str, found: str, advice: str) -> Finding:
    return Finding(name=name, level=Level.PROBLEM, found=found, advice=advice)


def refused(name: str, error: AbtuneError) -> Finding:
    """Return an error's line as a problem; what follows its last semicolon is what to do."""
    found, _, advice = str(error).rpartition("; ")
    return _problem(name, found or advice, advice if found else "see docs/sweep.md")


# --- software -----------------------------------------------------------------------------------------


def check_python() -> Finding:
    """Look at interpreter and system: processes that measure are handed sockets as POSIX does."""
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return _problem("Python", found, "sweep on Linux; analysis works here")
    if sys.platform != "linux":
        return _warning("Python", found, "sweeps are tested on Linux only")
    return _ok("Python", found)


def check_packages() -> Finding:
    """Compare what is installed with what abtune asks for."""
    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in importlib.metadata.requires("abtune") or []]
    except importlib.metadata.PackageNotFoundError:
        return _warning("packages", "abtune is not installed, only imported", "pip install abtune")
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
        return _problem("packages", ", ".join(wrong), "pip install --upgrade abtune")
    return _ok("packages", f"all {len(needed)} that abtune requires")


def check_tvm() -> Iterator[Finding]:
    """Look for a TVM that works, and for the compiler that it links with."""
    compiler = next(filter(None, map(shutil.which, ("g++", "gcc", "clang", "cc"))), "")
    try:
        require_tvm()
    except TargetError as error:
        if "compiler" in str(error):
            yield _ok("TVM", _tvm_versions())
            yield refused("C compiler", error)
        else:
            yield refused("TVM", error)
    else:
        yield _ok("TVM", _tvm_versions())
        yield _ok("C compiler", compiler)


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
    findings = [_ok("target", f"{facts.kind}: {names}")]
    if facts.kind == "cuda":
        findings += [_about_cuda(facts), _about_nvrtc(f"sm_{facts.arch}"), *_about_busy_gpus()]
    elif spec == "auto":
        nvrtc.load_libraries()
        advice = "a sweep tunes this CPU; for a GPU it takes the NVIDIA driver and abtune[cuda]"
        findings.append(_warning("GPU", nvrtc.why_no_gpu(), advice))
    return facts, tuple(findings)


def _about_cuda(facts: TargetFacts) -> Finding:
    versions = ", ".join(
        f"{name} {facts.versions[name]}" for name in ("driver", "cuda") if name in facts.versions
    )
    if not versions:
        return _warning(
            "CUDA", "versions, clocks and temperature cannot be read", "pip install 'nvidia-ml-py>=13'"
        )
    return _ok("CUDA", f"{versions}, compute capability {facts.arch // 10}.{facts.arch % 10}")


def _about_nvrtc(arch: str) -> Finding:
    """Compile a kernel in a process of its own."""
    post = Post(nvrtc.__name__, {})
    advice = "pip install 'abtune[cuda]', or have a CUDA toolkit that TVM finds"
    try:
        post.call("load_libraries", timeout=60.0)
        started = time.monotonic()
        cubin = post.call("compile_cubin", _KERNEL, arch, timeout=60.0)
    except ServantError as error:
        return _problem("NVRTC", f"cannot compile for {arch}: {error}", advice)
    finally:
        post.close()
    if cubin is None:
        return _warning("NVRTC", "only as TVM itself calls it, which takes longer", advice)
    return _ok("NVRTC", f"compiles for {arch} in {time.monotonic() - started:.1f} s")


def _about_busy_gpus() -> Iterator[Finding]:
    for index, share in enumerate(_utilization()):
        if share > 5:
            yield _warning(
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
        yield _warning("cores", found, f"searches may run out of memory; abtune sweep --cores {fitting}")
    else:
        yield _ok("cores", found)
    with contextlib.suppress(OSError, AttributeError):  # not every system counts its load
        load = os.getloadavg()[0]
        said = f"{load:.1f} in the last minute, on {cores} cores"
        if load > _LOAD_A_CORE * cores:
            yield _warning(
                "load", said, "end what else runs here: it makes a CPU's timings noisy, and slows searches"
            )
        else:
            yield _ok("load", said)


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
        return _problem("output", str(error), "give another --out")
    if not os.access(folder, os.W_OK | os.X_OK):
        return _problem("output", f"{folder} cannot be written", "give another --out, or the permission")
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _BYTES_OF_OUTPUT / 20:
        return _problem("output", found, "make room, or give another --out")
    if free < _BYTES_OF_OUTPUT:
        return _warning("output", found, "a sweep of many shapes and seeds may need more")
    return _ok("output", found)


def check_dask() -> Finding:
    """Look for the library that spreads the work."""
    try:
        return _ok("dask", f"distributed {importlib.metadata.version('distributed')}")
    except importlib.metadata.PackageNotFoundError:
        return _problem("dask", "distributed is not installed", "pip install distributed")


# --- the trial ------------------------------------------------------------------------------------------


class _Watched:
    """A cluster that notes how long each of its tasks took; stands in for it where only tasks are run."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.seconds: dict[str, float] = {}

    async def search(self, task: Any, *args: Any, priority: int) -> Any:
        """Run a task on a core."""
        return await self._timed(self._cluster.search, task, args, priority)

    async def measure(self, task: Any, *args: Any, priority: int) -> Any:
        """Run a task at a device."""
        return await self._timed(self._cluster.measure, task, args, priority)

    async def _timed(self, run: Any, task: Any, args: Sequence[Any], priority: int) -> Any:
        started = time.monotonic()
        try:
            return await run(task, *args, priority=priority)
        finally:
            name = task.__name__
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started


# The tasks of a trial, as try_out runs them, and what they are called here.
_STEPS = {"propose": "propose", "build_batch": "build", "time_batch": "time"}


def check_trial(plan: Plan, facts: TargetFacts, store: Store, progress: Progress) -> Finding:
    """Propose, build and time a few kernels just as a sweep does before it begins.

    Parameters
    ----------
    plan : Plan
        What a sweep would do.
    facts : TargetFacts
        The target.
    store : Store
        Where a sweep would keep its runs; nothing is written.
    progress : Progress
        Told of nothing so far.
    """
    started = time.monotonic()
    try:
        seconds = asyncio.run(_try(plan, facts, store, progress))
    except AbtuneError as error:
        return _problem("trial", str(error), "a sweep would end like this; the line says where")
    except TimeoutError:
        said = f"no kernel was timed within {TRIAL_LIMIT:.0f} s"
        return _problem("trial", said, "is the machine busy, or swapping?")
    steps = ", ".join(f"{_STEPS.get(name, name)} {took:.1f} s" for name, took in seconds.items())
    whole = time.monotonic() - started
    configs = " and ".join(config.name for config in plan.configs)
    return _ok("trial", f"kernels of {configs} were built and timed in {whole:.1f} s: {steps}")


async def _try(plan: Plan, facts: TargetFacts, store: Store, progress: Progress) -> dict[str, float]:
    began = time.monotonic()
    async with asyncio.timeout(TRIAL_LIMIT), open_cluster(facts, scheduler="", cores=1) as cluster:
        watched = _Watched(cluster)
        watched.seconds["start"] = time.monotonic() - began
        sitting = Sitting(plan, store, cast("Cluster", watched), Clock(math.inf), progress)
        try:
            await try_out(sitting)
        except asyncio.CancelledError:
            await cluster.interrupt()
            raise
    return watched.seconds
