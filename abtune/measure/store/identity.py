"""The identity of a sweep: what must agree for runs to belong into one dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from abtune.measure.plan.plan import Plan

# Of the files; a sweep of another format is refused.
FORMAT = 2


def plan_identity(plan: Plan) -> dict[str, Any]:
    """Return the identity of a plan as it comes back from a file."""
    identity: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, **plan.identity()}))
    return identity


def first_difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return the first setting that differs, as ``name: known, now wanted``; empty if none does."""
    return _difference(known, wanted, "")


def _difference(known: Any, wanted: Any, name: str) -> str:
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        inner = (_difference(known.get(key), wanted.get(key), key) for key in {**known, **wanted})
        return next(filter(None, inner), "")
    if isinstance(known, list) and isinstance(wanted, list) and name == "configs":
        return _difference_of_configs(known, wanted)
    return "" if known == wanted else f"{name.replace('_', ' ')}: {known}, now {wanted}"


def _difference_of_configs(known: list[Any], wanted: list[Any]) -> str:
    names = [[config["name"] for config in configs] for configs in (known, wanted)]
    if names[0] != names[1]:
        return f"configurations {' and '.join(names[0])}, now {' and '.join(names[1])}"
    pairs = (_difference(old, new, "") for old, new in zip(known, wanted, strict=True))
    return next(filter(None, pairs), "")
