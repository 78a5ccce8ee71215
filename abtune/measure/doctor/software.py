"""Checks of the software that a sweep needs."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from abtune.errors import TargetError
from abtune.measure.doctor.findings import Finding, ok, problem, refused, warning
from abtune.measure.workers.find_target import require_tvm

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def check_python() -> Finding:
    """Return whether this interpreter and system can sweep, which needs the sockets of POSIX."""
    state = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return problem("Python", state, "sweep on Linux; analysis works here")
    if sys.platform != "linux":
        return warning("Python", state, "sweeps are tested on Linux only")
    return ok("Python", state)


def check_packages() -> Finding:
    """Return whether the installed packages are the ones that abtune requires."""
    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in importlib.metadata.requires("abtune") or []]
    except importlib.metadata.PackageNotFoundError:
        return warning("packages", "abtune is not installed, only imported", "pip install abtune")
    needed = [package for package in required if not package.marker or package.marker.evaluate({"extra": ""})]
    wrong = list(filter(None, map(_fault_of, needed)))
    if wrong:
        return problem("packages", ", ".join(wrong), "pip install --upgrade abtune")
    return ok("packages", f"all {len(needed)} that abtune requires")


def _fault_of(package: Requirement) -> str:
    """Return what is wrong with an installed package; empty if nothing is."""
    try:
        version = importlib.metadata.version(package.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{package.name} is missing"
    if package.specifier.contains(version, prereleases=True):
        return ""
    return f"{package.name} {version} is not {package.specifier}"


def check_tvm() -> Iterator[Finding]:
    """Yield whether there is a TVM that works, and a compiler that it can link with."""
    compiler = next(filter(None, map(shutil.which, ("g++", "gcc", "clang", "cc"))), "")
    try:
        require_tvm()
    except TargetError as error:
        if "compiler" in str(error):
            yield ok("TVM", _tvm_versions())
            yield refused("C compiler", error)
        else:
            yield refused("TVM", error)
    else:
        yield ok("TVM", _tvm_versions())
        yield ok("C compiler", compiler)


def _tvm_versions() -> str:
    names = ("apache-tvm", "apache-tvm-ffi")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def check_dask() -> Finding:
    """Return whether the library that spreads the work is there."""
    try:
        return ok("dask", f"distributed {importlib.metadata.version('distributed')}")
    except importlib.metadata.PackageNotFoundError:
        return problem("dask", "distributed is not installed", "pip install distributed")
