"""Which shapes of an analysis are shown, and in which order; all of them stay judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.errors import unknown_name
from abtune.shapes import select_labels


def _nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


# What `--sort` sorts by.
_ORDERS: dict[str, Callable[[Comparison], Any]] = {
    "boost": lambda row: _nan_last(-row.boost),
    "p": lambda row: _nan_last(row.p_adjusted),
    "verdict": lambda row: list(Verdict).index(row.verdict),
    # NaN if either side is: max() would depend on their order.
    "noise": lambda row: _nan_last(-np.maximum(row.baseline.noise, row.candidate.noise)),
    "name": lambda row: row.shape,
}


def chosen_rows(
    analysis: Analysis, *, shapes: Sequence[str] | None, verdicts: Sequence[str], order: str | None
) -> tuple[int, ...] | None:
    """Return the positions of the comparisons that are shown, in order; None for all as they are."""
    if shapes is None and not verdicts and order is None:
        return None
    rows = analysis.comparisons
    known = [verdict.value for verdict in Verdict]
    wanted = [name.strip().replace(" ", "-") for entry in verdicts for name in entry.split(",")]
    for name in wanted:
        if name not in known:
            raise unknown_name("verdict", name, known)
    labels = None if shapes is None else select_labels(shapes, [row.shape for row in rows])
    kept = [
        index
        for index, row in enumerate(rows)
        if (labels is None or row.shape in labels) and (not wanted or row.verdict.value in wanted)
    ]
    if order is not None:
        kept.sort(key=lambda index: _ORDERS[order](rows[index]))
    return tuple(kept)
