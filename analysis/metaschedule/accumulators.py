"""Count the trials whose accumulators do not fit into registers: what they cost, and whether one wins.

    python analysis/metaschedule/accumulators.py h100-shared.nc.runs   the files of a stopped sweep
    python analysis/metaschedule/accumulators.py h100-shared.nc.runs --compiled 0  without compiling

Prints, by the accumulators of a thread: trials, also of the rounds before the cost model guides, and
latencies relative to the winner of the same search. A random sample is lowered and compiled on this machine,
which tells their share of the CPU time. It needs no GPU. Only searches under way keep all their schedules.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from abtune.configurations import CONFIGURATIONS
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Problem
from abtune.measure.tvm import nvrtc
from abtune.measure.tvm.build_kernel import scheduled_module
from abtune.measure.tvm.load_tvm import tvm
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.shapes import parse_shape

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers" / "measuring"))
from tvm_samples import CUDA

MOST = (64, 128, 192, 255, 1023, math.inf)  # accumulators of a thread; its registers are 255
UNGUIDED = 2  # rounds of 64 trials before the cost model has its 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A trial of a search under way."""

    shape: str
    config: str
    round: int
    record: list[Any]
    slowdown: float  # latency relative to the fastest trial of its search; NaN if it failed

    @property
    def accumulators(self) -> int:
        """Sums that a thread keeps: its tile of the output, over all loops that are not summed."""
        _, decisions = self.record[0]
        tiles = [tile for _, tile in decisions if isinstance(tile, list) and len(tile) == 5]
        return math.prod(virtual * outer * inner for _, virtual, _, outer, inner in tiles)

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that NVRTC takes for it."""
        config = CONFIGURATIONS[self.config]
        problem = Problem(shape=parse_shape(self.shape), config=config, target=CUDA)
        target = tvm_target(CUDA)
        try:
            with target, tvm.transform.PassContext(config=dict(config.pass_config)):
                library = tvm.tirx.build(scheduled_module(problem, self.record), target=target)
        except RuntimeError:  # a few pipelines cannot be lowered
            return 0.0
        started = time.process_time()
        nvrtc.compile_cubin(library.imports[0].inspect_source(), json.loads(CUDA)["arch"])
        return time.process_time() - started


def read(folder: Path, per_round: int) -> Iterator[Tried]:
    """Yield the trials of all searches under way."""
    for path in sorted(folder.glob("searches/*.json.gz")):
        shape, config, _ = path.name.split("--")
        trials = json.loads(gzip.decompress(path.read_bytes()))["trials"]
        if not trials:
            continue
        passed = [trial["status"] == TrialStatus.OK for trial in trials]
        latencies = np.where(passed, [trial["latency"] for trial in trials], np.nan)
        for index, slowdown in enumerate(latencies / np.nanmin(latencies)):
            record = json.loads(trials[index]["candidate"]["text"])
            yield Tried(
                shape=shape, config=config, round=index // per_round, record=record, slowdown=float(slowdown)
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials-per-iter", type=int, default=64)
    parser.add_argument("--compiled", type=int, default=400, help="trials to compile, drawn at random")
    options = parser.parse_args()
    trials = list(read(options.folder, options.trials_per_iter))
    drawn = set(random.Random(0).sample(range(len(trials)), min(options.compiled, len(trials))))  # noqa: S311
    seconds = np.zeros(len(trials))
    for index in sorted(drawn):
        seconds[index] = trials[index].cpu_seconds()
    unguided = np.array([trial.round < UNGUIDED for trial in trials])
    group = np.searchsorted(MOST, [trial.accumulators for trial in trials])
    slowdown = np.array([trial.slowdown for trial in trials])
    shapes, many = len({trial.shape for trial in trials}), np.array([t.accumulators > 192 for t in trials])
    print(f"{len(trials)} trials of {shapes} shapes, {len(drawn)} of them compiled")
    early, late = many[unguided].mean(), many[~unguided].mean()
    print(f"more than 192 accumulators: {early:.1%} of unguided trials, {late:.1%} of the others")
    print("| accumulators | trials | unguided | fastest | median | CPU time | unguided |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number, most in enumerate(MOST):
        here = group == number
        shares = (
            f"{here.mean():.0%}",
            f"{here[unguided].mean():.0%}",
            f"{np.nanmin(slowdown[here]):.2f}x",
            f"{np.nanmedian(slowdown[here]):.1f}x",
            f"{seconds[here].sum() / seconds.sum():.0%}",
            f"{seconds[here & unguided].sum() / seconds[unguided].sum():.0%}",
        )
        name = f"{MOST[number - 1] + 1 if number else 1} to {most}" if most < math.inf else "more"
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
