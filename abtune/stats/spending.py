"""Several looks at growing data, without paying for them in false alarms.

Looking after 5, 10 and 20 seeds and stopping at the first difference, each time at the usual level of 5 %,
makes a false claim in 11 % of sweeps. Here the 5 % are spent over the looks: the sum of the levels bounds the
probability of any false claim at any look, whatever the dependence between them (Bonferroni).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from abtune.stats.power import fewest_seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the data.

    Attributes
    ----------
    seeds : int
        Seeds a side of the shapes that are not settled yet.
    alpha : float
        Family-wise level that this look may spend, a fraction.
    """

    seeds: int
    alpha: float


# The level that the looks of a sweep share; an analysis at another level scales them.
ALPHA = 0.05
# The attribute in which a dataset records them.
LOOKS = "looks"
# Most is spent late, where the power is: at 10 + 10 seeds a fixed design finds hardly more.
_SHARES = (0.2, 0.3, 0.5)
_FIRST = 5


def schedule(*, alpha: float, most: int, shapes: int) -> tuple[Look, ...]:
    """Return the looks of a sweep that ends when all is settled.

    Parameters
    ----------
    alpha : float
        Family-wise level of all looks together, such as 0.05.
    most : int
        Seeds a side at the most, which the last look has; it spends what the others have left.
    shapes : int
        Shapes that are corrected over.

    Notes
    -----
    For one shape, 20 seeds and 0.05: looks at 5, 10 and 20 seeds with 0.01, 0.015 and 0.025. With more
    shapes an exact permutation test of 5 + 5 seeds cannot reach so small a level, and the look would be
    wasted: the first is then at the fewest seeds that can (8 for 29 shapes), the second half-way on a
    scale of ratios.
    """
    first = max(_FIRST, fewest_seeds(alpha=alpha * _SHARES[0], shapes=shapes))
    second = round(math.sqrt(first * most))
    seeds = [*sorted(count for count in {first, second} if count < most), most]
    shares = [*_SHARES[: len(seeds) - 1], 1 - sum(_SHARES[: len(seeds) - 1])]
    return tuple(
        Look(seeds=count, alpha=round(alpha * share, 12)) for count, share in zip(seeds, shares, strict=True)
    )


def looks_to_json(looks: Sequence[Look], *, done: int) -> str:
    """Write looks as the text that a dataset records, the first of them as done."""
    entries = [
        {"seeds": look.seeds, "alpha": look.alpha, "done": number < done} for number, look in enumerate(looks)
    ]
    return json.dumps(entries)


def looks_from_json(text: str) -> tuple[tuple[Look, ...], int]:
    """Return the looks that a dataset records, and how many of them are done.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the text is not that of :func:`looks_to_json`.
    """
    entries = json.loads(text)
    looks = tuple(Look(seeds=int(entry["seeds"]), alpha=float(entry["alpha"])) for entry in entries)
    return looks, sum(bool(entry["done"]) for entry in entries)
