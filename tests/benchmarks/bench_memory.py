"""What the process of a sweep holds on to, run after run: memory, files, threads, tasks of dask.

    python tests/benchmarks/bench_memory.py --runs 1000

The searches are those of the fake in tests/measure, with candidates as large as real ones, so that a sweep
of 1,000 runs takes a minute or two; all else is as in any sweep. Lines at a fifth and at the end of the
searches should agree.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
from pathlib import Path

from distributed import Client, Scheduler, Worker

HELPERS = Path(__file__).parents[1] / "helpers"


def main() -> None:
    """Sweep, and print what is held on the way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=5)
    options = parser.parse_args()
    sys.path[:0] = [str(HELPERS), str(HELPERS / "measuring")]  # children find what this process finds
    from measure_builders import small_plan
    from sweeping import config, run_sweep

    import abtune.measure.workers.pool
    from abtune.measure.store.store import Store

    abtune.measure.workers.pool.TVM_MODULE = "fake_metaschedule"
    plan = small_plan(
        seeds=options.runs // 4, configs=(config("plain", size="20000"), config("new", size="20000"))
    )
    watch = Watch(len(plan.runs) // options.samples, plan.settings.trials)
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(plan, Store(Path(folder) / "abtune.nc"), progress=watch)


class Watch:
    """A progress that prints every so many runs."""

    def __init__(self, every: int, trials: int) -> None:
        self._every = every
        self._trials = trials
        self._done = 0
        self._tuning = True

    def begin(self, phase: str, total: int, done: int) -> None:
        """Begin to look, or stop."""
        self._tuning = phase == "trials"

    def tell(self, news: str) -> None:
        """Show nothing."""

    def warn(self, line: str) -> None:
        """Print a line."""
        print(line, flush=True)

    def advance(self, steps: int) -> None:
        """Look, if it is time."""
        before, self._done = self._done, self._done + steps
        every = self._every * self._trials
        if self._tuning and before // every != self._done // every:
            print(f"{self._done // self._trials:>5} runs: {held()}", flush=True)


def held() -> str:
    """Return what this process holds."""
    gc.collect()
    status = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
    )
    tasks = sum(len(instance.tasks) for instance in Scheduler._instances)
    tasks += sum(len(instance.state.tasks) for instance in Worker._instances)
    futures = sum(len(instance.futures) for instance in Client._instances)
    files = len(list(Path("/proc/self/fd").iterdir()))
    megabytes = math.ceil(int(status["VmRSS"].split()[0]) / 1024)
    return (
        f"{megabytes} MB, {files} files, {status['Threads'].strip()} threads, {tasks} tasks of dask, "
        f"{futures} futures, {len(gc.get_objects())} objects"
    )


if __name__ == "__main__":
    main()
