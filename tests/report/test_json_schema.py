"""The JSON Schema that is published describes the reports that are written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_builders import make_candidates
from json_schema import analysis_schema
from running import Run

import abtune

PUBLISHED = Path(__file__).parents[2] / "docs" / "analysis.schema.json"
KINDS: dict[str, Any] = {"string": str, "boolean": bool, "null": type(None), "object": dict, "array": list}


def is_of(value: object, kind: str) -> bool:
    """Return whether a value is of a type of JSON Schema."""
    if kind in {"number", "integer"}:
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else int | float)
    return isinstance(value, KINDS[kind])


def problems(
    value: Any, schema: dict[str, Any], path: str = "", root: dict[str, Any] | None = None
) -> list[str]:
    """Return where a value does not follow a schema, for the keywords that our schema has."""
    root = root or schema
    known = {
        "$schema",
        "title",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "anyOf",
        "$ref",
        "$defs",
    }
    assert schema.keys() <= known
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], path, root)
    mistakes = []
    if "anyOf" in schema:
        tried = [problems(value, one, path, root) for one in schema["anyOf"]]
        mistakes = [] if [] in tried else tried[0]
        if "type" not in schema:
            return mistakes
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path}: {value}"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_of(value, kind) for kind in kinds):
        return [f"{path}: {value!r} is not {kinds}"]
    if isinstance(value, list):
        for item in value:
            mistakes += problems(item, schema["items"], f"{path}[]", root)
    if isinstance(value, dict):
        mistakes += [f"{path}: no {name}" for name in schema["required"] if name not in value]
        for name, item in value.items():
            if name in schema["properties"]:
                mistakes += problems(item, schema["properties"][name], f"{path}.{name}", root)
            elif not schema["additionalProperties"]:
                mistakes.append(f"{path}: unknown {name}")
    return mistakes


def test_the_published_schema_is_that_of_the_code() -> None:
    """``ABTUNE_UPDATE_GOLDEN=1 pytest`` writes the file anew."""
    text = json.dumps(analysis_schema(), indent=2) + "\n"
    if os.environ.get("ABTUNE_UPDATE_GOLDEN"):
        PUBLISHED.write_text(text, encoding="utf-8")
    assert PUBLISHED.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "command",
    [
        "h200-deep --section report,overall,noise --weights resnet50",
        "h200-pilot --estimand best-of:2",
        "tvm14009-rtx3080",
        "one.nc",
        "three.nc --section report,noise",
        "lost.nc",
    ],
)
@pytest.mark.usefixtures("empty_folder")
def test_reports_follow_the_schema(run: Run, command: str) -> None:
    """Reports of bundled datasets, one shape, several candidates and lost timings are as the schema says."""
    latency = np.array([[[1.0, 1.1], [np.nan, np.nan]]])
    abtune.save_dataset(abtune.make_dataset(latency, shapes=["a"], configs=["old", "new"]), "one.nc")
    abtune.save_dataset(make_candidates({"b": [0.1], "c": [0.0]}), "three.nc")
    lost = np.array([[[1.0, 1.1], [1.0, 1.2], [np.nan, np.nan]]])  # so that one candidate has no worst shape
    abtune.save_dataset(abtune.make_dataset(lost, shapes=["a"], configs=["old", "b", "c"]), "lost.nc")
    report = json.loads(run("analyze", *command.split(), "--format", "json").out)
    assert problems(report, json.loads(PUBLISHED.read_text(encoding="utf-8"))) == []


def test_what_breaks_the_schema_is_found() -> None:
    """The check is not one that passes everything."""
    schema = analysis_schema()
    report: dict[str, Any] = json.loads(abtune.analyze(abtune.open_dataset("h200-pilot")).report("json"))
    assert problems(report, schema) == []
    row = report["comparisons"][0]
    for changed in (
        {"verdict": "better"},
        {"boost": "1%"},
        {"n_baseline": 1.5},
        {"caveats": [None]},
        {"new": 1},
    ):
        broken = {**report, "comparisons": [{**row, **changed}]}
        assert len(problems(broken, schema)) == 1
    del row["p"]
    assert problems(report, schema) == [".comparisons[]: no p"]
    assert problems({**report, "worst": {"shape": 1}}, schema)
    assert problems({**report, "level": True}, schema)
