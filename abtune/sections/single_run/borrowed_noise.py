"""The noise of another dataset, lent to a table that has none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.errors import InputError
from abtune.samples.samples import extract
from abtune.sections.single_run.comparability import Assumption, Standing, assumptions
from abtune.stats.noise.borrowed import LentVariance, lend_variance
from abtune.stats.two_sample import Floats, Integers
from abtune.stats.variance import floored
from abtune.text import count, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Another dataset, by the name that it is called in what is said of it."""

    name: str
    dataset: xr.Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideSide:
    """What another dataset knows of the noise of one side.

    Attributes
    ----------
    config : str
        The configuration of the table.
    sources : tuple of str
        Configurations there that its noise comes from.
    shapes, seeds : int
        Shapes there with two seeds or more, and the most seeds of any.
    spread : float
        Usual standard deviation of log latency over seeds, s0, which a shape gets that has no runs there.
    freedom : float
        Its degrees of freedom, d0: the more, the more alike shapes are in their noise; infinite where they
        differ no more than so few seeds make them.
    """

    config: str
    sources: tuple[str, ...]
    shapes: int
    seeds: int
    spread: float
    freedom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideNoise:
    """Noise from another dataset.

    Attributes
    ----------
    dataset : str
        Its name.
    baseline, candidate : OutsideSide
        Either side.
    assumptions : tuple of Assumption
        What borrowing it takes for granted.
    """

    dataset: str
    baseline: OutsideSide
    candidate: OutsideSide
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """The variances that one side of a table borrows, and which of its shapes have runs there."""

    side: OutsideSide
    lent: LentVariance
    known: tuple[bool, ...]


def borrow(outside: Outside, config: str, shapes: Sequence[str]) -> Loan:
    """Learn the noise of one configuration from another dataset.

    Parameters
    ----------
    outside : Outside
        Valid by the schema; runs that failed are left out.
    config : str
        A configuration of the table. Where the other dataset has not two seeds of it, all of its
        configurations are pooled.
    shapes : sequence of str
        Labels of the table.

    Raises
    ------
    InputError
        If no configuration there has two seeds of a shape.
    """
    found = _replicates(outside, config)
    labels = [str(label) for label in outside.dataset["shape"].values.tolist()]
    places = {label: at for at, label in enumerate(labels) if found.freedom[at] > 0}
    place = np.array([places.get(shape, -1) for shape in shapes], dtype=np.int64)
    lent = lend_variance(found.variance, found.freedom, place)
    side = OutsideSide(
        config=config,
        sources=found.sources,
        shapes=len(places),
        seeds=found.seeds,
        spread=float(np.sqrt(lent.prior.variance)),
        freedom=lent.prior.freedom,
    )
    return Loan(side=side, lent=lent, known=tuple((place >= 0).tolist()))


def outside_noise(
    table: xr.Dataset, outside: Outside, loans: tuple[Loan, Loan], *, limit: float
) -> OutsideNoise:
    """Say where borrowed noise comes from, and what it takes for granted.

    Parameters
    ----------
    table : xarray.Dataset
        What borrows.
    outside : Outside
        What lends.
    loans : tuple of Loan
        Of baseline and candidate.
    limit : float
        What the noise of the table can be at the most, by the spread of its own log ratios; NaN if unknown.
    """
    return OutsideNoise(
        dataset=outside.name,
        baseline=loans[0].side,
        candidate=loans[1].side,
        assumptions=(
            _configurations(loans),
            _shapes(loans),
            *assumptions(table, outside.dataset),
            *_size(loans, limit),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replicates:
    """Variances over the seeds of each shape of another dataset, pooled over configurations."""

    sources: tuple[str, ...]
    variance: Floats
    freedom: Integers
    seeds: int


def _replicates(outside: Outside, config: str) -> _Replicates:
    """Take the configuration of this name, or all where it has not two seeds of any shape."""
    every = tuple(str(name) for name in outside.dataset["config"].values.tolist())
    for sources in ((config,), every) if config in every else (every,):
        found = _pool(outside.dataset, sources)
        if (found.freedom > 0).any():
            return found
    raise InputError(
        f"{outside.name} has no shape with two seeds of one configuration, so it says nothing of noise; "
        "give a dataset with several seeds"
    )


def _pool(dataset: xr.Dataset, sources: tuple[str, ...]) -> _Replicates:
    sides = [extract(dataset, source) for source in sources]
    freedom = np.sum([np.maximum(side.n - 1, 0) for side in sides], axis=0)
    squares = np.nansum([(side.n - 1) * floored(side.noise**2, side.floor) for side in sides], axis=0)
    return _Replicates(
        sources=sources,
        variance=np.where(freedom > 0, squares / np.maximum(freedom, 1), np.nan),
        freedom=freedom,
        seeds=max((int(n) for side in sides for n in side.n), default=0),
    )


def _configurations(loans: tuple[Loan, Loan]) -> Assumption:
    sides = [loan.side for loan in loans]
    strange = [side for side in sides if side.sources != (side.config,)]
    if not strange:
        detail = f"{sides[0].config} and {sides[1].config}, by their names"
        return Assumption(standing=Standing.AGREES, what="configurations", detail=detail)
    names = " or ".join(side.config for side in strange)
    pooled = ", ".join(strange[0].sources)
    detail = f"not two seeds of {names} there, so the noise is that of {pooled}, pooled"
    return Assumption(standing=Standing.DIFFERS, what="configurations", detail=detail)


def _shapes(loans: tuple[Loan, Loan]) -> Assumption:
    both = [all(pair) for pair in zip(*(loan.known for loan in loans), strict=True)]
    lacking = len(both) - sum(both)
    if not lacking:
        return Assumption(
            standing=Standing.AGREES, what="shapes", detail=f"{count(len(both), 'shape')}, with seeds there"
        )
    return Assumption(
        standing=Standing.DIFFERS,
        what="shapes",
        detail=f"{lacking} of {len(both)} without seeds there get the usual noise of its shapes",
    )


def _size(loans: tuple[Loan, Loan], limit: float) -> list[Assumption]:
    """Check the borrowed noise against the spread of the table, which holds it and the true boosts."""
    variance = np.concatenate([loan.lent.variance for loan in loans])
    if np.isnan(variance).any() or np.isnan(limit):
        return []
    borrowed = float(np.sqrt(variance.mean()))
    return [
        Assumption(
            standing=Standing.DIFFERS if borrowed > limit else Standing.AGREES,
            what="size of the noise",
            detail=f"{percent(borrowed)} borrowed, at most {percent(limit)} by the spread of these boosts",
        )
    ]
