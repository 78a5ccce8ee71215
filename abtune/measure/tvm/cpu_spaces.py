"""Design spaces for CPUs, beside MetaSchedule's own."""

from __future__ import annotations

from typing import Any

from tvm.s_tir.meta_schedule.schedule_rule import MultiLevelTiling, ScheduleRule

from abtune.measure.tvm.load_tvm import ms

# MetaSchedule tiles the loops of a CPU's kernel in two levels: S is a spatial loop, R a reduction.
ONE_LEVEL = "SRS"


def one_level(target: Any) -> Any:
    """Return MetaSchedule's design space for CPUs with tiles of one level in place of two."""
    kind = target.kind.name
    tiling = MultiLevelTiling(ONE_LEVEL, max_innermost_factor=64)
    rules = [tiling if isinstance(rule, MultiLevelTiling) else rule for rule in ScheduleRule.create(kind)]
    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=kind, mutator_probs=kind)
