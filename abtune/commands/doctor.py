"""``abtune doctor``: whether this machine can sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from abtune.commands.common.options import target_option
from abtune.commands.common.output import Destination, report_options
from abtune.text import NOTHING, count

if TYPE_CHECKING:
    from abtune.measure.diagnose import Finding
    from abtune.report.page import Part

NOT_READY = 2


@click.command(
    epilog="""\b
Examples:
  abtune doctor                       what a sweep would find here, and a trial of a few kernels
  abtune doctor --no-trial            only look
  abtune doctor --target cpu          even though there is a GPU
  abtune doctor --format json         for scripts
"""
)
@target_option
@click.option("--no-trial", is_flag=True, help="Leave out the trial of a few kernels, which takes seconds.")
@report_options
def doctor(target: str, *, no_trial: bool, destination: Destination) -> int:
    """Check whether this machine can sweep, and what to do if not.

    It looks at software, compiler, GPUs, memory, load and disk. Then it proposes, builds and times a few
    small kernels as a sweep does. Exit code 0 if a sweep can run here, 2 if not.
    """
    destination.check()
    from abtune.measure.diagnose import diagnose, problems
    from abtune.report.page import Section

    findings = diagnose(target, with_trial=not no_trial)
    number = len(problems(findings))
    result = {"ready": not number, "findings": findings}
    destination.write(Section(name="", page=_page(findings, number), result=result))
    return NOT_READY if number else 0


def _page(findings: Sequence[Finding], number: int) -> tuple[Part, ...]:
    from abtune.report.page import Heading, Prose, column, filled, table

    conclusion = f"not ready: {count(number, 'problem')}" if number else "ready: a sweep can run here"
    columns = (
        column("result", [finding.level.value for finding in findings], kind="word"),
        column("found", [finding.state for finding in findings], kind="text", gives_way=1),
        column("do", [finding.advice or NOTHING for finding in findings], kind="text", gives_way=2),
    )
    return (
        Heading("this machine"),
        Prose(conclusion),
        table("check", [finding.name for finding in findings], *filled(columns)),
    )
