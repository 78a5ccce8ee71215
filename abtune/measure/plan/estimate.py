"""The cost of a sweep before it starts: from typical costs and a short trial, or from finished runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abtune.measure.plan.plan import Plan, Run
from abtune.measure.plan.records import Rounds, RunRecord, waiting_winners, with_transfers
from abtune.measure.plan.workplace import TargetFacts, Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of the runs that are left."""

    runs: int  # number of runs that are left
    core_seconds: float  # time that one core would need for all of them
    seconds: float  # time on all cores and devices, re-measuring included
    from_runs: int  # number of complete runs behind the estimate; zero if typical numbers are behind it


# Core seconds by kind of target: an iteration of evolutionary search, an iteration of random sampling, and
# building and timing one candidate. Means with TVM 0.27 over the default shapes, on cores of the next speed.
_TYPICAL: Mapping[str, tuple[float, float, float]] = {"cuda": (85.0, 0.5, 0.4), "llvm": (4.0, 0.2, 0.2)}
# Random schedules a second that such a core samples (``TargetFacts.rate``), beside an H200 and on two cores.
_TYPICAL_RATE: Mapping[str, float] = {"cuda": 15.5, "llvm": 320.0}


def estimate(plan: Plan, workplace: Workplace, done: Sequence[RunRecord], measured: Sequence[Rounds]) -> Cost:
    """Return the estimated cost of the runs that are left, and of winners that were not measured again."""
    finished = {record.key for record in done}
    left = [run for run in plan.runs if run.key not in finished]
    complete = [record for record in done if record.winner]  # a search that failed may have taken no time
    times: dict[str, list[float]] = defaultdict(list)
    for record in complete:
        times[record.config].append(record.tuning_time)
    known = {config: statistics.mean(seconds) for config, seconds in times.items()}
    costs = [known.get(run.config.name, _typical_cost(run, plan, workplace.facts)) for run in left]
    transfer = with_transfers(measured, planned=plan.transfer)
    waiting = waiting_winners(done, measured, transfer=transfer)
    shapes = {*waiting, *(run.shape.label for run in left)}
    kernels = sum(run.shape.label in shapes for run in plan.runs) * (len(plan.configs) if transfer else 1)
    # Before the first run is over, a round counts as the least that its timings can take.
    latency = statistics.median([record.search_latency for record in complete] or [0.0])
    measuring = kernels * plan.settings.winner_seconds(latency)
    # A run is a chain of steps, so more cores than runs do not help.
    searching = max(sum(costs) / workplace.cores, *costs, 0.0)
    return Cost(
        runs=len(left),
        core_seconds=sum(costs),
        seconds=searching + measuring / len(workplace.facts.devices),
        from_runs=len(complete),
    )


def _typical_cost(run: Run, plan: Plan, facts: TargetFacts) -> float:
    """Return the core seconds of a run by typical numbers, and by the speed of a core if it was tried."""
    evolving, sampling, candidate = _TYPICAL[facts.kind]
    search = evolving if run.config.strategy == "evolutionary" else sampling
    slowness = _TYPICAL_RATE[facts.kind] / facts.rate if facts.rate else 1.0
    return (plan.settings.iterations * search + plan.settings.trials * candidate) * slowness
