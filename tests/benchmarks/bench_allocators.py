"""What an allocator in place of that of glibc does to the time that a search takes to propose candidates.

    python tests/benchmarks/bench_allocators.py /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 ...

Prints the CPU seconds of three iterations of one search for a GPU of compute capability 9.0. It needs none,
because what is proposed is given made-up latencies. The same random numbers drive every search, so that all
of them do the same work; whether they propose the same in the end is printed as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SEARCH = """
import json, math, time
import numpy as np
from abtune.configurations import ASYNC
from abtune.measure import metaschedule
from abtune.measure.trials import History, Trial
from abtune.schema import TrialStatus
from abtune.shapes import Gemm
target = json.dumps({
    "kind": "cuda", "arch": "sm_90", "max_threads_per_block": 1024, "thread_warp_size": 32,
    "max_shared_memory_per_block": 49152, "max_num_threads": 1024,
})
history, latencies, digest = History.empty(), np.random.default_rng(0), ""
started = time.process_time()
for iteration in range(3):
    found, model = metaschedule.propose(Gemm(m=512, n=3072, k=768), ASYNC, target, history, 64, iteration + 1)
    digest = found[-1].module_hash
    history = history.proposed(found, cost_model=model, seconds=math.nan).tried(
        tuple(
            Trial(candidate=each, status=TrialStatus.OK, latency=latencies.lognormal(-9.0), message="")
            for each in found
        ),
        seconds=math.nan,
    )
print(time.process_time() - started, digest)
"""


def main() -> None:
    """Search with each allocator, that of glibc first, and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", help="shared libraries to preload")
    parser.add_argument("--rounds", type=int, default=1, help="searches with each, in turn")
    options = parser.parse_args()
    names = ["", *options.libraries]
    seconds = dict.fromkeys(names, 0.0)
    outcomes = set()
    for _ in range(options.rounds):
        for name in names:
            spent, outcome = search(name)
            seconds[name] += spent
            outcomes.add(outcome)
    for name in names:
        label = Path(name).name or "glibc"
        each = seconds[name] / options.rounds
        print(f"{label:32}  {each:6.1f} s  {seconds[''] / seconds[name]:5.2f} times as fast as glibc")
    print("all proposed the same" if len(outcomes) == 1 else f"{len(outcomes)} different outcomes")


def search(library: str) -> tuple[float, str]:
    """Search in a process of its own; return its CPU seconds and the last candidate."""
    environment = {**os.environ, "LD_PRELOAD": library, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", SEARCH], env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    spent, outcome = answer.stdout.split()
    return float(spent), outcome


if __name__ == "__main__":
    main()
