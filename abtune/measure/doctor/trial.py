"""The trial with which every sweep begins: a few small kernels are proposed, built and timed."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import replace

from abtune.errors import AbtuneError
from abtune.measure.doctor.machine_checks import Finding, ok, problem
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.workplace import TargetFacts, Workplace
from abtune.measure.store.store import Store
from abtune.measure.sweep.candidates import try_out
from abtune.measure.sweep.session import Clock
from abtune.measure.workers.cluster import open_cluster

# A trial takes seconds; minutes where all cores are busy.
TRIAL_LIMIT = 300.0


# The tasks that try_out runs, and their names in the finding.
_STEPS = {"time_batch": "build and time"}


def check_trial(plan: Plan, facts: TargetFacts, store: Store) -> Finding:
    """Return whether a few kernels can be proposed, built and timed, and how long each step took."""
    started = time.monotonic()
    try:
        store.rounds()  # a sweep reads its files first, and ends where one is damaged
        store.records()
        seconds = asyncio.run(_try(plan, facts))
    except AbtuneError as error:
        return problem("trial", str(error), "mend this first: a sweep would end with the same line")
    except TimeoutError:
        state = f"no kernel was timed within {TRIAL_LIMIT:.0f} s"
        return problem("trial", state, "see whether the machine is busy or swapping")
    steps = ", ".join(f"{_STEPS.get(name, name)} {took:.1f} s" for name, took in seconds.items())
    total = time.monotonic() - started
    configs = " and ".join(config.name for config in plan.configs)
    return ok("trial", f"kernels of {configs} were built and timed in {total:.1f} s: {steps}")


async def _try(plan: Plan, facts: TargetFacts) -> dict[str, float]:
    began = time.monotonic()
    one = replace(facts, devices=facts.devices[:1])  # each device would start several processes
    workplace = Workplace(facts=one, scheduler="", cores=1)
    async with asyncio.timeout(TRIAL_LIMIT), open_cluster(workplace) as cluster:
        cluster.seconds["start"] = time.monotonic() - began
        try:
            await try_out(plan, cluster, Clock(math.inf))
        except asyncio.CancelledError:
            await cluster.interrupt()
            raise
    return cluster.seconds
