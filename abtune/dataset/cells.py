"""From values of single runs to a dataset: each value goes into its cell of a padded array."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.schema import RUN, VARIABLES
from abtune.errors import InputError
from abtune.text import count, listed

if TYPE_CHECKING:
    import xarray as xr

# The label of a shape, the name of a configuration, and the number of a seed.
Cell: TypeAlias = tuple[str, str, int]

# The most values that an import puts into one array; 1 GiB.
MOST_VALUES = 2**27
_DTYPES: Mapping[str, str] = {"f": "float64", "i": "int8", "U": "object", "M": "datetime64[ms]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The axes of a dataset, in order, and the least lengths of ``round``, ``repeat`` and ``trial``."""

    shapes: Sequence[str]
    configs: Sequence[str]
    seeds: Sequence[int]
    lengths: Mapping[str, int]


def dataset_from_cells(
    cells: Mapping[Cell, Mapping[str, Any]],
    axes: Axes,
    *,
    variables: Iterable[str],
    shape_values: Mapping[str, Sequence[Any]],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """Return a valid dataset with the values of many runs."""
    arrays = _padded(list(dict.fromkeys(("latency", "run_status", *variables))), cells, axes)
    dataset = make_dataset(
        arrays.pop("latency"),
        shapes=axes.shapes,
        configs=axes.configs,
        seeds=axes.seeds,
        workloads=shape_values.get("workload"),
        run_status=arrays.pop("run_status"),
        attrs=attrs,
    )
    per_shape = {name: values for name, values in shape_values.items() if name != "workload"}
    return add_variables(dataset, **per_shape, **arrays)


def _padded(
    names: Sequence[str], cells: Mapping[Cell, Mapping[str, Any]], axes: Axes
) -> dict[str, npt.NDArray[Any]]:
    for name in names:
        if name not in VARIABLES or VARIABLES[name].dims[: len(RUN)] != RUN:
            raise InputError(f"{name!r} is not a variable of single runs in the schema")
    labels = (axes.shapes, axes.configs, axes.seeds)
    size = tuple(map(len, labels))
    # Both count the last axis fastest, so labels and places go together.
    index = dict(zip(itertools.product(*labels), np.ndindex(size), strict=True))
    lengths = {"round": 1, "repeat": 1, "trial": 0, **axes.lengths}
    values = []
    for cell, entries in cells.items():
        if cell not in index:
            raise InputError(f"run {cell} is not among the axes of the dataset")
        for name, value in entries.items():
            array = _as_array(name, value, names)
            for dim, length in zip(_own_dims(name), array.shape, strict=True):
                lengths[dim] = max(lengths[dim], length)
            values.append((name, index[cell], array))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        shape = (*size, *(lengths[dim] for dim in _own_dims(name)))
        arrays[name] = np.full(shape, VARIABLES[name].fill, dtype=_DTYPES[VARIABLES[name].kind])
    for name, place, array in values:
        # The dots make a view of one cell; without them a text would stay an array of its own.
        where: tuple[Any, ...] = (*place, *map(slice, array.shape), ...)
        arrays[name][where] = array
    return arrays


def _as_array(name: str, value: Any, names: Collection[str]) -> npt.NDArray[Any]:
    """Return the value of one cell as an array with the axes of its variable."""
    if name not in names:
        raise InputError(f"a run has a value of {name!r}, but the dataset has only {', '.join(names)}")
    dims = _own_dims(name)
    array = np.asarray(value, dtype=_DTYPES[VARIABLES[name].kind])
    if array.ndim == 0:
        array = array.reshape((1,) * len(dims))
    if array.ndim != len(dims):
        wanted = f"an array of {count(len(dims), 'dimension')}: {listed(dims)}" if dims else "a single value"
        raise InputError(f"{name} of one run has {count(array.ndim, 'dimension')}; give {wanted}")
    return array


def _own_dims(name: str) -> tuple[str, ...]:
    return VARIABLES[name].dims[len(RUN) :]
