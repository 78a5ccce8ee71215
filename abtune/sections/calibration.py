"""Error rates, coverage and power on the noise of a dataset, and the page about them.

Simulated sweeps are judged as an analysis judges. Their values are drawn from the seeds of each side around
their mean. They are smoothed, because ten points look more skewed and uneven than their distribution. The
simulation lacks a failure mode that no seed has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from abtune.compare.compare import evidence_of
from abtune.compare.gates import judge
from abtune.compare.results import Comparison, Verdict
from abtune.compare.settings import Settings, check_fraction, check_whole, make_settings
from abtune.compare.statistics import compute
from abtune.dataset.check import check_list, validate
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.page import SHAPE, Grid, Heading, Part, Prose, column, table
from abtune.report.summary import shared_level
from abtune.samples import Samples, extract_both, keep_best, what_varies
from abtune.stats.estimand import Estimand
from abtune.stats.moderated import moderate
from abtune.stats.two_sample import Floats
from abtune.text import plain_percent, some_of

BOOSTS = (0.05, 0.1, 0.2)
_FEWEST = 3  # seeds per side


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One shape in simulated sweeps; shares of them."""

    shape: str
    n_baseline: int
    n_candidate: int
    coverage: float  # the interval includes the true boost
    false_alarm: float  # called different without a difference, uncorrected
    equivalent: float  # called equivalent without a difference, corrected
    power: tuple[float, ...]  # called improved at each true boost, corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Measured error rates and power of the method on a dataset; shares are fractions.

    Attributes
    ----------
    settings : Settings
        How the simulated sweeps are judged.
    replications : int
        Simulated sweeps for each true boost.
    interval_method, test_method, correction : str
        The methods in words.
    boosts : tuple of float
        True boosts at which power was measured, fractions.
    simulated : tuple of Simulated
        Shapes with at least three seeds per side: ``coverage`` of the interval, ``false_alarm`` without a
        correction, ``equivalent``, and ``power`` at each true boost.
    left_out : tuple of str
        Shapes with fewer seeds, which are not simulated.
    any_false_alarm : float
        Share of sweeps without a difference in which some shape is called different.
    error : float
        Standard error of a share of 5 %.
    """

    settings: Settings
    replications: int
    interval_method: str
    test_method: str
    correction: str
    boosts: tuple[float, ...]
    simulated: tuple[Simulated, ...]
    left_out: tuple[str, ...]
    any_false_alarm: float
    error: float


def calibrate(
    dataset: xr.Dataset, *, boosts: Sequence[float] = BOOSTS, replications: int | None = None, **choices: Any
) -> Calibration:
    """Measure false alarms, coverage and power of the method on the noise of a dataset.

    Parameters
    ----------
    dataset : xarray.Dataset
        A sweep with at least three seeds per configuration in some shape.
    boosts : sequence of float
        True boosts at which power is measured, fractions.
    replications : int, optional
        Simulated sweeps for each boost, at least 10; by default 500, or 200 with max-T, which is slow.
    **choices : object
        Configurations, level, margin, seed and methods, as :func:`abtune.analyze` takes them.

    Returns
    -------
    Calibration
        The same for the same arguments, bit for bit.

    Raises
    ------
    InputError
        If an argument cannot be used, or no shape has three seeds per configuration.
    DatasetError
        If the dataset is not valid.

    Notes
    -----
    Sweeps are drawn from a smoothed bootstrap of the seeds (Silverman and Young 1987, DOI
    10.1093/biomet/74.3.469) and judged by the code of :func:`abtune.analyze`.

    Examples
    --------
    >>> import abtune
    >>> pilot = abtune.open_dataset("h200-pilot")
    >>> found = abtune.calibrate(pilot, boosts=[0.5], replications=20)
    >>> [round(row.power[0], 1) for row in found.simulated]
    [1.0, 1.0, 1.0]
    """
    validate(dataset)
    wanted = [check_fraction("boost", boost, 0.05, most=10) for boost in check_list("boosts", boosts, [0.05])]
    if replications is not None:
        check_whole("replications", replications, 10)
    given = {name: value for name, value in choices.items() if value is not None}
    settings = make_settings(dataset, **given)
    many = 500 if settings.procedure.joint is None else 200
    return _calibrate(dataset, settings, tuple(sorted(set(wanted))), replications or many)


def _calibrate(
    dataset: xr.Dataset, settings: Settings, boosts: tuple[float, ...], replications: int
) -> Calibration:
    fewest = max(_FEWEST, settings.estimand.fewest_seeds)
    one, two = (side.n for side in extract_both(dataset, settings.baseline, settings.candidate))
    enough = np.minimum(one, two) >= fewest
    usable = dataset.isel(shape=np.flatnonzero(enough))
    if not usable.sizes["shape"]:
        wanted = f"{fewest} {'whole pairs' if settings.paired else 'seeds per configuration'}"
        raise InputError(f"no shape has {wanted}, so there is no noise to calibrate with")
    tallies, false_alarms = [], 0
    for none, *some in simulate(usable, settings, (0.0, *boosts), replications):
        false_alarms += any(map(_differs, none))
        tallies.append(
            [
                [row.boost_low <= 0 <= row.boost_high for row in none],
                [_differs(_uncorrected(row, settings)) for row in none],
                [row.verdict is Verdict.EQUIVALENT for row in none],
                *([row.verdict is Verdict.IMPROVED for row in rows] for rows in some),
            ]
        )
    shares = np.mean(tallies, axis=0).T.tolist()
    return Calibration(
        settings=settings,
        replications=replications,
        interval_method=settings.interval.words,
        test_method=settings.difference_test.words,
        correction=settings.procedure.words,
        boosts=boosts,
        simulated=tuple(
            Simulated(
                shape=row.shape,
                n_baseline=row.baseline.n,
                n_candidate=row.candidate.n,
                coverage=coverage,
                false_alarm=false_alarm,
                equivalent=equivalent,
                power=tuple(power),
            )
            for row, (coverage, false_alarm, equivalent, *power) in zip(none, shares, strict=True)
        ),
        left_out=tuple(labels_of(dataset.isel(shape=np.flatnonzero(~enough)), "shape")),
        any_false_alarm=false_alarms / replications,
        error=math.sqrt(0.05 * 0.95 / replications),
    )


def _differs(row: Comparison) -> bool:
    return row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED}


def _uncorrected(row: Comparison, settings: Settings) -> Comparison:
    """Return what the same p-values support without a correction."""
    raw = replace(row, p_adjusted=row.p, p_welch_adjusted=row.p_welch, p_resampled_adjusted=row.p_resampled)
    return judge(raw, settings)


_STEPS = 100  # of the normal kernel, where the expected best of k is computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A distribution of seeds around a mean of zero: a smoothed bootstrap."""

    residuals: Floats
    width: float  # standard deviation of the normal kernel around each residual
    n: int  # seeds of a sweep

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return independent values."""
        return rng.choice(self.residuals, shape) + self.width * rng.standard_normal(shape)

    def typical(self, estimand: Estimand) -> float:
        """Return the log of the quantity that the estimand compares: a mean or an expected best."""
        if estimand is Estimand.GEOMETRIC_MEAN:
            return 0.0
        # Each residual is spread over 100 equally likely points of its kernel.
        steps = special.ndtri((np.arange(_STEPS) + 0.5) / _STEPS)
        values = np.sort(np.add.outer(self.residuals, self.width * steps).ravel())
        # The chance that all searches lie above this number of values.
        above = np.linspace(1, 0, len(values) + 1) ** estimand.searches
        return float(-np.diff(above) @ values)


def noise_pools(side: Samples) -> list[Pool]:
    """Return a pool per shape: all shapes share one form, and their spreads are drawn towards each other."""
    # Ten seeds do not determine the tails of the noise: simulated from the seeds of each shape alone, whole
    # reports have too many false alarms (docs/statistics.md).
    known = [row[~np.isnan(row)] for row in side.value]
    scaled = [(row - row.mean()) / own for row, own in zip(known, side.noise, strict=True) if own > 0]
    # The empty array stands for no shape that varies: an empty list cannot be concatenated.
    form, width = _smoothed(np.concatenate([np.zeros(0), *scaled]))
    variance = moderate(side.noise**2, side.n - 1)
    spread = np.where(side.noise > 0, np.sqrt(variance), 0.0)
    return [
        Pool(residuals=form * scale, width=width * scale, n=len(row))
        for row, scale in zip(known, spread.tolist(), strict=True)
    ]


def _smoothed(residuals: Floats) -> tuple[Floats, float]:
    """Return residuals and a kernel width whose smoothed bootstrap has a standard deviation of one."""
    # 0.9 min(s, IQR/1.34) n^(-1/5) keeps two modes apart. Shrinking keeps the variance (Silverman and Young
    # 1987, DOI 10.1093/biomet/74.3.469).
    if not len(residuals):  # no shape varies
        return np.zeros(1), 0.0
    quarters = np.quantile(residuals, (0.25, 0.75))
    width = 0.9 * min(1.0, float(quarters[1] - quarters[0]) / 1.34) * len(residuals) ** -0.2
    shrunk = math.sqrt(1 / ((residuals**2).mean() + width**2))
    return residuals * shrunk, width * shrunk


def simulate(
    dataset: xr.Dataset, settings: Settings, boosts: Sequence[float], replications: int
) -> Iterator[list[list[Comparison]]]:
    """Yield simulated sweeps with the same noise at each true boost: every shape as it is judged."""
    rng = np.random.default_rng(settings.rng_seed)
    sides = extract_both(dataset, settings.baseline, settings.candidate)
    baseline, candidate = (
        _draw(noise_pools(side), settings.estimand, replications, rng) for side in what_varies(*sides)
    )
    for first, second in zip(baseline, candidate, strict=True):
        rows, tails = [], None
        for boost in boosts:
            drawn = replace(sides[0], value=first + math.log1p(boost)), replace(sides[1], value=second)
            kept = keep_best(drawn, settings.estimand)
            # The resamples are of the noise, so they are the same at all boosts.
            statistics = compute(kept, settings, known=tails, bounds=False)
            tails = statistics.tails
            rows.append([judge(row, settings) for row in evidence_of(dataset, kept, statistics, None)])
        yield rows


def _draw(pools: Sequence[Pool], estimand: Estimand, replications: int, rng: np.random.Generator) -> Floats:
    """Return seeds of one side, shape (replications, shapes, seeds)."""
    values = np.full((replications, len(pools), max(pool.n for pool in pools)), np.nan)
    for shape, pool in enumerate(pools):
        # So the simulated truth is exactly the shift, for every estimand.
        values[:, shape, : pool.n] = pool.draw((replications, pool.n), rng) - pool.typical(estimand)
    return values


_SIMULATED = (
    "Each simulated sweep draws as many seeds as the dataset has, from a smoothed bootstrap of their noise. "
    "The shapes of a configuration share the form of the noise, and their spreads are shrunk towards a "
    "common one. coverage: the interval includes the true boost. false alarm: a difference is claimed "
    "where there is none; uncorrected. equivalent: equivalence is claimed where nothing differs. Last "
    "columns: every shape has this true boost, and it is found; corrected over the shapes. A rare failure "
    "that no seed shows is not simulated."
)


def calibration_page(result: Calibration) -> tuple[Part, ...]:
    """Return the page."""
    settings = result.settings
    promise = settings.procedure.promise.format(alpha=plain_percent(settings.alpha, 3))
    return (
        Heading("calibration"),
        Prose(
            f"Where nothing differs, {_share(result.any_false_alarm)}% of simulated reports have a false "
            f"alarm (promised: {promise}). With {result.replications:,} simulated sweeps, a share of 5% has "
            f"a standard error of {100 * result.error:.1f} points."
        ),
        Prose(
            f"{settings.candidate} against {settings.baseline}; {plain_percent(settings.level)} confidence, "
            f"margin {plain_percent(settings.margin)}{shared_level(settings)}; {result.replications:,} "
            f"simulated sweeps for each column, resampling seed {settings.rng_seed}. Interval: "
            f"{result.interval_method}. Test: {result.test_method}. Adjusted p: {result.correction}.",
            remark=True,
        ),
        Heading("simulated with the noise of these data, % of sweeps", minor=True),
        _simulated(result),
        *([Prose(f"Too few seeds to simulate: {some_of(result.left_out)}.")] if result.left_out else []),
        Prose(_SIMULATED, remark=True),
    )


def _simulated(result: Calibration) -> Grid:
    rows, many = result.simulated, len(result.boosts)
    paired = result.settings.paired
    seeds = [f"{row.n_baseline}" if paired else f"{row.n_baseline}+{row.n_candidate}" for row in rows]
    return table(
        SHAPE,
        [row.shape for row in rows],
        column("pairs" if paired else "seeds", seeds, gives_way=many + 2),
        column("coverage", [_share(row.coverage) for row in rows]),
        column("false alarm", [_share(row.false_alarm) for row in rows]),
        column("equivalent", [_share(row.equivalent) for row in rows], gives_way=many + 1),
        *(
            column(plain_percent(boost), [_share(row.power[index]) for row in rows], gives_way=index + 1)
            for index, boost in enumerate(result.boosts)
        ),
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f}"
