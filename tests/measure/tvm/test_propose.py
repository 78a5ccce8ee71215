"""MetaSchedule's search, one iteration at a time: it proposes the wanted number of new candidates."""

from __future__ import annotations

import types
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tvm_samples import (
    CUDA,
    GEMM,
    LARGE,
    QUICK,
    all_timed,
    problem,
    state,
)

from abtune.configurations import ASYNC, EVOLUTIONARY, RANDOM
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.measure.plan.workplace import ONE_THREAD, TVM_MODULE
from abtune.measure.workers.child import ChildProcess
from abtune.measure.workers.fork_server import ForkServer

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs


def test_candidates_are_new_and_different(first: tuple[tuple[Candidate, ...], bytes]) -> None:
    """A first iteration proposes the wanted number of different candidates, as plain data."""
    candidates, model = first
    assert len(candidates) == len({candidate.module_hash for candidate in candidates}) == 6
    assert all(len(candidate.record) == 4 for candidate in candidates)
    assert state(model)["last_train_size"] == 0


def test_a_search_goes_on_from_a_history(room: Any, cpu: str, second_history: SearchHistory) -> None:
    """The next iteration has learned the trials, and proposes the wanted number of new candidates."""
    candidates, model, _ = room.propose.propose(problem(GEMM, QUICK, cpu), second_history, 6, 12)
    old = {trial.candidate.module_hash for trial in second_history.trials}
    new = {candidate.module_hash for candidate in candidates}
    assert len(candidates) == len(new) == 6
    assert not new & old
    learned = state(model)
    # Five of six: what could not be built teaches nothing about speed.
    assert len(learned["rows"]) == len(learned["costs"]) == 5
    assert len(learned["features"]) == learned["rows"].sum()
    assert np.isfinite(learned["costs"]).all()
    assert len(model) > len(second_history.cost_model)


def test_a_long_history_leaves_as_many_candidates(room: Any, cpu: str, second_history: SearchHistory) -> None:
    """An iteration proposes the wanted number of new candidates also after many trials."""
    history = second_history
    for iteration in range(3):
        candidates, model, _ = room.propose.propose(problem(GEMM, QUICK, cpu), history, 8, 20 + iteration)
        old = {trial.candidate.module_hash for trial in history.trials}
        assert len({candidate.module_hash for candidate in candidates} - old) == 8
        history = all_timed(history, candidates, model)


def test_the_same_seed_proposes_the_same(room: Any, cpu: str) -> None:
    """Without a history a search follows from its seed: the same number, the same candidates."""
    one, same, other = (
        room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 4, seed)[0] for seed in (3, 3, 4)
    )
    assert one == same
    assert one != other


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_forked_process_searches_with_several_threads(target: str, cpu: str) -> None:
    """A process forked from a server with one thread searches with four, and all candidates differ."""
    config, spec = (EVOLUTIONARY, cpu) if target == "cpu" else (ASYNC, CUDA)
    tiny = {"population_size": 32, "genetic_num_iters": 1, "init_min_unmeasured": 8}
    searched = problem(LARGE, replace(config, strategy_options=tiny), spec)
    with (
        closing(ForkServer(TVM_MODULE, ONE_THREAD)) as fork_server,
        closing(ChildProcess(fork_server, {})) as child,
    ):
        history = SearchHistory()
        for seed in (1, 2):
            candidates, model, _ = child.call("propose", searched, history, 8, seed, 4, timeout=300.0)
            history = all_timed(history, candidates, model)
    assert len({trial.candidate.module_hash for trial in history.trials}) == 16


@pytest.mark.parametrize("target", [CUDA, "cpu"])
def test_a_core_samples_some_schedules_a_second(room: Any, cpu: str, target: str) -> None:
    """A short trial samples for both kinds of target, for a GPU also where there is none."""
    rate = room.propose.sampling_rate(cpu if target == "cpu" else target, 0.2)
    assert 1 < rate < 1e5


def test_options_that_a_strategy_lacks_are_found_before_a_search(room: Any, cpu: str) -> None:
    """Setting up a search is enough to find an option that its strategy does not have."""
    room.propose.check(problem(GEMM, replace(EVOLUTIONARY, strategy_options={"population_size": 64}), cpu))
    with pytest.raises(TypeError, match="no_such_option"):
        room.propose.check(problem(GEMM, replace(EVOLUTIONARY, strategy_options={"no_such_option": 1}), cpu))
    room.propose.check(problem(GEMM, replace(RANDOM, strategy_options={"max_fail_count": 3}), cpu))


@pytest.mark.parametrize("size", [0, -5])
def test_options_with_which_nothing_is_proposed_are_found_before_a_search(
    room: Any, cpu: str, size: int
) -> None:
    """Options with which a search proposes nothing are found by a small proposal."""
    with pytest.raises(Exception, match="find nothing" if size == 0 else "reserve"):
        room.propose.check(
            problem(GEMM, replace(EVOLUTIONARY, strategy_options={"population_size": size}), cpu)
        )


@pytest.mark.parametrize("old_first", [True, False])
@pytest.mark.parametrize("count", [1, 7, 20, 64])
def test_enough_new_candidates_are_picked(
    room: Any, monkeypatch: pytest.MonkeyPatch, count: int, *, old_first: bool
) -> None:
    """The wanted number of new candidates is picked, in any order of old and new ones."""
    old, new = [f"old{number}" for number in range(100)], [f"new{number}" for number in range(count)]
    trials = tuple(
        Trial(
            candidate=Candidate(text="[]", module_hash=name), status=TrialStatus.OK, latency=1.0, message=""
        )
        for name in old
    )
    history = SearchHistory().proposed((), cost_model=b"", seconds=0.0).tried(trials, seconds=0.0)
    proposed = [
        types.SimpleNamespace(sch=types.SimpleNamespace(mod=name))
        for name in ((old + new) if old_first else (new + old))
    ]
    context = types.SimpleNamespace(
        search_strategy=types.SimpleNamespace(eps_greedy=0.05),
        pre_tuning=lambda asked, *_: asked == len(proposed) or pytest.fail("asked for too few"),
        generate_measure_candidates=lambda: proposed,
    )
    monkeypatch.setattr(room.propose, "shash2hex", lambda name: name)
    picked = room.propose.generate(context, [], None, None, history, count)
    assert sorted(candidate.sch.mod for candidate in picked) == sorted(new)
