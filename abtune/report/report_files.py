"""Reports and figures as files: replaced whole or not at all, and never in the place of a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from abtune.errors import StoreError
from abtune.files import followed, is_netcdf, replacing, same_file


def check_place(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a path where no file can be, one of the inputs, and any dataset: StoreError."""
    for name in inputs:
        if same_file(path, Path(name)):
            raise StoreError(f"cannot write {path}: that is {name}, which is read; give another name")
    if is_netcdf(path):
        raise StoreError(f"cannot write {path}: a netCDF file is there; give another name")
    if path.suffix.lower() == ".nc":
        raise StoreError(f"cannot write {path}: that is a name for datasets; give another")
    if path.is_dir():
        raise StoreError(f"cannot write {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise StoreError(f"cannot write {path}: there is no folder {path.parent}")


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file whole or not at all, never over a dataset: StoreError."""
    # A link is followed. A device or pipe is written directly, because renaming would replace it.
    check_place(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # /dev/stdout leads to a pipe that has no name of its own
            return
        with replacing(followed(path)) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
