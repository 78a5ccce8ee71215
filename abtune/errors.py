"""What goes wrong for a reason that the user can do something about."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator

_MOST_LISTED = 10  # names of one kind: all sections and datasets, not all shapes


class AbtuneError(Exception):
    """A problem that the message explains in one line; base class of the others."""


class InputError(AbtuneError, ValueError):
    """An argument, option or name that cannot be used."""


class DatasetError(AbtuneError):
    """A dataset that is missing, damaged, or not what it should be."""


class TargetError(AbtuneError):
    """A device, compiler or version of TVM that cannot do what was asked."""


class StoreError(AbtuneError):
    """An output that cannot be written, or that belongs to another sweep."""


@contextlib.contextmanager
def naming(where: object) -> Iterator[None]:
    """Put a place, such as a path or a line, before what is said to be wrong there."""
    try:
        yield
    except (DatasetError, InputError) as error:
        raise type(error)(f"{where}: {error}") from None


# Packages that only an extra installs, by the names under which they are imported.
EXTRAS = {
    **dict.fromkeys(("tvm", "tvm_ffi", "xgboost", "dask", "distributed", "psutil"), "sweep"),
    "matplotlib": "plot",
}


def missing_package(name: str) -> TargetError:
    """Build the error for a package that cannot be imported, with the command that installs it."""
    if name not in EXTRAS:
        return TargetError(f"{name} is missing; run: pip install --upgrade abtune")
    return TargetError(f"{name} is missing, and this needs it; run: pip install 'abtune[{EXTRAS[name]}]'")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not among the known ones, with the nearest of them."""
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.45)]
    listed = near or names[:_MOST_LISTED]
    hint = "did you mean" if near else "there are"
    more = "" if near or len(names) <= _MOST_LISTED else ", ..."
    tail = f"; {hint}: {', '.join(listed)}{more}" if listed else ""
    return InputError(f"unknown {kind} {name!r}{tail}")
