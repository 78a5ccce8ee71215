"""What a sweep will do, decided before it starts: which runs, in which order, with which settings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from abtune.configurations import Configuration
from abtune.shapes import Shape

# With a cold cache single calls are timed, which scatter: a repeat is the median of so many.
COLD_CALLS = 20
# Seconds that emptying the caches before such a call takes, roughly.
FLUSH_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything beside shape, configuration and seed that decides what a run does.

    Attributes
    ----------
    target : str
        The TVM target, as JSON.
    trials, trials_per_iteration : int
        Candidates of a run, and of one iteration of its search.
    search_repeats, search_repeat_ms : int
        Timings of a candidate within a search, and the least duration of one (milliseconds).
    rounds, repeats, repeat_ms : int
        Rounds in which the winners are measured again, timings a round, and the least duration of one
        (milliseconds).
    build_timeout, run_timeout : float
        Limits for building and for timing one candidate, seconds.
    rng_seed : int
        Root of all randomness that is ours to choose.
    cache : str
        What a kernel finds in the caches of its device when it is timed: ``"warm"``, what the call before
        it left there, or ``"cold"``, nothing of its own.
    """

    target: str
    trials: int
    trials_per_iteration: int
    search_repeats: int
    search_repeat_ms: int
    rounds: int
    repeats: int
    repeat_ms: int
    build_timeout: float
    run_timeout: float
    rng_seed: int
    cache: str = "warm"  # what datasets mean that do not say

    def round_seconds(self, latency: float) -> float:
        """Estimate how long one round of a winner takes, in seconds.

        Parameters
        ----------
        latency : float
            Seconds of one call.
        """
        if self.cache == "cold":
            return self.repeats * COLD_CALLS * (FLUSH_SECONDS + latency)
        return self.repeats * max(self.repeat_ms / 1000, latency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One tuning session: shape x configuration x seed."""

    shape: Shape
    config: Configuration
    seed: int

    @property
    def key(self) -> str:
        """A name that is unique within a sweep and fit for a file."""
        return run_key(self.shape.label, self.config.name, self.seed)


def run_key(shape: str, config: str, seed: int) -> str:
    """Return the name of the run of a shape (label), configuration (name) and seed."""
    return f"{shape}--{config}--{seed:04d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All runs of a sweep, in the order in which they start.

    Attributes
    ----------
    shapes, configs, seeds, settings
        What the runs are made of.
    machine : str
        Device and version of TVM: runs of different ones must not be compared.
    runs : tuple of Run
        One for each shape, configuration and seed.
    """

    shapes: tuple[Shape, ...]
    configs: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    settings: Settings
    machine: str
    runs: tuple[Run, ...]

    def restricted(
        self, *, shapes: Sequence[Shape] | None = None, seeds: Sequence[int] | None = None
    ) -> Plan:
        """Return the part of the plan with these shapes and seeds, in the same order."""
        kept_shapes = self.shapes if shapes is None else tuple(shapes)
        kept_seeds = self.seeds if seeds is None else tuple(seeds)
        runs = tuple(run for run in self.runs if run.shape in kept_shapes and run.seed in kept_seeds)
        return replace(self, shapes=kept_shapes, seeds=kept_seeds, runs=runs)

    def run_of(self, shape: str, config: str, seed: int) -> Run:
        """Return the run of a shape (label) and configuration (name); its seed may be an earlier plan's."""
        return Run(
            shape=next(each for each in self.shapes if each.label == shape),
            config=next(each for each in self.configs if each.name == config),
            seed=seed,
        )

    def identity(self) -> dict[str, Any]:
        """Return what must agree for runs to belong into one dataset.

        Shapes and seeds may be added later; settings and what a configuration means may not change.
        """
        return {
            "settings": asdict(self.settings),
            "machine": self.machine,
            "configs": [config.settings() for config in self.configs],
        }


def make_plan(
    *,
    shapes: Sequence[Shape],
    configs: Sequence[Configuration],
    seeds: Sequence[int],
    settings: Settings,
    machine: str = "",
) -> Plan:
    """Lay out the runs seed by seed, in random order within a seed.

    Whatever part of a sweep gets done is then balanced over shapes and configurations, and drift of the
    machine hits both configurations alike.
    """
    runs: list[Run] = []
    for seed in seeds:
        cells = [Run(shape=shape, config=config, seed=seed) for shape in shapes for config in configs]
        order = rng_for(settings.rng_seed, "order", seed).permutation(len(cells))
        runs.extend(cells[index] for index in order)
    return Plan(
        shapes=tuple(shapes),
        configs=tuple(configs),
        seeds=tuple(seeds),
        settings=settings,
        machine=machine,
        runs=tuple(runs),
    )


def rng_for(root: int, *what: str | int) -> np.random.Generator:
    """Return the generator for one use, independent of all others and of the order of use."""
    digest = hashlib.sha256(repr((root, what)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
