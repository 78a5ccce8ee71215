"""How long the import of a long CSV takes, beside pandas reading the same file in the same run.

Run as ``python tests/benchmarks/bench_import.py``; each time is the least processor time of three calls.
pandas reads the columns alone. It checks no unit, seed or status, and makes no dataset.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from abtune.ingest.importers import importer_named, run_importer
from abtune.ingest.sources import Source

SHAPES, CONFIGS, SEEDS, REPEATS = 50, ("old", "new"), 20, 500


def write(path: Path) -> None:
    """Write a line for each timing, a million in all."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("shape,config,seed,latency_us\n")
        for shape in range(SHAPES):
            for config in CONFIGS:
                for seed in range(SEEDS):
                    times = rng.normal(100, 3, REPEATS)
                    file.writelines(f"M={shape + 1}_N=256_K=256,{config},{seed},{t:.6f}\n" for t in times)


def best_of(call: Callable[[], object]) -> float:
    """Return the least processor time of three calls, seconds."""
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print both times and their ratio."""
    importer = importer_named("timings")
    values = {"shape": "", "unit": "", "columns": "", "seed-is": "file"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.csv"
        write(path)
        ours = best_of(lambda: run_importer(importer, [Source(path=path)], values))
        theirs = best_of(lambda: pd.read_csv(path))
    lines = SHAPES * len(CONFIGS) * SEEDS * REPEATS
    print(f"{lines:,} lines: import {ours:.2f} s, pandas.read_csv {theirs:.2f} s, {ours / theirs:.0f}x")


if __name__ == "__main__":
    main()
