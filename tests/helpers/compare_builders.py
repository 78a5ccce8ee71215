"""Datasets with known noise and known boosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

import abtune

NAN = float("nan")


def make_sweep(
    boosts: npt.ArrayLike,
    *,
    n: int = 10,
    m: int | None = None,
    noise: Sequence[float] | float = 0.02,
    rounds: int = 1,
    repeats: int = 1,
    timing_noise: float = 0.0,
    seed: int = 0,
    **fields: Any,
) -> xr.Dataset:
    """One shape for each true boost; n seeds of the baseline and m of the candidate."""
    rng = np.random.default_rng(seed)
    true = np.atleast_1d(np.asarray(boosts, dtype=float))
    most = max(n, m or n)
    spread = np.broadcast_to(noise, 2)[None, :, None, None, None]
    log = rng.normal(0, 1, (len(true), 2, most, 1, 1)) * spread
    log = log + rng.normal(0, timing_noise, (len(true), 2, most, rounds, repeats)) - 8
    log[:, 1] -= np.log1p(true)[:, None, None, None]
    log[:, 0, n:], log[:, 1, m or n :] = NAN, NAN
    labels = [f"shape{index}" for index in range(len(true))]
    return abtune.make_dataset(np.exp(log), shapes=labels, configs=["mainline", "async"], **fields)


def make_candidates(boosts: dict[str, Sequence[float]], *, n: int = 8, noise: float = 0.02) -> xr.Dataset:
    """Make a baseline ``stock`` and candidates by name, each with a true boost for each shape."""
    true = np.array([np.zeros(len(next(iter(boosts.values())))), *boosts.values()])
    log = np.random.default_rng(1).normal(0, noise, (*true.T.shape, n)) - np.log1p(true.T)[..., np.newaxis]
    labels = [f"shape{index}" for index in range(true.shape[1])]
    return abtune.make_dataset(np.exp(log), shapes=labels, configs=["stock", *boosts])
