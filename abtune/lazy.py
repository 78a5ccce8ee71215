"""Functions that are named before they are imported.

Registries name their functions by path. The command line can then offer all names without loading NumPy,
SciPy or anything else that only one entry needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

Function: TypeAlias = str | Callable[..., Any]


def load(function: Function) -> Any:
    """Return a function, imported if need be.

    Parameters
    ----------
    function : str or callable
        The function itself, or its path: ``"package.module:name"``.
    """
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
