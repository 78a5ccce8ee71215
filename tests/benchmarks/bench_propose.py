"""What threads, and an allocator in place of that of glibc, do to the time that a search takes to propose.

    python tests/benchmarks/bench_propose.py --threads 1 2
    python tests/benchmarks/bench_propose.py /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 ...

Prints the seconds of three iterations of one search for a GPU of compute capability 9.0. It needs none,
because what is proposed is given made-up latencies. The same random numbers drive every search, so that with
one thread all of them do the same work; whether they propose the same in the end is printed as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SEARCH = """
import json, math, sys, time
import numpy as np
from abtune.configurations import ASYNC
from abtune.measure.tvm.propose import propose
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.trials import History, Trial
from abtune.dataset.schema import TrialStatus
from abtune.shapes import Gemm
target = json.dumps({
    "kind": "cuda", "arch": "sm_90", "max_threads_per_block": 1024, "thread_warp_size": 32,
    "max_shared_memory_per_block": 49152, "max_num_threads": 1024,
})
history, latencies, digest = History.empty(), np.random.default_rng(0), ""
started = time.perf_counter()
for iteration in range(3):
    problem = Problem(shape=Gemm(m=512, n=3072, k=768), config=ASYNC, target=target)
    found, model, _ = propose(problem, history, 64, iteration + 1, int(sys.argv[1]))
    digest = found[-1].module_hash
    history = history.proposed(found, cost_model=model, seconds=math.nan).tried(
        tuple(
            Trial(candidate=each, status=TrialStatus.OK, latency=latencies.lognormal(-9.0), message="")
            for each in found
        ),
        seconds=math.nan,
    )
print(time.perf_counter() - started, digest)
"""


def main() -> None:
    """Search with glibc and each number of threads, then with each allocator and one; print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", help="shared libraries to preload")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    ways = [("", threads) for threads in options.threads] + [(library, 1) for library in options.libraries]
    outcomes, first = set(), 0.0
    for library, threads in ways:
        seconds, outcome = search(library, threads)
        first = first or seconds
        if threads == 1:
            outcomes.add(outcome)
        name = f"{Path(library).name or 'glibc'}, {threads} threads"
        print(f"{name:40}  {seconds:6.1f} s  {first / seconds:5.2f} times as fast as the first", flush=True)
    print(f"{len(outcomes)} different outcomes with one thread")


def search(library: str, threads: int) -> tuple[float, str]:
    """Search in a process of its own; return its seconds and the last candidate."""
    environment = {**os.environ, "LD_PRELOAD": library, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", SEARCH, str(threads)],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    spent, outcome = answer.stdout.split()
    return float(spent), outcome


if __name__ == "__main__":
    main()
