"""Datasets as files: opened by path or by the name of a bundled one, and written so that nothing is lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from abtune.errors import DatasetError, StoreError, unknown_name
from abtune.schema import VARIABLES, validate

BUNDLED: Mapping[str, str] = {
    "tvm14009-rtx3080": "the table of apache/tvm#14009: 29 shapes, one run a cell, RTX 3080",
}


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
        If the file is missing, cannot be read, or is not a valid dataset.
    InputError
        If there is neither a file nor a bundled dataset of this name.
    """
    path = _resolve(path_or_name)
    try:
        dataset = xr.load_dataset(path, engine="netcdf4")
    except PermissionError:
        raise DatasetError(f"{path}: no permission to read it") from None
    except (OSError, RuntimeError, ValueError, UnicodeDecodeError, KeyError) as error:
        raise DatasetError(f"{path}: not a netCDF file, or damaged ({_first_line(error)})") from None
    try:
        validate(dataset)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None
    return dataset


def save_dataset(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as compressed netCDF, whole or not at all.

    The file is written under a temporary name beside its place, flushed to the disk and renamed, so a
    crash or a full disk leaves whatever was there before.

    Raises
    ------
    DatasetError
        If the dataset is not valid.
    StoreError
        If the file cannot be written.
    """
    validate(dataset)
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        dataset.to_netcdf(temporary, engine="netcdf4", encoding=_encoding(dataset))
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # netCDF4 reports a full disk as a RuntimeError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else _first_line(error)
        raise StoreError(f"cannot write {path}: {reason}; give another place with --out") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def bundled_path(name: str) -> Path:
    """Return where the bundled dataset of this name lies.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name not in BUNDLED:
        raise unknown_name("dataset", name, BUNDLED)
    package = Path(__file__).parent
    installed = package / "data" / f"{name}.nc"
    return installed if installed.exists() else package.parent / "data" / f"{name}.nc"


def _resolve(path_or_name: str | os.PathLike[str]) -> Path:
    path = Path(path_or_name)
    if path.is_dir():
        raise DatasetError(f"{path}: is a folder, not a netCDF file")
    if path.exists():
        return path
    if isinstance(path_or_name, str) and path_or_name in BUNDLED:
        return bundled_path(path_or_name)
    if path.suffix or len(path.parts) > 1:
        raise DatasetError(f"{path}: no such file; make one with abtune sweep, or see abtune datasets")
    raise unknown_name("dataset", str(path_or_name), BUNDLED)


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    encoding: dict[str, dict[str, Any]] = {}
    for name, values in dataset.variables.items():
        variable = VARIABLES.get(str(name))
        if values.dtype.kind in "OUT":
            encoding[str(name)] = {"dtype": "S1", "zlib": True}  # as characters, so that text is compressed
        elif values.dtype.kind == "M":
            encoding[str(name)] = {
                "units": variable.units if variable else "milliseconds since 1970-01-01",
                "dtype": "int64",
                "_FillValue": np.iinfo(np.int64).min,
                "zlib": True,
            }
        elif str(name) not in dataset.coords:
            encoding[str(name)] = {"zlib": True, "shuffle": True, "complevel": 4}
    return encoding


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
