"""Mainline's design space without tiles that do not fit into registers.

``data/README.md`` has the command of the sweep that compares both (``h200-search-changes``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from abtune.configurations import MAINLINE

FEW_SUMS = replace(MAINLINE, name="few-sums", space="few_sums:space")
MOST = 192  # sums in a thread; it has 255 registers
LEVELS = 5  # of a spatial tile: block, virtual thread, thread, and two loops inside a thread


def sums(trace: Any) -> int:
    """Return the number of sums that a thread keeps: its tile of the output."""
    tiles = [
        [int(factor) for factor in decision]
        for instruction, decision in trace.decisions.items()
        if instruction.kind.name == "SamplePerfectTile" and len(decision) == LEVELS
    ]
    return math.prod(virtual * outer * inner for _, virtual, _, outer, inner in tiles)


def space(target: Any) -> Any:
    """Return MetaSchedule's design space, whose schedules keep at most 192 sums in a thread."""
    import tvm
    from tvm.s_tir import meta_schedule as ms

    from abtune.measure.tvm.early_refusal import RefuseEarly

    @tvm.ir.utils.derived_object
    class FewSums(ms.postproc.PyPostproc):  # type: ignore[misc]
        def _initialize_with_tune_context(self, context: Any) -> None:
            pass

        def apply(self, schedule: Any) -> bool:
            return sums(schedule.trace) <= MOST

        def clone(self) -> FewSums:
            return FewSums()

    # RefuseEarly refuses before lowering what the last of MetaSchedule's postprocessors would refuse.
    checks = [FewSums(), RefuseEarly(), *ms.postproc.Postproc.create(target.kind.name)]
    rules = target.kind.name
    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=checks, mutator_probs=rules)
