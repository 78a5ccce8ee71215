"""The command line, and as a preload of a dask worker the worker, with the fake in place of TVM."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import abtune.measure.workers.find_target
import abtune.measure.workers.pool
from abtune.__main__ import run
from abtune.errors import TargetError
from abtune.measure.plan.workplace import TargetFacts

abtune.measure.workers.pool.TVM_MODULE = "fake_metaschedule"


def find_target(spec: str, cores: int) -> TargetFacts:
    if spec == "refuse":
        raise TargetError("no such device; use another")
    if spec.startswith("kill "):
        os.kill(int(spec.removeprefix("kill ")), signal.SIGKILL)
        time.sleep(60.0)
    if spec.startswith("die once ") and not (died := Path(spec.removeprefix("die once "))).exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return TargetFacts(
        kind="llvm",
        target='{"kind": "fake"}',
        arch=0,
        devices=("a device",),
        threads=1,
        versions={},
    )


abtune.measure.workers.find_target.find_target = find_target


def main(words: list[str]) -> int:
    sys.argv[1:] = words
    return run()


if __name__ == "__main__":
    sys.exit(run())
