"""Checks of the target: every defect is a finding that says what to do, and none is raised."""

from __future__ import annotations

from typing import Any

import pytest
from measure_builders import make_facts

from abtune.errors import TargetError
from abtune.measure import diagnose
from abtune.measure.diagnose import Finding, Level


def with_target(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    monkeypatch.setattr(diagnose, "find_target", lambda spec: make_facts(**facts))


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_no_gpu_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU a sweep tunes the CPU, so this is a warning; a user who chose the CPU gets none."""
    monkeypatch.setattr("abtune.measure.tvm.nvrtc.why_no_gpu", lambda: "no NVIDIA driver here")
    with_target(monkeypatch)
    facts, findings = diagnose.check_target("auto")
    assert facts == make_facts()
    assert by_name(findings)["GPU"].state == "no NVIDIA driver here"
    assert by_name(findings)["GPU"].level is Level.WARNING
    assert [finding.name for finding in diagnose.check_target("cpu")[1]] == ["target"]


def test_gpus_are_named_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings have names, versions, capability and NVRTC, and say which GPU is busy."""
    with_target(
        monkeypatch,
        kind="cuda",
        arch=90,
        devices=("NVIDIA H200",) * 2,
        versions={"tvm": "0.27", "driver": "580", "cuda": "13.0"},
    )
    monkeypatch.setattr("abtune.measure.plan.nvml.utilization", lambda: {"0": 0.0, "1": 97.0})
    findings = by_name(diagnose.check_target("auto")[1])
    assert findings["target"].state == "cuda: 2 x NVIDIA H200"
    assert findings["CUDA"].state == "driver 580, cuda 13.0, compute capability 9.0"
    assert findings["GPU load"].state == "GPU 1 is 97% busy"
    assert findings["NVRTC"].level is not Level.PROBLEM
    with_target(monkeypatch, kind="cuda", arch=90, devices=("NVIDIA H200",))
    assert by_name(diagnose.check_target("cuda")[1])["CUDA"].level is Level.WARNING


def test_bindings_of_nvrtc_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the bindings compiling only takes longer."""
    with_target(monkeypatch, kind="cuda", arch=90)
    monkeypatch.setattr(diagnose, "installed_version", lambda _: "")
    finding = by_name(diagnose.check_target("cuda")[1])["NVRTC"]
    assert (finding.level, finding.advice) == (Level.WARNING, "pip install 'abtune[cuda]'")


def test_a_target_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the target is the finding, split into what is wrong and what to do."""

    def find_target(spec: str) -> Any:
        raise TargetError("no usable CUDA device (no NVIDIA driver here); use --target cpu")

    monkeypatch.setattr(diagnose, "find_target", find_target)
    facts, (finding,) = diagnose.check_target("cuda")
    assert facts is None
    assert (finding.level, finding.advice) == (Level.PROBLEM, "use --target cpu")
