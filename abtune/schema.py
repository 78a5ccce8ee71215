"""The dataset's contract: which variables there are, over which dimensions, in which units.

The two halves of abtune meet here and nowhere else: measuring builds a dataset with :func:`make_dataset`
and :func:`add_variables`, analysis accepts whatever :func:`validate` lets through. A program of yours
that writes the same netCDF variables can be analysed without any of the measuring code.
"""

from __future__ import annotations

import os
import reprlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import abtune
from abtune.errors import DatasetError, InputError

if TYPE_CHECKING:
    import xarray as xr

SCHEMA_VERSION = 1

RUN = ("shape", "config", "seed")
ROUND = (*RUN, "round")
REPEAT = (*ROUND, "repeat")
TRIAL = (*RUN, "trial")


class RunStatus(IntEnum):
    """What became of one tuning run."""

    COMPLETE = 0
    FAILED = 1
    MISSING = 2


class TrialStatus(IntEnum):
    """What became of one candidate schedule within a run."""

    OK = 0
    BUILD_FAILED = 1
    RUN_FAILED = 2
    TIMED_OUT = 3
    NOT_RUN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable of the schema.

    Attributes
    ----------
    dims : tuple of str
        Dimensions, in order.
    kind : str
        NumPy kind: ``"f"`` float, ``"i"`` integer, ``"U"`` text, ``"M"`` time (UTC).
    units : str
        UDUNITS notation; ``"1"`` where there is none.
    long_name : str
        What it is, in words.
    flags : type of IntEnum or None
        The values of an enumeration, written as CF ``flag_values`` and ``flag_meanings``.
    required : bool
        Whether a dataset without it is refused.
    """

    dims: tuple[str, ...]
    kind: str
    units: str
    long_name: str
    flags: type[IntEnum] | None
    required: bool

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that the variable carries in memory and in the file."""
        attrs: dict[str, Any] = {"long_name": self.long_name}
        if self.kind != "M":  # xarray keeps the units of times in the encoding
            attrs["units"] = self.units
        if self.flags is not None:
            attrs["flag_values"] = np.array([flag.value for flag in self.flags], dtype=np.int8)
            attrs["flag_meanings"] = " ".join(flag.name.lower() for flag in self.flags)
        return attrs


def _variable(
    dims: tuple[str, ...],
    kind: str,
    units: str,
    long_name: str,
    *,
    flags: type[IntEnum] | None = None,
    required: bool = False,
) -> Variable:
    return Variable(dims=dims, kind=kind, units=units, long_name=long_name, flags=flags, required=required)


VARIABLES: Mapping[str, Variable] = {
    "latency": _variable(
        REPEAT, "f", "s", "time of one call of the winner, measured again after the search", required=True
    ),
    "run_status": _variable(RUN, "i", "1", "what became of the tuning run", flags=RunStatus, required=True),
    "workload": _variable(("shape",), "U", "1", "kind of tensor workload", required=True),
    "flop": _variable(("shape",), "f", "1", "floating-point operations of one call"),
    "search_latency": _variable(RUN, "f", "s", "time of the winner as the search itself measured it"),
    "trial_latency": _variable(TRIAL, "f", "s", "time of each candidate, in the order of the search"),
    "trial_status": _variable(TRIAL, "i", "1", "what became of each candidate", flags=TrialStatus),
    "tuning_time": _variable(RUN, "f", "s", "time spent on the run: searching, building and measuring"),
    "started": _variable(RUN, "M", "milliseconds since 1970-01-01", "start of the run (UTC)"),
    "finished": _variable(RUN, "M", "milliseconds since 1970-01-01", "end of the run (UTC)"),
    "device": _variable(RUN, "U", "1", "device that measured the winner"),
    "host": _variable(RUN, "U", "1", "machine that measured the winner"),
    "sm_clock": _variable(ROUND, "f", "MHz", "clock of the multiprocessors in the round"),
    "temperature": _variable(ROUND, "f", "degC", "temperature of the device in the round"),
    "throttle_reasons": _variable(
        ROUND, "f", "1", "why the clock was not higher in the round: sum of NVML's nvmlClocksEventReason bits"
    ),
    "winner": _variable(RUN, "U", "1", "trace of the winning schedule (JSON)"),
    "failure": _variable(RUN, "U", "1", "why the run failed"),
}

_COORDINATES = {
    "shape": "label of the tensor workload",
    "config": "configuration that was tuned with",
    "seed": "number of the replicate; not paired between configurations",
    "round": "round of re-measurement",
    "repeat": "timing within a round",
    "trial": "candidate within a search",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """What numbers of a variable may be, in words, and as a test of an array; NaN always passes."""

    words: str
    holds: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]


_POSITIVE = _Rule(words="positive seconds or NaN", holds=lambda values: (values > 0) & np.isfinite(values))
_NOT_NEGATIVE = _Rule(words="zero, positive or NaN", holds=lambda values: (values >= 0) & np.isfinite(values))
# A failure may be marked by an endless time; no statistic sees it.
_MAY_BE_ENDLESS = _Rule(words="zero, positive or NaN", holds=lambda values: values >= 0)
_RULES: Mapping[str, _Rule] = {
    "latency": _POSITIVE,
    "flop": _NOT_NEGATIVE,
    "search_latency": _POSITIVE,
    "trial_latency": _MAY_BE_ENDLESS,
    "tuning_time": _NOT_NEGATIVE,
    "sm_clock": _NOT_NEGATIVE,
    "temperature": _Rule(words="finite or NaN", holds=np.isfinite),
    "throttle_reasons": _Rule(  # beyond 2**53 a float no longer tells bits apart
        words="a sum of bits or NaN",
        holds=lambda values: (values >= 0) & (values < 2**53) & (values == np.floor(values)),
    ),
}
# What xarray makes of flags where it leaves gaps.
_OF_FLOATS = (
    "; xarray's where and reindex do that: choose seeds by dataset.isel(seed=dataset.seed < 5), or give "
    f"reindex fill_value={{'run_status': {RunStatus.MISSING:d}, 'trial_status': {TrialStatus.NOT_RUN:d}}}"
)


def make_dataset(
    latency: npt.ArrayLike,
    *,
    shapes: Sequence[str],
    configs: Sequence[str],
    seeds: Sequence[int] | None = None,
    workloads: Sequence[str] | None = None,
    run_status: npt.ArrayLike | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Build a valid dataset from an array of timings.

    Parameters
    ----------
    latency : array_like, shape (shape, config, seed) or (shape, config, seed, round, repeat), seconds
        Time of one call. NaN, or masked, where there is none. A ``timedelta64`` is converted from its unit.
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
        If a latency is zero, negative or infinite, labels repeat, or there is no seed, round or repeat.

    Examples
    --------
    >>> import abtune
    >>> dataset = abtune.make_dataset([[[1e-3, 1.1e-3], [0.9e-3, 1e-3]]], shapes=["mine"], configs=["a", "b"])
    >>> dict(dataset.sizes)
    {'shape': 1, 'config': 2, 'seed': 2, 'round': 1, 'repeat': 1}
    """
    import xarray as xr  # not above: processes that search and measure need the enumerations alone

    values = _numbers("latency", latency)
    if values.ndim == len(RUN):
        values = values[..., np.newaxis, np.newaxis]
    if values.ndim != len(REPEAT):
        raise InputError(
            f"latency has {values.ndim} axes; give (shape, config, seed), or these and (round, repeat)"
        )
    seeds = list(range(values.shape[2])) if seeds is None else seeds
    workloads = [""] * len(shapes) if workloads is None else list(workloads)
    for name, given, wanted in (
        ("shapes", len(shapes), values.shape[0]),
        ("configs", len(configs), values.shape[1]),
        ("seeds", len(seeds), values.shape[2]),
        ("workloads", len(workloads), values.shape[0]),
    ):
        if given != wanted:
            raise InputError(f"{name} has {given} entries, but latency has {wanted} along that axis")
    if run_status is None:
        timed = np.isfinite(values).any(axis=(3, 4))
        run_status = np.where(timed, RunStatus.COMPLETE, RunStatus.MISSING)
    coordinates: dict[str, npt.ArrayLike] = {
        "shape": _text([str(shape) for shape in shapes]),
        "config": _text([str(config) for config in configs]),
        "seed": _whole_numbers("seeds", seeds),
        "round": np.arange(values.shape[3]),
        "repeat": np.arange(values.shape[4]),
    }
    check_attrs(attrs or {})
    dataset = xr.Dataset(
        coords={
            name: (name, labels, {"long_name": _COORDINATES[name], "units": "1"})
            for name, labels in coordinates.items()
        },
        attrs={
            "Conventions": "CF-1.11",
            "schema_version": SCHEMA_VERSION,
            "abtune_version": abtune.__version__,
            **(attrs or {}),
        },
    )
    return add_variables(dataset, latency=values, run_status=run_status, workload=workloads)


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
    added: dict[str, Any] = {}
    for name, value in values.items():
        if name not in VARIABLES:
            raise InputError(f"{name!r} is not a variable of the schema")
        variable = VARIABLES[name]
        added[name] = (variable.dims, _coerce(name, value, variable), variable.attrs)
    try:
        extended = dataset.assign(added)
    except ValueError as error:  # xarray's message names the dimension and both lengths
        raise DatasetError(f"arrays do not fit together: {error}") from None
    if "trial" in extended.dims and "trial" not in extended.coords:
        numbers = np.arange(extended.sizes["trial"])
        extended = extended.assign_coords(
            trial=("trial", numbers, {"long_name": _COORDINATES["trial"], "units": "1"})
        )
    validate(extended)
    return extended


def validate(dataset: xr.Dataset) -> None:
    """Check that a dataset is what this version of abtune can read and write.

    Raises
    ------
    DatasetError
        With one line that names the first thing that is wrong.
    InputError
        If it is no dataset at all.
    """
    check_is_dataset(dataset)
    _validate_version(dataset)
    for name, variable in VARIABLES.items():
        if name in dataset.variables:
            _validate_variable(name, variable, dataset[name])
        elif variable.required:
            raise DatasetError(f"the dataset has no variable {name!r}: {variable.long_name}, {variable.dims}")
    if "trial_latency" in dataset.variables and "trial_status" not in dataset.variables:
        raise DatasetError("variable 'trial_latency' needs 'trial_status', which says which trials ran")
    for name in ("seed", "round", "repeat"):
        if not dataset.sizes[name]:
            raise DatasetError(f"dimension {name!r} is empty")
    for name, kind in (("shape", "U"), ("config", "U"), ("seed", "i")):
        _validate_coordinate(name, kind, dataset)
    for name in _RULES:
        if name in dataset.variables:
            _validate_numbers(name, dataset)


def check_is_dataset(value: object) -> None:
    """Check that a value is a dataset of xarray, whatever it holds.

    Raises
    ------
    InputError
        Saying how to get one.
    """
    import xarray as xr

    if isinstance(value, xr.Dataset):
        return
    if isinstance(value, str | os.PathLike):
        name = reprlib.repr(os.fspath(value))
        raise InputError(f"{name} is not a dataset but its name; open it first: abtune.open_dataset({name})")
    raise InputError(
        f"an object of type {type(value).__name__} is not a dataset; open one with abtune.open_dataset, or "
        "build one with abtune.make_dataset"
    )


def check_attrs(attrs: Mapping[str, Any]) -> None:
    """Check that attributes can be kept in a netCDF file.

    Raises
    ------
    InputError
        Naming the first that cannot.
    """
    for name, value in attrs.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise InputError(f"attribute {name!r}: a name is a text without /")
        try:
            array = np.asarray(value)
        except ValueError:  # lists of lists of different lengths
            array = np.asarray(None)
        if array.dtype.kind not in "iufSU" or array.ndim > 1:
            shown = " ".join(reprlib.repr(value).split())
            raise InputError(
                f"attribute {name!r} is {shown}, which no netCDF file can hold; give a text, a number, or "
                "a list of either"
            )


def _validate_coordinate(name: str, kind: str, dataset: xr.Dataset) -> None:
    if name not in dataset.coords:
        raise DatasetError(f"the dataset has no coordinate {name!r} ({_COORDINATES[name]})")
    values = dataset[name].values
    labels = values.tolist()
    if kind == "i" and values.dtype.kind not in "iu":
        raise DatasetError(f"coordinate {name!r} holds {values.dtype}, not whole numbers")
    if kind == "U" and not all(isinstance(label, str) for label in labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise DatasetError(f"coordinate {name!r} holds {other!r}, which is not text")
    repeated = sorted(str(label) for label, count in Counter(labels).items() if count > 1)
    if repeated:
        raise DatasetError(f"coordinate {name!r} lists {repeated[0]!r} more than once")


def _validate_numbers(name: str, dataset: xr.Dataset) -> None:
    """Refuse the first number that is impossible, and say where it is."""
    values, rule = dataset[name].values, _RULES[name]
    wrong = np.argwhere(~(np.isnan(values) | rule.holds(values)))
    if len(wrong):
        at = dict(zip(VARIABLES[name].dims, wrong[0].tolist(), strict=True))
        where = ", ".join(f"{part} {dataset[part].values[at[part]]!s}" for part in RUN if part in at)
        raise DatasetError(f"{name} must be {rule.words}; {where} has {values[tuple(wrong[0])]}")


def _validate_version(dataset: xr.Dataset) -> None:
    version = dataset.attrs.get("schema_version")
    if version is None:
        raise DatasetError("not an abtune dataset: attribute 'schema_version' is missing; see abtune import")
    if not isinstance(version, int | np.integer) or version < 1:
        raise DatasetError(f"attribute 'schema_version' is {version!r}; this abtune reads {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        raise DatasetError(
            f"schema version {version} is newer than this abtune, which reads {SCHEMA_VERSION}; upgrade it"
        )


def _validate_variable(name: str, variable: Variable, values: xr.DataArray) -> None:
    if values.dims != variable.dims:
        raise DatasetError(f"variable {name!r} has dimensions {values.dims}, not {variable.dims}")
    kinds = {"f": "fiu", "i": "iu", "U": "UOT", "M": "M"}[variable.kind]
    if values.dtype.kind not in kinds:
        hint = _OF_FLOATS if variable.flags and values.dtype.kind == "f" else ""
        raise DatasetError(
            f"variable {name!r} holds {values.dtype}, which is not of kind {variable.kind!r}{hint}"
        )
    units = values.attrs.get("units", variable.units)
    if variable.kind != "M" and units != variable.units:
        raise DatasetError(f"variable {name!r} is in {units!r}; convert it to {variable.units!r}")
    _validate_flags(name, variable, values.values)


def _validate_flags(name: str, variable: Variable, values: npt.NDArray[Any]) -> None:
    if variable.flags is None:
        return
    known = [flag.value for flag in variable.flags]
    unknown = set(np.unique(values).tolist()) - set(known)
    if unknown:
        raise DatasetError(f"variable {name!r} holds {sorted(unknown)[0]}, none of its flags {known}")


def _coerce(name: str, value: npt.ArrayLike, variable: Variable) -> npt.NDArray[Any]:
    """Turn an array into what the schema keeps, and change no value by that."""
    if variable.kind == "U":
        return _text(value)
    if variable.kind == "f":
        return _numbers(name, value)
    if variable.kind == "i":
        whole = _whole_numbers(name, value)
        _validate_flags(name, variable, whole)  # as int8, 256 would be 0
        return whole.astype(np.int8)
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype("datetime64[ms]"), np.datetime64("NaT"))
    try:  # whole milliseconds survive the file
        return np.asarray(value, dtype="datetime64[ms]").astype("datetime64[ns]")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of times: {error}") from None


def _numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return floating-point numbers, NaN for what is masked: the value below a mask means nothing."""
    try:
        given: Any = np.ma.asarray(value)
        if given.dtype.kind == "m":
            given = _seconds(name, given)
        if given.dtype.kind in "bcM":
            raise InputError(f"{name} holds {given.dtype}, not numbers; {_what_to_give(name)}")
        masked: Any = given.astype(np.float64, copy=False)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    numbers: npt.NDArray[np.float64] = masked.filled(np.nan)
    return numbers


def _seconds(name: str, durations: Any) -> Any:
    """Convert durations to seconds, whatever their unit; NaN for those that are not known."""
    unit, _ = np.datetime_data(durations.dtype)
    if name not in VARIABLES or VARIABLES[name].units != "s" or unit in {"generic", "Y", "M"}:
        raise InputError(
            f"{name} holds {durations.dtype}, which is no time in seconds; {_what_to_give(name)}"
        )
    return durations / np.timedelta64(1, "s")


def _what_to_give(name: str) -> str:
    variable = VARIABLES.get(name)
    return f"give numbers in {variable.units}" if variable and variable.units != "1" else "give numbers"


def _whole_numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    given = None if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    if given is not None and given.dtype.kind in "iu" and np.can_cast(given.dtype, np.int64):
        return given.astype(np.int64)
    numbers = _numbers(name, value)
    wrong = numbers[~((np.abs(numbers) < 2**53) & (numbers == np.floor(numbers)))]
    if wrong.size:
        raise InputError(f"{name} must be whole numbers, and has {wrong[0]:g}")
    return numbers.astype(np.int64)


def _text(value: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(value), "", value.data.astype(object))
    return np.asarray(value, dtype=object)
