"""All checks of this machine, in the order of the report; a check returns findings and never raises."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from abtune.errors import AbtuneError
from abtune.measure.doctor.machine_checks import (
    Finding,
    Level,
    check_dask,
    check_host,
    check_output,
    check_packages,
    check_python,
    check_target,
    check_tvm,
    refused,
)
from abtune.measure.plan.plan import Request
from abtune.measure.plan.workplace import TargetFacts, usable_cores


def diagnose(target: str, out: Path, *, with_trial: bool) -> list[Finding]:
    """Return the findings about this machine."""
    findings = [check_python(), check_packages(), *check_tvm()]
    facts: TargetFacts | None = None
    if not problems(findings):
        facts, about_target = check_target(target)
        findings += about_target
    findings += [*check_host(usable_cores()), check_output(out), check_dask()]
    if facts is not None and with_trial and not problems(findings):
        findings.append(_try_default_sweep(facts, out))
    return findings


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with which no sweep can run."""
    return [finding for finding in findings if finding.level is Level.PROBLEM]


def _try_default_sweep(facts: TargetFacts, out: Path) -> Finding:
    """Return whether a sweep without options could begin."""
    from abtune.measure.doctor.trial import check_trial  # dask, which may be missing
    from abtune.measure.store.store import Store

    try:
        plan = Request(seeds=1).plan_for(facts)
    except AbtuneError as error:  # such as a GPU that is too old for the default pair
        return refused("trial", error)
    return check_trial(plan, facts, Store(out))
