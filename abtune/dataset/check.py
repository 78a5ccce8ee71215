"""Checks of a dataset: what this version of abtune can read and write."""

from __future__ import annotations

import os
import reprlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.dataset.schema import (
    COORDINATES,
    DESIGN,
    REPEAT,
    RUN,
    SCHEMA_VERSION,
    VARIABLES,
    SeedDesign,
    Variable,
    design_of,
)
from abtune.errors import DatasetError, InputError
from abtune.text import listed, shortened, shown

if TYPE_CHECKING:
    import xarray as xr


# What numbers of a variable may be, in words, and as a test of an array; NaN always passes.
_Rule: TypeAlias = tuple[str, Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]]
# Beyond these, ratios and squares are no numbers of 64 bits.
_POSITIVE: _Rule = ("positive seconds or NaN, from 1e-30 to 1e30", lambda x: (x >= 1e-30) & (x <= 1e30))
_NOT_NEGATIVE: _Rule = ("zero, positive or NaN", lambda x: (x >= 0) & np.isfinite(x))
_RULES: Mapping[str, _Rule] = {
    "latency": _POSITIVE,
    "flop": _NOT_NEGATIVE,
    "search_latency": _POSITIVE,
    "transfer_latency": _POSITIVE,
    # A failure may be marked by an endless time; no statistic sees it.
    "trial_latency": ("zero, positive or NaN", lambda x: x >= 0),
    "tuning_time": _NOT_NEGATIVE,
    "sm_clock": _NOT_NEGATIVE,
    "temperature": ("finite or NaN", np.isfinite),
    # Beyond 2**53 a float no longer tells bits apart.
    "throttle_reasons": ("a sum of bits or NaN", lambda x: (x >= 0) & (x < 2**53) & (x == np.floor(x))),
}
# Variables that mean nothing without another one.
_NEEDED = (
    ("trial_latency", "trial_status", "which trials ran"),
    ("trial_origin", "trial_status", "which trials ran"),
    ("transfer_latency", "transfer_status", "which fit"),
)
# What xarray makes of flags and texts where it leaves gaps.
_OF_FLOATS = (
    "; xarray's where and reindex do that: choose seeds by dataset.isel(seed=dataset.seed < 5), or fill the "
    "gaps of a join: dataset[{name!r}].fillna({fill}).astype('int8')"
)
_OF_GAPS = "; xarray's joins and reindex leave such gaps; fill them: dataset[{name!r}].fillna('')"
# Attributes by which a file packs numbers: after a decoded read they are in the encoding.
_OF_PACKING = {"_FillValue", "missing_value", "scale_factor", "add_offset", "dtype"}
_OF_DIMENSIONS = (
    "; select by lists, as in dataset.sel(shape=[label]), or transpose; concat needs data_vars='minimal'"
)


def validate(dataset: xr.Dataset) -> None:
    """Check that a dataset is what this version of abtune can read and write."""
    check_is_dataset(dataset)
    _validate_version(dataset)
    if design_of(dataset.attrs) not in set(SeedDesign):
        known = listed(SeedDesign)
        value = shortened(repr(dataset.attrs[DESIGN]))
        raise DatasetError(f"attribute {DESIGN!r} is {value}; this abtune knows {known}")
    for name in REPEAT:
        # Before the variables: without an entry, text comes back from a file as numbers.
        if not dataset.sizes.get(name, 1):
            raise DatasetError(f"dimension {name!r} is empty; keep one entry at least")
    for name, variable in VARIABLES.items():
        if name in dataset.variables:
            _validate_variable(name, variable, dataset[name])
        elif variable.required:
            raise DatasetError(f"the dataset has no variable {name!r}: {variable.long_name}, {variable.dims}")
    for name, status, says in _NEEDED:
        if name in dataset.variables and status not in dataset.variables:
            raise DatasetError(f"variable {name!r} needs {status!r}, which says {says}")
    for name in RUN:
        _validate_coordinate(name, dataset)
    if "transfer_latency" in dataset.variables:
        _validate_coordinate("origin", dataset)
    for name in _RULES:
        if name in dataset.variables:
            _validate_numbers(name, dataset)


def check_is_dataset(value: object) -> None:
    """Check that a value is a dataset of xarray, whatever it holds."""
    import xarray as xr

    if isinstance(value, xr.Dataset):
        return
    if isinstance(value, str | os.PathLike):
        name = reprlib.repr(os.fspath(value))
        raise InputError(f"{name} is not a dataset but its name; open it first: abtune.open_dataset({name})")
    remedy = "open one with abtune.open_dataset, or build one with abtune.make_dataset"
    raise InputError(f"an object of type {type(value).__name__} is not a dataset; {remedy}")


def check_list(name: str, entries: Any, example: list[Any]) -> npt.NDArray[Any] | list[Any]:
    """Return the entries of a list with one axis, whatever holds it; refuse a text or number in its place."""
    # An entry of xarray's arrays is itself an array, whose text is its whole description.
    entries = entries.to_numpy() if hasattr(entries, "to_numpy") else entries
    # Letters of a text would be labels, and a set has another order in each process.
    unlisted = isinstance(entries, str | set | frozenset) or not np.iterable(entries)
    if unlisted or getattr(entries, "ndim", 1) > 1:
        raise InputError(f"{name} is a list, such as {example}, not {shown(entries)}")
    return entries if isinstance(entries, np.ndarray) else list(entries)


def check_attrs(attrs: Mapping[str, Any]) -> None:
    """Check that attributes can be kept in a netCDF file."""
    if not isinstance(attrs, Mapping):
        raise InputError(f"attrs is a mapping from names to values, not {shown(attrs)}")
    for name, value in attrs.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise InputError(f"attribute {name!r}: a name is a text without /")
        try:
            array = np.asarray(value)
        except ValueError:  # lists of lists of different lengths
            array = np.asarray(None)
        if array.dtype.kind not in "iufSU" or array.ndim > 1:
            remedy = "give a text, a number, or a list of either"
            raise InputError(f"attribute {name!r} is {shown(value)}, which no netCDF file can hold; {remedy}")


def _validate_coordinate(name: str, dataset: xr.Dataset) -> None:
    if name not in dataset.coords:
        raise DatasetError(f"the dataset has no coordinate {name!r} ({COORDINATES[name]})")
    values = dataset[name].values
    labels = values.tolist()
    if name == "seed" and values.dtype.kind not in "iu":
        remedy = f"if all are whole: dataset.assign_coords({name}=dataset[{name!r}].astype(int))"
        raise DatasetError(f"coordinate {name!r} holds {values.dtype}, not whole numbers; {remedy}")
    if name != "seed" and (other := _other_than_text(values)):
        remedy = f"name each: dataset.assign_coords({name}=[...])"
        raise DatasetError(f"coordinate {name!r} holds {shown(other[0])}, which is not text; {remedy}")
    if "" in labels:
        raise DatasetError(f"coordinate {name!r} has an empty label; name it")
    repeated = sorted(str(label) for label, count in Counter(labels).items() if count > 1)
    if repeated:
        again = f"coordinate {name!r} lists {shortened(repr(repeated[0]))} more than once"
        apart = f"; if these are different runs: dataset.assign_coords(seed=range({len(labels)}))"
        raise DatasetError(f"{again}{apart if name == 'seed' else ''}")


def _other_than_text(values: npt.NDArray[Any]) -> list[Any]:
    """Return the first entry that is not text, such as a gap or bytes; an empty list if all are."""
    entries = [] if values.dtype.kind == "U" else values.ravel().tolist()
    kinds = {kind for kind in map(type, entries) if not issubclass(kind, str)}
    return [next(entry for entry in entries if type(entry) in kinds)] if kinds else []


def _validate_numbers(name: str, dataset: xr.Dataset) -> None:
    values, (words, holds) = dataset[name].values, _RULES[name]
    wrong = np.argwhere(~(np.isnan(values) | holds(values)))
    if len(wrong):
        index = dict(zip(VARIABLES[name].dims, wrong[0].tolist(), strict=True))
        where = ", ".join(
            f"{axis} {shortened(dataset[axis].values[index[axis]], 100)}" for axis in RUN if axis in index
        )
        raise DatasetError(f"{name} must be {words}; {where} has {values[tuple(wrong[0])]}")


def _validate_version(dataset: xr.Dataset) -> None:
    version = dataset.attrs.get("schema_version")
    if version is None:
        remedy = "abtune.make_dataset builds one from an array of timings, in Python"
        raise DatasetError(f"not an abtune dataset: attribute 'schema_version' is missing; {remedy}")
    # Programs such as Matlab write every number as a float.
    if not isinstance(version, int | float | np.integer | np.floating) or not version >= 1 or version % 1:
        value = shortened(repr(version))
        raise DatasetError(f"attribute 'schema_version' is {value}; this abtune reads {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        newer = f"newer than this abtune, which reads {SCHEMA_VERSION}; upgrade it"
        raise DatasetError(f"schema version {version:.0f} is {newer}")


def _validate_variable(name: str, variable: Variable, values: xr.DataArray) -> None:
    if values.dims != variable.dims:
        wrong = f"has dimensions {values.dims}, not {variable.dims}{_OF_DIMENSIONS}"
        raise DatasetError(f"variable {name!r} {wrong}")
    if packed := sorted(_OF_PACKING.intersection(values.attrs)):
        remedy = "open it with abtune.open_dataset, which unpacks, or use xarray.decode_cf"
        raise DatasetError(f"variable {name!r} is packed, as its attribute {packed[0]!r} says; {remedy}")
    # Text is an array of objects, of fixed width (U), or of NumPy's StringDType (T).
    kinds = {"f": "fiu", "i": "iu", "U": "UOT", "M": "M"}[variable.kind]
    if values.dtype.kind not in kinds:
        gaps = variable.flags and values.dtype.kind == "f"
        hint = _OF_FLOATS.format(name=name, fill=int(variable.fill)) if gaps else ""
        wrong = f"holds {values.dtype}, which is not of kind {variable.kind!r}{hint}"
        raise DatasetError(f"variable {name!r} {wrong}")
    if values.dtype.kind == "f" and values.dtype.itemsize not in {4, 8}:  # no file holds others
        remedy = f"convert it: dataset[{name!r}].astype('float64')"
        raise DatasetError(f"variable {name!r} holds {values.dtype}; {remedy}")
    if variable.kind == "U" and (other := _other_than_text(values.values)):
        hint = _OF_GAPS.format(name=name) if isinstance(other[0], float | None) else ""  # NaN or None
        raise DatasetError(f"variable {name!r} holds {shown(other[0])}, which is not text{hint}")
    units = str(values.attrs.get("units", variable.units))  # a list would be compared element by element
    if variable.kind != "M" and units != variable.units:
        value = shortened(repr(units))
        raise DatasetError(f"variable {name!r} is in {value}; convert it to {variable.units!r}")
    validate_flags(name, variable, values.values)


def validate_flags(name: str, variable: Variable, values: npt.NDArray[Any]) -> None:
    """Check that an enumeration holds its own values only."""
    if variable.flags is None:
        return
    known = [flag.value for flag in variable.flags]
    unknown = set(np.unique(values).tolist()) - set(known)
    if unknown:
        raise DatasetError(f"variable {name!r} holds {sorted(unknown)[0]}, none of its flags {known}")
