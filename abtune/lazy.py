"""Functions that registries name by path, so that one can list all names without loading any."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any, TypeAlias

Function: TypeAlias = str | Callable[..., Any]


def load(function: Function) -> Any:
    """Return a function, imported if it is given as ``"package.module:name"``."""
    return pkgutil.resolve_name(function) if isinstance(function, str) else function
