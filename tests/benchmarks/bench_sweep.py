"""Runs an hour of a sweep against a loop over MetaSchedule's own tune_tir, on the same machine in one go.

    python tests/benchmarks/bench_sweep.py                     this machine's CPU, two minutes or so
    python tests/benchmarks/bench_sweep.py --target cuda --trials 64 --trials-per-iter 64 --runs 32

Both sides make runs of the same shape with the same trials; one of ours is a whole sweep, start-up and
re-measuring included. What is printed is the ratio, and how busy cores and device were.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from abtune.measure.workers.find_target import find_target

STOCK = """
import json, sys, tempfile
from abtune.configurations import find_configuration
from abtune.shapes import parse_shape
options = json.loads(sys.argv[1])
import tvm
from tvm.s_tir import meta_schedule as ms
import tvm.s_tir.tensor_intrin
from abtune.measure.tvm.load_tvm import tensor_program
target = tvm.target.Target(json.loads(options["target"]))
kind = str(target.kind.name)
for seed in range(options["runs"]):
    with tempfile.TemporaryDirectory() as folder:
        ms.tune_tir(
            mod=tensor_program(parse_shape(options["shape"])),
            target=target,
            work_dir=folder,
            max_trials_global=options["trials"],
            num_trials_per_iter=options["trials_per_iter"],
            space=ms.space_generator.PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind),
            seed=seed + 1,
        )
"""


def main() -> None:
    """Time both, stock first, and print the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--shape", default="M=128_N=128_K=128")
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--trials-per-iter", type=int, default=16)
    parser.add_argument(
        "--runs", type=int, default=8, help="runs of ours; half of them of each configuration"
    )
    parser.add_argument("--stock-runs", type=int, default=1)
    options = parser.parse_args()
    facts = find_target(options.target)
    say("target", f"{facts.kind}: {len(facts.devices)} x {facts.devices[0]}, {os.cpu_count()} cores")
    say("shape, trials", f"{options.shape}, {options.trials} in iterations of {options.trials_per_iter}")
    stock = time_stock(options, facts.target) / options.stock_runs
    say("tune_tir", f"{stock:.1f} s a run ({options.stock_runs} timed)")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ours = time_sweep(options) / options.runs
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / (ours * options.runs)
    say("abtune sweep", f"{ours:.1f} s a run ({options.runs} timed)")
    say("ratio", f"{stock / ours:.1f}")
    say("cores busy", f"{busy:.1f} of {os.cpu_count()} during the sweep")


def say(name: str, value: str) -> None:
    """Print a line at once, so that a benchmark that is cut short has said what it knows."""
    print(f"{name:<18}{value}", flush=True)


def time_stock(options: argparse.Namespace, target: str) -> float:
    """Return the seconds of so many runs of tune_tir, one after the other."""
    given = {
        "target": target,
        "shape": options.shape,
        "trials": options.trials,
        "trials_per_iter": options.trials_per_iter,
        "runs": options.stock_runs,
    }
    return _timed([sys.executable, "-c", STOCK, json.dumps(given)])


def time_sweep(options: argparse.Namespace) -> float:
    """Return the seconds of a sweep with as many runs as asked for, of the evolutionary search alone."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("mainline", "async") if options.target == "cuda" else ("evolutionary", "twin:twin")
        (Path(folder) / "twin.py").write_text(
            "from dataclasses import replace\n"
            "from abtune.configurations import EVOLUTIONARY\n"
            "twin = replace(EVOLUTIONARY, name='twin')\n"
        )
        command = [sys.executable, "-m", "abtune", "sweep", "--target", options.target]
        command += ["--shapes", options.shape, "--seeds", str(options.runs // 2)]
        command += ["--trials", str(options.trials), "--trials-per-iter", str(options.trials_per_iter)]
        command += ["--baseline", names[0], "--candidate", names[1]]
        return _timed(command, cwd=folder)


def _timed(command: list[str], cwd: str | None = None) -> float:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), cwd])),
    }
    started = time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return time.monotonic() - started


if __name__ == "__main__":
    main()
