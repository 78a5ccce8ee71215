"""What a sweep will cost, before it starts: rough, and better once some of its runs are done."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from abtune.measure.plan import Plan
from abtune.measure.records import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What is left to do.

    Attributes
    ----------
    runs : int
        Runs that are left.
    core_seconds : float
        Time that one core would need for all of them.
    seconds : float
        Time on the cores given, re-measuring included.
    from_runs : int
        Finished runs that the estimate rests on; zero if it rests on typical numbers.
    """

    runs: int
    core_seconds: float
    seconds: float
    from_runs: int


# Core seconds by kind of target: an iteration of evolutionary search, one of random sampling, and building
# and timing a candidate. Orders of magnitude, with TVM 0.27, for the shapes that a sweep has by default.
_TYPICAL: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {"cuda": (20.0, 0.5, 0.4), "llvm": (5.0, 0.2, 0.2)}
)


def estimate(plan: Plan, kind: str, cores: int, devices: int, done: Sequence[RunRecord]) -> Cost:
    """Estimate what the runs that are left will take.

    Parameters
    ----------
    plan : Plan
        What to do.
    kind : str
        Kind of the target.
    cores, devices : int
        What works at it.
    done : sequence of RunRecord
        Finished runs of the same sweep.
    """
    settings = plan.settings
    finished = {(record.shape, record.config, record.seed) for record in done}
    left = [run for run in plan.runs if (run.shape.label, run.config.name, run.seed) not in finished]
    iterations = math.ceil(settings.trials / settings.trials_per_iteration)
    evolving, sampling, candidate = _TYPICAL[kind]
    seen: dict[str, list[float]] = {config.name: [] for config in plan.configs}
    for record in done:
        if record.config in seen:
            seen[record.config].append(record.tuning_time)
    each = []
    for run in left:
        search = evolving if run.config.strategy == "evolutionary" else sampling
        typical = iterations * search + settings.trials * candidate
        each.append(statistics.mean(seen[run.config.name] or [typical]))
    searching = max(sum(each) / cores, *each, 0.0)  # a run is a chain: more cores than runs do not help
    latency = statistics.median([record.search_latency for record in done if record.winner] or [0.0])
    winner = 2 * settings.rounds * settings.round_seconds(latency)
    return Cost(
        runs=len(left),
        core_seconds=sum(each),
        seconds=searching + len(plan.runs) * winner / devices,
        from_runs=len(done),
    )
