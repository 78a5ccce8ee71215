"""``abtune doctor``: whether this machine is ready to sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abtune.errors import TargetError

if TYPE_CHECKING:
    from rich.console import Console

    from abtune.measure.fitness import Finding
    from abtune.measure.target import TargetFacts

NOT_READY = 2


@click.command(
    epilog="""\b
Examples:
  abtune doctor                       what a sweep would find here, and a trial of a few kernels
  abtune doctor --no-trial            only look
  abtune doctor --target cpu          even though there is a GPU
"""
)
@click.option("--target", default="auto", show_default=True, help="auto, cuda, cpu, or a TVM target.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("abtune.nc"),
    show_default=True,
    help="Where a sweep is to put its dataset; nothing is written.",
)
@click.option("--no-trial", is_flag=True, help="Do not propose, build and time kernels; that takes seconds.")
def doctor(target: str, out: Path, *, no_trial: bool) -> int:
    """Say whether this machine is ready to sweep, and what to do if not.

    Looks at software, compiler, GPUs, memory, load and disk, and then has a few small kernels proposed,
    built and timed just as a sweep does. Exit code 0 if a sweep can run here, 2 if not.
    """
    from abtune.commands.output import emit

    try:
        from abtune.measure import fitness
        from abtune.measure.target import usable_cores
        from abtune.report.writing import text_for
    except ModuleNotFoundError as error:  # of what even looking takes
        raise _missing(error) from None

    cores = usable_cores()
    findings = [fitness.check_python(), fitness.check_packages(), *fitness.check_tvm()]
    facts: TargetFacts | None = None
    if not _problems(findings):
        facts, found = fitness.check_target(target)
        findings += found
    findings += [*fitness.check_machine(cores), fitness.check_output(out), fitness.check_dask()]
    if facts is not None and not no_trial and not _problems(findings):
        findings.append(_trial(facts, out))
    emit(text_for(sys.stdout, lambda console: _print(findings, console)))
    return NOT_READY if _problems(findings) else 0


def _missing(error: ModuleNotFoundError) -> Exception:
    """Put a package that is not there into a line; a module of abtune that is not is a defect."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "abtune"}:
        return error
    return TargetError(f"{package} is missing; run: pip install --upgrade abtune")


def _trial(facts: TargetFacts, out: Path) -> Finding:
    """Try what a sweep without options would do."""
    from abtune.commands.sweep import request_of, sweep
    from abtune.errors import AbtuneError
    from abtune.measure.fitness import refused
    from abtune.measure.rehearsal import check_trial
    from abtune.measure.store import Store

    options = sweep.make_context("sweep", ["--seeds", "1"]).params
    try:
        plan = request_of(options).plan_for(facts)
    except AbtuneError as error:  # such as a GPU that is too old for the default pair
        return refused("trial", error)
    return check_trial(plan, facts, Store(out))


def _problems(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level.value == "problem"]


def _print(findings: Sequence[Finding], console: Console) -> None:
    """Lay the findings out, each with its advice below, and what follows from them."""
    from abtune.report.writing import prose

    width = max(len(finding.name) for finding in findings)
    indent = " " * (width + 11)
    for finding in findings:
        prose(console, f"{finding.name:<{width}}  {finding.level.value:<7}  {finding.found}", indent=indent)
        if finding.advice:
            prose(console, f"{indent}{finding.advice}", indent=indent)
    count = len(_problems(findings))
    console.print()
    prose(
        console, f"not ready: {count} problem{'s' * (count > 1)}" if count else "ready: a sweep can run here"
    )
