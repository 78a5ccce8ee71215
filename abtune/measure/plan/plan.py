"""The plan of a sweep, made before it starts: which runs, in which order, with which settings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from abtune.configurations import Configuration
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.sweep_settings import Settings
from abtune.shapes import Shape


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


def run_key(shape: str, config: str, seed: int) -> str:
    """Return the name of the run of a shape (label), configuration (name) and seed."""
    return f"{shape}--{config}--{seed:04d}"


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
        runs = tuple(run for run in self.runs if run.shape in kept_shapes and run.seed in kept_seeds)
        return replace(self, shapes=kept_shapes, seeds=kept_seeds, runs=runs)

    def run_of(self, shape: str, config: str, seed: int) -> Run:
        """Return the run of a label, a configuration's name and a seed, which may be an earlier plan's."""
        return Run(
            shape=next(known for known in self.shapes if known.label == shape),
            config=next(known for known in self.configs if known.name == config),
            seed=seed,
        )

    def identity(self) -> dict[str, Any]:
        """Return what must agree for runs to belong into one dataset."""
        # Shapes and seeds may be added later. Settings and the meaning of a configuration may not change.
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
    """Return a plan whose runs go seed by seed, in random order within a seed."""
    # A sweep that ends early is then balanced over shapes and configurations, and drift of the machine hits
    # both configurations alike.
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


def rng_for(root: int, *use: str | int) -> np.random.Generator:
    """Return the random generator for one use, independent of all others and of the order of use."""
    digest = hashlib.sha256(repr((root, use)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
