"""Stands in for abtune.measure.tvm.metaschedule: instant, reproducible, faulty where it is told to be.

The same functions with the same signatures, served by the same processes. What a run proposes depends on
its random seed alone and what a kernel takes on its candidate alone, so that two sweeps of one plan give
the same dataset however often they were stopped.

A fault is an entry of the configuration's pass_config: ``{"build": "crash"}``. The key names a function
(``propose_later`` is every iteration of a search but the first), perhaps with ``@label`` of the only shape
that it is for; the value names what happens there, one of :data:`FAULTS`, perhaps with ``:n`` for the
candidate at this place of each iteration only, or with ``:once:file`` or ``:once:file:n`` to happen a single
time.
``{"time_kernel": "zero"}`` makes a function return times of zero seconds.
``{"speed@label": "9"}`` is no fault: it makes the kernels of this shape nine times faster. And
``{"memory": "0.2"}`` makes a process that times a kernel keep a fifth of the memory of its device, and
``{"size": "9000"}`` makes candidates so large. ``{"variants": "2"}`` takes a schedule over as two others,
``"0"`` as none.

The machine can break, too: ``FAKE_BROKEN=function:file`` makes a function fail, whatever the configuration,
as long as the file is there; with ``:hang`` it hangs,
and with ``:full`` it finds the disk full. ``FAKE_FAULT=function@label:fault:file`` makes a fault
happen a single time, which the file records.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from abtune.measure.plan.nvml import DeviceState
from abtune.measure.plan.problem import Kernel, Problem, Timing
from abtune.measure.plan.records import Candidate, SearchHistory
from abtune.shapes import Shape

TARGET = '{"kind": "fake"}'


def _raise() -> None:
    raise RuntimeError("native stack\n  frame 1\nthe fault that was asked for")


def _break() -> None:
    raise RuntimeError("the machine is broken")


def _fill() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _poison() -> None:
    """Fail as CUDA does after a bad kernel: this call and every later one of the process."""
    _State.poisoned = True
    raise RuntimeError("CUDA: misaligned address")


def _hang() -> None:
    time.sleep(600.0)


class _State:
    poisoned = False
    memory = 0.0


FAULTS: dict[str, Callable[[], None]] = {
    "raise": _raise,
    "exit": lambda: sys.exit(3),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": _hang,
    "poison": _poison,
    "full": _fill,
    "kill_worker": lambda: os.kill(_worker(), signal.SIGKILL),
    "kill_server": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "slow": lambda: time.sleep(0.01),
    "crawl": lambda: time.sleep(1.5),
}


def _worker() -> int:
    """Return the process that this one works for: the parent of what it was forked from."""
    server = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
    return int(server.rpartition(")")[2].split()[1])


def _log(*words: object) -> None:
    """Note a call, where a test wants to know of each."""
    path = os.environ.get("FAKE_LOG")
    if path:
        line = json.dumps([*words, os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", "")]) + "\n"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, line.encode())
        os.close(handle)


def _meet(faults: dict[str, str], function: str, label: str, number: int) -> None:
    """Do what was asked for here, if anything."""
    broken, _, details = os.environ.get("FAKE_BROKEN", "").partition(":")
    path, _, name = details.partition(":")
    if broken == function and Path(path).exists():
        FAULTS.get(name, _break)()
    here, _, once = os.environ.get("FAKE_FAULT", "").partition(":")
    if here == f"{function}@{label}":
        name, _, path = once.partition(":")
        with contextlib.suppress(FileExistsError):  # another process met it, perhaps at this moment
            Path(path).touch(exist_ok=False)
            FAULTS[name]()
    for wanted in (function, f"{function}@{label}"):
        name, *details = faults.get(wanted, "").split(":")
        if details[:1] == ["once"]:
            if details[2:] and int(details[2]) != number:
                continue
            try:
                Path(details[1]).touch(exist_ok=False)
            except FileExistsError:
                continue
        elif details and int(details[0]) != number:
            continue
        if name in FAULTS:
            FAULTS[name]()


def program_hash(shape: Shape) -> str:
    """Return the hash of a program that FAKE_PROGRAM names."""
    return os.environ.get("FAKE_PROGRAM", "first")


def check(problem: Problem) -> str:
    """Set up a search, and do not search; return the hash of a design space that FAKE_SPACE names."""
    _log("check", problem.shape.label, problem.config.name, "")
    _meet(_faults(problem), "check", problem.shape.label, 0)
    return os.environ.get("FAKE_SPACE", "first")


def _faults(problem: Problem) -> dict[str, str]:
    return {key: str(value) for key, value in problem.config.pass_config.items()}


def propose(
    problem: Problem, history: SearchHistory, count: int, rng_seed: int, threads: int
) -> tuple[tuple[Candidate, ...], bytes, bool]:
    """Propose candidates that only the seed decides; the model counts the trials that it has learned."""
    label = problem.shape.label
    _log("propose", label, problem.config.name, history.iterations, rng_seed, threads)
    faults = _faults(problem)
    _meet(faults, "propose" if not history.trials else "propose_later", label, 0)
    before = history.cost_model if history.cost_model.isdigit() else b"0"
    learned = int(before) + len(history.trials) - history.learned
    if faults.get("propose") == "nothing":
        count = 0
    about = {"faults": faults, "padding": "x" * int(faults.get("size", 0)), "config": problem.config.name}
    candidates = tuple(
        Candidate(
            text=json.dumps([f"trace {rng_seed}.{number}", {**about, "place": number}]),
            module_hash=f"{rng_seed}.{number}",
        )
        for number in range(count)
    )
    return candidates, str(learned).encode(), faults.get("propose") == "repeat"


def build(problem: Problem, record: list[Any]) -> bytes:
    """Build a library that is the candidate itself; a record may leave out which configuration made it."""
    trace, about = record
    label = problem.shape.label
    _log("build", label, problem.config.name, trace)
    _meet(about["faults"], "build", label, about["place"])
    return json.dumps({"config": problem.config.name, "trace": trace, "shape": label, **about}).encode()


def carry_over(problem: Problem, record: list[Any]) -> list[list[Any]]:
    """Return the variants that the configuration asks for; without a wish the same kernel."""
    trace, about = record
    faults, name = _faults(problem), problem.config.name
    _meet(faults, "carry_over", problem.shape.label, about["place"])
    variants = faults.get("variants")
    if variants is None:
        return [record]
    changed = {**about, "faults": faults, "config": name}
    return [[f"{trace} as {name}.{number}", changed] for number in range(int(variants))]


def adopt(problem: Problem, texts: list[str], known: frozenset[str], count: int) -> tuple[Candidate, ...]:
    """Take each schedule over as one candidate, which is another kernel; none where ``variants`` is 0."""
    faults, name, records = _faults(problem), problem.config.name, list(map(json.loads, texts))
    _log("adopt", problem.shape.label, name, [trace for trace, _ in records], sorted(known), count)
    _meet(faults, "adopt", problem.shape.label, 0)
    variants = [(f"{trace} as {name}", about) for trace, about in records if faults.get("variants") != "0"]
    return tuple(
        Candidate(
            text=json.dumps([trace, {**about, "faults": faults, "config": name}]),
            module_hash=trace,
            carried_over=True,
        )
        for trace, about in variants
        if trace not in known
    )[:count]


def time_candidate(kernel: Kernel, timing: Timing) -> list[float]:
    """Time a candidate within a search."""
    return _time("time_candidate", kernel.library, timing.repeats)


def time_kernel(kernel: Kernel, timing: Timing) -> list[float]:
    """Time a winner again."""
    return _time("time_kernel", kernel.library, timing.repeats)


def check_kernel(built: Kernel) -> tuple[float, float]:
    """Return the error that the configuration asks for, and its limit; or meet a fault."""
    kernel = json.loads(built.library)
    _log("check_kernel", kernel["shape"], kernel["config"], kernel["trace"])
    if _State.poisoned:
        raise RuntimeError("CUDA: misaligned address")
    _meet(kernel["faults"], "check_kernel", kernel["shape"], kernel["place"])
    error = {"wrong": 0.5, "nan": math.nan}.get(kernel["faults"].get("check_kernel", ""), 1e-7)
    return error, 1e-4


def device_name(target: str) -> str:
    """Return a name that tells devices apart."""
    return f"a device {os.environ.get('CUDA_VISIBLE_DEVICES', '')}".strip()


def memory_grown() -> float:
    """Return the share of the device's memory that this process keeps."""
    _log("memory_grown")
    return _State.memory


def device_state() -> DeviceState:
    """Return a clock, no temperature, and that the power was capped."""
    _meet({}, "device_state", "", 0)
    return DeviceState(1500.0, math.nan, 4.0)


def _time(function: str, library: bytes, repeats: int) -> list[float]:
    kernel = json.loads(library)
    _log(function, kernel["shape"], kernel["config"], kernel["trace"])
    if _State.poisoned:
        raise RuntimeError("CUDA: misaligned address")
    _meet(kernel["faults"], function, kernel["shape"], kernel["place"])
    _State.memory = float(kernel["faults"].get("memory", _State.memory))
    seed = hashlib.sha256(f"{function} {kernel['shape']} {kernel['trace']}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    if kernel["faults"].get(function) == "zero":
        return [0.0] * repeats
    speed = float(kernel["faults"].get(f"speed@{kernel['shape']}", 1.0))
    _log("timed", kernel["shape"], kernel["config"], _worker())
    return [float(value) / speed for value in rng.uniform(1e-4, 2e-4) * rng.uniform(1.0, 1.01, size=repeats)]
