"""Runs of stock tune_tir and of abtune's chain of iterations, over a made-up landscape of latencies.

Nothing is built or run: a builder, or the loop that stands in for a sweep, asks a fixed function of the
scheduled module. So two engines can be compared without noise of timing.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from abtune.configurations import RANDOM, Configuration
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.plan import rng_for
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import SearchHistory, Trial
from abtune.measure.tvm.build_kernel import scheduled_module
from abtune.measure.tvm.load_tvm import ms, tvm
from abtune.measure.tvm.propose import propose, search_context
from abtune.shapes import Shape

# Of the landscape: which one; how steep it is, so that the log latency of random candidates has a standard
# deviation of a third or so; and what the features do not tell.
ROOT = 5
SLOPE = 0.02
NOISE = 0.02

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run of either engine may spend: candidates of a run, and of an iteration."""

    trials: int
    trials_per_iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One run.

    Attributes
    ----------
    latency : ndarray, shape (trials,), seconds
        Of each candidate, in the order of the search.
    hashes : ndarray of str, shape (trials,)
        Structural hash of each scheduled module.
    sizes : ndarray of int, shape (iterations,)
        Candidates of each iteration.
    """

    latency: Floats
    hashes: npt.NDArray[np.str_]
    sizes: npt.NDArray[np.int64]


class Landscape:
    """A latency for every scheduled module of a workload, the same whenever and wherever it is asked for.

    Its logarithm is a fixed combination of the features that MetaSchedule's cost model learns from, averaged
    over the stores of the module, plus normal noise drawn from the structural hash. So the model can learn
    most of it, and no two modules tie.

    Parameters
    ----------
    shape : Shape
        The workload.
    target : str
        The TVM target, as JSON.
    """

    def __init__(self, shape: Shape, target: str) -> None:
        self._context = search_context(Problem(shape=shape, config=RANDOM, target=target), 1)
        self._features = ms.feature_extractor.PerStoreFeature()
        self.asked: list[tuple[str, float]] = []
        self.sizes: list[int] = []

    def __call__(self, modules: Sequence[Any]) -> list[float]:
        """Return the latency of each module in seconds, and note them as one iteration."""
        schedules = [tvm.s_tir.Schedule(module) for module in modules]
        candidates = [ms.MeasureCandidate(schedule, []) for schedule in schedules]
        features = self._features.extract_from(self._context, candidates)
        rows = np.array([array.numpy().mean(axis=0) for array in features])
        weights = rng_for(ROOT, "weights").normal(size=rows.shape[1])
        slope = (rows * weights).sum(axis=1)  # a product of matrices rounds by its size
        hashes = [ms.utils.shash2hex(module) for module in modules]
        noise = np.array([rng_for(ROOT, name).normal() for name in hashes])
        latency = [float(value) for value in 1e-4 * np.exp(SLOPE * slope + NOISE * noise)]
        self.asked += zip(hashes, latency, strict=True)
        self.sizes.append(len(modules))
        return latency

    def found(self) -> Found:
        """Return all that was asked for so far as one run."""
        return Found(
            latency=np.array([latency for _, latency in self.asked]),
            hashes=np.array([name for name, _ in self.asked]),
            sizes=np.array(self.sizes),
        )


# --- the engines --------------------------------------------------------------------------------------


def run_stock(shape: Shape, target: str, budget: Budget, seed: int, config: Configuration) -> Found:
    """Carry out a run of tune_tir, whose builder and runner ask the landscape."""
    landscape = Landscape(shape, target)
    context = search_context(Problem(shape=shape, config=config, target=target), 1)
    kind = str(context.target.kind.name)
    np.random.seed(seed)  # noqa: NPY002 - XGBModel draws its warm-up scores from the global state
    with tempfile.TemporaryDirectory() as folder, _quiet():
        ms.tune_tir(
            mod=context.mod,
            target=context.target,
            work_dir=folder,
            max_trials_global=budget.trials,
            num_trials_per_iter=budget.trials_per_iteration,
            builder=builder_of(landscape),
            runner=runner(),
            # The default ones, but for the one that deletes what was built.
            measure_callbacks=[ms.measure_callback.AddToDatabase(), ms.measure_callback.UpdateCostModel()],
            space=ms.space_generator.PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind),
            strategy=ms.search_strategy.create(config.strategy, **config.strategy_options),
            num_tuning_cores=1,
            seed=seed + 1,
        )
    return landscape.found()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the loggers that tune_tir sets up, and take them down again."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("tvm.")]:
            logger = logging.getLogger(name)
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
            for handler in logger.handlers[:]:
                logger.removeHandler(handler)
                handler.close()


def builder_of(landscape: Landscape) -> Any:
    """Return a builder that builds nothing: the path of an artifact says its latency."""

    @tvm.ir.utils.derived_object
    class Builder(ms.builder.PyBuilder):
        def build(self, build_inputs: list[Any]) -> list[Any]:
            latency = landscape([build_input.mod for build_input in build_inputs])
            return [ms.builder.BuilderResult(repr(value), None) for value in latency]

    return Builder()


def runner() -> Any:
    """Return a runner that reads the latency off the path."""

    @tvm.ir.utils.derived_object
    class Future(ms.runner.PyRunnerFuture):
        def __init__(self, seconds: float) -> None:
            super().__init__()
            self.seconds = seconds

        def done(self) -> bool:
            return True

        def result(self) -> Any:
            return ms.runner.RunnerResult([self.seconds], None)

    @tvm.ir.utils.derived_object
    class Runner(ms.runner.PyRunner):
        def run(self, runner_inputs: list[Any]) -> list[Any]:
            return [Future(float(str(runner_input.artifact_path))) for runner_input in runner_inputs]

    return Runner()


def run_own(shape: Shape, target: str, budget: Budget, seed: int, config: Configuration) -> Found:
    """Carry out a run as a sweep does: a chain of iterations, each a function of the history."""
    landscape = Landscape(shape, target)
    problem, history = Problem(shape=shape, config=config, target=target), SearchHistory()
    while len(history.trials) < budget.trials:
        count = min(budget.trials_per_iteration, budget.trials - len(history.trials))
        rng = rng_for(0, shape.label, config.name, seed, history.iterations, 0)
        rng_seed = int(rng.integers(1, 2**31 - 1))
        candidates, model, _ = propose(problem, history, count, rng_seed)
        latency = landscape([scheduled_module(problem, candidate.record) for candidate in candidates])
        trials = tuple(
            Trial(candidate=candidate, status=TrialStatus.OK, latency=value, message="")
            for candidate, value in zip(candidates, latency, strict=True)
        )
        history = history.proposed(candidates, cost_model=model, seconds=0.0).tried(trials, seconds=0.0)
    return landscape.found()
