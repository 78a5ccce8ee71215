"""The target and the devices of this process, as TVM sees them."""

from __future__ import annotations

import functools
import itertools
import json
from typing import Any

from abtune.errors import TargetError
from abtune.measure.plan import nvml
from abtune.measure.plan.workplace import TargetFacts
from abtune.measure.tvm import nvrtc
from abtune.measure.tvm.graph_timing import has_graphs
from abtune.measure.tvm.load_tvm import tvm
from abtune.text import shortened


def describe_target(spec: str) -> TargetFacts:
    """Return the facts about ``auto``, ``cuda``, ``cpu`` or a TVM target."""
    target = _resolve(spec)
    kind = str(target.kind.name)
    if kind == "llvm" and "num-cores" not in target.attrs:  # which MetaSchedule demands
        # A kernel gets one thread, so that searches can go on on the other cores.
        target = tvm.target.Target({**json.loads(str(target)), "num-cores": 1})
    if kind not in ("cuda", "llvm"):
        raise TargetError(f"target {kind!r} is not supported; use cuda or llvm")
    if kind == "cuda":
        _require_gpu()
    arch = str(target.attrs.get("arch", "sm_0")) if kind == "cuda" else "sm_0"
    return TargetFacts(
        kind=kind,
        target=str(target),
        arch=int("".join(filter(str.isdigit, arch))),
        devices=_device_names(kind),
        threads=int(target.attrs["num-cores"]) if kind == "llvm" else 1,
        versions={"tvm": str(tvm.__version__), **(nvml.versions() if kind == "cuda" else {})},
        launched_by="graph" if kind == "cuda" and has_graphs(tvm.cuda(0)) else "stream",
    )


def _resolve(spec: str) -> Any:
    if spec == "cuda":
        _require_gpu()
    if spec == "cuda" or (spec == "auto" and _has_gpu()):
        return _target_of_gpu()
    if spec not in ("auto", "cpu", "llvm"):
        return _parse_target(spec)
    target = {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()}
    lacking = _lacking(tvm.target.Target(target))
    return tvm.target.Target({**target, "mattr": lacking} if lacking else target)


# Instruction sets that LLVM uses unasked, by the beginnings of their names.
_EMITTED = ("amx", "avx", "bmi", "f16c", "fma", "gfni", "sse", "vaes")


def _lacking(target: Any) -> list[str]:
    """Return the instruction sets that this model of CPU has and this machine lacks, each after a minus."""
    host = tvm.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures", allow_missing=True)
    model = tvm.get_global_func("target.llvm_get_cpu_features", allow_missing=True)
    if host is None or model is None:
        return []
    # A virtual machine may hide some, such as AVX-512. A kernel that uses them is killed.
    present = {str(name): bool(there) for name, there in host().items()}
    names = sorted(str(name) for name in model(target) if str(name).startswith(_EMITTED))
    return [f"-{name}" for name in names if not present.get(name, True)]


def _has_gpu() -> bool:
    return bool(tvm.cuda(0).exist)


def _require_gpu() -> None:
    if not _has_gpu():
        raise TargetError(f"no usable CUDA device ({nvrtc.why_no_gpu()}); use --target cpu")


def _target_of_gpu() -> Any:
    try:
        return tvm.target.Target.from_device(tvm.cuda(0))
    except Exception as error:
        raise TargetError(
            f"CUDA finds a GPU and cannot use it ({_last_line(error)}); run nvidia-smi to see whether the "
            "driver and the GPU work, or use --target cpu"
        ) from error


def _parse_target(spec: str) -> Any:
    try:
        return tvm.target.Target(json.loads(spec) if spec.lstrip().startswith("{") else spec)
    except Exception as error:
        # A child process cuts its messages at 300 characters, and the remedy comes last.
        said = f"TVM does not understand target {shortened(repr(spec))}: {shortened(_last_line(error), 150)}"
        example = '{"kind": "llvm", "mcpu": "haswell"}'
        raise TargetError(f"{said}; give cuda or cpu, or a target of TVM such as {example}") from error


def _last_line(error: Exception) -> str:
    """Return the last line of an error of TVM; the native stack comes before it."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def _device_names(kind: str) -> tuple[str, ...]:
    if kind != "cuda":
        return (nvml.cpu_name(),)
    gpus = itertools.takewhile(lambda gpu: gpu.exist, map(tvm.cuda, itertools.count()))
    return tuple(str(gpu.device_name) for gpu in gpus)


def device_name(target: str) -> str:
    """Return the name of the device that this process measures."""
    return str(device_of(target).device_name) if is_cuda(target) else nvml.cpu_name()


@functools.lru_cache(maxsize=8)
def tvm_target(target: str) -> Any:
    """Return the TVM target that JSON describes."""
    return tvm.target.Target(json.loads(target))


def is_cuda(target: str) -> bool:
    """Tell whether a target, as JSON, is a CUDA device."""
    return str(tvm_target(target).kind.name) == "cuda"


def device_of(target: str) -> Any:
    """Return the device that this process measures."""
    return tvm.cuda(0) if is_cuda(target) else tvm.cpu(0)
