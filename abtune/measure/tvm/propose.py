"""One iteration of a search up to its candidates: learn from the last trials, then pick new candidates.

The search is MetaSchedule's own: its strategy, cost model, mutators and postprocessors, fed with the history
so far. The driving is abtune's, so that an iteration can happen anywhere and a run can stop between two.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xgboost import Booster  # where it is broken, a sweep fails at once, not in the second iteration

from abtune.configurations import RANDOM, Configuration, import_attribute
from abtune.dataset.schema import TrialStatus
from abtune.errors import TargetError
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.measure.tvm.early_refusal import early_postprocessors, is_enabled, verifier
from abtune.measure.tvm.load_tvm import load_tensor_intrinsics, ms, record_text, shash2hex, tvm
from abtune.measure.tvm.tvm_devices import tvm_target
from abtune.measure.tvm.workloads import call_own, require_checkable, tensor_program
from abtune.shapes import Gemm, OwnShape

# The options of a strategy, and the speed of a core, are tried on this shape, with slow options cut down.
SMALL = Gemm(m=64, n=64, k=64)
ENOUGH = {"population_size": 64, "genetic_num_iters": 1}


def check(problem: Problem) -> str:
    """Return a hash of the design spaces of a problem.

    This sets up its search, which fails at once where its options, space or workload do.
    """
    if isinstance(problem.shape, OwnShape):
        require_checkable(problem.shape)
    traces = [space.trace for space in search_context(problem, rng_seed=1).generate_design_space()]
    # Without the decisions, which a design space may draw at random.
    texts = [str(tvm.s_tir.schedule.Trace(trace.insts, {})) for trace in traces]
    made = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    _try_search(problem)
    return made


def _try_search(problem: Problem) -> None:
    """Search a small workload with the options and the cost model of a configuration, if it has any."""
    config = problem.config
    if not (config.strategy_options or config.cost_model):
        return
    enough = ENOUGH if config.strategy == "evolutionary" else {}
    options = {**enough, **config.strategy_options}
    options = {name: min(value, enough.get(name, value)) for name, value in options.items()}
    small = replace(config, space="", skipped_annotation="", strategy_options=options)
    trial = Problem(shape=SMALL, config=small, target=problem.target)
    proposed, *_ = propose(trial, SearchHistory(), count=1, rng_seed=1)
    if not proposed:
        raise TargetError(f"strategy_options {dict(config.strategy_options)} find nothing; change them")
    if config.cost_model:  # a mistake may show only when it learns
        learned = Trial(candidate=proposed[0], status=TrialStatus.OK, latency=0.001, message="")
        propose(trial, SearchHistory(trials=(learned,)), count=1, rng_seed=2)


def sampling_rate(target: str, seconds: float) -> float:
    """Return the number of random schedules a second that one core samples, in a trial of this duration."""
    problem = Problem(shape=SMALL, config=RANDOM, target=target)
    propose(problem, SearchHistory(), count=1, rng_seed=1)  # the first one loads what the others find loaded
    sampled, began = 0, time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        proposed, *_ = propose(problem, SearchHistory(), count=4, rng_seed=2 + sampled)
        sampled += len(proposed)
    return sampled / passed


def propose(
    problem: Problem, history: SearchHistory, count: int, rng_seed: int, threads: int = 1
) -> tuple[tuple[Candidate, ...], bytes, bool]:
    """Return new candidates, the state of the cost model, and whether the iteration had to be repeated."""

    def iterate(postprocessors: Sequence[Any] | None = None) -> tuple[list[Any], bytes]:
        np.random.seed(rng_seed)  # noqa: NPY002 - XGBModel draws its warm-up scores from the global state
        context = search_context(problem, rng_seed, threads, postprocessors=postprocessors)
        workload = ms.database.Workload(context.mod)
        own = _own_cost_model(problem.config, rng_seed)
        database, cost_model = _database(history, workload), learn(history, context, workload, own)
        spaces = design_spaces(context, problem)
        proposed = generate(context, spaces, database, cost_model, history, count)
        return proposed, b"" if own else save_model(cost_model)

    repeated = False
    if is_enabled(problem):
        stock = search_context(problem, rng_seed)
        if early := early_postprocessors(design_spaces(stock, problem)):
            proposed, cost_model = iterate(early)
            verify = verifier(stock.space_generator.postprocs)
            repeated = not all(verify.apply(candidate.sch) for candidate in proposed)
            if not repeated:
                return _candidates(problem, proposed), cost_model, False
    proposed, cost_model = iterate()
    return _candidates(problem, proposed), cost_model, repeated


def _candidates(problem: Problem, proposed: Sequence[Any]) -> tuple[Candidate, ...]:
    workload, target = ms.database.Workload(tensor_program(problem.shape)), tvm_target(problem.target)
    candidates = []
    for one in proposed:
        record = ms.database.TuningRecord(one.sch.trace, workload, None, target, one.args_info)
        candidates.append(Candidate(text=record_text(record), module_hash=shash2hex(one.sch.mod)))
    return tuple(candidates)


def _database(history: SearchHistory, workload: Any) -> Any:
    database = ms.database.MemoryDatabase()
    for trial in history.trials:
        if trial.status is TrialStatus.OK:
            # A record is written before its candidate is timed, so the time comes from the trial.
            trace, _, *rest = trial.candidate.record
            record = ms.database.TuningRecord.from_json([trace, [trial.latency], *rest], workload)
            database.commit_tuning_record(record)
    return database


def generate(
    context: Any, spaces: Sequence[Any], database: Any, cost_model: Any, history: SearchHistory, count: int
) -> list[Any]:
    """Return candidates of the strategy that are not in the history.

    A strategy that lives through a run does not propose again what it measured. This one begins anew in each
    iteration. So it is asked for one more candidate for each old one, and the old ones are left out. Those
    with the best predicted scores come first, random ones last. Of both, as many are picked as a living
    strategy would. If too few of one kind remain, the other fills in: another iteration would cost too much.
    """
    random_share = getattr(context.search_strategy, "eps_greedy", None)
    if random_share is None:  # replay-trace has no memory to restore
        return _ask(context, spaces, database, cost_model, count)
    seen = {trial.candidate.module_hash for trial in history.trials}
    wanted = count + len(seen)
    proposed = _ask(context, spaces, database, cost_model, wanted)
    best = wanted - int(wanted * random_share)
    ranked, random = _fresh(proposed[:best], seen), _fresh(proposed[best:], seen)
    picked = ranked[: count - min(int(count * random_share), len(random))]
    return picked + random[: count - len(picked)]


def _ask(context: Any, spaces: Sequence[Any], database: Any, cost_model: Any, count: int) -> list[Any]:
    context.pre_tuning(count, count, spaces, database, cost_model)
    return list(context.generate_measure_candidates() or [])


def _fresh(proposed: Sequence[Any], seen: Collection[str]) -> list[Any]:
    return [candidate for candidate in proposed if shash2hex(candidate.sch.mod) not in seen]


def _own_cost_model(config: Configuration, rng_seed: int) -> Any:
    """Return the cost model that the user made for a configuration; None without one."""
    if not config.cost_model:
        return None
    model = call_own(config.cost_model, import_attribute(config.cost_model), rng_seed)
    if not isinstance(model, ms.CostModel):
        raise TargetError(f"{config.cost_model} returns {type(model).__name__}, not a CostModel")
    return model


def learn(history: SearchHistory, context: Any, workload: Any, own: Any = None) -> Any:
    """Return the cost model after it has learned the trials that it has not seen, as MetaSchedule does.

    A model of the user has no state in the history, so it has seen none of them.
    """
    # Else XGBoost takes every physical core, though searches run side by side.
    model = own or ms.cost_model.XGBModel(num_tuning_cores=1)
    if history.cost_model:
        restore_model(model, history.cost_model, context)
    # Only failures at run time teach the model; a failed build does not.
    fresh = [trial for trial in history.trials[0 if own else history.learned :] if trial.was_built]
    # Random sampling (replay-trace) asks no model, so there is nothing to teach.
    if fresh and getattr(context.search_strategy, "eps_greedy", None) is not None:
        records = [ms.database.TuningRecord.from_json(trial.candidate.record, workload) for trial in fresh]
        candidates = [record.as_measure_candidate() for record in records]
        results = [
            ms.runner.RunnerResult([trial.latency], None)
            if trial.status is TrialStatus.OK
            else ms.runner.RunnerResult(None, trial.message)
            for trial in fresh
        ]
        model.update(context, candidates, results)
    return model


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

    # NumPy refuses pickles by default. MetaSchedule's own ``load`` allows them, and they could run code.
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


def search_context(
    problem: Problem, rng_seed: int, threads: int = 1, *, postprocessors: Sequence[Any] | None = None
) -> Any:
    """Return a ``TuneContext`` with the space generator and the strategy of a problem."""
    config = problem.config
    # TVM tells whole numbers apart from others.
    options = {
        name: int(value) if float(value).is_integer() else value
        for name, value in config.strategy_options.items()
    }
    return ms.TuneContext(
        mod=tensor_program(problem.shape),
        target=tvm_target(problem.target),
        space_generator=_space_generator(problem, postprocessors),
        search_strategy=ms.search_strategy.create(config.strategy, **options),
        rand_state=rng_seed,
        num_threads=threads,
    )


def design_spaces(context: Any, problem: Problem) -> list[Any]:
    """Return the design spaces that the configuration does not skip."""
    skipped = problem.config.skipped_annotation
    spaces = [
        space for space in context.generate_design_space() if not (skipped and skipped in str(space.trace))
    ]
    if not spaces:
        raise TargetError(
            f"configuration {problem.config.name!r} leaves no design space for {problem.shape.label}; "
            "change its skipped_annotation"
        )
    return spaces


def _space_generator(problem: Problem, postprocessors: Sequence[Any] | None) -> Any:
    target = tvm_target(problem.target)
    if problem.config.space:
        make_space = import_attribute(problem.config.space)  # first: the intrinsics take long to load
        if problem.config.space_is_foreign:
            load_tensor_intrinsics()
        space = call_own(problem.config.space, make_space, target)
        if not isinstance(space, ms.SpaceGenerator):
            raise TargetError(f"{problem.config.space} returns {type(space).__name__}, not a SpaceGenerator")
        return space
    # Not the rules "from-target": those add tensor-core and VNNI tiling, which float32 cannot use.
    rules = str(target.kind.name)
    return ms.space_generator.PostOrderApply(
        sch_rules=rules, postprocs=rules if postprocessors is None else postprocessors, mutator_probs=rules
    )
