"""Mainline's winners with a pipeline that may use all shared memory of the card.

CUDA gives a thread block 48 KiB of static shared memory, which forbids most pipelines. Dynamic shared memory
has no such limit. Two configurations take mainline's winners over: ``async-dynamic`` with dynamic shared
memory, ``async-merged`` with static tiles that share their memory (``tirx.merge_static_smem``).

    cd analysis/studies
    python large_shared_memory.py prepare h200-tvm14009 winners.nc
    abtune measure winners.nc --transfer --rounds 3 --trust large_shared_memory:DYNAMIC \
        --trust large_shared_memory:MERGED --out later.nc
    python large_shared_memory.py keep later.nc ../../data/h200-tvm14009-memory.nc
    python large_shared_memory.py table
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from h200_tables import table

import abtune
from abtune.configurations import ASYNC, MAINLINE, Configuration
from abtune.dataset.schema import TransferStatus
from abtune.traces import Trace, asynchronous, read_trace, write_trace

DATA = Path(__file__).resolve().parents[2] / "data"
# Seconds to build a candidate; a winner gets ten times as many. Unrolled kernels take the compiler minutes.
BUILD_TIMEOUT = 4.0

DYNAMIC = Configuration(
    name="async-dynamic",
    pass_config=ASYNC.pass_config,
    space="large_shared_memory:unlimited",
    transfer="large_shared_memory:dynamic",
    target_kind="cuda",
)
MERGED = Configuration(
    name="async-merged",
    pass_config={**ASYNC.pass_config, "tirx.merge_static_smem": True},
    space="large_shared_memory:unlimited",
    transfer="abtune.traces:asynchronous",
    target_kind="cuda",
)


def unlimited(target: Any) -> Any:
    """Return MetaSchedule's design space without the check of shared memory; the compiler refuses instead."""
    from tvm.s_tir import meta_schedule as ms

    checks = [check for check in ms.postproc.Postproc.create("cuda") if "VerifyGPUCode" not in str(check)]
    return ms.space_generator.PostOrderApply(
        sch_rules=target.kind.name, postprocs=checks, mutator_probs=target.kind.name
    )


def dynamic(trace: list[Any]) -> list[list[Any]]:
    """Return the schedule with each pipeline, its tiles in dynamic shared memory."""
    return [write_trace(_in_dynamic(read_trace(variant))) for variant in asynchronous(trace)]


def _in_dynamic(trace: Trace) -> Trace:
    return tuple(
        replace(step, attributes=tuple("shared.dyn" if one == "shared" else one for one in step.attributes))
        if step.name == "CacheRead"
        else step
        for step in trace
    )


def prepare(source: str, path: str) -> None:
    """Write a dataset of mainline's winners alone, to be built under all four configurations."""
    dataset = abtune.open_dataset(source).load().sel(config=["mainline"])
    stale = [name for name in dataset.variables if str(name).startswith("transfer_")]
    dataset = dataset.drop_vars([*stale, "origin"], errors="ignore")
    configs = [config.settings() for config in (MAINLINE, ASYNC, DYNAMIC, MERGED)]
    settings = json.loads(dataset.attrs["settings"]) | {"build_timeout": BUILD_TIMEOUT}
    dataset.attrs |= {"configurations": json.dumps(configs), "settings": json.dumps(settings)}
    abtune.save_dataset(dataset, path)


def keep(source: str, path: str) -> None:
    """Write a measurement without the searches, which the dataset of its winners has."""
    dataset = abtune.open_dataset(source).load()
    searched = [name for name in dataset.variables if str(name).startswith("trial")]
    abtune.save_dataset(dataset.drop_vars(searched), path)


def effects(dataset: xr.Dataset, config: str) -> xr.DataArray:
    """Return by how much each winner of mainline is faster as a configuration builds it, as log ratio."""
    times = xr.ufuncs.log(dataset["transfer_latency"].sel(origin="mainline", config=config))
    own = xr.ufuncs.log(dataset["latency"].sel(config="mainline"))
    return (own.median("repeat") - times.median("repeat")).mean("round")


def effect_table(studies: dict[str, xr.Dataset]) -> str:
    """Return a line for each study and configuration: how many winners can be built, and the effect."""
    rows = []
    for name, dataset in studies.items():
        for config in ("async", DYNAMIC.name, MERGED.name):
            status = dataset["transfer_status"].sel(origin="mainline", config=config)
            effect = effects(dataset, config)
            timed, tried = int(effect.notnull().sum()), int((status != TransferStatus.MISSING).sum())
            mean = 100 * np.expm1(float(effect.mean("seed").mean("shape")))
            faster = 100 * int((effect > 0).sum()) / timed
            rows.append((f"`{name}`", f"`{config}`", tried, timed, f"{mean:+.1f} %", f"{faster:.0f} %"))
    return table("winners of|built as|tried:|timed:|mean effect:|faster:", rows)


def kind_table(studies: dict[str, xr.Dataset]) -> str:
    """Return a line for each kind of shape: the lowest and the highest effect with dynamic memory."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for dataset in studies.values():
        effect = effects(dataset, DYNAMIC.name)
        own = xr.ufuncs.log(dataset["latency"].sel(config="mainline")).median("repeat").mean("round")
        fastest = own.min("seed") - (own - effect).min("seed")
        for label in effect["shape"].values[effect.notnull().any("seed")]:
            pair = effect.mean("seed").sel(shape=label), fastest.sel(shape=label)
            kinds.setdefault(kind_of(label), []).append(tuple(100 * np.expm1(float(log)) for log in pair))
    rows = (
        (
            kind,
            len(boosts),
            *(f"{min(side):+.1f} to {max(side):+.1f} %" for side in zip(*boosts, strict=True)),
        )
        for kind, boosts in sorted(kinds.items())
    )
    return table("shapes|number:|mean effect:|fastest kernel:", rows)


def kind_of(label: str) -> str:
    """Return what tells shapes that gain from shapes that lose."""
    sizes = dict(field.split("=") for field in label.split("_"))
    if sizes.get("R") == "1":
        return f"1x1 convolution, {'at least' if int(sizes['C']) >= 1024 else 'under'} 1,024 channels"
    return "3x3 or 7x7 convolution" if "R" in sizes else "GEMM"


def same_tiles(studies: dict[str, xr.Dataset]) -> tuple[float, int]:
    """Return by how many percent dynamic memory changes pipelines that fit 48 KiB, and their number."""
    changes = [effects(one, DYNAMIC.name) - effects(one, "async") for one in studies.values()]
    values = np.concatenate([change.values[np.isfinite(change.values)] for change in changes])
    return 100 * float(np.expm1(values.mean())), len(values)


def measured() -> dict[str, xr.Dataset]:
    """Return the measurements by the name of the dataset whose winners they are of."""
    names = ("h200-tvm14009", "h200-deep")
    return {name: abtune.open_dataset(DATA / f"{name}-memory.nc") for name in names}


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(*sys.argv[2:])
    elif sys.argv[1] == "keep":
        keep(*sys.argv[2:])
    else:
        print(effect_table(measured()), kind_table(measured()), same_tiles(measured()), sep="\n\n")
