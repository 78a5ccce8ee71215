"""The request of a user, and the plan that a target makes of it: which runs, in which order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from abtune.configurations import (
    DEFAULT_PAIR,
    Configuration,
    find_configuration,
    require_runnable,
    require_space,
)
from abtune.errors import InputError
from abtune.measure.plan import defaults
from abtune.measure.plan.problem import Problem, Settings
from abtune.measure.plan.records import run_key
from abtune.measure.plan.workplace import TargetFacts
from abtune.shapes import Shape, select_shapes

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

    def problem(self, target: str) -> Problem:
        """Return what the run tunes on a target, which is given as JSON."""
        return Problem(shape=self.shape, config=self.config, target=target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All runs of a sweep, in the order in which they start."""

    shapes: tuple[Shape, ...]  # the parts of the runs
    configs: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    settings: Settings
    machine: str  # device and version of TVM. Runs on different machines must not be compared
    runs: tuple[Run, ...]  # one per shape, configuration and seed
    transfer: bool = False  # whether winners are also rebuilt under the other configurations

    def restricted(
        self, *, shapes: Sequence[Shape] | None = None, seeds: Sequence[int] | None = None
    ) -> Plan:
        """Return the plan of these shapes and seeds alone, in the same order."""
        kept_shapes = self.shapes if shapes is None else tuple(shapes)
        kept_seeds = self.seeds if seeds is None else tuple(seeds)
        known_shapes, known_seeds = set(kept_shapes), set(kept_seeds)
        runs = tuple(run for run in self.runs if run.shape in known_shapes and run.seed in known_seeds)
        return replace(self, shapes=kept_shapes, seeds=kept_seeds, runs=runs)

    def run_of(self, shape: str, config: str, seed: int) -> Run:
        """Return the run of a label, a configuration's name and a seed, which may be an earlier plan's."""
        (found,) = (known for known in self.shapes if known.label == shape)
        (tuned,) = (known for known in self.configs if known.name == config)
        return Run(shape=found, config=tuned, seed=seed)

    def identity(self) -> Any:
        """Return what must agree for runs to belong into one dataset, as it comes back from a file."""
        # Shapes and seeds may be added later. Settings and the meaning of a configuration may not change.
        settings = asdict(self.settings)
        if not self.settings.is_shared:  # earlier versions have no such setting
            del settings["exchanged"]
        configs = [config.settings() for config in self.configs]
        content = {"format": FORMAT, "settings": settings, "machine": self.machine, "configs": configs}
        return json.loads(json.dumps(content))


def make_plan(
    *,
    shapes: Sequence[Shape],
    configs: Sequence[Configuration],
    seeds: Sequence[int],
    settings: Settings,
    machine: str = "",
    transfer: bool = False,
) -> Plan:
    """Return a plan whose runs go seed by seed, in random order within a seed."""
    # A sweep that ends early is then balanced over shapes and configurations, and drift of the machine hits
    # both configurations alike.
    runs: list[Run] = []
    for seed in seeds:
        cells = [Run(shape=shape, config=config, seed=seed) for shape in shapes for config in configs]
        # Each seed has a generator of its own, so a plan with more seeds begins with the same runs.
        order = rng_for(settings.rng_seed, "order", seed).permutation(len(cells))
        runs.extend(cells[index] for index in order)
    return Plan(
        shapes=tuple(shapes),
        configs=tuple(configs),
        seeds=tuple(seeds),
        settings=settings,
        machine=machine,
        runs=tuple(runs),
        transfer=transfer,
    )


def rng_for(root: int, *use: str | int) -> np.random.Generator:
    """Return the random generator for one use, independent of all others and of the order of use."""
    # Not hash(), which differs between processes for texts. repr() keeps ("ab", "c") and ("a", "bc") apart.
    digest = hashlib.sha256(repr((root, use)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user wants of a sweep; empty or None where the target decides."""

    shapes: tuple[str, ...] = ()  # presets, labels, or globs over the labels of presets
    baseline: str | None = None  # names of configurations, or module:attribute
    candidate: str | None = None
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
        """Refuse unknown names. This needs no target, so it can come before anything slow."""
        if self.shapes:
            select_shapes(self.shapes)
        for name in (self.baseline, self.candidate):
            if name:
                require_space(find_configuration(name))

    def plan_for(self, facts: TargetFacts) -> Plan:
        """Return the plan of the sweep on this target."""
        default_seeds = defaults.SEEDS_UNTIL_SETTLED if self.until_settled else defaults.SEEDS
        return make_plan(
            configs=self._configurations(facts),
            shapes=select_shapes(self.shapes or (defaults.SHAPES[facts.kind],)),
            seeds=range(self.seeds or default_seeds),
            settings=self._settings(facts),
            machine=f"{facts.devices[0]}, TVM {facts.versions.get('tvm', '')}",
            transfer=self.transfer,
        )

    def _settings(self, facts: TargetFacts) -> Settings:
        default_trials, default_per_iteration = defaults.TRIALS[facts.kind]
        trials = self.trials or default_trials
        per_iteration = min(self.trials_per_iteration or default_per_iteration, trials)
        if self.share and per_iteration < 2:
            raise InputError("--share needs at least 2 trials in an iteration: its own and the partner's")
        return Settings(
            target=facts.target,
            trials=trials,
            trials_per_iteration=per_iteration,
            exchanged=max(round(defaults.SHARE * per_iteration), 1) if self.share else 0,
            search_repeats=defaults.SEARCH_REPEATS,
            search_repeat_ms=defaults.REPEAT_MS,
            rounds=self.rounds,
            repeats=self.repeats,
            repeat_ms=defaults.REPEAT_MS,
            build_timeout=defaults.STEP_TIMEOUT,
            run_timeout=defaults.STEP_TIMEOUT,
            rng_seed=self.rng_seed,
            cache=self.cache,
        )

    def _configurations(self, facts: TargetFacts) -> tuple[Configuration, Configuration]:
        first, second = DEFAULT_PAIR[facts.kind]
        configs = find_configuration(self.baseline or first), find_configuration(self.candidate or second)
        for config in configs:
            require_runnable(config, kind=facts.kind, arch=facts.arch)
        if configs[0].name == configs[1].name:
            raise InputError(f"baseline and candidate are both {configs[0].name!r}; give two different ones")
        return configs
