"""The request of a user, and the plan that a target makes of it: which runs, in which order, at what cost."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from abtune.configurations import (
    DEFAULT_PAIR,
    Configuration,
    find_configuration,
    require_module,
    require_runnable,
)
from abtune.errors import InputError
from abtune.measure.plan import defaults
from abtune.measure.plan.problem import RunSettings
from abtune.measure.plan.records import Rounds, RunRecord, run_key, waiting_winners, with_transfers
from abtune.measure.plan.workplace import TargetFacts, Workplace
from abtune.shapes import OwnShape, Shape, select_shapes

# Of the files of a sweep; a sweep of another format is refused.
FORMAT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One search: shape x configuration x seed."""

    shape: Shape
    config: Configuration
    seed: int

    @property
    def key(self) -> str:
        """A name that is unique within a sweep and fit for a file."""
        return run_key(self.shape.label, self.config.name, self.seed)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A sweep: what is tuned, how, and on which machine."""

    shapes: tuple[Shape, ...]  # the parts of the runs
    configs: tuple[Configuration, ...]  # the baseline first
    seeds: tuple[int, ...]
    settings: RunSettings
    machine: str = ""  # device and version of TVM. Runs on different machines must not be compared
    transfer: bool = False  # whether winners are also rebuilt under the other configurations
    is_searched: bool = True  # whether there are runs; without them, winners are only measured

    @functools.cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs in the order in which they start: seed by seed, in random order within a seed."""
        # So a sweep that ends early is balanced, and drift of the machine hits both configurations alike.
        runs: list[Run] = []
        for seed in self.seeds if self.is_searched else ():
            cells = [Run(shape=shape, config=one, seed=seed) for shape in self.shapes for one in self.configs]
            # Each seed has a generator of its own, so a plan with more seeds begins with the same runs.
            order = rng_for(self.settings.rng_seed, "order", seed).permutation(len(cells))
            runs.extend(cells[index] for index in order)
        return tuple(runs)

    def identity(self) -> Any:
        """Return what must agree for runs to belong into one dataset, as it comes back from a file."""
        # Shapes, seeds and candidates may be added later. Settings, and the meaning of a configuration, stay.
        settings = asdict(self.settings)
        # Earlier versions have no such settings.
        if not self.settings.is_shared:
            del settings["exchanged"]
        if self.settings.launched_by == "stream":
            del settings["launched_by"]
        configs = [config.settings() for config in self.configs]
        content = {"format": FORMAT, "settings": settings, "machine": self.machine, "configs": configs}
        return json.loads(json.dumps(content))


def rng_for(root: int, *use: str | int) -> np.random.Generator:
    """Return the random generator for one use, independent of all others and of the order of use."""
    # Not hash(), which differs between processes for texts. repr() keeps ("ab", "c") and ("a", "bc") apart.
    digest = hashlib.sha256(repr((root, use)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user wants of a sweep; empty or None where the target decides."""

    shapes: tuple[str, ...] = ()  # presets, labels, or globs over the labels of presets
    baseline: str | None = None  # name of a configuration, or module:attribute
    candidates: tuple[str, ...] = ()  # the same, of configurations that the baseline is compared with
    seeds: int | None = None  # runs per shape and configuration
    until_settled: bool = False  # whether `seeds` is the most that the sweep may spend
    trials: int | None = None  # candidates of a run, and of one iteration of its search
    trials_per_iteration: int | None = None
    rounds: int = defaults.ROUNDS  # rounds of re-measuring the winners, and timings per round
    repeats: int = defaults.REPEATS
    cache: str = defaults.CACHE  # "warm" or "cold", see Timing
    transfer: bool = False  # whether to rebuild winners under the other configurations at the end
    share: bool = False  # whether the two searches of a seed exchange their fastest schedules
    rng_seed: int = defaults.RNG_SEED  # root of all random numbers that abtune chooses

    def check_names(self) -> None:
        """Refuse unknown names, and too many. This needs no target, so it can come before anything slow."""
        for shape in select_shapes(self.shapes) if self.shapes else ():
            if isinstance(shape, OwnShape):  # only the processes that search import it: it imports TVM
                require_module(shape.workload)
        for name in (self.baseline, *self.candidates):
            if name:
                find_configuration(name)
        if len(self.candidates) > 1 and (self.share or self.until_settled):
            option = "--share" if self.share else "--until-settled"
            raise InputError(f"{option} takes one candidate, not {len(self.candidates)}")

    def plan_for(self, facts: TargetFacts) -> Plan:
        """Return the plan of the sweep on this target."""
        default_seeds = defaults.SEEDS_UNTIL_SETTLED if self.until_settled else defaults.SEEDS
        return Plan(
            configs=self._configurations(facts),
            shapes=select_shapes(self.shapes or (defaults.SHAPES[facts.kind],)),
            seeds=(*range(self.seeds or default_seeds),),
            settings=self._settings(facts),
            machine=f"{facts.devices[0]}, TVM {facts.versions.get('tvm', '')}",
            transfer=self.transfer,
        )

    def _settings(self, facts: TargetFacts) -> RunSettings:
        default_trials, default_per_iteration = defaults.TRIALS[facts.kind]
        trials = self.trials or default_trials
        per_iteration = min(self.trials_per_iteration or default_per_iteration, trials)
        if self.share and per_iteration < 2:
            raise InputError("--share needs at least 2 trials in an iteration: its own and the partner's")
        return RunSettings(
            target=facts.target,
            trials=trials,
            trials_per_iteration=per_iteration,
            exchanged=max(round(defaults.SHARE * per_iteration), 1) if self.share else 0,
            rounds=self.rounds,
            repeats=self.repeats,
            rng_seed=self.rng_seed,
            cache=self.cache,
            launched_by=facts.launched_by,
        )

    def _configurations(self, facts: TargetFacts) -> tuple[Configuration, ...]:
        first, second = DEFAULT_PAIR[facts.kind]
        configs = tuple(map(find_configuration, (self.baseline or first, *(self.candidates or (second,)))))
        for config in configs:
            require_runnable(config, kind=facts.kind, arch=facts.arch)
        name, number = Counter(config.name for config in configs).most_common(1)[0]
        if number > 1:
            raise InputError(
                f"the configuration {name!r} is given twice; baseline and candidates must differ"
            )
        return configs


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
# MetaSchedule's own numbers, and the share of a search that grows with their product. The rest finds the
# first population. M=896_N=896_K=896 took 20 s with 512 and 4, 11 s with 512 and 1, 34 s with 1,024 and 4.
_OPTIONS: Mapping[str, float] = {"population_size": 512, "genetic_num_iters": 4}
_EVOLVED = 0.6
# How many times as long workloads of a user take. The mean ``tuning_time`` of seeds 6 to 11 in
# data/h200-other-workloads.nc is 563 s, where 320 s were expected.
_OWN: Mapping[str, float] = {"cuda": 1.8, "llvm": 1.0}
# Beside GPUs, a search takes up to 8 threads. 16 make it 5 times as fast, so 8, by Amdahl's law, 4 times.
_SPEED_OF_THREADS = 4.0
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
    # A run is a chain of steps, and cores without a run only speed up its searches.
    chain = max(costs, default=0.0) / (1.0 if workplace.facts.shares_cores else _SPEED_OF_THREADS)
    searching = max(sum(costs) / workplace.cores, chain)
    return Cost(
        runs=len(left),
        core_seconds=sum(costs),
        seconds=searching + measuring / len(workplace.facts.devices),
        from_runs=len(complete),
    )


def _typical_cost(run: Run, plan: Plan, facts: TargetFacts) -> float:
    """Return the core seconds of a run by typical numbers, and by the speed of a core if it was tried."""
    evolving, sampling, candidate = _TYPICAL[facts.kind]
    search = sampling
    if run.config.strategy == "evolutionary":
        options = {**_OPTIONS, **run.config.strategy_options}
        evolved = options["population_size"] * options["genetic_num_iters"] / math.prod(_OPTIONS.values())
        search = evolving * (1 - _EVOLVED + _EVOLVED * max(evolved, 0.0))  # bad options are refused later
    slowness = _TYPICAL_RATE[facts.kind] / facts.rate if facts.rate else 1.0
    if isinstance(run.shape, OwnShape):
        slowness *= _OWN[facts.kind]
    return (plan.settings.iterations * search + plan.settings.trials * candidate) * slowness
