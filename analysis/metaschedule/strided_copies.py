"""Count the trials of async that copy vectors with a stride, and how they end.

    PYTHONPATH=.:analysis/studies python analysis/metaschedule/strided_copies.py strided.nc.runs

Takes the files of a stopped sweep. Only searches under way keep all their schedules. Each is lowered until
``InjectPTXAsyncCopy``, without a GPU. Prints by shape how the trials ended, with such a copy and without.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abtune.configurations import ASYNC
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Problem
from abtune.measure.tvm.build_kernel import scheduled_module
from abtune.measure.tvm.load_tvm import tvm
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.shapes import parse_shape

# A copy into shared memory, from a vector whose items are this far apart.
COPY = re.compile(r"_shared\[.* = .*\[T\.Ramp\(.*, (-?\d+), \d+\)\]")


class Seen(Exception):  # noqa: N818 - no error: the module is known, and is not built further
    """Ends the building of a kernel."""


@tvm.ir.instrument.pass_instrument
class Watcher:
    """Keeps the module that ``InjectPTXAsyncCopy`` is given."""

    text = ""

    def run_before_pass(self, module: Any, info: Any) -> None:
        """Keep the text of the module, and stop."""
        if info.name == "s_tir.InjectPTXAsyncCopy":
            self.text = module.script()
            raise Seen


def has_strided_copy(problem: Problem, record: list[Any]) -> bool:
    """Return whether a schedule copies a vector with a stride into shared memory, asynchronously."""
    watcher, target = Watcher(), tvm_target(problem.target)
    passes = tvm.transform.PassContext(config=dict(ASYNC.pass_config), instruments=[watcher])
    with contextlib.suppress(Seen, RuntimeError), target, passes:
        tvm.tirx.build(scheduled_module(problem, record), target=target)
    return any(int(stride) != 1 for line in asynchronous(watcher.text) for stride in COPY.findall(line))


def asynchronous(text: str) -> Iterator[str]:
    """Yield the lines of a program that are in a scope of asynchronous copies."""
    around = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if around is not None and indent > around:
            yield line
        else:
            around = indent if "async_scope" in line else None


def main() -> None:
    """Print a row for each shape, with such copies and without."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    target = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["identity"]["settings"]["target"]
    met: Counter[tuple[str, bool, TrialStatus]] = Counter()
    for path in sorted(folder.glob("searches/*--async--*.json.gz")):
        label, *_ = path.name.split("--")
        problem = Problem(shape=parse_shape(label), config=ASYNC, target=target)
        for trial in json.loads(gzip.decompress(path.read_bytes()))["trials"]:
            is_strided = has_strided_copy(problem, json.loads(trial["candidate"]["text"]))
            met[label, is_strided, TrialStatus(trial["status"])] += 1
    ends = list(TrialStatus)[:4]
    print(f"| shape | strided copy | {' | '.join(end.name.lower().replace('_', ' ') for end in ends)} |")
    print("| --- | --- |" + " ---: |" * len(ends))
    for label, is_strided in sorted({(label, is_strided) for label, is_strided, _ in met}):
        counts = " | ".join(str(met[label, is_strided, end]) for end in ends)
        print(f"| `{label}` | {'yes' if is_strided else 'no'} | {counts} |")


if __name__ == "__main__":
    main()
