"""Mainline with a cost model that predicts from the second iteration on, not from the hundredth trial.

``data/README.md`` has the command of the sweep that compares both (``h200-early-guidance``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from abtune.configurations import MAINLINE

EARLY_GUIDANCE = replace(MAINLINE, name="early-guidance", cost_model="early_guidance:trusts_one_iteration")


def trusts_one_iteration(_: int) -> Any:
    """Return MetaSchedule's XGBoost model without its ``num_warmup_samples``, which are 100 by default."""
    from tvm.s_tir import meta_schedule as ms

    return ms.cost_model.XGBModel(num_warmup_samples=1, num_tuning_cores=1)
