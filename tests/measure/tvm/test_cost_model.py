"""The cost model between iterations: it learns new trials, and comes back as it was saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tvm_samples import (
    GEMM,
    QUICK,
    problem,
    state,
)

from abtune.configurations import RANDOM
from abtune.measure.plan.records import SearchHistory

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs


def test_a_model_is_restored_as_it_was(room: Any, cpu: str, second_history: SearchHistory) -> None:
    """Data, booster and the size at the last training come back from the bytes, and learning goes on."""
    _, model, _ = room.propose.propose(problem(GEMM, QUICK, cpu), second_history, 2, 12)
    grown = replace(second_history, cost_model=model, learned=len(second_history.trials))
    _, again, _ = room.propose.propose(problem(GEMM, QUICK, cpu), grown, 2, 13)
    before, after = state(model), state(again)
    assert set(before) == set(after) == {"last_train_size", "rows", "features", "costs", "booster"}
    for name in set(before) - {"booster"}:
        np.testing.assert_array_equal(before[name], after[name])
    restored = room.load_tvm.ms.cost_model.XGBModel(num_tuning_cores=1)
    room.propose.restore_model(restored, model, room.propose.search_context(problem(GEMM, QUICK, cpu), 1))
    assert restored.last_train_size == before["last_train_size"] > 0
    assert restored.data_size == 5
    assert room.propose.save_model(restored) == model
    more = grown.proposed((), cost_model=model, seconds=0.0).tried(second_history.trials[2:4], seconds=1.0)
    _, third, _ = room.propose.propose(problem(GEMM, QUICK, cpu), more, 2, 14)
    assert len(state(third)["rows"]) == 7


def test_sampling_learns_nothing(room: Any, cpu: str, second_history: SearchHistory) -> None:
    """Random sampling may propose old candidates again, and keeps no model."""
    candidates, model, _ = room.propose.propose(problem(GEMM, RANDOM, cpu), second_history, 4, 5)
    assert len(candidates) == 4
    assert state(model).keys() == {"last_train_size"}
