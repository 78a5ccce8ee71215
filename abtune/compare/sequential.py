"""Analyses of sweeps that added seeds until a shape was settled.

Such a sweep records how many seeds each look had. The analysis repeats the looks. At each look, settled
shapes keep the seeds that they had when they were settled. All shapes are judged at the level of the look,
and a settled shape stays settled. So the verdicts do not depend on when the analysis is made, nor on later
seeds of a settled shape. The sweep also records which shapes a look dropped; these keep its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from abtune.compare.claims import with_verdicts
from abtune.compare.results import Analysis, Comparison, Rule, Verdict
from abtune.compare.sentence import make_sentence
from abtune.compare.settings import Settings
from abtune.dataset.schema import RunStatus
from abtune.errors import DatasetError
from abtune.stats.testing.looks import ALPHA, LOOKS, PROMISING, Look, looks_from_json
from abtune.text import count, listed, p_value, percent


def recorded_looks(dataset: xr.Dataset, *, level: float) -> tuple[Look, ...]:
    """Return the looks that are done, or the first; their levels are in proportion to the level asked for."""
    text = dataset.attrs.get(LOOKS)
    if text is None:
        return ()
    try:
        looks, done = looks_from_json(text)
        if not all(look.seeds > 0 and 0 < look.alpha <= ALPHA for look in looks):
            raise ValueError(f"a look has seeds, and a level above 0 and up to {ALPHA}")
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        source = f"{dataset.encoding['source']}: " if "source" in dataset.encoding else ""
        remedy = "abtune sweep wrote it, so take the file that it made"
        raise DatasetError(f"{source}attribute {LOOKS!r} cannot be read: {error}; {remedy}") from None
    taken = looks[done - 1].seeds if done else 0
    if dataset.sizes["seed"] < taken:
        has, remedy = dataset.sizes["seed"], f"take all, or judge these alone: del dataset.attrs[{LOOKS!r}]"
        raise DatasetError(f"attribute {LOOKS!r} is of {taken} seeds, and the dataset has {has}; {remedy}")
    # The dataset records levels for 95 % confidence; another confidence spends the same shares of its own.
    scale = (1 - level) / ALPHA
    return tuple(replace(look, alpha=round(look.alpha * scale, 12)) for look in looks[: max(done, 1)])


def goes_on(rows: Sequence[Comparison]) -> dict[str, bool]:
    """Return for each shape that is not settled whether it is worth more seeds; the best one always is."""
    p = {row.shape: row.p_welch for row in rows if row.verdict.more_seeds_help}
    # If all are above the limit, the smallest p is the limit, so one shape goes on in any case.
    limit = max(PROMISING, min(p.values(), default=0.0))
    # Most runs of an invalid shape failed. It is not settled, and more seeds would not help.
    invalid = dict.fromkeys((row.shape for row in rows if row.verdict is Verdict.INVALID), False)
    return {shape: own <= limit for shape, own in p.items()} | invalid


def compare_at_looks(
    dataset: xr.Dataset,
    looks: tuple[Look, ...],
    settings: Settings,
    compare_once: Callable[[xr.Dataset, Settings], Analysis],
) -> Analysis:
    """Return an analysis with each shape as it stood at the look that decided on it, or at the last."""
    last = len(looks) - 1
    seeds = np.full(dataset.sizes["shape"], looks[0].seeds)
    decided: dict[int, Comparison] = {}
    dropped: dict[int, Look] = {}
    for number, look in enumerate(looks):
        seeds[[index for index in range(len(seeds)) if index not in decided]] = look.seeds
        # A shape that an earlier look dropped has p = 1; one that is settled keeps its seeds and its p.
        choices = replace(settings, look_alpha=look.alpha, dropped=tuple(dropped))
        analysis = compare_once(_with_seeds(dataset, seeds), choices)
        # True at the first look at least, when nothing is decided.
        if (seeds == look.seeds).all():
            even, all_have = analysis.overall, look.seeds
        for index, row in enumerate(analysis.comparisons):
            if index in decided:
                continue
            if row.verdict.more_seeds_help and row.shape in look.dropped:
                dropped[index] = look
            elif row.verdict.more_seeds_help and number < last:
                continue
            decided[index] = _at_look(row, look, choices, dropped=index in dropped)
    rows = tuple(decided[index] for index in range(len(seeds)))
    # The last look alone may no longer show what an earlier one settled.
    claims = with_verdicts(analysis.claims, rows, analysis.worst, settings)
    return replace(
        analysis,
        settings=settings,
        comparisons=rows,
        # Where shapes have unequal seeds by their results, the mean over shapes would be too near to zero.
        overall=even,
        claims=claims,
        sentence=make_sentence(even, rows, claims, settings, analysis.caveats),
        caveats=(*analysis.caveats, *_about_looks(looks, list(dropped.values()), all_have, settings)),
    )


def _about_looks(
    looks: Sequence[Look], dropped: Sequence[Look], all_have: int, settings: Settings
) -> Iterator[str]:
    """Yield how the design chose the seeds of each shape, and what that does to the boosts."""
    unit = f"{settings.unit}s"
    yield (
        f"{unit.capitalize()} were added until a shape was settled. "
        f"Looks at {listed(str(look.seeds) for look in looks)} {unit} "
        f"allow {listed(percent(look.alpha) for look in looks)} of false alarms. The boost of a shape "
        "that an early look settled is slightly exaggerated."
    )
    if dropped:
        when = [
            f"{count(dropped.count(look), 'shape')} after {look.seeds}" for look in looks if look in dropped
        ]
        yield (
            f"Shapes without promise got no more {unit}: {listed(when)} (--why names them). So boosts of "
            "the others are about 1% too large (selection bias), and 92% of their 95% intervals include the "
            "true boost (simulated, docs/statistics.md)."
        )
    if all_have < looks[-1].seeds:
        yield f"The overall boosts rest on the first {all_have} {unit} of every shape, before any was chosen."


def _with_seeds(dataset: xr.Dataset, seeds: np.ndarray) -> xr.Dataset:
    """Leave each shape its first seeds, as if the others had not been planned."""
    kept = int(seeds.max())
    first = dataset.isel(seed=slice(0, kept))
    position = np.arange(first.sizes["seed"])[np.newaxis, :]
    beyond = xr.DataArray(position >= seeds[:, np.newaxis], dims=("shape", "seed"))
    # As missing instead of failed: seeds beyond a look were not planned, and are no loss.
    kept_as = {"latency": float("nan"), "run_status": np.int8(RunStatus.MISSING)}
    return first.assign({name: first[name].where(~beyond, other) for name, other in kept_as.items()})


def _at_look(row: Comparison, look: Look, settings: Settings, *, dropped: bool) -> Comparison:
    """Return a row whose reason says when it was decided, and whether for lack of promise."""
    if row.verdict is Verdict.INVALID:
        return row
    reason, unit = row.reason, f"{settings.unit}s"
    if dropped:
        bound = next(gate.otherwise for gate in row.gates if gate.of is Rule.NOT_SLOWER)
        reason = f"Not promising (p {p_value(row.p_welch)}), so it got no more {unit}. {bound}"
    when = f"After {look.seeds} {unit}, at a level of {percent(settings.alpha)}"
    return replace(row, reason=f"{when}: {reason.rstrip()}")
