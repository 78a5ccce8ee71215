"""All checks of this machine, in the order of the report; a check returns findings and never raises.

The last check is the trial with which every sweep begins: a few small kernels are proposed, built and timed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from abtune.errors import AbtuneError
from abtune.measure.doctor.machine_checks import (
    Finding,
    Level,
    check_host,
    check_output,
    check_packages,
    check_python,
    check_target,
    check_tvm,
    refused,
)
from abtune.measure.plan.plan import Plan, Request
from abtune.measure.plan.workplace import TargetFacts, Workplace, usable_cores
from abtune.measure.store.store import Store

# A trial takes seconds; minutes where all cores are busy.
TRIAL_LIMIT = 300.0


def diagnose(target: str, out: Path, *, with_trial: bool) -> list[Finding]:
    """Return the findings about this machine."""
    findings = [check_python(), check_packages(), *check_tvm()]
    facts: TargetFacts | None = None
    if not problems(findings):
        facts, about_target = check_target(target)
        findings += about_target
    findings += [*check_host(usable_cores()), check_output(out)]
    if facts is not None and with_trial and not problems(findings):
        try:
            plan = Request(seeds=1).plan_for(facts)
        except AbtuneError as error:  # such as a GPU that is too old for the default pair
            findings.append(refused("trial", error))
        else:
            findings.append(check_trial(plan, facts, Store(out)))
    return findings


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with which no sweep can run."""
    return [finding for finding in findings if finding.level is Level.PROBLEM]


def check_trial(plan: Plan, facts: TargetFacts, store: Store) -> Finding:
    """Return whether a few kernels can be proposed, built and timed, and how long that took."""
    started = time.monotonic()
    try:
        store.identity()  # a sweep reads its files first, and ends where one is damaged
        store.records()
        store.rounds()
        store.trials_in_progress()
        asyncio.run(_try(plan, facts))
    except AbtuneError as error:
        advice = "mend this first: a sweep would end with the same line"
        return Finding("trial", Level.PROBLEM, str(error), advice)
    except TimeoutError:
        state = f"no kernel was timed within {TRIAL_LIMIT:.0f} s"
        return Finding("trial", Level.PROBLEM, state, "see whether the machine is busy or swapping")
    configs, total = " and ".join(config.name for config in plan.configs), time.monotonic() - started
    return Finding("trial", Level.OK, f"kernels of {configs} were built and timed in {total:.1f} s")


async def _try(plan: Plan, facts: TargetFacts) -> None:
    from abtune.measure.sweep.candidates import try_out  # these import dask, which may be missing
    from abtune.measure.workers.cluster import open_cluster

    one = replace(facts, devices=facts.devices[:1])  # each device would start several processes
    workplace = Workplace(facts=one, scheduler="", cores=1)
    async with asyncio.timeout(TRIAL_LIMIT), open_cluster(workplace) as cluster:
        try:
            await try_out(plan, cluster)
        except asyncio.CancelledError:
            await cluster.interrupt()
            raise
