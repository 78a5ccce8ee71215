"""The JSON Schema of ``--format json``, from the types of the results."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

import xarray as xr

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.schema import SeedDesign
from abtune.report.summary import ANALYSIS, COMPARISON

_NUMBER = {float: "number", int: "integer", str: "string", bool: "boolean", type(None): "null"}


def analysis_schema() -> dict[str, Any]:
    """Return the schema of the report of ``abtune analyze``; fields of further sections are not described.

    A dataset with several candidates has a list of such reports, ``candidates``.
    """
    comparison = _record(Comparison, COMPARISON)
    analysis = _record(Analysis, ANALYSIS)
    analysis["properties"] |= {
        "origin": {"type": "string"},
        "design": {"enum": [design.value for design in SeedDesign]},
        "comparisons": {"type": "array", "items": comparison},
    }
    analysis |= {"required": sorted(analysis["properties"]), "additionalProperties": True}  # sections
    one = {"$ref": "#/$defs/analysis"}
    several = _object({"candidates": {"type": "array", "items": one}})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "abtune analyze --format json",
        **_object({"abtune_version": {"type": "string"}}),
        "additionalProperties": True,
        "anyOf": [one, {**several, "additionalProperties": True}],
        "$defs": {"analysis": analysis},
    }


def _record(kind: type, fields: Mapping[str, str]) -> dict[str, Any]:
    return _object({name: _at(kind, path.split(".")) for name, path in fields.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _at(kind: type, path: list[str]) -> dict[str, Any]:
    """Return the schema of an attribute of an attribute ... of a class."""
    first, *others = path
    attribute = getattr(kind, first, None)
    inner = _hints(kind).get(first)
    if isinstance(attribute, property):
        inner = get_type_hints(attribute.fget)["return"]
    return _at(inner, others) if others else _schema(inner)


def _hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass; xarray is imported only where types are checked."""
    return get_type_hints(kind, localns={"xr": xr})


def _schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a value; a number may be null, because JSON has no NaN."""
    if kind is float:
        return {"type": ["number", "null"]}
    if kind in _NUMBER:
        return {"type": _NUMBER[kind]}
    if get_origin(kind) is types.UnionType:
        return {"anyOf": [_schema(inner) for inner in get_args(kind)]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [member.value for member in kind]}
    return _object({name: _schema(hint) for name, hint in _hints(kind).items()})
