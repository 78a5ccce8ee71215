"""Facts about the target, found by asking TVM in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.metadata
import re
import shutil
from contextlib import closing

from abtune.errors import TargetError
from abtune.measure.plan.target import ONE_THREAD, REMOTE, TVM_MODULE, TargetFacts
from abtune.measure.workers.child_errors import ChildError
from abtune.measure.workers.fork_server import ForkServer
from abtune.measure.workers.slot import Slot


def require_tvm() -> None:
    """Refuse a TVM that cannot be used at all, without importing it.

    Raises
    ------
    TargetError
        If TVM is not installed, its FFI crashes MetaSchedule, or there is no C compiler to link with.
    """
    versions: dict[str, str] = {}
    for name in ("apache-tvm", "apache-tvm-ffi"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = ""
    if not versions["apache-tvm"]:
        raise TargetError("apache-tvm is not installed, and a sweep needs it; run: pip install abtune")
    numbers = [int(number) for number in re.findall(r"\d+", versions["apache-tvm-ffi"])[:3]]
    if numbers >= [0, 1, 15]:
        raise TargetError(
            f"apache-tvm-ffi {versions['apache-tvm-ffi']} crashes MetaSchedule; "
            "run: pip install 'apache-tvm-ffi<0.1.15'"
        )
    if not (shutil.which("g++") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")):
        raise TargetError("no C compiler found, and TVM needs one to link kernels; install gcc or clang")


def find_target(spec: str, remote: str = "") -> TargetFacts:
    """Return the facts about the target that the user's words mean on this machine.

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


def find_target_at(scheduler: str, spec: str, remote: str = "") -> TargetFacts:
    """Return the facts about a target where a cluster measures; this machine need not have such a device.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler.
    spec, remote
        As for :func:`find_target`.

    Raises
    ------
    TargetError
        If the cluster cannot be reached or offers no slots, or its first worker with a device has no such
        target.
    """
    from abtune.measure.workers.connect import connected  # dask takes a second to import

    async def ask() -> TargetFacts:
        async with connected(scheduler) as (client, offers):
            measuring = [address for address, offer in offers.items() if offer.get("device")]
            future = client.submit(_find_here, spec, remote, workers=measuring[:1], pure=False)
            facts: TargetFacts = await future
            return facts

    return asyncio.run(ask())


def _find_here(spec: str, remote: str) -> TargetFacts:
    return find_target(spec, remote)
