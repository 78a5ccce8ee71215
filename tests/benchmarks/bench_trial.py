"""Where the CPU time of a trial goes, which limits a sweep: proposing a candidate, and the steps to build it.

    python tests/benchmarks/bench_trial.py                  two shapes, 64 candidates each, four minutes or so

Prints the mean seconds of a candidate and their shares, for the first iteration of a search of mainline, in
one process and one thread. It needs no GPU: kernels are compiled for an H200 and not run.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from abtune.configurations import MAINLINE
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import SearchHistory
from abtune.measure.tvm import nvrtc
from abtune.measure.tvm.build_kernel import scheduled_module
from abtune.measure.tvm.load_tvm import tvm
from abtune.measure.tvm.propose import propose
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.shapes import parse_shape

sys.path.append(str(Path(__file__).parents[1] / "helpers" / "measuring"))
from tvm_samples import CUDA

SHAPES = ("M=896_N=896_K=896", "N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1")


class Steps:
    """The CPU seconds of each step, of this process and those that it starts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def do(self, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function, and count its time."""
        started = cpu_seconds()
        result = function(*args, **options)
        self.seconds[name] += cpu_seconds() - started
        return result


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it has started, such as linkers."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(problem: Problem, count: int) -> Steps:
    """Propose candidates and build them, step by step as the function that builds does."""
    steps = Steps()
    candidates, *_ = steps.do("propose", propose, problem, SearchHistory(), count, 1, 1)
    target = tvm_target(problem.target)
    for candidate in candidates:
        module = steps.do("replay the schedule", scheduled_module, problem, candidate.record)
        with target, tvm.transform.PassContext(config=dict(problem.config.pass_config)):
            library = steps.do("lower", tvm.tirx.build, module, target=target)
        # Without a GPU TVM does not compile the source when it builds.
        source = library.imports[0].inspect_source()
        steps.do("compile with NVRTC", nvrtc.compile_cubin, source, json.loads(CUDA)["arch"])
        with tempfile.TemporaryDirectory() as folder:
            steps.do("link", library.export_library, str(Path(folder) / "kernel.so"))
    for name in steps.seconds:
        steps.seconds[name] /= len(candidates)
    return steps


def main() -> None:
    """Print the seconds of each step and their shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--candidates", type=int, default=64)
    options = parser.parse_args()
    if tvm.cuda().exist:
        parser.error("with a GPU TVM compiles while it builds; hide it: CUDA_VISIBLE_DEVICES=")
    for label in options.shapes:
        problem = Problem(shape=parse_shape(label), config=MAINLINE, target=CUDA)
        seconds = measure(problem, options.candidates).seconds
        total = sum(seconds.values())
        print(f"{label}: {total:.2f} s of CPU time a trial, {options.candidates} in an iteration")
        for name, value in seconds.items():
            print(f"  {name:22}{value:6.2f} s {value / total:5.0%}", flush=True)


if __name__ == "__main__":
    main()
