"""The request of a user, and the plan that a target makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from abtune.configurations import (
    DEFAULT_PAIR,
    Configuration,
    find_configuration,
    require_runnable,
    require_space,
)
from abtune.errors import InputError
from abtune.measure.plan import defaults
from abtune.measure.plan.plan import Plan, make_plan
from abtune.measure.plan.sweep_settings import Settings
from abtune.measure.plan.target import TargetFacts
from abtune.shapes import select_shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user wants of a sweep; empty or None where the target decides."""

    shapes: tuple[str, ...] = ()  # presets, labels, or globs over the labels of presets
    baseline: str | None = None  # names of configurations, or ``module:attribute``
    candidate: str | None = None
    seeds: int | None = None  # runs per shape and configuration
    until_settled: bool = False  # whether `seeds` is the most that the sweep may spend
    trials: int | None = None  # candidates of a run, and of one iteration of its search
    trials_per_iteration: int | None = None
    rounds: int = defaults.ROUNDS  # rounds of re-measuring the winners, and timings per round
    repeats: int = defaults.REPEATS
    cache: str = defaults.CACHE  # ``"warm"`` or ``"cold"``, see :class:`~abtune.measure.plan.problem.Timing`
    transfer: bool = False  # whether to rebuild winners under the other configurations at the end
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
        configs = self._configurations(facts)
        plan = make_plan(
            shapes=select_shapes(self.shapes or (defaults.SHAPES[facts.kind],)),
            configs=configs,
            seeds=range(self.seeds or default_seeds),
            settings=self._settings(facts),
            machine=f"{facts.devices[0]}, TVM {facts.versions.get('tvm', '')}",
        )
        return replace(plan, transfer=self.transfer)

    def _settings(self, facts: TargetFacts) -> Settings:
        default_trials, default_per_iteration = defaults.TRIALS[facts.kind]
        trials = self.trials or default_trials
        return Settings(
            target=facts.target,
            trials=trials,
            trials_per_iteration=min(self.trials_per_iteration or default_per_iteration, trials),
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
        """Return baseline and candidate."""
        first, second = DEFAULT_PAIR[facts.kind]
        configs = find_configuration(self.baseline or first), find_configuration(self.candidate or second)
        for config in configs:
            require_runnable(config, kind=facts.kind, arch=facts.arch)
        if configs[0].name == configs[1].name:
            raise InputError(f"baseline and candidate are both {configs[0].name!r}; give two different ones")
        return configs
