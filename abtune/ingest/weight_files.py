"""Weights of shapes from a file: how often a program calls each."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from abtune.errors import DatasetError, InputError
from abtune.ingest.texts import load_text, parse_json
from abtune.text import shortened, to_number

_HEADER = ("label", "shape")


def read_weights(path: Path) -> Mapping[str, float]:
    """Return the weights in a file of CSV or JSON, as its suffix or its first brace tells."""
    try:
        text = load_text(path)
        is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
        document = parse_json(text, str(path)) if is_json else None
    except DatasetError as error:
        raise InputError(str(error)) from None
    weights: dict[str, float] = {}
    entries = _from_json(document, path) if is_json else _from_csv(text, path)
    for where, label, value in entries:
        if label in weights:
            raise InputError(f"{path}: {where}: {shortened(label)!r} has a weight already")
        weights[label] = _number(value, f"{path}: {where}")
    if not any(weights.values()):
        raise InputError(f"{path}: no shape has a weight; give lines of label,weight")
    return {label: weight for label, weight in weights.items() if weight}


def _from_csv(text: str, path: Path) -> Iterator[tuple[str, str, object]]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (reader.line_num == 1 and cells[0].lower() in _HEADER):
                continue
            if len(cells) != 2 or not cells[0]:
                raise InputError(f"{path}: line {reader.line_num} is not label,weight")
            yield f"line {reader.line_num}", cells[0], cells[1]
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error}") from None


def _from_json(document: object, path: Path) -> Iterator[tuple[str, str, object]]:
    if not isinstance(document, dict):
        raise InputError(f"{path}: give an object of weights by label")
    for label, value in document.items():
        yield f"weight of {shortened(label)!r}", label, value


def _number(value: object, where: str) -> float:
    try:
        number = to_number(value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: {shortened(value)!r} is not a number") from None
    if isinstance(value, bool) or not (math.isfinite(number) and number >= 0):
        raise InputError(f"{where}: {shortened(value)} is not a weight; give a number of calls")
    return number
