"""Traits of the winners' schedules: how many have each, and how fast these are. Nothing here is causal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis
from abtune.dataset.schema import RunStatus, runs_of
from abtune.errors import DatasetError, InputError
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.samples import AT_TRIALS, extract
from abtune.sections.section_registry import Context
from abtune.stats.estimates import from_log
from abtune.stats.two_sample import Floats
from abtune.text import NOTHING, count, percent_cell
from abtune.traces import COPY, Trace, pipeline_stage, read_trace

NONE = "none"
_STAGES_BEFORE = 2  # two copies, each a stage, stand before the computation in MetaSchedule's pipelines
_TILES = 5  # factors of a spatial loop on a GPU: block, virtual thread, thread, and two within the thread
_THREAD = 2  # place of the threads among them

# The values that one winner has of each kind of trait; several where it annotates several blocks.
_Values = Mapping[str, frozenset[str]]
_Cells = Sequence[_Values | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many winners of one configuration have a value: ``winners`` of ``of``; NaN of none."""

    winners: int
    of: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitValue:
    """One value over all shapes."""

    value: str  # such as 4 stages
    baseline: Share  # of all winners
    candidate: Share
    boost_with: float  # geometric means over the shapes whose candidate has winners of both kinds; not causal
    boost_without: float
    shapes: int  # number of such shapes; in `faster` of them winners with the value are faster
    faster: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """One kind of trait and the values that winners have of it; a kind that no winner has is left out."""

    name: str
    values: tuple[TraitValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerTraits:
    """What winners use: two configurations, each kind of trait, and what the numbers cannot say."""

    baseline: str
    candidate: str
    traits: tuple[Trait, ...]
    caveats: tuple[str, ...]


def describe_winners(analysis: Analysis) -> WinnerTraits:
    """Return what the winners of both configurations use; InputError if no winner is stored."""
    dataset, names = analysis.analysed, (analysis.baseline, analysis.candidate)
    if AT_TRIALS in dataset.attrs:
        raise InputError("the stored winners are those of all trials; leave out --at-trials")
    cells = [list(_cells(dataset, name)) for name in names]
    found = [values for side in cells for row in side for values in row if values]
    if not found:
        raise InputError("the dataset has no schedules of winners; abtune sweep stores them")
    logs = [extract(dataset, name).value for name in names]
    traits = [
        Trait(
            name=kind,
            values=tuple(_value(kind, value, cells, logs) for value in sorted(values, key=_natural)),
        )
        for kind in found[0]
        if (values := frozenset().union(*(row[kind] for row in found))) != {NONE}
    ]
    return WinnerTraits(
        baseline=names[0],
        candidate=names[1],
        traits=tuple(traits),
        caveats=tuple(_caveats(dataset, cells, names)),
    )


def traits_of(trace: Trace) -> _Values:
    """Return the values of one schedule, by the kind of trait."""
    sampled = trace.values()

    def annotated(*keys: str) -> frozenset[str]:
        values = (step.inputs[1] for key in keys for step in trace.annotated(key))
        # An annotation holds a number, or the name of a sampled variable with the number.
        known = {str(sampled.get(value, value) if isinstance(value, str) else value) for value in values}
        return frozenset(known) or frozenset({NONE})

    stage = pipeline_stage(trace)
    tilings = annotated("meta_schedule.tiling_structure")
    rfactor = " with rfactor" if any(step.name == "RFactor" for step in trace.instructions) else ""
    tiles = [
        sampled[step.outputs[_THREAD]]
        for step in trace.instructions
        if step.name == "SamplePerfectTile" and len(step.outputs) == _TILES
    ]
    threads = NONE
    if tiles:  # classes of numbers end at powers of two
        power = (math.prod(tiles) - 1).bit_length()
        threads = str(math.prod(tiles)) if power < 2 else f"{2 ** (power - 1) + 1} to {2**power}"
    unrolled = {
        f"{most}{kind}"
        for key, kind in (("explicit", ""), ("implicit", " implicit"))
        # MetaSchedule samples the number of steps; 0 unrolls nothing.
        for most in annotated(f"meta_schedule.unroll_{key}") - {NONE, "0"}
    }
    return {
        "software pipeline": frozenset({NONE if stage is None else f"{stage + _STAGES_BEFORE} stages"}),
        "vectorised copies": annotated(COPY),
        "unrolling": frozenset(unrolled) or frozenset({NONE}),
        "parallel loops": annotated("meta_schedule.parallel"),
        "vectorised loops": annotated("meta_schedule.vectorize"),
        "threads per block": frozenset({threads}),
        "sketch": frozenset(tiling.strip('"') + rfactor for tiling in tilings),
    }


def _cells(dataset: xr.Dataset, config: str) -> Iterator[_Cells]:
    if "winner" not in dataset:
        return
    winners, status = (runs_of(dataset, name, config) for name in ("winner", "run_status"))
    for texts, states in zip(winners, status, strict=True):
        yield [
            _read(str(text)) if text and status == RunStatus.COMPLETE else None
            for text, status in zip(texts, states, strict=True)
        ]


def _read(text: str) -> _Values:
    try:
        # A tuning record begins with its trace; times, target and arguments follow.
        return traits_of(read_trace(json.loads(text)[0]))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise DatasetError("a winner holds something that is no schedule trace") from None


def _natural(value: str) -> tuple[bool, list[int], str]:
    # Numbers within a text count by their size: 16 stands before 128.
    return value != NONE, [int(digits) for digits in re.findall(r"\d+", value)], value


def _value(kind: str, value: str, cells: Sequence[Sequence[_Cells]], logs: Sequence[Floats]) -> TraitValue:
    # By shape and seed: 1 for a winner with the value, 0 for one without it, NaN for no winner.
    has = [
        np.array([[np.nan if row is None else value in row[kind] for row in shape] for shape in side])
        for side in cells
    ]
    effects = np.array([_effects(*rows) for rows in zip(has[1], *logs, strict=True)])
    known = effects[~np.isnan(effects[:, 0])]
    means = known.mean(axis=0) if len(known) else np.full(2, np.nan)
    return TraitValue(
        value=value,
        baseline=_share(has[0]),
        candidate=_share(has[1]),
        boost_with=from_log(means[0]),
        boost_without=from_log(means[1]),
        shapes=len(known),
        faster=int(np.count_nonzero(known[:, 0] > known[:, 1])),
    )


def _share(has: Floats) -> Share:
    winners, of = int(np.nansum(has)), int(np.count_nonzero(~np.isnan(has)))
    return Share(winners=winners, of=of, share=winners / of if of else math.nan)


def _effects(has: Floats, baseline: Floats, candidate: Floats) -> tuple[float, float]:
    """Return the log boosts of the candidate's winners with and without a value; NaN unless it has both."""
    timed = ~np.isnan(candidate)
    groups = [candidate[(has == kind) & timed] for kind in (1, 0)]
    if not all(map(len, groups)) or np.isnan(baseline).all():
        return math.nan, math.nan
    mean = float(np.nanmean(baseline))
    return mean - float(groups[0].mean()), mean - float(groups[1].mean())


def _caveats(dataset: xr.Dataset, cells: Sequence[Sequence[_Cells]], names: Sequence[str]) -> Iterator[str]:
    yield (
        "These boosts are not causal. A search chose each value together with the rest of the schedule. "
        "abtune measure --transfer compares the same schedules."
    )
    for name, side in zip(names, cells, strict=True):
        made = int(np.count_nonzero(runs_of(dataset, "run_status", name) != RunStatus.MISSING))
        if lost := made - sum(row is not None for shape in side for row in shape):
            yield f"{name}: {count(lost, 'run')} failed or without a stored winner, left out."


def winners_section(context: Context) -> Section:
    """Return what the winners of an analysis use."""
    found = describe_winners(context.analysis)
    return Section(name="winners", page=tuple(_parts(found)), result=found)


def _parts(found: WinnerTraits) -> Iterator[Part]:
    yield Heading("what winners use")
    explained = (
        f"{found.baseline} %, {found.candidate} %: share of the winners. A winner with several blocks can "
        f"have several values. with %, without %: mean boost of {found.candidate}'s winners that have the "
        "value, and of its others, over the shapes with both. faster: in how many of these shapes winners "
        "with it are faster than the others."
    )
    yield Prose(explained, remark=True)
    alike = []
    for trait in found.traits:
        if len(trait.values) == 1:
            alike.append(f"{trait.name}: {trait.values[0].value} in every winner.")
            continue
        yield Heading(trait.name, minor=True)
        yield _grid(found, trait)
    yield Bullets((*alike, *found.caveats))


def _grid(found: WinnerTraits, trait: Trait) -> Grid:
    rows, whole = trait.values, partial(percent_cell, decimals=0, signed=False)
    faster = [f"{row.faster} of {row.shapes}" if row.shapes else NOTHING for row in rows]
    return table(
        "value",
        [row.value for row in rows],
        column(f"{found.baseline} %", [whole(row.baseline.share) for row in rows]),
        column(f"{found.candidate} %", [whole(row.candidate.share) for row in rows]),
        column("with %", [percent_cell(row.boost_with, 1) for row in rows], gives_way=1),
        column("without %", [percent_cell(row.boost_without, 1) for row in rows], gives_way=1),
        column("faster", faster, gives_way=2),
    )
