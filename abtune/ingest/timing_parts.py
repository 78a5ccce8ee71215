"""What every reader of timings returns: parts with the names that the file gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from abtune.errors import DatasetError

# What a unit is in seconds; exact, for division by it rounds only once.
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The timings of one cell in one file.

    Attributes
    ----------
    place : str
        Where in the file.
    name : str or None
        Its only name, of a shape or a configuration; None where a file tells them apart.
    shape, config : str or None
        Their names where the file tells them apart.
    seed : int or None
        Its seed, if the file tells.
    rounds : tuple of tuple of float, seconds
        Timings by round.
    labels : tuple of str
        What the file calls each of the rounds; empty if they have no names.
    """

    place: str
    name: str | None
    shape: str | None
    config: str | None
    seed: int | None
    rounds: tuple[tuple[float, ...], ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file holds.

    Attributes
    ----------
    parts : tuple of Part
        At least one.
    each_a_process : bool
        Whether every timing was made by a process of its own.
    notes : tuple of str
        What was left out.
    """

    parts: tuple[Part, ...]
    each_a_process: bool
    notes: tuple[str, ...]


def named(name: str, place: str, *rounds: tuple[float, ...]) -> Part:
    """Return a part with a single name."""
    return Part(place=place, name=name, shape=None, config=None, seed=None, rounds=rounds, labels=())


def to_seconds(value: Any, unit: str, place: str) -> float:
    """Convert one time, given as a number or as text.

    Raises
    ------
    DatasetError
        If it is not a positive number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise DatasetError(f"{place}: {value!r} is not a time; give a positive number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        comma = "; write it with a decimal point and nothing else" if "," in str(value) else ""
        raise DatasetError(f"{place}: {str(value)[:40]!r} is not a number{comma}") from None
    if not 0 < number / PER_SECOND[unit] < math.inf:
        raise DatasetError(f"{place}: a time must be positive, not {value}; leave out what was not timed")
    return number / PER_SECOND[unit]
