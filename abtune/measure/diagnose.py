"""Checks of this machine: software, memory, load, disk space, target, and last the trial of every sweep."""

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from abtune.errors import AbtuneError, TargetError
from abtune.measure.plan import nvml
from abtune.measure.plan.plan import Plan, Request
from abtune.measure.plan.workplace import LOAD_PER_CORE, TargetFacts, Workplace, machine_load, usable_cores
from abtune.measure.tvm import nvrtc
from abtune.measure.workers.find_target import find_compiler, find_target, installed_version, require_tvm
from abtune.measure.workers.fork_server import allocator


class Level(StrEnum):
    """The meaning of a finding for a sweep."""

    OK = "ok"
    WARNING = "warning"  # a sweep runs, but not as well as it could
    PROBLEM = "problem"  # no sweep can run


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str  # the subject, in a word or two
    level: Level  # whether a sweep can run like this
    state: str  # the state that the check saw
    advice: str = ""  # what to do; empty if nothing is to be done


def _warned(name: str, state: str, *, of: bool, advice: str) -> Finding:
    """Return a finding that warns if something is so."""
    return Finding(name, Level.WARNING, state, advice) if of else Finding(name, Level.OK, state)


def refused(name: str, error: AbtuneError) -> Finding:
    """Return an error's line as a problem; the words after its last semicolon are the advice."""
    state, _, advice = str(error).rpartition("; ")
    return Finding(name, Level.PROBLEM, state or advice, advice if state else "see docs/sweep.md")


def check_python() -> Finding:
    """Return whether this interpreter and system can sweep, which needs the sockets of POSIX."""
    state = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return Finding("Python", Level.PROBLEM, state, "sweep on Linux; analysis works here")
    advice = "sweeps are tested on Linux only"
    return _warned("Python", state, of=sys.platform != "linux", advice=advice)


def check_packages() -> Finding:
    """Return whether the installed packages are the ones that a sweep requires."""
    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in importlib.metadata.requires("abtune") or []]
    except importlib.metadata.PackageNotFoundError:
        state = "abtune is not installed, only imported"
        return Finding("packages", Level.WARNING, state, "pip install 'abtune[sweep]'")
    for_sweep = {"extra": "sweep"}
    needed = [package for package in required if not package.marker or package.marker.evaluate(for_sweep)]
    wrong = []
    for package in needed:
        version = installed_version(package.name)
        if not version:
            wrong.append(f"{package.name} is missing")
        elif not package.specifier.contains(version, prereleases=True):
            wrong.append(f"{package.name} {version} is not {package.specifier}")
    if wrong:
        return Finding("packages", Level.PROBLEM, ", ".join(wrong), "pip install --upgrade 'abtune[sweep]'")
    return Finding("packages", Level.OK, f"all {len(needed)} that a sweep requires")


def check_tvm() -> Iterator[Finding]:
    """Yield whether there is a TVM that works, and a compiler that it can link with."""
    compiler = Finding("C compiler", Level.OK, find_compiler())
    try:
        require_tvm()
    except TargetError as error:
        if "compiler" not in str(error):
            yield refused("TVM", error)
            return
        compiler = refused("C compiler", error)
    names = ("apache-tvm", "apache-tvm-ffi")
    versions = (f"{name} {installed_version(name) or 'is missing'}" for name in names)
    yield Finding("TVM", Level.OK, ", ".join(versions))
    yield compiler


# A process that searches held 0.33 GB in its first iteration, and its cost model grows.
_BYTES_PER_SEARCHER = 0.6e9
# Room for the runs, mostly their cost models, and for the dataset: a cautious guess.
_BYTES_OF_OUTPUT = 1e9


def check_host(cores: int) -> Iterator[Finding]:
    """Yield whether cores and memory suffice, and whether the machine is idle."""
    free = _available_memory()
    state = f"{cores} cores, {free / 1e9:.1f} GB of memory free" if free < math.inf else f"{cores} cores"
    fitting = max(min(free / _BYTES_PER_SEARCHER - 1, cores), 1)
    advice = f"searches may run out of memory; abtune sweep --cores {int(fitting)}"
    yield _warned("cores", state, of=free < _BYTES_PER_SEARCHER * (cores + 1), advice=advice)
    if sys.platform == "linux":
        # The user's own LD_PRELOAD wins, as it does in the fork server.
        library = {**allocator(), **os.environ}.get("LD_PRELOAD")
        advice = "searches are faster with tcmalloc; Debian and Ubuntu: apt install libtcmalloc-minimal4"
        yield _warned("allocator", library or "the C library's", of=not library, advice=advice)
    load = machine_load(cores)
    if load is not None:
        state = f"other programs use {load:.1f} of {cores} cores"
        advice = "end other programs: they slow searches and make timings of a CPU noisy"
        yield _warned("load", state, of=load > LOAD_PER_CORE * cores, advice=advice)


def _available_memory() -> float:
    """Return the bytes of memory that are free without swapping; infinite where the system does not say."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import psutil  # comes with dask

        return float(psutil.virtual_memory().available)
    return math.inf


def check_output(folder: Path) -> Finding:
    """Return whether a sweep can write into a folder, and has room there."""
    free = shutil.disk_usage(folder).free
    state = f"{folder}, {free / 1e9:.1f} GB free"
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(
            "output", Level.PROBLEM, f"{folder} may not be written", "give another place with --out"
        )
    if free < _BYTES_OF_OUTPUT / 20:
        return Finding("output", Level.PROBLEM, state, "make room, or give another --out")
    advice = "a sweep of many shapes and seeds may need more"
    return _warned("output", state, of=free < _BYTES_OF_OUTPUT, advice=advice)


def check_target(spec: str) -> tuple[TargetFacts | None, tuple[Finding, ...]]:
    """Return the facts about the target, or None if it cannot be used, and the findings about it."""
    try:
        facts = find_target(spec)
    except AbtuneError as error:
        return None, (refused("target", error),)
    several = f"{len(facts.devices)} x " if len(facts.devices) > 1 else ""
    findings = [Finding("target", Level.OK, f"{facts.kind}: {several}{facts.devices[0]}")]
    if facts.kind == "cuda":
        version = installed_version("cuda-bindings")
        state = f"cuda-bindings {version}" if version else "only as TVM itself calls it, which takes longer"
        advice = "end what runs there, or set CUDA_VISIBLE_DEVICES: timings beside it cannot be trusted"
        findings += [
            _about_cuda(facts),
            _warned("NVRTC", state, of=not version, advice="pip install 'abtune[cuda]'"),
            *(
                Finding("GPU load", Level.WARNING, f"GPU {name} is {share:.0f}% busy", advice)
                for name, share in nvml.utilization().items()
                if share > 5
            ),
        ]
    # A user who asked for the CPU misses no GPU.
    elif spec == "auto":
        nvrtc.load_libraries()
        advice = "a sweep tunes this CPU; for a GPU, install the NVIDIA driver and abtune[cuda]"
        findings.append(Finding("GPU", Level.WARNING, nvrtc.why_no_gpu(), advice))
    return facts, tuple(findings)


def _about_cuda(facts: TargetFacts) -> Finding:
    known = (name for name in ("driver", "cuda") if name in facts.versions)
    versions = ", ".join(f"{name} {facts.versions[name]}" for name in known)
    if not versions:
        state = "versions, clocks and temperature cannot be read"
        return Finding("CUDA", Level.WARNING, state, "pip install 'nvidia-ml-py>=13'")
    return Finding("CUDA", Level.OK, f"{versions}, compute capability {facts.arch // 10}.{facts.arch % 10}")


# A trial takes seconds; minutes where all cores are busy.
TRIAL_LIMIT = 300.0


def diagnose(target: str, *, with_trial: bool) -> list[Finding]:
    """Return the findings about this machine and this folder."""
    findings = [check_python(), check_packages(), *check_tvm()]
    facts: TargetFacts | None = None
    if not problems(findings):
        facts, about_target = check_target(target)
        findings += about_target
    findings += [*check_host(usable_cores()), check_output(Path.cwd())]
    if facts is not None and with_trial and not problems(findings):
        try:
            plan = Request(seeds=1).plan_for(facts)
        except AbtuneError as error:  # such as a GPU that is too old for the default pair
            findings.append(refused("trial", error))
        else:
            findings.append(check_trial(plan, facts))
    return findings


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with which no sweep can run."""
    return [finding for finding in findings if finding.level is Level.PROBLEM]


def check_trial(plan: Plan, facts: TargetFacts) -> Finding:
    """Return whether a few kernels can be proposed, built and timed, and how long that took."""
    started = time.monotonic()
    try:
        from abtune.measure.workers.gathering import run  # it imports dask, which may be missing

        run(_try(plan, facts))
    except AbtuneError as error:
        advice = "mend this first: a sweep would end with the same line"
        return Finding("trial", Level.PROBLEM, str(error), advice)
    except TimeoutError:
        state = f"no kernel was timed within {TRIAL_LIMIT:.0f} s"
        return Finding("trial", Level.PROBLEM, state, "see whether the machine is busy or swapping")
    configs, total = " and ".join(config.name for config in plan.configs), time.monotonic() - started
    return Finding("trial", Level.OK, f"kernels of {configs} were built and timed in {total:.1f} s")


async def _try(plan: Plan, facts: TargetFacts) -> None:
    from abtune.measure.sweep.health_check import try_out  # these import dask, which may be missing
    from abtune.measure.workers.cluster import open_cluster

    one = replace(facts, devices=facts.devices[:1])  # each device would start several processes
    workplace = Workplace(facts=one, scheduler="", cores=1)
    async with asyncio.timeout(TRIAL_LIMIT), open_cluster(workplace) as cluster:
        try:
            await try_out(plan, cluster)
        except asyncio.CancelledError:
            await cluster.interrupt()
            raise
