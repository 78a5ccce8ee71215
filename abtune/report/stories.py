"""The story of a shape: its seeds, drawn and in words, and what a verdict requires."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.compare.results import Analysis, Comparison
from abtune.report.page import Bullets, Dots, Heading, Part, Prose, Strip
from abtune.samples import Samples, extract_both
from abtune.stats.estimates import EqualWithNaN
from abtune.stats.two_sample import Integers
from abtune.text import microseconds, spread_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedValue:
    """The latency of one seed's winner, seconds."""

    seed: int
    latency: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample(EqualWithNaN):
    """One side of a shape: its seeds, fastest first, and the geometric mean."""

    config: str
    seeds: tuple[SeedValue, ...]
    latency: float
    noise: float


def stories(analysis: Analysis) -> tuple[tuple[Part, ...], ...]:
    """Return the seeds and the gates of each shape."""
    seeds = analysis.dataset["seed"].values
    sides = extract_both(analysis.dataset, analysis.baseline, analysis.candidate)
    return tuple(
        (
            Prose(row.reason),
            *sample_parts([sample_of(side, index, seeds) for side in sides]),
            Heading("what a verdict requires", minor=True),
            Bullets(gate_sentences(row)),
            Prose("What would change the verdict: see --explain.", remark=True),
        )
        for index, row in enumerate(analysis.comparisons)
    )


def sample_of(side: Samples, index: int, seeds: Integers) -> Sample:
    """Return one side of one shape."""
    value = side.value[index]
    order = np.argsort(value)[: side.n[index]]  # NaN is last
    times = np.exp(value[order]).tolist()
    return Sample(
        config=side.config,
        seeds=tuple(
            SeedValue(seed=seed, latency=latency)
            for seed, latency in zip(seeds[order].tolist(), times, strict=True)
        ),
        latency=float(side.latency[index]),
        noise=float(side.noise[index]),
    )


def sample_parts(sides: Sequence[Sample]) -> Iterator[Part]:
    """Yield the seeds of both sides, drawn and in words."""
    timed = [side for side in sides if side.seeds]
    if timed:
        yield _dots(timed)
    yield Bullets(tuple(map(_values, sides)))


def gate_sentences(row: Comparison) -> tuple[str, ...]:
    """Return what was asked of a shape and what was found."""
    return tuple(
        f"{'met' if gate.passed else 'NOT met'}, for {gate.of}: {gate.asks} ({gate.found})."
        for gate in row.gates
    )


def _dots(sides: Sequence[Sample]) -> Dots:
    strips = tuple(
        Strip(
            name=side.config,
            values=tuple(seed.latency for seed in side.seeds),
            marked=side.latency,
            mark=f"{microseconds(side.latency)} us",
            tips=tuple(f"seed {seed.seed}: {microseconds(seed.latency)} us" for seed in side.seeds),
        )
        for side in sides
    )
    ends = [value for strip in strips for value in strip.values]
    return Dots(strips=strips, low=microseconds(min(ends)), high=f"{microseconds(max(ends))} us")


def _values(side: Sample) -> str:
    if not side.seeds:
        return f"{side.config}: no seed has a timing."
    listed = ", ".join(f"{microseconds(seed.latency)}\xa0({seed.seed})" for seed in side.seeds)
    noise = "" if math.isnan(side.noise) else f", noise {spread_percent(side.noise)}%"
    mean = microseconds(side.latency)
    return f"{side.config}, us (seed): {listed}; geometric mean {mean}{noise}."
