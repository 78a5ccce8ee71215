"""How busy a sweep keeps cores and GPUs, with child processes that only wait as long as real ones work.

    python tests/benchmarks/bench_cores.py --cores 32 --devices 2

The peer is the same sweep in dask's own order, which holds up searches while a kernel waits for a GPU.
Nothing is computed, so two cores are enough to see what 32 would do. Times are scaled down.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_cluster import HELPERS, PretendForkServer, PretendSlot

ITERATIONS, CANDIDATES = 2, 64
# Seconds of one call on an H100 host whose 16 cores are all busy. A search of 32 candidates took 87 s of CPU
# time (bench_sweep.py) and 2 s of the GPU (nvidia-smi). bench_trial.py prints how the CPU time splits.
SECONDS = {"propose": 25.0, "build": 1.9, "time_candidate": 0.062}


class WaitingSlot(PretendSlot):
    """A child process that waits, and then answers as the fake does."""

    scale = 1.0

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Return the answer of the fake."""
        import fake_metaschedule

        time.sleep(self.scale * SECONDS.get(function, 0.0))
        return getattr(fake_metaschedule, function)(*args)


def seconds_of_sweep(cores: int, devices: int, seeds: int) -> float:
    """Return the seconds of a sweep of two shapes under two configurations, without the scale."""
    from measure_builders import make_facts, make_settings, small_plan
    from sweeping import config, run_sweep

    from abtune.measure.store.store import Store

    plan = small_plan(seeds=seeds, configs=(config("plain"), config("new")))
    settings = make_settings(trials=ITERATIONS * CANDIDATES, trials_per_iteration=CANDIDATES, rounds=1)
    facts = make_facts(kind="cuda", devices=tuple(f"GPU {index}" for index in range(devices)))
    with tempfile.TemporaryDirectory() as folder:
        begun, store = time.monotonic(), Store(Path(folder) / "abtune.nc")
        run_sweep(replace(plan, settings=settings), store, facts=facts, cores=cores)
        return (time.monotonic() - begun) / WaitingSlot.scale


def main() -> None:
    """Measure both orders, and print the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--scale", type=float, default=0.1)
    options = parser.parse_args()
    sys.path[:0] = [str(HELPERS), str(HELPERS / "measuring")]

    from abtune.measure.workers import cluster, pool

    WaitingSlot.scale = options.scale
    pool.Slot, pool.ForkServer = WaitingSlot, PretendForkServer  # type: ignore
    iterations = 4 * options.seeds * ITERATIONS
    searching = iterations * (SECONDS["propose"] + CANDIDATES * SECONDS["build"])
    timing = iterations * CANDIDATES * SECONDS["time_candidate"]
    took = []
    for name, threads in (("dask's order", 1), ("abtune", cluster.DEVICE_THREADS)):
        cluster.DEVICE_THREADS = threads
        seconds = seconds_of_sweep(options.cores, options.devices, options.seeds)
        took.append(seconds)
        print(
            f"{name:<14}{seconds:6.0f} s   busy {searching / seconds:5.1f} of {options.cores} cores, "
            f"{timing / seconds:.2f} of {options.devices} GPUs",
            flush=True,
        )
    print(f"{'ratio':<14}{took[0] / took[1]:6.2f}")


if __name__ == "__main__":
    main()
