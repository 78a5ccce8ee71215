"""Design spaces for CPUs, beside MetaSchedule's own."""

from __future__ import annotations

from typing import Any

from tvm.s_tir.meta_schedule.schedule_rule import (
    MultiLevelTiling,
    MultiLevelTilingWideVector,
    ReuseType,
    ScheduleRule,
)

from abtune.measure.tvm.load_tvm import ms

# Sixteen floats fill a register of AVX-512, two of AVX2, and four of NEON.
VECTOR_BITS = 512


def vector_tiles(target: Any) -> Any:
    """Return MetaSchedule's design space for CPUs, but the innermost tile of each row has 16 floats."""
    kind = target.kind.name
    rules = [
        _with_vectors(rule) if isinstance(rule, MultiLevelTiling) else rule
        for rule in ScheduleRule.create(kind)
    ]
    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=kind, mutator_probs=kind)


def _with_vectors(tiling: Any) -> Any:
    return MultiLevelTilingWideVector(
        tiling.structure,
        vector_length_in_bits=VECTOR_BITS,
        max_innermost_factor=tiling.max_innermost_factor,
        # A rule does not show its cached writes. These are the ones of MetaSchedule's rule for CPUs.
        reuse_write=ReuseType(req="may", levels=[1, 2], scope="global"),
    )
