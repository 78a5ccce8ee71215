"""From a dataset to samples: one value per seed and configuration, transfers, and lost runs and trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.schema import RunStatus, TransferStatus, TrialStatus, is_paired, runs_of
from abtune.stats.estimand import Estimand
from abtune.stats.two_sample import Floats, Integers, TwoSample, exact_differences
from abtune.stats.variance import (
    best_of,
    best_of_floor,
    difference_variance,
    mean_of_known,
    moments,
    rounding_of,
    seed_values,
    timer_step,
)
from abtune.text import most_frequent


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One configuration's seeds of every shape."""

    config: str
    value: Floats  # (shapes, seeds), log seconds, by :func:`seed_values`; NaN without timing
    n: Integers  # (shapes,): seeds with a timing
    latency: Floats  # (shapes,), seconds: geometric mean over seeds; the timing itself if there is only one
    noise: Floats  # (shapes,): standard deviation of the log latency over seeds
    # (shapes,): mean measurement variance of a seed's value, of pairs half of that of a difference; NaN if
    # never timed twice
    floor: Floats
    rounding: Floats  # (shapes,): how far a coarse timer can move the mean log latency; mostly zero
    failed: Integers  # (shapes,): runs that failed
    missing: Integers  # (shapes,): runs never made that another configuration has
    untimed: Integers  # (shapes,): complete runs whose winner has no timing
    unpaired: Integers  # (shapes,): timed runs left out because the other run of the pair has no timing
    failed_pairs: Integers  # (shapes,): pairs of which a run failed
    paired: bool = False  # whether a seed is a pair with that of the other side; then all are whole pairs


# Baseline and candidate.
Sides: TypeAlias = tuple[Samples, Samples]


def extract_both(dataset: xr.Dataset, baseline: str, candidate: str) -> Sides:
    """Return the samples of two configurations. A pair counts if both of its runs have a timing."""
    sides = extract(dataset, baseline), extract(dataset, candidate)
    if not is_paired(dataset):
        return sides
    whole = ~np.isnan(sides[0].value + sides[1].value)
    complete = dataset.assign(latency=dataset["latency"].where(xr.DataArray(whole, dims=("shape", "seed"))))
    status = np.stack([runs_of(dataset, "run_status", config) for config in (baseline, candidate)])
    failed = _count((status == RunStatus.FAILED).any(axis=0))
    in_pairs = [extract(complete, side.config) for side in sides]
    logs = (np.log(complete_timings(complete, side.config)) for side in sides)
    of_pair = mean_of_known(difference_variance(*logs))
    one, two = (
        replace(
            pairs,
            floor=np.where(np.isnan(of_pair), pairs.floor, of_pair / 2),
            untimed=side.untimed,  # a run whose partner has no timing has one
            unpaired=_count(~np.isnan(side.value) & ~whole),
            failed_pairs=failed,
            paired=True,
        )
        for side, pairs in zip(sides, in_pairs, strict=True)
    )
    return one, two


def extract(dataset: xr.Dataset, config: str) -> Samples:
    """Return the samples of one configuration; timings of failed runs are not used."""
    status, latency = runs_of(dataset, "run_status", config), complete_timings(dataset, config)
    made, all_timings = dataset["run_status"].values != RunStatus.MISSING, dataset["latency"].values
    step = timer_step(all_timings.astype(np.float64).reshape(math.prod(all_timings.shape[:2]), -1))
    value, variance = seed_values(np.log(latency))
    seeds = moments(value)
    return Samples(
        config=config,
        value=value,
        n=seeds.n,
        latency=_geometric_mean(latency, seeds.mean),
        noise=np.sqrt(seeds.variance),
        floor=mean_of_known(variance),
        rounding=rounding_of(latency, step),
        failed=_count(status == RunStatus.FAILED),
        missing=_missing(made, status != RunStatus.MISSING),
        untimed=_count((status == RunStatus.COMPLETE) & np.isnan(value)),
        unpaired=np.zeros_like(seeds.n),
        failed_pairs=np.zeros_like(seeds.n),
    )


def _missing(made: npt.NDArray[np.bool_], own: npt.NDArray[np.bool_]) -> Integers:
    """Return how many runs of each shape a configuration lacks: those of seeds that another one has.

    Where no two configurations share a seed, it lacks what it has less than the one with the most runs.
    """
    planned, most = made.any(axis=1), made.sum(axis=2).max(axis=1)
    shared = (made.sum(axis=1) > 1).any(axis=1)
    return np.where(shared, _count(planned & ~own), most - _count(own))


def complete_timings(dataset: xr.Dataset, config: str) -> Floats:
    """Return all timings of complete runs, shape (shapes, seeds, rounds, repeats), seconds."""
    complete = runs_of(dataset, "run_status", config) == RunStatus.COMPLETE
    latency = runs_of(dataset, "latency", config).astype(np.float64)
    return np.where(complete[:, :, np.newaxis, np.newaxis], latency, np.nan)


def two_sample(baseline: Samples, candidate: Samples) -> TwoSample:
    """Return both sides as the statistics take them: the baseline first."""
    floor = np.stack([baseline.floor, candidate.floor], axis=1)
    make = TwoSample.of_pairs if baseline.paired else TwoSample
    rounding = baseline.rounding + candidate.rounding
    return make(baseline.value, candidate.value, floor, rounding=rounding)


def change_of(before: Samples, after: Samples) -> Samples:
    """Return the change of each run's value between two measurements of the same winners."""
    # The change of a value varies by both measurements.
    value = exact_differences(after.value, before.value)
    return replace(before, value=value, floor=before.floor + after.floor)


def keep_best(sides: Sides, estimand: Estimand) -> Sides:
    """Return both sides with the pseudo-values of the best of k in place of the seeds' values."""
    k = estimand.searches
    if k == 1:
        return sides

    def kept(side: Samples) -> Samples:
        value = np.where((side.n >= estimand.fewest_seeds)[:, np.newaxis], best_of(side.value, k), np.nan)
        best, floor = moments(value), best_of_floor(side.floor, side.n, k)
        latency, noise = np.exp(best.mean), np.sqrt(best.variance)
        return replace(side, value=value, latency=latency, noise=noise, floor=floor)

    return kept(sides[0]), kept(sides[1])


def what_varies(baseline: Samples, candidate: Samples) -> Sides:
    """Return the samples whose noise is the noise of a boost: both sides; of pairs, differences and zeros."""
    if not baseline.paired:
        return baseline, candidate
    pairs = two_sample(baseline, candidate)
    both = zip((baseline, candidate), (pairs.first, pairs.second), pairs.floor.T, strict=True)
    one, two = (
        replace(side, value=values, noise=np.sqrt(moments(values).variance), floor=floor)
        for side, values, floor in both
    )
    return replace(one, rounding=one.rounding + two.rounding), two


def _geometric_mean(latency: Floats, mean_log: Floats) -> Floats:
    """Return the geometric mean of timings; a lone timing is not rounded, so published ratios stay exact."""
    known = ~np.isnan(latency)
    lone = np.count_nonzero(known, axis=(1, 2, 3)) == 1
    return np.where(lone, np.where(known, latency, 0.0).sum(axis=(1, 2, 3)), np.exp(mean_log))


def _count(which: npt.NDArray[np.bool_]) -> Integers:
    return np.count_nonzero(which, axis=1).astype(np.int64)


LOST = (TrialStatus.BUILD_FAILED, TrialStatus.RUN_FAILED, TrialStatus.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Outcomes of the trials of one configuration."""

    config: str  # its name
    tried: int  # trials that were made
    by_status: Mapping[str, int]  # trials by ``ok``, ``build_failed``, ``run_failed``, ``timed_out``
    lost_share: float  # those that were not ok over those tried; NaN without any
    reason: str  # the most frequent reason of those lost; empty if no run recorded one


def count_trials(dataset: xr.Dataset, config: str) -> Trials | None:
    """Count the outcomes of the trials of a configuration; None where the dataset does not say."""
    if "trial_status" not in dataset:
        return None
    statuses = runs_of(dataset, "trial_status", config)
    if np.any(statuses == TrialStatus.UNKNOWN):
        return None
    kinds = (TrialStatus.OK, *LOST)
    by_status = {kind.name.lower(): int(np.count_nonzero(statuses == kind)) for kind in kinds}
    tried = sum(by_status.values())
    lost = tried - by_status["ok"]
    reason = ""
    if "trial_failure" in dataset:  # the reason of a run counts as often as trials of the run were lost
        reasons = runs_of(dataset, "trial_failure", config).astype(str).ravel()
        reason = most_frequent(np.repeat(reasons, np.isin(statuses, LOST).sum(axis=-1).ravel()).tolist())
    return Trials(
        config=config,
        tried=tried,
        by_status=by_status,
        lost_share=lost / tried if tried else float("nan"),
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """The schedules that the searches of one configuration found, timed under two configurations."""

    origin: str  # the configuration whose searches found them
    # (shapes, seeds), log seconds: mean over rounds of the median log latency, built as either; NaN without a
    # timing
    baseline: Floats
    candidate: Floats
    # (shapes,): standard deviation that measuring gives the difference of both; NaN where unknown, zero of a
    # simulator
    error: Floats
    # (shapes, seeds): hash of the schedule as its own configuration builds it; empty without one
    schedule: npt.NDArray[np.object_]
    # (shapes, seeds): :class:`~abtune.dataset.schema.TransferStatus` under the other configuration
    status: Integers


def extract_transfers(dataset: xr.Dataset, origin: str, baseline: str, candidate: str) -> Transfers:
    """Return the schedules that one configuration found, under both."""
    # Transfers of one origin only are a valid dataset; the other has none.
    if origin not in dataset["origin"].values:
        none = {"transfer_status": TransferStatus.MISSING, "transfer_kernel": ""}
        dataset = dataset.reindex(origin=[origin], fill_value=none)
    # Without its coordinate, because xarray imports dask for a scalar one: 0.3 s.
    transfers = dataset.drop_vars("origin").isel(origin=dataset["origin"].values.tolist().index(origin))
    other = candidate if origin == baseline else baseline
    logs = [np.log(_transfer_times(transfers, config)) for config in (baseline, candidate)]
    (first, second), variances = zip(*map(seed_values, logs), strict=True)
    status = runs_of(transfers, "transfer_status", other).astype(np.int64)
    # What both share in a round cancels. One round cannot show that, so there both add their variances.
    of_difference = difference_variance(*logs)
    error = np.where(np.isnan(of_difference), sum(variances), of_difference)
    # Equal timings of a coarse timer are not exact: rounding to its step has the variance step^2/12.
    cells = transfers["transfer_latency"].values.astype(np.float64)
    step = timer_step(cells.reshape(-1, math.prod(cells.shape[-2:])))
    error = np.maximum(error, step**2 / 12 * (np.exp(-2 * first) + np.exp(-2 * second)))
    hashes = np.full(first.shape, "", dtype=object)
    if "transfer_kernel" in transfers:
        hashes = runs_of(transfers, "transfer_kernel", origin).astype(object)
    return Transfers(
        origin=origin,
        baseline=first,
        candidate=second,
        # The same kernel under both has no difference.
        error=np.sqrt(mean_of_known(np.where(status == TransferStatus.OK, error, np.nan))),
        schedule=hashes,
        status=status,
    )


def _transfer_times(transfers: xr.Dataset, config: str) -> Floats:
    """Return the timings of schedules as a configuration builds them; NaN where it cannot."""
    status = runs_of(transfers, "transfer_status", config)
    fits = (status == TransferStatus.OK) | (status == TransferStatus.SAME_KERNEL)
    seconds = runs_of(transfers, "transfer_latency", config).astype(np.float64)
    return np.where(fits[:, :, np.newaxis, np.newaxis], seconds, np.nan)
