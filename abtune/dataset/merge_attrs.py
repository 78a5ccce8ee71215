"""The attributes of a merged dataset: what all share is kept, what contradicts is refused.

Some attributes say what the numbers are, and have to be the same or be missing everywhere. Others say under
which conditions the numbers came about; an unknown condition contradicts nothing. All further ones may
differ, such as the version of TVM: that may be the very thing to be compared.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from abtune.errors import DatasetError

Attrs: TypeAlias = Mapping[str, Any]

_SAME = ("schema_version", "latency_source", "looks", "at_trials")
# Two sweeps make different draws, whatever number their seeds began with.
_MAY_DIFFER = {"rng_seed"}


def merge_attrs(named: Mapping[str, Attrs]) -> dict[str, Any]:
    """Return the attributes of the union of datasets."""
    plain = {
        name: {key: np.asarray(value).tolist() for key, value in attrs.items()}
        for name, attrs in named.items()
    }
    seen: dict[str, tuple[str, Any]] = {}
    for name, attrs in plain.items():
        for fact, value in _facts(attrs):
            first, known = seen.setdefault(fact, (name, value))
            if value != known:
                raise DatasetError(
                    f"{fact} is {_shown(known)} in {first}, but {_shown(value)} in {name}; datasets "
                    "that were measured differently cannot be merged"
                )
    shared = _shared(list(plain.values()))
    own = [
        {"file": name, **{key: _parsed(attrs, key) for key in attrs if attrs[key] != shared.get(key)}}
        for name, attrs in plain.items()
    ]
    return {"title": f"merged from {len(plain)} datasets", **shared, "sources": json.dumps(own)}


def _facts(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    """Yield what another dataset may not contradict."""
    yield from ((key, attrs.get(key)) for key in _SAME)
    conditions = {"target": attrs.get("target"), "device": attrs.get("gpu") or attrs.get("device")}
    yield from ((key, value) for key, value in conditions.items() if value)
    settings = _parsed(attrs, "settings")
    if isinstance(settings, dict):
        yield from ((f"setting {key}", value) for key, value in settings.items() if key not in _MAY_DIFFER)
    yield from ((f"configuration {name}", meaning) for name, meaning in _configurations(attrs).items())


def _shared(members: Sequence[Attrs]) -> dict[str, Any]:
    """Return the attributes that hold for the union."""
    first, *others = members
    shared = {
        key: value
        for key, value in first.items()
        if key != "sources" and all(attrs.get(key) == value for attrs in others)
    }
    if all("settings" in attrs for attrs in members):  # they differ in nothing that was measured
        shared["settings"] = first["settings"]
    if all(map(_configurations, members)):
        union = {name: meaning for attrs in members for name, meaning in _configurations(attrs).items()}
        shared["configurations"] = json.dumps(list(union.values()))
    return shared


def _configurations(attrs: Attrs) -> dict[str, Any]:
    """Return the meaning of each configuration, by its name; empty if unknown."""
    meanings = _parsed(attrs, "configurations")
    if not isinstance(meanings, list):
        return {}
    return {
        meaning["name"]: meaning for meaning in meanings if isinstance(meaning, dict) and "name" in meaning
    }


def _parsed(attrs: Attrs, key: str) -> Any:
    """Return the list or object that an attribute holds as JSON, or any other attribute as it is."""
    value = attrs.get(key)
    try:
        document = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return value
    return document if isinstance(document, list | dict) else value


def _shown(value: Any) -> str:
    return "not given" if value is None else reprlib.repr(value)
