"""Datasets as files: opened by path or by the name of a bundled one, and written so that nothing is lost."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from abtune.dataset.check import check_attrs, validate
from abtune.dataset.schema import MILLISECONDS
from abtune.errors import DatasetError, InputError, StoreError, naming, unknown_name
from abtune.files import (
    LIMIT_VARIABLE,
    followed,
    is_netcdf,
    largest_file,
    most_gib,
    remove_leftovers,
    replacing,
    uninterrupted,
)
from abtune.text import import_command

BUNDLED: Mapping[str, str] = {
    "tvm14009-rtx3080": "the table of apache/tvm#14009: 29 shapes, one run per cell, RTX 3080",
    "h200-tvm14009": "its 29 shapes, 10 seeds of 192 trials, async against mainline on H200",
    "h100-tvm14009-winners": "the same kernels, timed on H100: for abtune compare",
    "h200-deep": "five of its shapes, 12 seeds of 512 trials, async against mainline on H200",
    "h200-deep-winners": "its 29 shapes, 12 seeds of 512 trials on H200 and H100, timed on H200",
    "h200-share": "six of its shapes, 5 pairs of searches of 192 trials that share what they find, on H200",
    "h200-shared-winners": "its 29 shapes, 12 pairs of searches of 320 trials that share, on H200",
    "h200-pilot": "three of its shapes, 10 seeds of 192 trials, async against mainline on H200",
}

# A small file may hold huge arrays: parts that were never written take no room in it.
_MOST_GIB = 4.0

# File systems allow 255 bytes; a file is first written under a name that is longer by a dozen.
_LONGEST_NAME = 240

# How files of other formats end: tables, reports and figures. Whoever asks for one wants no netCDF.
_OTHER_FORMATS = re.compile(
    "csv|tsv|xlsx?|jsonl?|parquet|txt|log|md|html?|tex|xml|ya?ml|png|svg|pdf|gz|zip|zst", re.IGNORECASE
)

# Two threads that use HDF5 at once crash the process: xarray's own locks do not cover all of its calls.
_ONE_THREAD = threading.RLock()

# What netCDF4 and xarray were seen to raise over damaged files, and what their kin would be.
_UNREADABLE = (OSError, RuntimeError, ValueError, LookupError, AttributeError, TypeError, MemoryError)


def open_dataset(path_or_name: str | os.PathLike[str]) -> xr.Dataset:
    """Read a dataset into memory, whole, and close its file.

    Parameters
    ----------
    path_or_name : str or path
        A netCDF file, or the name of a bundled dataset (see :data:`BUNDLED`). A file wins over a name.

    Returns
    -------
    xarray.Dataset
        Validated; latencies in seconds, times as UTC.

    Raises
    ------
    DatasetError
        If the file is missing, cannot be read, is not a valid dataset, or takes more than 4 GiB of memory;
        the environment variable ``ABTUNE_MAX_GIB`` sets another limit.
    InputError
        If there is neither a file nor a bundled dataset of this name, or it is no name.
    """
    if not isinstance(path_or_name, str | os.PathLike):
        known = f"there are: {', '.join(BUNDLED)}"
        raise InputError(f"a dataset is opened by its path or name, not by {_shown(path_or_name)}; {known}")
    path = _resolve(path_or_name)
    if path.suffix.lower() != ".nc" and os.access(path, os.R_OK) and not is_netcdf(path):
        raise DatasetError(f"{path}: not a netCDF file; for results of another tool: {import_command(path)}")
    limit = most_gib(_MOST_GIB)
    try:
        # Its size is known before its values are read.
        with _ONE_THREAD, uninterrupted(), xr.open_dataset(path, engine="netcdf4") as lazy:
            gib = lazy.nbytes / 2**30
            dataset = lazy.load() if gib <= limit else None
    except PermissionError:
        raise DatasetError(f"{path}: no permission to read it") from None
    except _UNREADABLE as error:
        remedy = f"; {again}" if (again := _from_its_files(path)) else ""
        raise DatasetError(f"{path}: not a netCDF file, or damaged ({_reason(error)}){remedy}") from None
    if dataset is None:
        size = f"{gib:,.0f}" if gib >= 1 else f"{gib:.1g}"
        most = f"and the most is {limit:g} GiB; set {LIMIT_VARIABLE} to read it"
        raise DatasetError(f"{path}: would take {size} GiB of memory, {most}")
    # netCDF4 returns a list as an array, which has no truth value.
    lists = {name: value.tolist() for name, value in dataset.attrs.items() if isinstance(value, np.ndarray)}
    dataset.attrs.update(lists)
    for variable in dataset.variables.values():
        variable.encoding.pop("char_dim_name", None)  # else xarray warns when it writes some of the labels
        variable.encoding.pop("contiguous", None)  # which is refused where none of the trials are selected
    with naming(path):
        validate(dataset)
    return dataset


def save_dataset(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as compressed netCDF, whole or not at all.

    The file is written under a temporary name, flushed to the disk and renamed. So a crash or a full disk
    leaves the earlier file as it was.

    Raises
    ------
    DatasetError
        If the dataset is not valid.
    InputError
        If a netCDF file cannot hold one of its attributes, or an argument is no dataset or no path.
    StoreError
        If the file cannot be written.
    """
    write_dataset(dataset, path, remedy="give another place with --out")


def write_dataset(dataset: xr.Dataset, path: str | os.PathLike[str], *, remedy: str) -> None:
    """Do as :func:`save_dataset`; ``remedy`` says what to do if the file cannot be written."""
    validate(dataset)
    for attrs in (dataset.attrs, *(dataset[name].attrs for name in dataset.variables)):
        check_attrs(attrs)
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a dataset is saved to a path, such as 'results.nc', not to {_shown(path)}")
    file = place_for(path)
    remove_leftovers(file)
    try:
        with _ONE_THREAD, uninterrupted(), replacing(file) as temporary:
            # Text that is read chunk by chunk has no width that could be written.
            dataset.compute().to_netcdf(temporary, engine="netcdf4", encoding=_encoding(dataset))
    except UnicodeEncodeError as error:
        raise DatasetError(f"cannot write {path}: {error.object!r} is not valid Unicode") from None
    except (TypeError, ValueError, AttributeError) as error:  # of names that the schema does not know
        remedy = "leave out what no netCDF file can hold: dataset.drop_vars, del dataset.attrs[NAME]"
        raise DatasetError(f"cannot write {path}: {_reason(error)}; {remedy}") from None
    except (OSError, RuntimeError) as error:  # netCDF4 reports a full disk as a RuntimeError
        reason = _reason(error)
        if isinstance(error, PermissionError) and os.access(file.parent, os.W_OK):
            reason = "the disk is full"  # which netCDF4 takes for a lack of permission where a file begins
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(file.parent).free
            if free < dataset.nbytes:  # then HDF5 says that permission is denied
                reason += f", and there are only {free} bytes of room"
        if (most := largest_file()) < math.inf:  # HDF5 does not say whether it was reached
            reason += f", and ulimit -f allows {most} bytes for a file"
        raise StoreError(f"cannot write {path}: {reason}; {remedy}") from None


def place_for(path: str | os.PathLike[str]) -> Path:
    """Return where a dataset is to be put, links followed, after checking that a file can be there."""
    if _OTHER_FORMATS.fullmatch(suffix := Path(path).suffix.removeprefix(".")):
        named = Path(path).with_suffix(".nc")
        raise StoreError(f"cannot write {path}: a dataset is netCDF, not {suffix.upper()}; call it {named}")
    reason = ""
    try:
        file = followed(Path(path))
        str(file).encode()  # netCDF4 takes no other names
        if file.exists() and not file.is_file():  # renaming over a device would replace the device
            reason = "it is not a regular file"
        elif len(os.fsencode(file.name)) > _LONGEST_NAME:
            reason = "the name is too long"
        elif not file.parent.is_dir():  # HDF5 would say that permission is denied
            reason = f"there is no folder {file.parent if Path(path).is_symlink() else Path(path).parent}"
        elif not os.access(file.parent, os.W_OK | os.X_OK):
            reason = "its folder may not be written"
    except UnicodeEncodeError:
        reason = "its name, or that of its folder, is not valid Unicode"
    except (OSError, ValueError) as error:
        reason = _reason(error)
    if reason:
        raise StoreError(f"cannot write {path}: {reason}; give another place with --out")
    return file


def bundled_path(name: str) -> Path:
    """Return where the bundled dataset of this name lies."""
    if name not in BUNDLED:
        raise unknown_name("dataset", name, BUNDLED)
    package = Path(__file__).parent.parent
    installed = package / "data" / f"{name}.nc"
    # A checkout has its data beside the package, an installed one within.
    return installed if installed.exists() else package.parent / "data" / f"{name}.nc"


def _resolve(path_or_name: str | os.PathLike[str]) -> Path:
    path = Path(path_or_name)
    try:
        if path.is_dir():
            if path.suffix == ".runs":
                made = path.with_suffix("")
                raise DatasetError(f"{path}: is the folder of a sweep, which makes {made} of it; give that")
            command = import_command(path, run=True)
            raise DatasetError(
                f"{path}: is a folder, not a netCDF file; for the work_dir of a search: {command}"
            )
        if path.exists():
            if path.is_fifo():  # which waits for a writer
                raise DatasetError(f"{path}: is a pipe, and a dataset is read from a file; write one first")
            return path
    except (OSError, ValueError) as error:  # no file can have this name
        raise DatasetError(f"{path}: {_reason(error)}") from None
    if isinstance(path_or_name, str) and path_or_name in BUNDLED:
        return bundled_path(path_or_name)
    if path.is_symlink():
        raise DatasetError(f"{path}: this link leads to {path.readlink()}, which does not exist")
    if (named := Path(f"{path}.nc")).is_file():
        raise DatasetError(f"{path}: no such file; did you mean {named}")
    if path.suffix or path.name != path_or_name:  # a Path is no name
        remedy = _from_its_files(path) or "make one with abtune sweep or import, or see abtune datasets"
        raise DatasetError(f"{path}: no such file; {remedy}")
    raise unknown_name("dataset", str(path_or_name), BUNDLED)


def _from_its_files(path: Path) -> str:
    """Return how to get a dataset back where the files of its sweep are beside it; empty without them."""
    runs = path.with_name(f"{path.name}.runs")
    return f"give its abtune sweep again, which makes it from {runs}" if runs.is_dir() else ""


def _shown(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    # The fill value is the integer by which NumPy stores NaT, so that gaps survive.
    times = {"units": MILLISECONDS, "dtype": "int64", "_FillValue": np.iinfo(np.int64).min, "zlib": True}
    text = {"dtype": "S1", "zlib": True}  # as characters, so that it is compressed
    by_kind = {"M": times, **dict.fromkeys("OUT", text)}
    numbers = {"zlib": True, "shuffle": True, "complevel": 4}
    # One for every variable: else xarray would keep that of an earlier file, without room for new values.
    return {
        str(name): by_kind.get(values.dtype.kind, {} if name in dataset.coords else numbers)
        for name, values in dataset.variables.items()
    }


def _reason(error: BaseException) -> str:
    """Return what the operating system or library said, in one line and without the path."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
