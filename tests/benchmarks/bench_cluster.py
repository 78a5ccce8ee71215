"""How many iterations an hour a sweep can drive on a large cluster, and which process is full first.

    python tests/benchmarks/bench_cluster.py --workers 10 100

The scheduler, the sweep and the workers are processes of their own, connected over TCP. The workers are real
dask workers, many to a process, with one place to search and one to measure. Only their children pretend:
they answer at once, with candidates and kernels as large as real ones. So all iterations come as fast as the
cluster takes them. The CPU time of each process for an iteration says how many it could drive by itself:
a process can use one core. Last, the time to assemble the dataset of all runs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from abtune.measure.plan.records import Candidate

HELPERS = Path(__file__).parents[1] / "helpers"
REAL = Path(__file__).parents[2] / "data" / "h200-tvm14009.nc"
KERNEL = 200_000  # bytes of a kernel, as of async on an H200
HOSTS = 2
# What a worker does for its own sake: many to a process would do nothing else.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.low-level-log-length": 10,
    "distributed.comm.timeouts.connect": "300s",
}
TICKS = 100  # a second, of the times in /proc


class PretendSlot:
    """A child process that answers at once, within the worker."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Return the answer of the fake, with records and kernels as large as real ones."""
        import fake_metaschedule

        answer = getattr(fake_metaschedule, function)(*args)
        if function == "propose":
            candidates, *rest = answer
            return tuple(map(with_real_record, candidates)), *rest
        return answer.ljust(KERNEL) if function == "build" else answer

    def start(self) -> None:
        """Do nothing, as do all others."""

    resume = interrupt = close = replace = start


def with_real_record(candidate: Candidate) -> Candidate:
    """Return a candidate whose record is as large as a real one, and as hard to compress."""
    trace, about = candidate.record
    return replace(candidate, text=json.dumps([trace, {**about, "padding": json.loads(real_record())}]))


@functools.cache
def real_record() -> str:
    """Return the tuning record of a winner on an H200."""
    with xr.open_dataset(REAL) as dataset:
        return str(dataset["winner"].values[-1, 1, 0])


class PretendForkServer:
    """A process to fork from, of which there is no need."""

    is_ready = True

    def __init__(self, *_: Any) -> None:
        pass

    def close(self) -> None:
        """Do nothing."""


async def host_workers(scheduler: str, count: int) -> None:
    """Be some workers of a cluster until it ends."""
    from concurrent.futures import ThreadPoolExecutor

    import dask
    from distributed import Worker

    import abtune.measure.workers.pool as real

    real.Slot, real.ForkServer = PretendSlot, PretendForkServer  # type: ignore[misc, assignment]
    dask.config.set(QUIET)
    real_record()  # before there are threads
    threads = ThreadPoolExecutor(8)
    workers = [
        Worker(
            scheduler,
            nthreads=2,
            resources={"search": 1.0, "device": 1.0},
            memory_limit=0,
            executor=threads,
            connection_limit=10,
        )
        for _ in range(count)
    ]
    for start in range(0, count, 50):
        await asyncio.gather(*workers[start : start + 50])
    print("ready", flush=True)
    await asyncio.gather(*(worker.finished() for worker in workers))


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_megabytes(process: int | str) -> float:
    """Return the most memory that a process has held."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextlib.contextmanager
def started(*words: str, folder: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process of Python that keeps its files in a folder, and end it."""
    command, environment = [sys.executable, *words], {**os.environ, "TMPDIR": folder}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Return what a process says, once it says it."""
    assert process.stdout
    for line in process.stdout:
        if match := re.search(pattern, line):
            # A process whose pipe is full would wait.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return match[0]
    raise RuntimeError(f"{process.args} ended")


def measure(workers: int, runs: int, iterations: int) -> dict[str, float]:
    """Sweep on a cluster of so many workers; return rates, and CPU milliseconds for an iteration."""
    from measure_builders import make_facts, make_settings, small_plan
    from sweeping import config, run_sweep

    from abtune.measure.store.store import Store

    plan = small_plan(seeds=runs // 4, configs=(config("plain"), config("new")))
    plan = replace(plan, settings=make_settings(trials=64 * iterations, trials_per_iteration=64, rounds=1))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        scheduling = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        scheduler = stack.enter_context(started(*scheduling, "--no-dashboard", folder=folder))
        address = wait_for(scheduler, r"tcp://127\.0\.0\.1:\d+")
        hosts = [
            stack.enter_context(
                started(__file__, "--host", address, "--workers", str(workers // HOSTS), folder=folder)
            )
            for _ in range(HOSTS)
        ]
        for host in hosts:
            wait_for(host, "ready")
        before = cpu_seconds(scheduler.pid), time.process_time(), time.monotonic()
        store = Store(Path(folder) / "abtune.nc")
        run_sweep(plan, store, facts=make_facts(kind="cuda"), scheduler=address)
        seconds = time.monotonic() - before[2]
        done = len(plan.runs) * iterations
        rates = {
            "workers": workers,
            "iterations": done,
            "an hour": 3600 * done / seconds,
            "scheduler ms": 1000 * (cpu_seconds(scheduler.pid) - before[0]) / done,
            "sweep ms": 1000 * (time.process_time() - before[1]) / done,
            "scheduler MB": peak_megabytes(scheduler.pid),
            "sweep MB": peak_megabytes("self"),
        }
        begun = time.process_time()
        store.to_dataset(plan)
        rates["assembly ms a run"] = 1000 * (time.process_time() - begun) / len(plan.runs)
    return rates


def main() -> None:
    """Measure clusters of several sizes, or be the workers of one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--host", metavar="SCHEDULER")
    options = parser.parse_args()
    sys.path[:0] = [str(HELPERS), str(HELPERS / "measuring")]
    if options.host:
        asyncio.run(host_workers(options.host, options.workers[0]))
        return
    for workers in options.workers:
        print(
            json.dumps(
                {k: round(v, 1) for k, v in measure(workers, options.runs, options.iterations).items()}
            )
        )


if __name__ == "__main__":
    main()
