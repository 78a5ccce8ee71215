"""Functions that registries name by path, so that one can list all names without loading any."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

Function: TypeAlias = str | Callable[..., Any]


def load(function: Function) -> Any:
    """Return a function, imported if it is given as ``"package.module:name"``."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
