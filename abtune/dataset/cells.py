"""From values of single runs to a dataset: each value goes into its cell of a padded array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.schema import RUN, VARIABLES, RunStatus, TrialStatus
from abtune.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

# The label of a shape, the name of a configuration, and the number of a seed.
Cell: TypeAlias = tuple[str, str, int]

# What stands where a cell has no value, by the kind of the variable; enumerations have their own.
_FILL: Mapping[str, Any] = {"f": math.nan, "U": "", "M": np.datetime64("NaT")}
_FLAG_FILL: Mapping[type, int] = {RunStatus: RunStatus.MISSING, TrialStatus: TrialStatus.NOT_RUN}
_DTYPES: Mapping[str, str] = {"f": "float64", "i": "int8", "U": "object", "M": "datetime64[ms]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The axes of a dataset, in order.

    Attributes
    ----------
    shapes, configs : sequence of str
        Labels and names.
    seeds : sequence of int
        Numbers of the replicates.
    lengths : mapping of str to int
        Least lengths of ``round``, ``repeat`` and ``trial``. A cell with more values makes an axis longer.
    """

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
    """Return a valid dataset with the values of many runs.

    Parameters
    ----------
    cells : mapping of Cell to mapping of str to value
        Values by the name of their variable. A value has the axes that its variable has after shape, config
        and seed: none for ``winner``, trials for ``trial_latency``, rounds and repeats for ``latency``. It
        may be shorter than the longest. A single number stands for one round of one repeat.
    axes : Axes
        Labels of the dataset; every cell must be among them.
    variables : iterable of str
        Variables of the dataset, in order, also those that no cell has. ``latency`` and ``run_status`` are
        always there.
    shape_values : mapping of str to sequence
        Variables with one value per shape, in the order of the shapes: ``workload``, ``flop``.
    attrs : mapping
        Global attributes.

    Raises
    ------
    InputError
        If a cell is not among the axes, a name is not a variable of single runs, or a value has other axes.
    DatasetError
        If the result is not a valid dataset.

    Examples
    --------
    >>> axes = Axes(shapes=["mine"], configs=["a", "b"], seeds=[0], lengths={})
    >>> cells = {("mine", "a", 0): {"latency": 1e-3, "run_status": RunStatus.COMPLETE}}
    >>> dataset = dataset_from_cells(cells, axes, variables=(), shape_values={}, attrs={})
    >>> dataset["run_status"].values.tolist()
    [[[0], [2]]]
    """
    names = list(dict.fromkeys(("latency", "run_status", *variables)))
    arrays = _padded(names, cells, axes)
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
    """Return the array of each variable, filled cell by cell."""
    for name in names:
        if name not in VARIABLES or VARIABLES[name].dims[: len(RUN)] != RUN:
            raise InputError(f"{name!r} is not a variable of single runs in the schema")
    values = [
        (name, cell, _as_array(name, value, names))
        for cell, entries in cells.items()
        for name, value in entries.items()
    ]
    lengths = {"round": 1, "repeat": 1, "trial": 0, **axes.lengths}
    for name, _, value in values:
        for dim, length in zip(_own_dims(name), value.shape, strict=True):
            lengths[dim] = max(lengths[dim], length)
    size = (len(axes.shapes), len(axes.configs), len(axes.seeds))
    arrays = {name: _empty(name, (*size, *(lengths[dim] for dim in _own_dims(name)))) for name in names}
    index = _index(axes)
    for name, cell, value in values:
        if cell not in index:
            raise InputError(f"run {cell} is not among the axes of the dataset")
        # The dots make a view of one cell; without them a text would stay an array of its own.
        where: tuple[Any, ...] = (*index[cell], *map(slice, value.shape), ...)
        arrays[name][where] = value
    return arrays


def _index(axes: Axes) -> dict[Cell, tuple[int, ...]]:
    """Return the index of every cell."""
    cells = itertools.product(axes.shapes, axes.configs, axes.seeds)
    size = (len(axes.shapes), len(axes.configs), len(axes.seeds))
    return dict(zip(cells, np.ndindex(size), strict=True))


def _as_array(name: str, value: Any, names: Sequence[str]) -> npt.NDArray[Any]:
    """Return the value of one cell as an array with the axes of its variable."""
    if name not in names:
        raise InputError(f"a run has a value of {name!r}, but the dataset has only {', '.join(names)}")
    dims = _own_dims(name)
    array = np.asarray(value, dtype=_DTYPES[VARIABLES[name].kind])
    if array.ndim == 0:
        array = array.reshape((1,) * len(dims))
    if array.ndim != len(dims):
        raise InputError(f"{name} of one run has {array.ndim} axes; give {len(dims)}: {', '.join(dims)}")
    return array


def _own_dims(name: str) -> tuple[str, ...]:
    """Return the dimensions of a variable within one run."""
    return VARIABLES[name].dims[len(RUN) :]


def _empty(name: str, size: tuple[int, ...]) -> npt.NDArray[Any]:
    variable = VARIABLES[name]
    fill = _FILL[variable.kind] if variable.flags is None else _FLAG_FILL[variable.flags]
    return np.full(size, fill, dtype=_DTYPES[variable.kind])
