"""Compare the time that a search takes to propose: early refusal with stock, threads, and allocators.

    python tests/benchmarks/bench_propose.py
    python tests/benchmarks/bench_propose.py --threads 2 -- /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4

Prints seconds of an iteration of 64 candidates at MetaSchedule's full population, for a product of matrices
and a convolution. Each comparison is of two processes side by side, so that other load slows both. It needs
no GPU, because what is proposed is given made-up latencies. The same random numbers drive both searches, so
that with one thread they do the same work; whether they propose the same in the end is printed as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SEARCH = """
import json, math, sys, time
import numpy as np
from abtune.configurations import ASYNC
from abtune.measure.tvm.propose import propose
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import History, Trial
from abtune.dataset.schema import TrialStatus
from abtune.shapes import parse_shape
target = json.dumps({
    "kind": "cuda", "arch": "sm_90", "max_threads_per_block": 1024, "thread_warp_size": 32,
    "max_shared_memory_per_block": 49152, "max_num_threads": 1024,
})
shape, threads, iterations = parse_shape(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
history, latencies = History(), np.random.default_rng(0)
started, busy = time.perf_counter(), time.process_time()
for iteration in range(iterations):
    problem = Problem(shape=shape, config=ASYNC, target=target)
    found, model, _ = propose(problem, history, 64, iteration + 1, threads)
    history = history.proposed(found, cost_model=model, seconds=math.nan).tried(
        tuple(
            Trial(candidate=each, status=TrialStatus.OK, latency=latencies.lognormal(-9.0), message="")
            for each in found
        ),
        seconds=math.nan,
    )
hashes = [trial.candidate.module_hash for trial in history.trials]
print(json.dumps([time.perf_counter() - started, time.process_time() - busy, hashes]))
"""
SHAPES = ("M=896_N=896_K=896", "N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to search: with MetaSchedule's postprocessors or early refusal, threads, and an allocator."""

    stock: bool = False
    threads: int = 1
    library: str = ""

    def __str__(self) -> str:
        refusal = "stock" if self.stock else "early refusal"
        return f"{refusal}, {Path(self.library).name or 'glibc'}, {self.threads} threads"

    def start(self, shape: str, iterations: int) -> subprocess.Popen[str]:
        """Start a search in a process of its own."""
        numbers = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        stock = {"ABTUNE_STOCK_SEARCH": str(int(self.stock))}
        return subprocess.Popen(
            [sys.executable, "-c", SEARCH, shape, str(self.threads), str(iterations)],
            env={**os.environ, **numbers, **stock, "LD_PRELOAD": self.library},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


def compare(first: Way, second: Way, shape: str, iterations: int) -> None:
    """Print the seconds of two ways that search side by side."""
    running = [way.start(shape, iterations) for way in (first, second)]
    answers = [json.loads(process.communicate()[0]) for process in running]
    same = "same candidates" if answers[0][2] == answers[1][2] else "other candidates"
    print(f"{shape}, {same}")
    for way, (elapsed, busy, _) in zip((first, second), answers, strict=True):
        print(
            f"  {way!s:50} {busy / iterations:6.1f} CPU s ({busy / answers[0][1]:4.0%}), "
            f"{elapsed / iterations:6.1f} s ({elapsed / answers[0][0]:4.0%})",
            flush=True,
        )


def main() -> None:
    """Compare early refusal with stock, then threads with early refusal, and allocators with both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", help="shared libraries to preload")
    parser.add_argument("--threads", type=int, nargs="+", default=[])
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--iterations", type=int, default=2)
    options = parser.parse_args()
    early = Way()
    pairs = [(Way(stock=True), early)]
    pairs += [(early, Way(threads=threads)) for threads in options.threads]
    for library in options.libraries:
        pairs += [(early, Way(library=library)), (Way(stock=True), Way(library=library))]
    for shape in options.shapes:
        for first, second in pairs:
            compare(first, second, shape, options.iterations)


if __name__ == "__main__":
    main()
