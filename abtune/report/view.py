"""Which shapes of an analysis are shown, and in which order; all of them stay judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.shapes import select_labels

# What `--sort` sorts by, NaN last.
_ORDERS: dict[str, Callable[[Comparison], Any]] = {
    "boost": lambda row: np.nan_to_num(-row.boost, nan=np.inf),
    "p": lambda row: np.nan_to_num(row.p_adjusted, nan=np.inf),
    "verdict": lambda row: list(Verdict).index(row.verdict),
    # NaN if either side is: max() would depend on their order.
    "noise": lambda row: np.nan_to_num(-np.maximum(row.baseline.noise, row.candidate.noise), nan=np.inf),
    "name": lambda row: row.shape,
}


def chosen_rows(
    analysis: Analysis, names: Sequence[str] | None, *, order: str | None
) -> tuple[int, ...] | None:
    """Return the positions of the comparisons that are shown, in order; None for all as they are.

    Names are those of verdicts, labels of shapes, or globs over labels.
    """
    if names is None and order is None:
        return None
    rows = analysis.comparisons
    kept = list(range(len(rows)))
    if names is not None:
        verdicts = {verdict.words for verdict in Verdict} & {name.replace("-", " ") for name in names}
        others = [name for name in names if name.replace("-", " ") not in verdicts]
        labels = select_labels(others, [row.shape for row in rows]) if others else ()
        kept = [at for at in kept if rows[at].shape in labels or rows[at].verdict.words in verdicts]
    if order is not None:
        kept.sort(key=lambda index: _ORDERS[order](rows[index]))
    return tuple(kept)
