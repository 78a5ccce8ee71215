"""A made-up sweep, the same on every machine, for tests and for the examples of the documentation."""

from __future__ import annotations

import numpy as np
import xarray as xr

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.schema import RunStatus


def swept() -> xr.Dataset:
    """Seven shapes and ten seeds: a gain, a loss, no difference, doubt, failures, one seed, no scatter."""
    labels = [f"M={size}_N={size}_K={size}" for size in (128, 256, 384, 512, 640)]
    labels += [f"N=1_H=14_W=14_C=64_K={k}_R=1_S=1_STR=1_PAD=0_DIL=1" for k in (64, 128)]
    seeds = np.arange(10)
    wave = np.stack([np.cos(2.4 * seeds), np.sin(1.7 * seeds + 1)])
    size = [0.04, 0.03, 0.004, 0.05, 0.02, 0.02, 0.0]
    boost = [0.2, -0.15, 0.001, 0.02, 0.1, 0.1, 0.05]
    log = np.multiply.outer(size, wave) - np.multiply.outer(boost, [0, 1])[:, :, np.newaxis]
    latency = 1e-4 * np.exp(log)[..., np.newaxis, np.newaxis].repeat(2, axis=3)
    status = np.full(log.shape, RunStatus.COMPLETE)
    status[4, 1], latency[4, 1] = RunStatus.FAILED, np.nan
    status[5, 0, 1:], latency[5, 0, 1:] = RunStatus.MISSING, np.nan
    dataset = abtune.make_dataset(
        latency,
        shapes=labels,
        configs=["mainline", "async"],
        workloads=["gemm_nn"] * 5 + ["conv2d_nhwc"] * 2,
        run_status=status,
    )
    return add_variables(dataset, search_latency=latency[..., 0, 0])
