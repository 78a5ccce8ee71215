"""What every reader of timings returns: cells with the names that the file gives them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCell:
    """The timings of one cell in one file.

    Attributes
    ----------
    where : str
        Its line or field in the file.
    name : str or None
        Its only name, of a shape or a configuration; None where a file tells them apart.
    shape, config : str or None
        Their names where the file tells them apart.
    seed : int or None
        Its seed, if the file tells.
    rounds : tuple of tuple of float, seconds
        Timings by round.
    labels : tuple of str
        The names of the rounds in the file; empty if they have none.
    """

    where: str
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
    cells : tuple of FileCell
        At least one.
    each_a_process : bool
        Whether each timing comes from a process of its own.
    notes : tuple of str
        What was left out, one line each.
    """

    cells: tuple[FileCell, ...]
    each_a_process: bool
    notes: tuple[str, ...]


def named(name: str, where: str, *rounds: tuple[float, ...]) -> FileCell:
    """Return a cell with a single name."""
    return FileCell(where=where, name=name, shape=None, config=None, seed=None, rounds=rounds, labels=())
