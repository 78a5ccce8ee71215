"""One dataset from several: the union of their shapes, configurations and seeds.

A cell is one shape, configuration and seed. Two datasets may not both have a run in one cell, and they have
to agree about what was measured. Numbers are copied, never averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.check import validate
from abtune.dataset.merge_attrs import merge_attrs
from abtune.dataset.schema import RUN, VARIABLES, RunStatus
from abtune.errors import DatasetError, InputError
from abtune.text import count

# Values that one variable of the result may have; 1 GiB.
_MOST = 2**27
_MORE = ("round", "repeat", "trial")


def merge_datasets(named: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return the union of datasets by the names under which they are recorded, such as their paths.

    Their order decides the order of shapes and configurations. Attributes that all share are kept; the
    attribute ``sources`` (JSON) has the others. Variables that are not in the schema are left out.
    """
    if len(named) < 2:
        raise InputError("there is nothing to merge; give two datasets or more")
    for name, dataset in named.items():
        try:
            validate(dataset)
        except DatasetError as error:
            raise DatasetError(f"{name}: {error}") from None
    attrs = merge_attrs({name: dataset.attrs for name, dataset in named.items()})
    every = named.values()
    axes: dict[str, Sequence[Any]] = {
        axis: list(dict.fromkeys(label for dataset in every for label in dataset[axis].values.tolist()))
        for axis in RUN
    }
    axes["seed"] = sorted(axes["seed"])
    axes |= {dim: range(max(dataset.sizes.get(dim, 0) for dataset in every)) for dim in _MORE}
    names = [
        name
        for name, variable in VARIABLES.items()
        if variable.dims[: len(RUN)] == RUN and any(name in dataset for dataset in every)
    ]
    for name in ("run_status", *names):
        _check_size(name, [len(axes[dim]) for dim in VARIABLES[name].dims])
    aligned = {name: _aligned(dataset, names, axes) for name, dataset in named.items()}
    _check_apart(aligned)
    values = {name: _merge_runs(name, axes, list(aligned.values())) for name in names}
    values |= {
        name: _merge_shapes(name, named, axes["shape"])
        for name in ("workload", "flop")
        if any(name in dataset for dataset in every)
    }
    merged = make_dataset(
        values.pop("latency"),
        shapes=axes["shape"],
        configs=axes["config"],
        seeds=axes["seed"],
        workloads=values.pop("workload").tolist(),
        run_status=values.pop("run_status"),
        attrs=attrs,
    )
    return add_variables(merged, **values) if values else merged


def mixed_shapes(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the shapes whose configurations come from different datasets.

    What changed between two measurements counts there as a difference between configurations.
    """
    files: dict[str, dict[str, set[str]]] = {}
    for name, dataset in named.items():
        made = dataset["run_status"].transpose(*RUN).values != RunStatus.MISSING
        shapes, configs = dataset["shape"].values.tolist(), dataset["config"].values.tolist()
        for shape, config in np.argwhere(made.any(axis=2)).tolist():
            files.setdefault(shapes[shape], {}).setdefault(configs[config], set()).add(name)
    return [shape for shape, origins in files.items() if len(set(map(frozenset, origins.values()))) > 1]


def left_out(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the variables that are not in the schema, which :func:`merge_datasets` leaves out."""
    return sorted({str(name) for dataset in named.values() for name in dataset.data_vars} - VARIABLES.keys())


def _check_size(name: str, sizes: Sequence[int]) -> None:
    """Refuse an array that memory does not hold: the union has room for every shape with every seed."""
    if math.prod(sizes) > _MOST:
        raise DatasetError(
            f"{name} would take {math.prod(sizes) * 8 / 2**30:.0f} GiB; merge fewer datasets at once"
        )


def _aligned(dataset: xr.Dataset, names: Sequence[str], axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Return the variables of single runs over the axes of the union, filled where there is no run."""
    part = dataset[[name for name in names if name in dataset]]
    part = part.assign_coords({dim: np.arange(part.sizes[dim]) for dim in _MORE if dim in part.dims})
    labels = {dim: list(axes[dim]) for dim in part.dims}
    return part.reindex(labels, fill_value={name: VARIABLES[str(name)].fill for name in part})


def _present(part: xr.Dataset) -> npt.NDArray[np.bool_]:
    present: npt.NDArray[np.bool_] = part["run_status"].values != RunStatus.MISSING
    return present


def _check_apart(aligned: Mapping[str, xr.Dataset]) -> None:
    """Refuse two runs of one cell, and name the first."""
    names = list(aligned)
    owner = np.full(aligned[names[0]]["run_status"].shape, -1)
    for number, (name, part) in enumerate(aligned.items()):
        present = _present(part)
        taken = np.argwhere(present & (owner >= 0))
        if len(taken):
            labels = [str(part[axis].values[index]) for axis, index in zip(RUN, taken[0], strict=True)]
            raise DatasetError(
                f"{names[owner[tuple(taken[0])]]} and {name} both have a run of {labels[0]}, "
                f"{labels[1]}, seed {labels[2]} ({count(len(taken), 'such run')}); a run counts "
                "once, so take it out of one of them"
            )
        owner[present] = number


def _merge_runs(
    name: str, axes: Mapping[str, Sequence[Any]], aligned: Sequence[xr.Dataset]
) -> npt.NDArray[Any]:
    """Return a variable over shape, config, seed and more; what no member has is filled."""
    variable = VARIABLES[name]
    dtype = object if variable.kind == "U" else None
    merged = np.full([len(axes[dim]) for dim in variable.dims], variable.fill, dtype=dtype)
    for part in aligned:
        if name in part:
            merged[_present(part)] = part[name].values[_present(part)]
    return merged


def _merge_shapes(name: str, named: Mapping[str, xr.Dataset], shapes: Sequence[str]) -> npt.NDArray[Any]:
    """Return a variable over shapes, about which the datasets that know it agree."""
    known: dict[str, Any] = {}
    for file, dataset in named.items():
        if name not in dataset:
            continue
        for shape, value in zip(dataset["shape"].values.tolist(), dataset[name].values.tolist(), strict=True):
            if value in {"", None} or value != value:  # noqa: PLR0124 - NaN is not itself
                continue
            if known.setdefault(shape, value) != value:
                raise DatasetError(
                    f"{file}: {name} of {shape} is {value}, but {known[shape]} in another file; one "
                    "label names two shapes: rename one of them"
                )
    return np.array([known.get(shape, VARIABLES[name].fill) for shape in shapes], dtype=object)
