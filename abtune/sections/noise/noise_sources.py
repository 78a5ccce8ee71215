"""The sources of one configuration's noise: search, session, timing, and the search's optimism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.provenance import of_searches
from abtune.dataset.schema import RunStatus
from abtune.samples.samples import Samples, extract
from abtune.stats.boost import from_log
from abtune.stats.clustered import clustered_variance, t_quantile
from abtune.stats.noise.components import Components, components
from abtune.stats.noise.spread import PooledSpread, pooled_spread, spread_intervals
from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Noise of one configuration, in one shape or pooled over shapes; log scale, so about fractions.

    Attributes
    ----------
    config, shape : str
        The shape is empty where shapes are pooled.
    n : int
        Seeds with a timing; the most of any shape where shapes are pooled.
    search, search_low, search_high : float
        Standard deviation between seeds, measurement error taken out, with its interval.
    session, timing : float
        Standard deviation between rounds of one winner, and within a round; NaN where there was but one.
    correlation : float
        Intraclass correlation: that of two timings of one winner in different rounds.
    measurement : float
        Standard error of a seed's value by repeated measurement; NaN where timed once.
    optimism, optimism_low, optimism_high : float
        The search's own time of its winner over the one measured again, minus 1, with its interval. Where
        negative it is the winner's curse.
    """

    config: str
    shape: str
    n: int
    search: float
    search_low: float
    search_high: float
    session: float
    timing: float
    correlation: float
    measurement: float
    optimism: float
    optimism_low: float
    optimism_high: float


def log_timings(dataset: xr.Dataset, config: str) -> Floats:
    """Return the logs of all timings of complete runs, shape (shapes, seeds, rounds, repeats)."""
    part = dataset[["latency", "run_status"]].sel(config=config)
    latency = part["latency"].transpose("shape", "seed", "round", "repeat").values.astype(np.float64)
    complete = part["run_status"].transpose("shape", "seed").values == RunStatus.COMPLETE
    return np.log(np.where(complete[:, :, np.newaxis, np.newaxis], latency, np.nan))


class Sources:
    """The noise of one configuration in every shape; arrays over shapes."""

    __slots__ = ("_config", "_curse", "_labels", "_level", "_parts", "_samples")

    def __init__(self, dataset: xr.Dataset, config: str, level: float) -> None:
        self._config = config
        self._level = level
        self._labels = [str(label) for label in dataset["shape"].values.tolist()]
        self._samples: Samples = extract(dataset, config)
        self._parts: Components = components(log_timings(dataset, config))
        self._curse: Floats = _optimism(dataset, config, self._samples)

    def by_shape(self) -> tuple[Source, ...]:
        """Describe each shape."""
        intervals = spread_intervals(self._samples.value, level=self._level)
        spreads = [
            PooledSpread(spread=float(sd), low=float(low), high=float(high))
            for sd, low, high in zip(self._samples.noise, intervals.low, intervals.high, strict=True)
        ]
        return tuple(self._describe(np.array([at]), spread) for at, spread in enumerate(spreads))

    def pooled(self) -> Source:
        """Describe all shapes together, variances averaged."""
        spread = pooled_spread(self._samples.value, level=self._level)
        return self._describe(np.arange(len(self._labels)), spread)

    def _describe(self, shapes: npt.NDArray[np.int64], spread: PooledSpread) -> Source:
        samples = self._samples
        floor = _mean(samples.floor[shapes])
        parts = Components(
            search=np.asarray(_mean(self._parts.search[shapes])),
            session=np.asarray(_mean(self._parts.session[shapes])),
            timing=np.asarray(_mean(self._parts.timing[shapes])),
        )
        search = [_without(sd, floor) for sd in (spread.spread, spread.low, spread.high)]
        curse = _mean_and_error(self._curse[shapes], self._level)
        return Source(
            config=self._config,
            shape=self._labels[shapes[0]] if len(shapes) == 1 else "",
            n=int(samples.n[shapes].max()),
            search=search[0],
            search_low=search[1],
            search_high=search[2],
            session=float(np.sqrt(parts.session)),
            timing=float(np.sqrt(parts.timing)),
            correlation=float(parts.correlation),
            measurement=math.sqrt(floor),
            optimism=from_log(curse.mean),
            optimism_low=from_log(curse.mean - curse.half),
            optimism_high=from_log(curse.mean + curse.half),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Estimate:
    mean: float
    half: float


def _optimism(dataset: xr.Dataset, config: str, samples: Samples) -> Floats:
    """Log of the search's own time of each winner over the one measured again; NaN where either lacks."""
    if "search_latency" not in dataset or of_searches(dataset):
        return np.full(samples.value.shape, np.nan)
    own = dataset["search_latency"].sel(config=config).transpose("shape", "seed").values.astype(np.float64)
    ratio: Floats = np.log(np.where(own > 0, own, np.nan)) - samples.value
    return ratio


def _mean_and_error(value: Floats, level: float) -> _Estimate:
    """Mean over shapes of the mean over seeds, and half of its t interval over seeds."""
    value = value[(~np.isnan(value)).any(axis=1)]
    if not len(value):
        return _Estimate(mean=math.nan, half=math.nan)
    error = clustered_variance(value, np.full(len(value), 1 / len(value)))
    mean = float(np.mean([row[~np.isnan(row)].mean() for row in value]))
    return _Estimate(mean=mean, half=t_quantile(error.freedom, level) * math.sqrt(error.variance))


def _without(spread: float, floor: float) -> float:
    """Take the variance of measurement out of a standard deviation; a floor of NaN is none."""
    return math.sqrt(max(spread**2 - (0.0 if math.isnan(floor) else floor), 0.0))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
