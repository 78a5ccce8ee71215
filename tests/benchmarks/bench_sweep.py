"""Runs an hour of a sweep against a loop over MetaSchedule's own tune_tir, on the same machine in one go.

    python tests/benchmarks/bench_sweep.py                     this machine's CPU, two minutes or so
    python tests/benchmarks/bench_sweep.py --target cuda --trials 64 --trials-per-iter 64 --runs 32

Both sides make runs of the same shape with the same trials; one of ours is a whole sweep, start-up and
re-measuring included. Of the runs of tune_tir, the fastest counts, because the first one reads cold files.
What is printed is the ratio, and how many cores were busy: on average, and in the middle half of the sweep.
A short sweep loses time at its end, while the last searches finish; the middle half stands for a long one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from abtune.measure.workers.find_target import find_target

STOCK = """
import json, sys, tempfile, time
from abtune.configurations import find_configuration
from abtune.shapes import parse_shape
options = json.loads(sys.argv[1])
import tvm
from tvm.s_tir import meta_schedule as ms
import tvm.s_tir.tensor_intrin
from abtune.measure.tvm.workloads import tensor_program
target = tvm.target.Target(json.loads(options["target"]))
kind = str(target.kind.name)
for seed in range(options["runs"]):
    started = time.monotonic()
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
    print("\\nseconds", time.monotonic() - started, flush=True)
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
    parser.add_argument("--stock-runs", type=int, default=2)
    options = parser.parse_args()
    facts = find_target(options.target)
    say("target", f"{facts.kind}: {len(facts.devices)} x {facts.devices[0]}, {os.cpu_count()} cores")
    say("shape, trials", f"{options.shape}, {options.trials} in iterations of {options.trials_per_iter}")
    stock = time_stock(options, facts.target)
    say("tune_tir", f"{', '.join(f'{seconds:.1f}' for seconds in stock)} s a run")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    samples = time_sweep(options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ours = samples[-1][0] / options.runs
    middle = busy_in_the_middle(samples)
    say("abtune sweep", f"{ours:.1f} s a run ({options.runs} timed), {cpu / options.runs:.1f} of CPU time")
    say("ratio", f"{min(stock) / ours:.1f}")
    say("cores busy", f"{cpu / samples[-1][0]:.1f} of {os.cpu_count()}; in the middle half {middle:.1f}")
    steady = cpu / options.runs / middle
    say(
        "a long sweep",
        f"{steady:.1f} s a run at the rate of the middle half: ratio {min(stock) / steady:.1f}",
    )


def say(name: str, value: str) -> None:
    """Print a line at once, so that a benchmark that is cut short has said what it knows."""
    print(f"{name:<18}{value}", flush=True)


def time_stock(options: argparse.Namespace, target: str) -> list[float]:
    """Return the seconds of each run of tune_tir, one after the other in one process."""
    given = {
        "target": target,
        "shape": options.shape,
        "trials": options.trials,
        "trials_per_iter": options.trials_per_iter,
        "runs": options.stock_runs,
    }
    done = subprocess.run(
        [sys.executable, "-c", STOCK, json.dumps(given)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("seconds ")]


def time_sweep(options: argparse.Namespace) -> list[tuple[float, float]]:
    """Run a sweep with as many runs as asked for; return samples of seconds gone and CPU seconds used."""
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
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), folder]))
        with (Path(folder) / "log").open("w+") as log:
            started = time.monotonic()
            sweep = psutil.Popen(
                command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, stdout=log, stderr=log
            )
            samples = [(0.0, 0.0)]
            while sweep.poll() is None:
                time.sleep(1)
                samples.append((time.monotonic() - started, cpu_seconds(sweep)))
            if sweep.returncode:
                log.seek(0)
                raise SystemExit(log.read()[-4000:])
        return samples


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of all that it started, those that have ended included."""
    total = 0.0
    with contextlib.suppress(psutil.Error):  # any of them may end meanwhile
        for one in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += sum(one.cpu_times()[:4])
    return total


def busy_in_the_middle(samples: list[tuple[float, float]]) -> float:
    """Return how many cores were busy between the first and the last quarter of the sweep."""
    inside = [sample for sample in samples if 0.25 <= sample[0] / samples[-1][0] <= 0.75]
    return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


if __name__ == "__main__":
    main()
