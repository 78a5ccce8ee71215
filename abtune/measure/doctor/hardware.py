"""Checks of the target. TVM runs in a process of its own, so nothing that it breaks reaches the caller."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from abtune.errors import AbtuneError
from abtune.measure.doctor.findings import Finding, ok, problem, refused, warning
from abtune.measure.plan.target import ONE_THREAD, TargetFacts
from abtune.measure.tvm.cuda import nvrtc
from abtune.measure.workers.child_errors import ChildError
from abtune.measure.workers.find_target import find_target
from abtune.measure.workers.fork_server import ForkServer
from abtune.measure.workers.slot import Slot

_KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }'


def check_target(spec: str) -> tuple[TargetFacts | None, tuple[Finding, ...]]:
    """Return the facts about the target, or None if it cannot be used, and the findings about it."""
    try:
        facts = find_target(spec)
    except AbtuneError as error:
        return None, (refused("target", error),)
    names = ", ".join(
        f"{facts.devices.count(name)} x {name}" if facts.devices.count(name) > 1 else name
        for name in dict.fromkeys(facts.devices)
    )
    findings = [ok("target", f"{facts.kind}: {names}")]
    if facts.kind == "cuda":
        findings += [_about_cuda(facts), _about_nvrtc(f"sm_{facts.arch}"), *_about_busy_gpus()]
    elif spec == "auto":
        nvrtc.load_libraries()
        advice = "a sweep tunes this CPU; for a GPU, install the NVIDIA driver and abtune[cuda]"
        findings.append(warning("GPU", nvrtc.why_no_gpu(), advice))
    return facts, tuple(findings)


def _about_cuda(facts: TargetFacts) -> Finding:
    versions = ", ".join(
        f"{name} {facts.versions[name]}" for name in ("driver", "cuda") if name in facts.versions
    )
    if not versions:
        return warning(
            "CUDA", "versions, clocks and temperature cannot be read", "pip install 'nvidia-ml-py>=13'"
        )
    return ok("CUDA", f"{versions}, compute capability {facts.arch // 10}.{facts.arch % 10}")


def _about_nvrtc(arch: str) -> Finding:
    """Return whether NVRTC compiles a kernel, in a process of its own."""
    advice = "pip install 'abtune[cuda]', or have a CUDA toolkit that TVM finds"
    with ForkServer(nvrtc.__name__, ONE_THREAD) as fork_server, closing(Slot(fork_server, {})) as slot:
        try:
            slot.call("load_libraries", timeout=60.0)
            started = time.monotonic()
            cubin = slot.call("compile_cubin", _KERNEL, arch, timeout=60.0)
        except ChildError as error:
            return problem("NVRTC", f"cannot compile for {arch}: {error}", advice)
    if cubin is None:
        return warning("NVRTC", "only as TVM itself calls it, which takes longer", advice)
    return ok("NVRTC", f"compiles for {arch} in {time.monotonic() - started:.1f} s")


def _about_busy_gpus() -> Iterator[Finding]:
    for index, share in enumerate(_utilization()):
        if share > 5:
            yield warning(
                "GPU load",
                f"GPU {index} is {share:.0f}% busy",
                "end what runs there, or set CUDA_VISIBLE_DEVICES: timings beside it cannot be trusted",
            )


def _utilization() -> list[float]:
    """Return the load of each GPU in percent; nothing where NVML cannot tell."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return [float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu) for handle in handles]
    except Exception:  # noqa: BLE001 - no library, no driver, no permission: the load is unknown
        return []
