"""Plans, runs and records for tests of the measuring half."""

from __future__ import annotations

import math
from typing import Any

from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TransferStatus, TrialStatus
from abtune.measure.plan.plan import Plan, Run
from abtune.measure.plan.problem import RunSettings
from abtune.measure.plan.records import Candidate, Rounds, RunRecord, SearchHistory, Trial, WinnerTimes
from abtune.measure.plan.workplace import TargetFacts, Workplace
from abtune.shapes import Gemm, Shape

SMALL = Gemm(m=16, n=16, k=16)
OTHER = Gemm(m=32, n=16, k=16)
PLAIN = Configuration(name="plain")
NEW = Configuration(name="new")


def make_settings(**changes: Any) -> RunSettings:
    settings = {
        "target": '{"kind": "fake"}',
        "trials": 4,
        "trials_per_iteration": 2,
        "search_repeats": 3,
        "search_repeat_ms": 1,
        "rounds": 2,
        "repeats": 3,
        "repeat_ms": 1,
        "build_timeout": 30.0,
        "run_timeout": 30.0,
        "rng_seed": 0,
    }
    return RunSettings(**{**settings, **changes})


def small_plan(
    *shapes: Shape, seeds: int = 2, configs: tuple[Configuration, ...] = (PLAIN, NEW), **settings: Any
) -> Plan:
    return Plan(
        shapes=shapes or (SMALL, OTHER),
        configs=configs,
        seeds=tuple(range(seeds)),
        settings=make_settings(**settings),
        machine="a device, TVM 0.27",
    )


def make_facts(**changes: Any) -> TargetFacts:
    facts = {
        "kind": "llvm",
        "target": '{"kind": "fake"}',
        "arch": 0,
        "devices": ("a device",),
        "threads": 1,
        "versions": {"tvm": "0.27"},
    }
    return TargetFacts(**{**facts, **changes})


def make_workplace(facts: TargetFacts | None = None, *, scheduler: str = "", cores: int = 2) -> Workplace:
    return Workplace(facts=facts or make_facts(), scheduler=scheduler, cores=cores)


def make_trial(latency: float = 1e-3, *, number: int = 0, **changes: Any) -> Trial:
    """Return a trial: timed, or failed where the latency is NaN."""
    status = TrialStatus.RUN_FAILED if math.isnan(latency) else TrialStatus.OK
    fields = {
        "candidate": Candidate(
            text=f'["trace {number}", [1, null, {{"a": []}}]]', module_hash=f"hash{number}"
        ),
        "status": status,
        "latency": latency,
        "message": "" if status is TrialStatus.OK else "it failed",
    }
    return Trial(**{**fields, **changes})


def make_history(*latencies: float) -> SearchHistory:
    trials = tuple(make_trial(latency, number=number) for number, latency in enumerate(latencies))
    return SearchHistory().proposed((), cost_model=b"\x00model\xff", seconds=0.0).tried(trials, seconds=2.5)


def make_record(run: Run, **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "shape": run.shape.label,
        "config": run.config.name,
        "seed": run.seed,
        "status": RunStatus.COMPLETE,
        "failure": "",
        "search_latency": 1e-3,
        "trial_latency": [1e-3, math.nan],
        "trial_status": [TrialStatus.OK, TrialStatus.RUN_FAILED],
        "winner": [f"trace of {run.key}", [None, {"kind": "fake"}]],
        "tuning_time": 12.5,
        "started": "2026-01-02T03:04:05.006",
        "finished": "2026-01-02T03:05:06.007",
        "host": "here",
        "trial_failure": "run: it failed",
    }
    return RunRecord(**{**fields, **changes})


def make_failed_record(run: Run, **changes: Any) -> RunRecord:
    return make_record(
        run,
        status=RunStatus.FAILED,
        failure="the search failed",
        search_latency=math.nan,
        winner=None,
        **changes,
    )


def make_times(run: Run, plan: Plan, **changes: Any) -> WinnerTimes:
    rounds, repeats = plan.settings.rounds, plan.settings.repeats
    fields: dict[str, Any] = {
        "config": run.config.name,
        "seed": run.seed,
        "latency": [[1e-3 * (1 + round_ + repeat) for repeat in range(repeats)] for round_ in range(rounds)],
        "sm_clock": [1500.0] * rounds,
        "temperature": [math.nan] * rounds,
        "throttle_reasons": [4.0] * rounds,
        "failure": "",
    }
    return WinnerTimes(**{**fields, **changes})


def make_lost(run: Run, failure: str) -> WinnerTimes:
    status = TransferStatus.FAILED
    return WinnerTimes(config=run.config.name, seed=run.seed, status=status, failure=failure)


def make_rounds(shape: Shape, *winners: WinnerTimes) -> Rounds:
    return Rounds(shape=shape.label, device="a device", host="there", winners=winners)
