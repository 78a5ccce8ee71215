"""What is asked of a sweep, and the plan that a target makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from abtune.configurations import (
    DEFAULT_PAIR,
    Configuration,
    find_configuration,
    require_runnable,
    require_space,
)
from abtune.errors import InputError
from abtune.measure.plan import Plan, Settings, make_plan
from abtune.measure.target import TargetFacts
from abtune.shapes import select_shapes

# Per kind of target: what a sweep uses that is not told otherwise. On a GPU an iteration of 64 is
# MetaSchedule's own; on a CPU, sizes at which a small comparison takes minutes.
DEFAULT_TRIALS: Mapping[str, tuple[int, int]] = MappingProxyType({"cuda": (128, 64), "llvm": (24, 12)})
DEFAULT_SHAPES: Mapping[str, str] = MappingProxyType({"cuda": "tvm14009", "llvm": "quick"})
DEFAULT_SEEDS = 10
DEFAULT_SEEDS_TO_SPEND = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a sweep; empty or None where the target decides.

    Attributes
    ----------
    shapes : tuple of str
        Presets, labels, or globs over the labels of presets.
    baseline, candidate : str, optional
        Names of configurations, or ``module:attribute``.
    seeds : int, optional
        Runs of each cell.
    until_settled : bool
        Whether the seeds are the most that may be spent.
    trials, trials_per_iteration : int, optional
        Candidates of a run, and of one iteration of its search.
    rounds, repeats : int
        Rounds in which the winners are measured again, and timings a round.
    cache : str
        ``"warm"`` or ``"cold"``, see :class:`~abtune.measure.plan.Settings`.
    rng_seed : int
        Root of all randomness that is ours to choose.
    """

    shapes: tuple[str, ...] = ()
    baseline: str | None = None
    candidate: str | None = None
    seeds: int | None = None
    until_settled: bool = False
    trials: int | None = None
    trials_per_iteration: int | None = None
    rounds: int
    repeats: int
    cache: str
    rng_seed: int

    def check_names(self) -> None:
        """Refuse unknown names, which needs no target and so can come before anything slow.

        Raises
        ------
        InputError
            If there is no such shape or configuration, or the design space of one cannot be found.
        """
        if self.shapes:
            select_shapes(self.shapes)
        for name in (self.baseline, self.candidate):
            if name:
                require_space(find_configuration(name))

    def plan_for(self, facts: TargetFacts) -> Plan:
        """Return the plan of the sweep on this target.

        Raises
        ------
        InputError
            If there is no such shape or configuration, or both sides are the same.
        TargetError
            If the target cannot run a configuration.
        """
        default_trials, default_per_iteration = DEFAULT_TRIALS[facts.kind]
        trials = self.trials or default_trials
        settings = Settings(
            target=facts.target,
            trials=trials,
            trials_per_iteration=min(self.trials_per_iteration or default_per_iteration, trials),
            search_repeats=3,
            search_repeat_ms=10,
            rounds=self.rounds,
            repeats=self.repeats,
            repeat_ms=10,
            build_timeout=30.0,
            run_timeout=30.0,
            rng_seed=self.rng_seed,
            cache=self.cache,
        )
        default_seeds = DEFAULT_SEEDS_TO_SPEND if self.until_settled else DEFAULT_SEEDS
        configs = self._configurations(facts)
        return make_plan(
            shapes=select_shapes(self.shapes or (DEFAULT_SHAPES[facts.kind],)),
            configs=configs,
            seeds=range(self.seeds or default_seeds),
            settings=settings,
            machine=f"{facts.devices[0]}, TVM {facts.versions.get('tvm', '')}",
        )

    def _configurations(self, facts: TargetFacts) -> tuple[Configuration, Configuration]:
        """Find baseline and candidate."""
        first, second = DEFAULT_PAIR[facts.kind]
        configs = find_configuration(self.baseline or first), find_configuration(self.candidate or second)
        for config in configs:
            require_runnable(config, kind=facts.kind, arch=facts.arch)
        if configs[0].name == configs[1].name:
            raise InputError(f"baseline and candidate are both {configs[0].name!r}; give two different ones")
        return configs
