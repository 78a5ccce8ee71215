"""What a sweep runs on: facts about the target, found by asking TVM in a process of its own."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from abtune.errors import InputError, TargetError
from abtune.measure.child import ChildError
from abtune.measure.fork_server import ForkServer
from abtune.measure.slot import Slot

TVM_MODULE = "abtune.measure.metaschedule"
# Searches run side by side, and a process with threads cannot be forked.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}
# Tells a process that measures where its device is, in the form of TargetFacts.remote.
REMOTE = "ABTUNE_REMOTE"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """A target and what was found out about it.

    Attributes
    ----------
    kind : str
        ``"cuda"`` or ``"llvm"``.
    target : str
        The TVM target, as JSON.
    arch : int
        Compute capability times ten, such as 90; zero for a CPU.
    devices : tuple of str
        Names of the devices that can measure: GPUs, or this CPU.
    threads : int
        Threads that a kernel may use on a CPU.
    versions : mapping of str to str
        Versions of TVM, CUDA and the driver, as far as they apply.
    remote : str
        Where the device is, as ``host:port/key`` of an RPC tracker; empty for this machine.
    """

    kind: str
    target: str
    arch: int
    devices: tuple[str, ...]
    threads: int
    versions: Mapping[str, str]
    remote: str

    @property
    def shares_cores(self) -> bool:
        """Whether kernels are timed on the cores that search."""
        return self.kind != "cuda" and not self.remote


def require_tvm() -> None:
    """Check that TVM can be used at all, without importing it.

    Raises
    ------
    TargetError
        If it is not installed, is one whose FFI crashes, or there is no C compiler to link with.
    """
    versions: dict[str, str] = {}
    for name in ("apache-tvm", "apache-tvm-ffi"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = ""
    if not versions["apache-tvm"]:
        raise TargetError("apache-tvm is not installed, and a sweep needs it; run: pip install abtune")
    numbers = [int(part) for part in re.findall(r"\d+", versions["apache-tvm-ffi"])[:3]]
    if numbers >= [0, 1, 15]:
        raise TargetError(
            f"apache-tvm-ffi {versions['apache-tvm-ffi']} crashes MetaSchedule; "
            "run: pip install 'apache-tvm-ffi<0.1.15'"
        )
    if not (shutil.which("g++") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")):
        raise TargetError("no C compiler found, and TVM needs one to link kernels; install gcc or clang")


def usable_cores() -> int:
    """Return how many cores this process may use, by its affinity and by the quota of its container."""
    try:
        from dask.system import cpu_count
    except ImportError:  # abtune doctor says so
        return os.cpu_count() or 1
    return int(cpu_count())


def remote_device(tracker: str, key: str) -> str:
    """Return where a device behind an RPC tracker is, in the form of ``TargetFacts.remote``.

    Parameters
    ----------
    tracker, key : str
        Address of the tracker, and what the device is called there; both empty for this machine.

    Raises
    ------
    InputError
        If only one of them is given, or the tracker is no address.
    """
    if not tracker and not key:
        return ""
    if not (tracker and key):
        raise InputError("--rpc-tracker and --rpc-key go together: HOST:PORT and the key of a device")
    if not re.fullmatch(r"[^/]+:\d+", tracker):
        raise InputError(f"--rpc-tracker {tracker!r} is no address; give HOST:PORT, such as 127.0.0.1:9190")
    return f"{tracker}/{key}"


def find_target(spec: str, remote: str = "") -> TargetFacts:
    """Resolve what the user asked for.

    Parameters
    ----------
    spec : str
        ``"auto"`` (a CUDA device, else this CPU), ``"cuda"``, ``"cpu"``, or a TVM target as JSON or text.
    remote : str
        An RPC tracker and the key of a device there, as ``host:port/key``; empty for this machine.

    Raises
    ------
    TargetError
        If TVM cannot be used, or there is no such device here.
    """
    require_tvm()
    with ForkServer(TVM_MODULE, ONE_THREAD) as server, closing(Slot(server, {REMOTE: remote})) as slot:
        try:
            facts: TargetFacts = slot.call("describe_target", spec, remote, timeout=120.0)
        except ChildError as error:
            reason = str(error).removeprefix("describe_target: ").removeprefix("starting: ")
            raise TargetError(reason.removeprefix("TargetError: ")) from None
    return facts


def require_kind(facts: TargetFacts, target: str) -> None:
    """Refuse to build for this target what was tuned for another kind.

    Raises
    ------
    TargetError
        If the kinds differ, or that of the winners is not said.
    """
    try:
        tuned_for = str(json.loads(target)["kind"])
    except (ValueError, LookupError, TypeError):
        raise TargetError(f"the winners were tuned for {target!r}, which is no target as JSON") from None
    if tuned_for != facts.kind:
        raise TargetError(f"these winners were tuned for {tuned_for}, and this target is {facts.kind}")
