"""How to build a dataset from arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.dataset.check import check_attrs, check_is_dataset, check_list, validate, validate_flags
from abtune.dataset.schema import (
    COORDINATES,
    DESIGN,
    REPEAT,
    RUN,
    SCHEMA_VERSION,
    VARIABLES,
    RunStatus,
    Variable,
    is_paired,
)
from abtune.errors import DatasetError, InputError
from abtune.text import count, listed, shown
from abtune.version import __version__

if TYPE_CHECKING:
    import xarray as xr


def make_dataset(
    latency: npt.ArrayLike,
    *,
    shapes: Sequence[str],
    configs: Sequence[str],
    seeds: Sequence[int] | None = None,
    workloads: Sequence[str] | None = None,
    run_status: npt.ArrayLike | None = None,
    design: str | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Build a valid dataset from an array of timings.

    Parameters
    ----------
    latency : array_like, shape (shape, config, seed) or (shape, config, seed, round, repeat), seconds
        Time of one call. NaN, or masked, where there is none. The dataset gets a copy.
    shapes : sequence of str
        One label for each entry of the first axis; any text will do.
    configs : sequence of str
        One name for each entry of the second axis. The first is the usual baseline.
    seeds : sequence of int, optional
        Numbers of the replicates; 0, 1, 2, ... by default.
    workloads : sequence of str, optional
        Kind of each shape, such as ``"conv2d_nhwc"``; empty by default.
    run_status : array_like of int, shape (shape, config, seed), optional
        Values of :class:`RunStatus`. By default a run is complete if it has a timing, else missing.
    design : str, optional
        ``"paired"`` if the runs of a seed are a pair, because they were timed side by side, ``"shared"`` if
        their searches exchanged schedules, and ``"independent"``, the default, if they are no pair.
    attrs : mapping, optional
        Further global attributes: device, versions, settings. Texts, numbers, or lists of either.

    Returns
    -------
    xarray.Dataset
        Validated; further variables of the schema can be added with :func:`add_variables`.

    Raises
    ------
    InputError
        If lengths do not fit, seeds are not whole numbers, or an attribute cannot be kept in a file.
    DatasetError
        If a latency is zero, negative or infinite, labels repeat, an axis is empty, or the
        design is unknown.

    Examples
    --------
    >>> import abtune
    >>> dataset = abtune.make_dataset([[[1e-3, 1.1e-3], [0.9e-3, 1e-3]]], shapes=["mine"], configs=["a", "b"])
    >>> dict(dataset.sizes)
    {'shape': 1, 'config': 2, 'seed': 2, 'round': 1, 'repeat': 1}
    """
    import xarray as xr  # not above: processes that search and measure need the enumerations alone

    values = _with_rounds(latency)
    numbers = check_list("seeds", range(values.shape[2]) if seeds is None else seeds, [0, 1, 2])
    shapes, configs = _labels("shapes", shapes), _labels("configs", configs)
    kinds = check_list("workloads", [""] * len(shapes) if workloads is None else workloads, ["a", "b"])
    for name, labels, axis in (
        ("shapes", shapes, 0),
        ("configs", configs, 1),
        ("seeds", numbers, 2),
        ("workloads", kinds, 0),
    ):
        if len(labels) != values.shape[axis]:
            length = values.shape[axis]
            raise InputError(f"{name} has length {len(labels)}, but latency has {length} along that axis")
    if run_status is None:
        timed = np.isfinite(values).any(axis=(3, 4))
        run_status = np.where(timed, RunStatus.COMPLETE, RunStatus.MISSING)
    coordinates: dict[str, npt.ArrayLike] = {
        "shape": _text(shapes),
        "config": _text(configs),
        "seed": _whole_numbers("seeds", numbers),
        "round": np.arange(values.shape[3]),
        "repeat": np.arange(values.shape[4]),
    }
    given = {dim: labels for dim, labels in coordinates.items() if dim != "seed" or seeds is not None}
    _check_labels("latency", latency, given)
    check_attrs(attrs or {})
    dataset = xr.Dataset(
        coords={name: _coordinate(name, labels) for name, labels in coordinates.items()},
        attrs={
            "Conventions": "CF-1.11",
            "schema_version": SCHEMA_VERSION,
            "abtune_version": __version__,
            **(attrs or {}),
            **({} if design is None else {DESIGN: str(design)}),
        },
    )
    if is_paired(dataset):
        dataset["seed"].attrs["long_name"] = "number of the replicate; a pair between configurations"
    return add_variables(dataset, latency=values, run_status=run_status, workload=kinds)


def add_variables(dataset: xr.Dataset, **values: npt.ArrayLike) -> xr.Dataset:
    """Return the dataset with variables of the schema added or replaced, with their units and names.

    Parameters
    ----------
    dataset : xarray.Dataset
        A dataset as :func:`make_dataset` builds it; it is not changed.
    **values : array_like
        Arrays by the name of their variable, axes as the schema has them.

    Raises
    ------
    InputError
        If a name is not in the schema, an array is not of its kind, or the first argument is no dataset.
    DatasetError
        If the result is not a valid dataset.
    """
    check_is_dataset(dataset)
    added = {name: _added(dataset, name, value) for name, value in values.items()}
    try:
        extended = dataset.assign(added)
    except ValueError as error:  # xarray's message names the dimension and both lengths
        raise DatasetError(f"arrays do not fit together: {error}") from None
    for name, labels in (
        ("origin", extended.get("config")),
        ("trial", range(extended.sizes.get("trial", 0))),
    ):
        if name in extended.dims and name not in extended.coords:
            extended = extended.assign_coords({name: _coordinate(name, np.asarray(labels))})
    validate(extended)
    return extended


def _with_rounds(latency: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return timings with all five axes; without axes of rounds and repeats, there is one of each."""
    _check_order("latency", latency)
    values = _numbers("latency", latency)
    if values.ndim == len(RUN):
        return values[..., np.newaxis, np.newaxis]
    if values.ndim != len(REPEAT):
        wanted = "3: shape, config and seed; or 5: these, round and repeat"
        raise InputError(f"latency has {count(values.ndim, 'dimension')}; give {wanted}")
    return values


def _added(dataset: xr.Dataset, name: str, value: npt.ArrayLike) -> tuple[Any, ...]:
    """Return dimensions, array and attributes of a variable of the schema that fits a dataset."""
    if name not in VARIABLES:
        raise InputError(f"{name!r} is not a variable of the schema")
    variable = VARIABLES[name]
    _check_order(name, value)
    _check_labels(name, value, dataset.coords)
    array = _coerce(name, value, variable)
    if array.ndim != len(variable.dims):
        wanted = f"{len(variable.dims)}: {listed(variable.dims)}"
        raise InputError(f"{name} has {count(array.ndim, 'dimension')}; give {wanted}")
    for dim, length in zip(variable.dims, array.shape, strict=True):
        if dim in dataset.sizes and length != dataset.sizes[dim]:
            has = f"the dataset has {dataset.sizes[dim]}"
            raise DatasetError(f"{name} has length {length} along {dim}, but {has}")
    return variable.dims, array, variable.attrs


def _check_order(name: str, value: object) -> None:
    """Refuse an array whose own dimensions, as those of xarray have, are not in the order of the schema."""
    own = tuple(getattr(value, "dims", ()))
    wanted = [dim for dim in VARIABLES[name].dims if dim in own]
    if wanted != [dim for dim in own if dim in wanted]:
        raise InputError(f"{name} has dimensions {own}; transpose it to the order {', '.join(wanted)}")


def _check_labels(name: str, value: object, labels: Mapping[Any, npt.ArrayLike]) -> None:
    """Refuse an array with labels of its own, as those of xarray have, that are not these."""
    known, dims = getattr(value, "coords", {}), getattr(value, "dims", ())
    coords = {dim: known[dim] for dim in dims if dim in known}  # a single label is left of a selection
    names = {dim: [*map(str, np.ravel(labels[dim]))] for dim in ("shape", "config")}
    # Whatever an axis is called, labels of the dataset have to stand in its order.
    others = dict(zip(VARIABLES[name].dims, dims, strict=False))
    for dim, wanted in names.items():
        for own_dim in {dim, others.get(dim)} & {*coords}:
            own = [*map(str, np.ravel(coords[own_dim]))]
            if own != wanted and (own_dim == dim or {*own} & {*itertools.chain(*names.values())}):
                raise _other_labels(name, str(own_dim), own, wanted)
    own_seeds, seeds = (
        np.ravel(given["seed"]).tolist() if "seed" in given else [] for given in (coords, labels)
    )
    # Seeds that are no numbers, such as dates, get their numbers here.
    if seeds and all(isinstance(seed, int) for seed in own_seeds) and own_seeds not in ([], seeds):
        raise _other_labels(name, "seed", own_seeds, seeds)


def _other_labels(name: str, dim: str, own: Sequence[Any], wanted: Sequence[Any]) -> InputError:
    remedy = "give its own labels, in its order"
    return InputError(f"{name} has {dim} {shown(own)}, not {shown(wanted)}; {remedy}")


def _labels(name: str, labels: Iterable[object]) -> list[str]:
    """Return labels as texts; refuse a gap and bytes, whose text is nan or b'name'."""
    import pandas as pd  # as late as xarray, which imports it

    entries = check_list(name, labels, ["a", "b"])
    for label in entries:
        if isinstance(label, bytes | list | np.ndarray) or pd.isna(label):
            remedy = "decode it" if isinstance(label, bytes) else "give a name"
            raise InputError(f"{name} has {shown(label)}, which is not text; {remedy}")
    return [str(label) for label in entries]


def _coordinate(name: str, labels: npt.ArrayLike) -> tuple[str, npt.ArrayLike, dict[str, str]]:
    return name, labels, {"long_name": COORDINATES[name], "units": "1"}


def _coerce(name: str, value: npt.ArrayLike, variable: Variable) -> npt.NDArray[Any]:
    """Turn an array into what the schema keeps, and change no value by that."""
    if variable.kind == "U":
        return _text(value)
    if variable.kind == "f":
        return _numbers(name, value)
    if variable.kind == "i":
        whole = _whole_numbers(name, value)
        validate_flags(name, variable, whole)  # as int8, 256 would be 0
        return whole.astype(np.int8)
    # NumPy would take seconds since 1970 for milliseconds.
    if np.asarray(value).dtype.kind in "iufb":
        raise InputError(f"{name} holds numbers, not times; give datetimes in UTC, such as datetime64")
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype("datetime64[ms]"), np.datetime64("NaT", "ms"))
    try:  # whole milliseconds survive the file
        return np.asarray(value, dtype="datetime64[ms]").astype("datetime64[ns]")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of times: {error}") from None


def _numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return floating-point numbers, NaN for what is masked: the value below a mask means nothing."""
    try:
        given: Any = np.ma.asarray(value)
        unit = VARIABLES[name].units if name in VARIABLES else "1"
        own = str(getattr(value, "attrs", {}).get("units", unit))  # of xarray and pandas
        if own not in {unit, "1"}:  # arithmetic of enumerations keeps 1
            raise InputError(
                f"{name} has units {shown(own)}; convert it to {unit}, and set its units to {unit!r}"
            )
        # NumPy would take True for one second, and drop the imaginary part of a complex number.
        if given.dtype.kind in "bcmM":
            wanted = "" if unit == "1" else f" in {unit}"
            raise InputError(f"{name} holds {given.dtype}, not numbers; give numbers{wanted}")
        masked: Any = given.astype(np.float64)  # a copy: a script may fill its array again
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        why = "its rows differ in length; fill them with NaN" if "inhomogeneous" in str(error) else error
        raise InputError(f"{name} is not an array of numbers: {why}") from None
    return masked.filled(np.nan)


def _whole_numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    given = None if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    # Not by way of floats: these are exact up to 2**53 only.
    if given is not None and given.dtype.kind in "iu" and np.can_cast(given.dtype, np.int64):
        return given.astype(np.int64)
    numbers = _numbers(name, value)
    # Beyond 2**53 not every whole number is a float, so what was meant is lost. NaN fails both comparisons.
    wrong = numbers[~((np.abs(numbers) < 2**53) & (numbers == np.floor(numbers)))]
    if wrong.size:
        raise InputError(f"{name} must be whole numbers, and has {wrong[0]:g}")
    return numbers.astype(np.int64)


def _text(value: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(value), "", value.data.astype(object))
    return np.array(value, dtype=object)


# The label of a shape, the name of a configuration, and the number of a seed.
RunLabels: TypeAlias = tuple[str, str, int]

# The most values of one variable; 1 GiB.
_MOST_VALUES = 2**27
_DTYPES: Mapping[str, str] = {"f": "float64", "i": "int8", "U": "object", "M": "datetime64[ms]"}


def axes_of(cells: Iterable[RunLabels]) -> dict[str, list[Any]]:
    """Return the labels of runs by axis: shapes and configurations as they come, seeds in order."""
    shapes, configs, seeds = (list(dict.fromkeys(labels)) for labels in zip(*cells, strict=True))
    return {"shape": shapes, "config": configs, "seed": sorted(seeds)}


def cells_of(
    dataset: xr.Dataset, names: Iterable[str], dims: Sequence[str] = RUN, *, also: Collection[Any] = ()
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield labels and values of the runs that are there, or of transfers whose origin has a run.

    ``also`` are runs that other datasets have.
    """
    arrays = {name: dataset[name].values for name in names if name in dataset}
    status = dataset["run_status"].values.ravel().tolist()
    runs = itertools.product(*(dataset[dim].values.tolist() for dim in RUN))
    made = {run for run, one in zip(runs, status, strict=True) if one != RunStatus.MISSING}
    axes = [dataset[dim].values.tolist() for dim in dims]
    for labels, index in zip(itertools.product(*axes), np.ndindex(*map(len, axes)), strict=True):
        run = (labels[0], *labels[-2:])  # shape, configuration or origin, and seed
        if run in made or run in also:
            yield labels, {name: array[index] for name, array in arrays.items()}


def dataset_from_cells(
    cells: Mapping[RunLabels, Mapping[str, Any]],
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
        run_status=arrays.pop("run_status"),
        attrs=attrs,
    )
    return add_variables(dataset, **shape_values, **arrays)


def padded(
    names: Sequence[str],
    cells: Mapping[Any, Mapping[str, Any]],
    labels: Sequence[Sequence[Any]],
    least: Mapping[str, int],
) -> dict[str, npt.NDArray[Any]]:
    """Return the values of runs or transfers as arrays, padded to the longest; refuse too large ones."""
    dtypes = {name: _DTYPES[VARIABLES[name].kind] for name in names}
    own_dims = {name: VARIABLES[name].dims[len(labels) :] for name in names}
    positions = [{label: number for number, label in enumerate(axis)} for axis in labels]
    lengths, most, values = {**least}, "", []
    for cell, entries in cells.items():
        try:
            index = tuple(axis[label] for axis, label in zip(positions, cell, strict=True))
        except KeyError:
            raise InputError(f"run {cell} is not among the axes of the dataset") from None
        for name, value in entries.items():
            array = np.asarray(value, dtype=dtypes[name])
            if array.ndim == 0:
                array = array.reshape((1,) * len(own_dims[name]))
            for dim, length in zip(own_dims[name], array.shape, strict=True):
                if length > lengths[dim]:
                    lengths[dim], most = length, f"; {', '.join(map(str, cell))} has the most {dim}s"
            values.append((name, index, array))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        shape = (*map(len, labels), *(lengths[dim] for dim in own_dims[name]))
        if (number := math.prod(shape)) > _MOST_VALUES:
            size = f"{' x '.join(map(str, shape))} values, {number * 8 / 2**30:.0f} GiB, mostly empty"
            raise DatasetError(f"{name} would have {size}{most}; take fewer shapes or files at once")
        arrays[name] = np.full(shape, VARIABLES[name].fill, dtype=dtypes[name])
    for name, position, array in values:
        # The dots make a view of one cell; without them a text would stay an array of its own.
        where: tuple[Any, ...] = (*position, *map(slice, array.shape), ...)
        arrays[name][where] = array
    return arrays
