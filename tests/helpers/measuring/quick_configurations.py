"""Configurations for real searches of a second or two: ``--candidate quick_configurations:QUICK``."""

import math
from dataclasses import replace
from typing import Any

from abtune.configurations import Configuration

QUICK = Configuration(name="quick", strategy_options={"population_size": 64, "genetic_num_iters": 1})
SAMPLED = Configuration(name="sampled", strategy="replay-trace")
UNGUIDED = replace(QUICK, name="unguided", cost_model="quick_configurations:scattered")


def scattered(seed: int) -> Any:
    """Return a cost model that predicts at random."""
    from tvm.s_tir.meta_schedule.cost_model import RandomModel

    return RandomModel(seed=seed)


def space_without_tiles(target: Any) -> Any:
    """Return MetaSchedule's design space for CPUs with loops that are not tiled."""
    from tvm.s_tir.meta_schedule.schedule_rule import MultiLevelTiling, ScheduleRule
    from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

    kind = target.kind.name
    rules = [
        MultiLevelTiling("SR") if isinstance(rule, MultiLevelTiling) else rule
        for rule in ScheduleRule.create(kind)
    ]
    return PostOrderApply(sch_rules=rules, postprocs=kind, mutator_probs=kind)


def without_tiles(trace: Any) -> list[Any]:
    """Return a schedule whose outermost tiles are the whole loops."""
    steps, decisions = trace
    whole = [
        [
            index,
            [math.prod(value), *[1] * (len(value) - 1)] if steps[index][0] == "SamplePerfectTile" else value,
        ]
        for index, value in decisions
    ]
    return [[steps, whole]]


# Worse by construction: it builds no schedule with tiles, also none that it is given.
UNTILED = Configuration(
    name="untiled",
    strategy="replay-trace",
    space="quick_configurations:space_without_tiles",
    transfer="quick_configurations:without_tiles",
)
