"""Which shapes of an analysis are shown, and in which order; all of them stay judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.errors import InputError, unknown_name
from abtune.shapes import select_labels

_ORDERS: dict[str, Callable[[Comparison], Any]] = {
    "boost": lambda row: -row.boost if not math.isnan(row.boost) else math.inf,
    "p": lambda row: row.p_adjusted if not math.isnan(row.p_adjusted) else math.inf,
    "verdict": lambda row: list(Verdict).index(row.verdict),
    "noise": lambda row: (
        -max(row.baseline.noise, row.candidate.noise)
        if not math.isnan(row.baseline.noise + row.candidate.noise)
        else math.inf
    ),
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
        if order not in _ORDERS:
            raise InputError(f"no order {order!r}; choose {', '.join(_ORDERS)}")
        kept.sort(key=lambda index: _ORDERS[order](rows[index]))
    return tuple(kept)
