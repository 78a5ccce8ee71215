"""Checks of software: every defect is a finding that says what to do, and none is raised."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys

import pytest

from abtune.measure import diagnose
from abtune.measure.diagnose import Level


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
    """The software and the compiler of this environment suffice for a sweep."""
    findings = [
        diagnose.check_python(),
        diagnose.check_packages(),
        *diagnose.check_tvm(),
    ]
    assert [finding.level for finding in findings if finding.name != "Python"] == [Level.OK] * 3
    assert not any(finding.advice for finding in findings if finding.level is Level.OK)


@pytest.mark.parametrize(
    ("system", "level"), [("win32", Level.PROBLEM), ("darwin", Level.WARNING), ("linux", Level.OK)]
)
def test_a_sweep_needs_posix_and_is_tested_on_linux(
    monkeypatch: pytest.MonkeyPatch, system: str, level: Level
) -> None:
    """A sweep needs POSIX and is tested on Linux."""
    monkeypatch.setattr("sys.platform", system)
    assert diagnose.check_python().level is level


def test_packages_are_compared_with_what_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing or has another version is named with the version it needs."""
    versions(monkeypatch, click="7.0", distributed="")
    finding = diagnose.check_packages()
    assert finding.level is Level.PROBLEM
    assert finding.state in (
        "click 7.0 is not >=8.1, distributed is missing",
        "distributed is missing, click 7.0 is not >=8.1",
    )


@pytest.mark.parametrize("name", ["dask", "distributed"])
def test_a_dask_that_cannot_be_imported_is_a_line(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Cores are counted and packages compared without dask."""
    versions(monkeypatch, **{name: ""})
    for module in [name, *(known for known in sys.modules if known.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    finding = diagnose.check_packages()
    assert (finding.level, finding.state) == (Level.PROBLEM, f"{name} is missing")
    assert not any("\n" in host_finding.state for host_finding in diagnose.check_host(2))


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without metadata of abtune the finding says that there is nothing to compare with."""

    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert diagnose.check_packages().level is Level.WARNING


def test_a_tvm_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The FFI that crashes every search is a problem with the command that replaces it."""
    versions(monkeypatch, apache_tvm_ffi="0.1.15.post2")
    (finding,) = diagnose.check_tvm()
    assert (finding.level, finding.advice) == (Level.PROBLEM, "run: pip install 'apache-tvm-ffi<0.1.15'")
    assert "0.1.15.post2 crashes MetaSchedule" in finding.state


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler TVM is still fine, and the compiler is a problem."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    tvm, compiler = diagnose.check_tvm()
    assert (tvm.level, compiler.level) == (Level.OK, Level.PROBLEM)
    assert compiler.advice == "install gcc or clang"
