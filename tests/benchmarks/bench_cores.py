"""How busy a sweep keeps cores and GPUs, with child processes that only wait as long as real ones work.

    python tests/benchmarks/bench_cores.py --cores 32 --devices 2

The peer is the same sweep in dask's own order, which holds up searches while a kernel waits for a GPU.
Nothing is computed, so two cores are enough to see what 32 would do. Times are scaled down.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

HELPERS = Path(__file__).parents[1] / "helpers"
ITERATIONS, CANDIDATES = 2, 64
# Seconds of one call, as on hosts with H200: docs/sweep.md has the shares of a trial.
SECONDS = {"propose": 17.0, "build": 1.25, "time_candidate": 0.075}


class WaitingSlot:
    """A child process that waits, and then answers as the fake does."""

    scale = 0.1
    spent: ClassVar[collections.Counter[str]] = collections.Counter()

    def __init__(self, *_: Any, **__: Any) -> None:
        self.started_in = 0.0

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Return the answer of the fake."""
        import fake_metaschedule

        seconds = self.scale * SECONDS.get(function, 0.0)
        time.sleep(seconds)
        self.spent[function] += seconds
        return getattr(fake_metaschedule, function)(*args)

    def start(self) -> None:
        """Do nothing, as do all others."""

    resume = interrupt = close = replace = start


def busy(cores: int, devices: int, runs: int) -> tuple[float, float, float]:
    """Return the seconds of a sweep, and how many cores and devices were busy on average."""
    from measure_builders import make_facts, make_settings, small_plan
    from sweeping import config, run_sweep

    from abtune.measure.store.store import Store

    plan = small_plan(seeds=runs // 4, configs=(config("plain"), config("new")))
    settings = make_settings(trials=ITERATIONS * CANDIDATES, trials_per_iteration=CANDIDATES, rounds=1)
    facts = make_facts(kind="cuda", devices=tuple(f"GPU {index}" for index in range(devices)))
    WaitingSlot.spent.clear()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        run_sweep(
            replace(plan, settings=settings), Store(Path(folder) / "abtune.nc"), facts=facts, cores=cores
        )
        seconds = time.monotonic() - begun
    spent = WaitingSlot.spent
    return seconds, (spent["propose"] + spent["build"]) / seconds, spent["time_candidate"] / seconds


def main() -> None:
    """Measure both orders, and print the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--scale", type=float, default=0.1)
    options = parser.parse_args()
    sys.path[:0] = [str(HELPERS), str(HELPERS / "measuring")]
    from bench_cluster import PretendForkServer

    from abtune.measure.workers import cluster, pool

    WaitingSlot.scale = options.scale
    pool.Slot, pool.ForkServer = WaitingSlot, PretendForkServer  # type: ignore
    took = []
    for name, threads in (("dask's order", 1), ("abtune", cluster.DEVICE_THREADS)):
        cluster.DEVICE_THREADS = threads
        seconds, cores, devices = busy(options.cores, options.devices, options.runs)
        took.append(seconds)
        print(
            f"{name:<14}{seconds / options.scale:6.0f} s   busy {cores:5.1f} of {options.cores} cores, "
            f"{devices:.2f} of {options.devices} GPUs",
            flush=True,
        )
    print(f"{'ratio':<14}{took[0] / took[1]:6.2f}")


if __name__ == "__main__":
    main()
