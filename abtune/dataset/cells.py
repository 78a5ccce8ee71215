"""From values of single runs to a dataset: each value goes into its cell of a padded array."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.schema import RUN, VARIABLES
from abtune.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

# The label of a shape, the name of a configuration, and the number of a seed.
Cell: TypeAlias = tuple[str, str, int]

# The most values that an import or a merger puts into one array; 1 GiB.
MOST_VALUES = 2**27
_DTYPES: Mapping[str, str] = {"f": "float64", "i": "int8", "U": "object", "M": "datetime64[ms]"}


def axes_of(cells: Iterable[Cell]) -> dict[str, list[Any]]:
    """Return the labels of runs by axis: shapes and configurations as they come, seeds in order."""
    shapes, configs, seeds = (list(dict.fromkeys(labels)) for labels in zip(*cells, strict=True))
    return {"shape": shapes, "config": configs, "seed": sorted(seeds)}


def dataset_from_cells(
    cells: Mapping[Cell, Mapping[str, Any]],
    axes: Mapping[str, Sequence[Any]],
    *,
    variables: Iterable[str] = (),
    shape_values: Mapping[str, Sequence[Any]],
    attrs: Mapping[str, Any],
    least: Mapping[str, int] | None = None,
) -> xr.Dataset:
    """Return a valid dataset with the values of many runs; ``least`` has the least lengths of other axes."""
    names = list(dict.fromkeys(("latency", "run_status", *variables)))
    labels = [axes[axis] for axis in RUN]
    arrays = padded(names, cells, labels, {"round": 1, "repeat": 1, "trial": 0, **(least or {})})
    dataset = make_dataset(
        arrays.pop("latency"),
        shapes=axes["shape"],
        configs=axes["config"],
        seeds=axes["seed"],
        workloads=shape_values.get("workload"),
        run_status=arrays.pop("run_status"),
        attrs=attrs,
    )
    per_shape = {name: values for name, values in shape_values.items() if name != "workload"}
    return add_variables(dataset, **per_shape, **arrays)


def padded(
    names: Sequence[str],
    cells: Mapping[Any, Mapping[str, Any]],
    labels: Sequence[Sequence[Any]],
    least: Mapping[str, int],
) -> dict[str, npt.NDArray[Any]]:
    """Return variables whose first axes have these labels, with the values of each cell, and filled."""
    dtypes = {name: _DTYPES[VARIABLES[name].kind] for name in names}
    own_dims = {name: VARIABLES[name].dims[len(labels) :] for name in names}
    size = tuple(map(len, labels))
    # Both count the last axis fastest, so labels and places go together.
    index = dict(zip(itertools.product(*labels), np.ndindex(size), strict=True))
    lengths, values = {**least}, []
    for cell, entries in cells.items():
        if cell not in index:
            raise InputError(f"run {cell} is not among the axes of the dataset")
        for name, value in entries.items():
            array = np.asarray(value, dtype=dtypes[name])
            if array.ndim == 0:
                array = array.reshape((1,) * len(own_dims[name]))
            for dim, length in zip(own_dims[name], array.shape, strict=True):
                lengths[dim] = max(lengths[dim], length)
            values.append((name, index[cell], array))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        shape = (*size, *(lengths[dim] for dim in own_dims[name]))
        arrays[name] = np.full(shape, VARIABLES[name].fill, dtype=dtypes[name])
    for name, place, array in values:
        # The dots make a view of one cell; without them a text would stay an array of its own.
        where: tuple[Any, ...] = (*place, *map(slice, array.shape), ...)
        arrays[name][where] = array
    return arrays
