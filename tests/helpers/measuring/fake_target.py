"""Stands in for the module that asks TVM what there is."""

from __future__ import annotations

import os
import signal
import sys

from abtune.errors import TargetError
from abtune.measure.plan.workplace import TargetFacts


def sampling_rate(target: str, seconds: float) -> float:
    return os.nice(0) + seconds


def describe_target(spec: str) -> TargetFacts:
    match spec:
        case "refuse":
            raise TargetError("no such device; use another")
        case "break":
            raise ZeroDivisionError("division by zero")
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(3)
    return TargetFacts(
        kind="llvm",
        target="{}",
        arch=0,
        devices=tuple(spec.split(" and ")),
        threads=1,
        versions={"pid": str(os.getpid()), "order": os.environ.get("CUDA_DEVICE_ORDER", "")},
    )
