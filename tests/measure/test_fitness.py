"""Whether a machine is fit to sweep: every defect is a finding that says what to do, and none is raised."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from measure_builders import make_facts

from abtune.errors import TargetError
from abtune.measure import fitness
from abtune.measure.fitness import Finding, Level


def versions(monkeypatch: pytest.MonkeyPatch, **changed: str) -> None:
    """Pretend that packages have other versions; an empty one is not installed."""
    real = importlib.metadata.version

    def version(name: str) -> str:
        known = changed.get(name.replace("-", "_"))
        if known == "":
            raise importlib.metadata.PackageNotFoundError(name)
        return known or real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_this_environment_is_fit() -> None:
    """Where the tests run, software and compiler are as a sweep wants them."""
    findings = [fitness.check_python(), fitness.check_packages(), *fitness.check_tvm(), fitness.check_dask()]
    assert [finding.level for finding in findings if finding.name != "Python"] == [Level.OK] * 4
    assert not any(finding.advice for finding in findings if finding.level is Level.OK)


@pytest.mark.parametrize(
    ("system", "level"), [("win32", Level.PROBLEM), ("darwin", Level.WARNING), ("linux", Level.OK)]
)
def test_systems(monkeypatch: pytest.MonkeyPatch, system: str, level: Level) -> None:
    """A sweep needs POSIX and is tested on Linux."""
    monkeypatch.setattr("sys.platform", system)
    assert fitness.check_python().level is level


def test_packages_are_compared_with_what_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing or of another version is named with what it has to be."""
    versions(monkeypatch, click="7.0", distributed="")
    finding = fitness.check_packages()
    assert finding.level is Level.PROBLEM
    assert finding.found in (
        "click 7.0 is not >=8.1, distributed is missing",
        "distributed is missing, click 7.0 is not >=8.1",
    )
    assert fitness.check_dask().level is Level.PROBLEM


@pytest.mark.parametrize("name", ["dask", "distributed"])
def test_a_dask_that_cannot_be_imported_is_a_line(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Cores are counted and packages compared without the library that spreads the work."""
    versions(monkeypatch, **{name: ""})
    for module in [name, *(known for known in sys.modules if known.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    finding = fitness.check_packages()
    assert (finding.level, finding.found) == (Level.PROBLEM, f"{name} is missing")
    assert not any("\n" in found.found for found in (*fitness.check_machine(2), fitness.check_dask()))


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without metadata there is nothing to compare with, which is said."""

    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert fitness.check_packages().level is Level.WARNING


def test_a_tvm_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The FFI that crashes every search is a problem with the command that replaces it."""
    versions(monkeypatch, apache_tvm_ffi="0.1.15.post2")
    (finding,) = fitness.check_tvm()
    assert (finding.level, finding.advice) == (Level.PROBLEM, "run: pip install 'apache-tvm-ffi<0.1.15'")
    assert "0.1.15.post2 crashes MetaSchedule" in finding.found


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM is fine, the compiler is not."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    tvm, compiler = fitness.check_tvm()
    assert (tvm.level, compiler.level) == (Level.OK, Level.PROBLEM)
    assert compiler.advice == "install gcc or clang"


def with_target(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    monkeypatch.setattr(fitness, "find_target", lambda spec: make_facts(**facts))


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_no_gpu_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep tunes the CPU then, so it is a warning; nobody who asked for the CPU is warned."""
    monkeypatch.setattr("abtune.measure.nvrtc.why_no_gpu", lambda: "no NVIDIA driver here")
    with_target(monkeypatch)
    facts, findings = fitness.check_target("auto")
    assert facts == make_facts()
    assert by_name(findings)["GPU"].found == "no NVIDIA driver here"
    assert by_name(findings)["GPU"].level is Level.WARNING
    assert [finding.name for finding in fitness.check_target("cpu")[1]] == ["target"]


def test_gpus_are_named_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, versions, capability, NVRTC, and which one is busy."""
    with_target(
        monkeypatch,
        kind="cuda",
        arch=90,
        devices=("NVIDIA H200",) * 2,
        versions={"tvm": "0.27", "driver": "580", "cuda": "13.0"},
    )
    monkeypatch.setattr(fitness, "_utilization", lambda: [0.0, 97.0])
    found = by_name(fitness.check_target("auto")[1])
    assert found["target"].found == "cuda: 2 x NVIDIA H200"
    assert found["CUDA"].found == "driver 580, cuda 13.0, compute capability 9.0"
    assert found["GPU load"].found == "GPU 1 is 97% busy"
    assert found["NVRTC"].level is not Level.PROBLEM
    with_target(monkeypatch, kind="cuda", arch=90, devices=("NVIDIA H200",))
    assert by_name(fitness.check_target("cuda")[1])["CUDA"].level is Level.WARNING


def test_a_compiler_for_cuda_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An NVRTC that cannot be loaded is a problem, one that is not there only slow."""
    with_target(monkeypatch, kind="cuda", arch=90)
    monkeypatch.setattr("abtune.measure.nvrtc.__name__", "unimportable")
    finding = by_name(fitness.check_target("cuda")[1])["NVRTC"]
    assert (finding.level, finding.advice.split(",")[0]) == (Level.PROBLEM, "pip install 'abtune[cuda]'")
    monkeypatch.setattr("abtune.measure.nvrtc.__name__", "abtune.measure.nvrtc")
    monkeypatch.setenv("ABTUNE_TVM_NVRTC", "1")
    assert by_name(fitness.check_target("cuda")[1])["NVRTC"].level is Level.WARNING


def test_a_target_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the target is the finding, split into what is wrong and what to do."""

    def find_target(spec: str) -> Any:
        raise TargetError("no usable CUDA device (no NVIDIA driver here); use --target cpu")

    monkeypatch.setattr(fitness, "find_target", find_target)
    facts, (finding,) = fitness.check_target("cuda")
    assert facts is None
    assert (finding.level, finding.advice) == (Level.PROBLEM, "use --target cpu")


def test_memory_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory for the cores and a busy machine are warnings with numbers."""
    monkeypatch.setattr(fitness, "_available_memory", lambda: 4e9)
    monkeypatch.setattr("os.getloadavg", lambda: (9.0, 0.0, 0.0))
    memory, load = fitness.check_machine(16)
    assert (memory.level, load.level) == (Level.WARNING, Level.WARNING)
    assert memory.advice.endswith("abtune sweep --cores 5")
    assert load.found == "9.0 in the last minute, on 16 cores"
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.0, 0.0))
    assert [finding.level for finding in fitness.check_machine(2)] == [Level.OK, Level.OK]
    monkeypatch.delattr("os.getloadavg")
    assert len(list(fitness.check_machine(2))) == 1


def test_the_place_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no permission, and no room are problems; little room is a warning."""
    assert fitness.check_output(tmp_path / "x.nc").level is Level.OK
    assert "there is no folder" in fitness.check_output(tmp_path / "absent" / "x.nc").found
    assert "not a regular file" in fitness.check_output(tmp_path).found
    for free, level in ((10e6, Level.PROBLEM), (200e6, Level.WARNING)):
        usage = shutil.disk_usage(tmp_path)._replace(free=int(free))
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, usage=usage: usage)
        assert fitness.check_output(tmp_path / "x.nc").level is level
    monkeypatch.setattr("os.access", lambda *arguments: False)
    assert "cannot be written" in fitness.check_output(tmp_path / "x.nc").found
