"""MetaSchedule's cost model between iterations: restored from bytes, taught, and saved again."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import numpy as np

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.trials import History, Trial
from abtune.measure.tvm.load_tvm import ms, shash2hex


def learn(history: History, context: Any, workload: Any) -> Any:
    """Return the cost model after it has learned the trials that it has not seen, as MetaSchedule does."""
    model = ms.cost_model.XGBModel(num_tuning_cores=1)
    if history.cost_model:
        restore_model(model, history.cost_model, context)
    # Only failures at run time teach the model; a failed build does not.
    fresh = [trial for trial in history.trials[history.learned :] if trial.was_built]
    if fresh and getattr(context.search_strategy, "eps_greedy", None) is not None:
        records = [ms.database.TuningRecord.from_json(trial.candidate.record, workload) for trial in fresh]
        candidates = [record.as_measure_candidate() for record in records]
        model.update(context, candidates, [_runner_result(trial) for trial in fresh])
    return model


def _runner_result(trial: Trial) -> Any:
    if trial.status is TrialStatus.OK:
        return ms.runner.RunnerResult([trial.latency], None)
    return ms.runner.RunnerResult(None, trial.message)


def save_model(model: Any) -> bytes:
    """Return the data and the booster of a cost model; its own ``save`` forgets when it last trained."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"last_train_size": model.last_train_size}
    for group in model.data.values():  # there is one group, because a run tunes one module
        arrays["rows"] = np.array([len(features) for features in group.features])
        arrays["features"] = np.concatenate(group.features)
        arrays["costs"] = group.costs
    if model.booster is not None:
        arrays["booster"] = np.frombuffer(model.booster.save_raw(), dtype=np.uint8)
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def restore_model(model: Any, state: bytes, context: Any) -> None:
    """Give a new cost model the state that :func:`save_model` returned."""
    from tvm.s_tir.meta_schedule.cost_model.xgb_model import FeatureGroup
    from xgboost import Booster

    arrays = np.load(io.BytesIO(state))
    model.last_train_size = int(arrays["last_train_size"])
    if "rows" in arrays:
        features = np.split(arrays["features"], np.cumsum(arrays["rows"])[:-1])
        name = shash2hex(context.mod)
        group = FeatureGroup(group_hash=name, features=list(features), costs=arrays["costs"])
        model.data = OrderedDict({name: group})
        model.data_size = len(features)
    if "booster" in arrays:
        model.booster = Booster(model_file=bytearray(arrays["booster"].tobytes()))
