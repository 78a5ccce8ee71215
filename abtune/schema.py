"""The dataset's contract: which variables there are, over which dimensions, in which units.

The two halves of abtune meet here and nowhere else: measuring builds a dataset with :func:`make_dataset`
and :func:`add_variables`, analysis accepts whatever :func:`validate` lets through. A program of yours
that writes the same netCDF variables can be analysed without any of the measuring code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        Time of one call. NaN where there is none.
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
        Further global attributes: device, versions, settings.

    Returns
    -------
    xarray.Dataset
        Validated; further variables of the schema can be added with :func:`add_variables`.

    Raises
    ------
    InputError
        If lengths do not fit.
    DatasetError
        If a latency is zero, negative or infinite, or labels repeat.

    Examples
    --------
    >>> import abtune
    >>> dataset = abtune.make_dataset([[[1e-3, 1.1e-3], [0.9e-3, 1e-3]]], shapes=["mine"], configs=["a", "b"])
    >>> dict(dataset.sizes)
    {'shape': 1, 'config': 2, 'seed': 2, 'round': 1, 'repeat': 1}
    """
    import xarray as xr  # not above: processes that search and measure need the enumerations alone

    try:
        values = np.asarray(latency, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"latency is not an array of numbers: {error}") from None
    if values.ndim == len(RUN):
        values = values[..., np.newaxis, np.newaxis]
    if values.ndim != len(REPEAT):
        raise InputError(
            f"latency has {values.ndim} axes; give (shape, config, seed), or these and (round, repeat)"
        )
    seeds = list(range(values.shape[2])) if seeds is None else list(seeds)
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
        "seed": np.asarray(seeds, dtype=np.int64),
        "round": np.arange(values.shape[3]),
        "repeat": np.arange(values.shape[4]),
    }
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
        If a name is not in the schema.
    DatasetError
        If the result is not a valid dataset.
    """
    added: dict[str, Any] = {}
    for name, value in values.items():
        if name not in VARIABLES:
            raise InputError(f"{name!r} is not a variable of the schema")
        variable = VARIABLES[name]
        added[name] = (variable.dims, _coerce(value, variable), variable.attrs)
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
    """
    _validate_version(dataset)
    for name, variable in VARIABLES.items():
        if name in dataset.variables:
            _validate_variable(name, variable, dataset[name])
        elif variable.required:
            raise DatasetError(f"the dataset has no variable {name!r}: {variable.long_name}, {variable.dims}")
    for name in ("shape", "config", "seed"):
        if name not in dataset.coords:
            raise DatasetError(f"the dataset has no coordinate {name!r} ({_COORDINATES[name]})")
        labels = dataset[name].values.tolist()
        repeated = sorted({str(label) for label in labels if labels.count(label) > 1})
        if repeated:
            raise DatasetError(f"coordinate {name!r} lists {repeated[0]!r} more than once")
    values = dataset["latency"].values
    wrong = np.argwhere(~(np.isnan(values) | ((values > 0) & np.isfinite(values))))
    if len(wrong):
        shape, config, seed = (
            dataset[name].values[index] for name, index in zip(RUN, wrong[0], strict=False)
        )
        raise DatasetError(
            f"latency must be positive seconds or NaN; shape {shape!s}, config {config!s}, seed {seed} has "
            f"{values[tuple(wrong[0])]}"
        )


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
        raise DatasetError(f"variable {name!r} holds {values.dtype}, which is not of kind {variable.kind!r}")
    units = values.attrs.get("units", variable.units)
    if variable.kind != "M" and units != variable.units:
        raise DatasetError(f"variable {name!r} is in {units!r}; convert it to {variable.units!r}")
    if variable.flags is not None:
        known = [flag.value for flag in variable.flags]
        unknown = set(np.unique(values.values).tolist()) - set(known)
        if unknown:
            raise DatasetError(f"variable {name!r} holds {sorted(unknown)[0]}, none of its flags {known}")


def _coerce(value: npt.ArrayLike, variable: Variable) -> npt.NDArray[Any]:
    if variable.kind == "U":
        return _text(value)
    if variable.kind == "M":  # whole milliseconds survive the file
        return np.asarray(value, dtype="datetime64[ms]").astype("datetime64[ns]")
    return np.asarray(value, dtype={"f": "float64", "i": "int8"}[variable.kind])


def _text(value: npt.ArrayLike) -> npt.NDArray[Any]:
    return np.asarray(value, dtype=object)
