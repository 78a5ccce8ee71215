"""Facts about the target, found by asking TVM in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import shutil
import statistics
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

from abtune.errors import TargetError
from abtune.measure.plan.workplace import BUS_ORDER, ONE_THREAD, TVM_MODULE, TargetFacts
from abtune.measure.workers.child import NICENESS, Slot
from abtune.measure.workers.fork_server import ChildError, ForkServer, remedy_for, with_remedy


def find_compiler() -> str:
    """Return the path of a C compiler; empty if there is none."""
    return next(filter(None, map(shutil.which, ("g++", "gcc", "clang", "cc"))), "")


def installed_version(package: str) -> str:
    """Return the version of an installed package; empty if it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def require_tvm() -> None:
    """Refuse a TVM that cannot be used at all, without importing it."""
    if not installed_version("apache-tvm"):
        raise TargetError("apache-tvm is not installed; run: pip install 'abtune[sweep]'")
    ffi = installed_version("apache-tvm-ffi")
    # Numbers alone, so that a release candidate of 0.1.15 is refused as well.
    if [int(number) for number in re.findall(r"\d+", ffi)[:3]] >= [0, 1, 15]:
        raise TargetError(
            f"apache-tvm-ffi {ffi} crashes MetaSchedule; run: pip install 'apache-tvm-ffi<0.1.15'"
        )
    if not find_compiler():
        raise TargetError("no C compiler found, and TVM needs one to link kernels; install gcc or clang")


# Seconds of sampling that tell how fast a core searches.
TRIAL = 0.7


def find_target(spec: str, cores: int = 0) -> TargetFacts:
    """Return the facts about a target on this machine; if `cores` is given, also how fast these search."""
    require_tvm()
    with closing(ForkServer(TVM_MODULE, ONE_THREAD)) as server, closing(Slot(server, BUS_ORDER)) as slot:
        try:
            facts: TargetFacts = slot.call("describe_target", spec, timeout=120.0)
            if len(names := sorted({*facts.devices})) > 1:  # timings of several kinds cannot be compared
                remedy = "set CUDA_VISIBLE_DEVICES to those of one kind, counted by bus as nvidia-smi does"
                raise TargetError(f"this machine has different devices: {', '.join(names)}; {remedy}")
            rate = _rate(server, facts.target, cores) if cores else 0.0
        except ChildError as error:
            how = str(error).partition(f"importing {TVM_MODULE}: ")[2]
            if how:
                remedy = remedy_for(how) or "run: pip install --force-reinstall 'abtune[sweep]'"
                raise TargetError(f"TVM or XGBoost cannot be imported ({how}); {remedy}") from None
            raise TargetError(with_remedy(str(error).removeprefix("describe_target: "))) from None
    return replace(facts, rate=rate)


def _rate(server: ForkServer, target: str, cores: int) -> float:
    """Return the mean number of random schedules a second that a core samples while all do, or zero."""

    def sample(_: int) -> float:
        with closing(Slot(server, {"CUDA_VISIBLE_DEVICES": ""}, niceness=NICENESS)) as slot:
            return slot.call("sampling_rate", target, TRIAL, timeout=120.0)

    with ThreadPoolExecutor(cores) as threads, contextlib.suppress(ChildError):  # a sweep will say why
        return statistics.mean(threads.map(sample, range(cores)))
    return 0.0


def find_target_at(scheduler: str, spec: str, cores: int = 0) -> TargetFacts:
    """Return the facts about a target where a cluster measures; this machine may have no such device."""
    from abtune.measure.workers.cluster import connected, naming_losses  # dask takes a second to import
    from abtune.measure.workers.gathering import run

    async def ask() -> TargetFacts:
        async with connected(scheduler) as (client, offers):
            # Any of them, because one that is gone would be waited for.
            measuring = [address for address, offer in offers.items() if offer.get("device")]
            return await client.submit(find_target, spec, cores, workers=measuring, pure=False)

    with naming_losses():
        return run(ask())
