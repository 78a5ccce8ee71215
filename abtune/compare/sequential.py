"""Analyses of sweeps that added seeds until a shape was settled.

Such a sweep records how many seeds each look had. The analysis goes through the looks again: at each, the
shapes that were settled before keep the seeds that they had then, all shapes together are judged at the
level that the look may spend, and what is settled stays settled. So the verdicts do not depend on when the
analysis is made, and seeds that were added later to a settled shape do not unsettle it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.compare.settings import Settings
from abtune.dataset.schema import RunStatus
from abtune.errors import DatasetError
from abtune.stats.design.looks import ALPHA, LOOKS, Look, looks_from_json
from abtune.text import listed, percent


def recorded_looks(dataset: xr.Dataset, *, level: float) -> tuple[Look, ...]:
    """Return the looks that are done, or the first; their levels are in proportion to the level asked for."""
    text = dataset.attrs.get(LOOKS)
    if text is None:
        return ()
    try:
        looks, done = looks_from_json(text)
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"attribute {LOOKS!r} cannot be read: {error}") from None
    scale = (1 - level) / ALPHA
    return tuple(replace(look, alpha=round(look.alpha * scale, 12)) for look in looks[: max(done, 1)])


def compare_at_looks(
    dataset: xr.Dataset,
    looks: tuple[Look, ...],
    settings: Settings,
    compare_once: Callable[[xr.Dataset, Settings], Analysis],
) -> Analysis:
    """Return an analysis with each shape as it stood at the look that settled it, or at the last."""
    last = len(looks) - 1
    seeds = np.full(dataset.sizes["shape"], looks[0].seeds)
    settled: dict[int, Comparison] = {}
    for number, look in enumerate(looks):
        for index in range(len(seeds)):
            if index not in settled:
                seeds[index] = look.seeds
        analysis = compare_once(_with_seeds(dataset, seeds), replace(settings, look_alpha=look.alpha))
        for index, row in enumerate(analysis.comparisons):
            if index not in settled and (number == last or not row.verdict.more_seeds_help):
                settled[index] = _at_look(row, look)
    note = (
        f"Seeds were added until a shape was settled. Looks at {listed(str(look.seeds) for look in looks)} "
        f"seeds spend {listed(percent(look.alpha) for look in looks)} of false alarms. The boost of a shape "
        "that an early look settled is slightly optimistic."
    )
    return replace(
        analysis,
        settings=settings,
        comparisons=tuple(settled[index] for index in range(len(seeds))),
        caveats=(*analysis.caveats, note),
    )


def _with_seeds(dataset: xr.Dataset, seeds: np.ndarray) -> xr.Dataset:
    """Leave each shape its first seeds, as if the others had not been planned."""
    kept = int(seeds.max())
    part = dataset.isel(seed=slice(0, kept))
    place = np.arange(part.sizes["seed"])[np.newaxis, :]
    beyond = xr.DataArray(place >= seeds[:, np.newaxis], dims=("shape", "seed"))
    kept_as = {"latency": float("nan"), "run_status": np.int8(RunStatus.MISSING)}
    return part.assign({name: part[name].where(~beyond, other) for name, other in kept_as.items()}).transpose(
        *part.dims
    )


def _at_look(row: Comparison, look: Look) -> Comparison:
    if row.verdict is Verdict.INVALID:
        return row
    when = f"After {look.seeds} seeds, at a level of {percent(look.alpha)}: "
    return replace(row, reason=when + row.reason)
