"""abtune searches as stock tune_tir does: exact checks, and a reduced comparison of both."""

from __future__ import annotations

import tempfile
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tvm_samples import problem

from abtune.configurations import EVOLUTIONARY, RANDOM
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.shapes import Gemm

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

GEMM = Gemm(m=32, n=64, k=64)
# A small population: the search is the same, and an iteration of it takes a fraction of a second.
QUICK = replace(EVOLUTIONARY, strategy_options={"population_size": 64, "genetic_num_iters": 2})
COUNT = 32


@pytest.fixture(scope="module")
def engines(room: Any) -> Any:
    """Import the engines that are compared, which import TVM."""
    import search_engines

    return search_engines


@pytest.fixture
def scored(room: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Note the modules of every population that any cost model scores."""
    populations: list[list[str]] = []
    model = type(room.load_tvm.ms.cost_model.XGBModel()._inst)
    predict = model.predict

    def noted(self: Any, context: Any, candidates: Any) -> Any:
        populations.append(hashes(room, candidates))
        return predict(self, context, candidates)

    monkeypatch.setattr(model, "predict", noted)
    return populations


def test_a_module_has_one_latency(engines: Any, room: Any, cpu: str) -> None:
    """A module has one latency in the landscape, in any batch, and different modules differ."""
    sampled = problem(GEMM, RANDOM, cpu)
    candidates, *_ = room.propose.propose(sampled, SearchHistory(), 6, 1)
    modules = [room.build_kernel.scheduled_module(sampled, candidate.record) for candidate in candidates]
    landscape = engines.Landscape(GEMM, cpu)
    together = landscape(modules)
    assert len(set(together)) == 6
    assert engines.Landscape(GEMM, cpu)(modules[::-1]) == together[::-1]
    assert landscape(modules[2:3]) == together[2:3]
    assert landscape.found().sizes.tolist() == [6, 1]


def test_a_record_gives_its_module_back(room: Any, cpu: str) -> None:
    """The module that is built from a record is the one that the search proposed."""
    evolved = problem(GEMM, QUICK, cpu)
    candidates, *_ = room.propose.propose(evolved, SearchHistory(), 6, 1)
    modules = [room.build_kernel.scheduled_module(evolved, candidate.record) for candidate in candidates]
    built = [room.load_tvm.shash2hex(module) for module in modules]
    assert built == [candidate.module_hash for candidate in candidates]


def test_a_cost_model_that_was_put_away_learns_the_same(room: Any, cpu: str) -> None:
    """A model that is saved and restored between lessons equals one that lives on, bit for bit."""
    ms = room.load_tvm.ms
    candidates, *_ = room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 2 * COUNT, 1)
    context = room.propose.search_context(problem(GEMM, QUICK, cpu), 1)
    workload = ms.database.Workload(context.mod)
    learn, save = room.propose.learn, room.propose.save_model
    parts = candidates[:COUNT], candidates[COUNT : COUNT + 4], candidates[COUNT + 4 :]
    lessons = [tuple(map(timed, batch)) for batch in parts]  # of four it notes the times, but does not train
    living = ms.cost_model.XGBModel(num_tuning_cores=1)
    history = SearchHistory()
    for lesson in lessons:
        records = [ms.database.TuningRecord.from_json(trial.candidate.record, workload) for trial in lesson]
        results = [ms.runner.RunnerResult([trial.latency], None) for trial in lesson]
        living.update(context, [record.as_measure_candidate() for record in records], results)
        model = save(learn(history, context, workload))
        history = history.proposed((), cost_model=model, seconds=0.0).tried(lesson, seconds=0.0)
        restored = learn(history, context, workload)
        assert save(restored) == save(living)
    assert restored.data_size == 2 * COUNT
    assert restored.booster is not None


def test_the_first_iteration_is_that_of_stock(
    engines: Any, room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same random state both propose the same first candidates, in the same order."""
    ms = room.load_tvm.ms
    landscape = engines.Landscape(GEMM, cpu)
    tuned = problem(GEMM, QUICK, cpu)
    np.random.seed(7)  # noqa: NPY002 - the cost model draws from it
    with tempfile.TemporaryDirectory() as folder:
        ms.tune_tasks(
            tasks=[room.propose.search_context(tuned, 7)],
            task_weights=[1.0],
            work_dir=folder,
            max_trials_global=COUNT,
            num_trials_per_iter=COUNT,
            builder=engines.builder_of(landscape),
            runner=engines.runner(),
            measure_callbacks=[ms.measure_callback.AddToDatabase()],
            cost_model=ms.cost_model.XGBModel(num_tuning_cores=1),
        )
    context = room.propose.search_context

    def context_of_tune_tasks(*arguments: Any, **options: Any) -> Any:
        """Initialise it once more, as tune_tasks does: that draws from its random state."""
        made = context(*arguments, **options)
        ms._ffi_api.TuneContextInitialize(made)
        return made

    monkeypatch.setattr(room.propose, "search_context", context_of_tune_tasks)
    candidates, *_ = room.propose.propose(tuned, SearchHistory(), COUNT, 7)
    assert [candidate.module_hash for candidate in candidates] == landscape.found().hashes.tolist()
    assert len(candidates) == COUNT


def test_later_iterations_leave_out_what_was_tried(room: Any, cpu: str) -> None:
    """Ours begins anew and ranks what a strategy that remembers the history ranks, in the same order.

    A strategy remembers the best of what it is made to evolve. Ours evolves the same, so that both draw the
    same random numbers, but is left to remember one candidate only.
    """
    ms = room.load_tvm.ms
    # Most of a population was tried before, and a quarter of the candidates is random.
    options = {"init_measured_ratio": 0.8, "init_min_unmeasured": 10, "eps_greedy": 0.25}
    config = replace(QUICK, strategy_options={**QUICK.strategy_options, **options})
    tuned = problem(GEMM, config, cpu)
    old, *_ = room.propose.propose(tuned, SearchHistory(), 3 * COUNT, 1)
    history = (
        SearchHistory().proposed((), cost_model=b"", seconds=0.0).tried(tuple(map(timed, old)), seconds=0.0)
    )
    workload = ms.database.Workload(room.workloads.tensor_program(GEMM))
    database = ms.database.MemoryDatabase()
    for trial in history.trials:
        trace, _, *rest = trial.candidate.record
        record = ms.database.TuningRecord.from_json([trace, [trial.latency], *rest], workload)
        database.commit_tuning_record(record)
    schedules = [record.as_measure_candidate().sch for record in database.get_all_tuning_records()]
    before = {candidate.module_hash for candidate in old}
    model = score_by_hash(room, first=before)

    def context_that_remembers(number: int) -> Any:
        context = room.propose.search_context(tuned, 5)
        evolve = ms._ffi_api.SearchStrategyEvolutionarySearchEvolveWithCostModel

        def generate() -> Any:
            assert len(evolve(context.search_strategy, schedules, number)) == number
            return context.generate_measure_candidates()

        return types.SimpleNamespace(
            search_strategy=context.search_strategy,
            generate_design_space=context.generate_design_space,
            pre_tuning=context.pre_tuning,
            generate_measure_candidates=generate,
        )

    living = context_that_remembers(len(old))
    living.pre_tuning(COUNT, COUNT, living.generate_design_space(), database, model)
    theirs = hashes(room, living.generate_measure_candidates())
    fresh = context_that_remembers(1)
    spaces = fresh.generate_design_space()
    picked = hashes(room, room.propose.generate(fresh, spaces, database, model, history, COUNT))

    ranked = COUNT * 3 // 4
    assert picked[:ranked] == theirs[:ranked] == sorted(picked[:ranked], key=score, reverse=True)
    for order in (picked, theirs):
        # A quarter is random, and not what comes next in the ranking.
        assert order[ranked:] != sorted(order[ranked:], key=score, reverse=True)
        assert not set(order) & before
    assert len(picked) == len(set(picked)) == COUNT


def timed(candidate: Candidate) -> Trial:
    latency = 1e-6 * (1 + score(candidate.module_hash))
    return Trial(candidate=candidate, status=TrialStatus.OK, latency=latency, message="")


def hashes(room: Any, candidates: Any) -> list[str]:
    return [room.load_tvm.shash2hex(candidate.sch.mod) for candidate in candidates]


def score(name: str) -> float:
    """Return a number in [0, 1) that follows from a module's hash."""
    return int(name[-8:], 16) / 2**32


def score_by_hash(room: Any, *, first: set[str]) -> Any:
    """Return a cost model that scores by the module's hash, with the modules of `first` before all others."""

    @room.load_tvm.tvm.ir.utils.derived_object
    class Model(room.load_tvm.ms.cost_model.PyCostModel):
        def predict(self, context: Any, candidates: Any) -> Any:
            return np.array([(name in first) + score(name) for name in hashes(room, candidates)])

    return Model()


@pytest.fixture(scope="module")
def sampled(engines: Any, cpu: str) -> Any:
    """Carry out a run of random sampling."""
    return engines.run_own(GEMM, cpu, engines.Budget(trials=160, trials_per_iteration=COUNT), 0, RANDOM)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["tune_tir", "abtune"])
def test_both_engines_search_alike(
    engines: Any, cpu: str, sampled: Any, scored: list[list[str]], engine: str
) -> None:
    """Both evolve the best so far in populations of one size, try only new modules, and beat sampling."""
    budget = engines.Budget(trials=160, trials_per_iteration=COUNT)
    search = engines.run_stock if engine == "tune_tir" else engines.run_own
    result = search(GEMM, cpu, budget, 0, QUICK)
    assert len(result.latency) == result.sizes.sum() == budget.trials
    assert len(set(result.hashes)) == budget.trials
    assert [len(population) for population in scored] == [64] * 3 * len(result.sizes)
    for population, tried in zip(scored[::3], np.cumsum(result.sizes) - result.sizes, strict=True):
        best = result.hashes[np.argsort(result.latency[:tried])[:12]]  # a fifth of the population
        assert population[: len(best)] == best.tolist()
    assert result.latency.min() < sampled.latency.min()
    # The last iteration is guided by the model, which has learned more than 100 trials.
    assert np.median(result.latency[-COUNT:]) < np.quantile(sampled.latency, 0.2)
