"""Designs with several looks at growing data.

The levels of the looks add up to the family-wise level (Bonferroni). Otherwise looks after 5, 10 and 20 seeds
make a false claim in 11 instead of 5 % of sweeps. The numbers of seeds are fixed, and p-values of dropped
shapes count as 1, so Holm's procedure stays valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from abtune.stats.testing.attainable import fewest_seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the data of a sequential design."""

    seeds: int  # per side, of the shapes that are not settled yet
    alpha: float  # family-wise level of this look, a fraction
    dropped: tuple[str, ...] = ()  # labels of the shapes that get no more seeds, though they are not settled


# The family-wise level of all looks of a sweep. An analysis at another level scales them.
ALPHA = 0.05
# The attribute in which a dataset records its looks.
LOOKS = "looks"
# The last look has the largest level, because the power is there: a fixed design finds hardly more.
_LOOK_SHARES = (0.2, 0.3, 0.5)
_FIRST = 5
# A shape goes on if its p, not corrected, is at most this: a third of the shapes without a difference do.
PROMISING = 1 / 3


def schedule(*, alpha: float, most: int, paired: bool = False) -> tuple[Look, ...]:
    """Return the looks of a sweep that ends when every shape is settled; their levels add up to alpha.

    For 20 seeds and 0.05: looks at 5, 10 and 20 seeds with 0.01, 0.015 and 0.025. The second look is half-way
    on a scale of ratios. Pairs have their first look at the fewest that can differ at all.
    """
    first = max(_FIRST, fewest_seeds(smallest=alpha, paired=paired))
    second = round(math.sqrt(first * most))
    seeds = [*sorted(count for count in {first, second} if count < most), most]
    shares = [*_LOOK_SHARES[: len(seeds) - 1], 1 - sum(_LOOK_SHARES[: len(seeds) - 1])]
    return tuple(
        Look(seeds=count, alpha=round(alpha * share, 12)) for count, share in zip(seeds, shares, strict=True)
    )


def dropped_shapes(looks: Iterable[Look]) -> tuple[str, ...]:
    """Return the labels of the shapes that any look dropped."""
    return tuple(label for look in looks for label in look.dropped)


def looks_to_json(looks: Sequence[Look], *, done: int) -> str:
    """Return the text that a dataset records of its looks; the first ``done`` are marked as done."""
    entries = [
        {"seeds": look.seeds, "alpha": look.alpha, "done": number < done, "dropped": look.dropped}
        for number, look in enumerate(looks)
    ]
    return json.dumps(entries)


def looks_from_json(text: str) -> tuple[tuple[Look, ...], int]:
    """Return the looks of a text, and how many are done; KeyError, TypeError or ValueError for others."""
    entries = json.loads(text)
    looks = tuple(
        Look(
            seeds=int(entry["seeds"]),
            alpha=float(entry["alpha"]),
            dropped=tuple(map(str, entry.get("dropped", ()))),
        )
        for entry in entries
    )
    return looks, sum(bool(entry["done"]) for entry in entries)
