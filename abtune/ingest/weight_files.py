"""Weights of shapes from a file: how often a program calls each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from abtune.errors import DatasetError, InputError
from abtune.ingest.tables import csv_rows, read_number
from abtune.ingest.texts import naming, parse_json, read_text
from abtune.text import shortened

_HEADER = ("label", "shape")


def read_weights(path: Path) -> Mapping[str, float]:
    """Return the weights in a file; it is JSON by its suffix or first brace, else CSV."""
    try:
        text = read_text(path)
        is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
        with naming(path):
            return _unique(_from_json(text) if is_json else _from_csv(text))
    except DatasetError as error:
        raise InputError(str(error)) from None


def _unique(entries: Iterable[tuple[str, str, object]]) -> Mapping[str, float]:
    """Return the weights of entries, each a place, a label and a value, without those of zero."""
    weights: dict[str, float] = {}
    for where, label, value in entries:
        if label in weights:
            raise InputError(f"{where}: {shortened(label)!r} has a weight already")
        weights[label] = _number(value, where)
    if not any(weights.values()):
        raise InputError("no shape has a weight; give lines of label,weight")
    return {label: weight for label, weight in weights.items() if weight}


def _from_csv(text: str) -> Iterator[tuple[str, str, object]]:
    for number, (line, cells) in enumerate(csv_rows(text)):
        if number == 0 and cells[0].lower() in _HEADER:
            continue
        if len(cells) != 2 or not cells[0]:
            raise InputError(f"line {line} is not label,weight")
        yield f"line {line}", cells[0], cells[1]


def _from_json(text: str) -> Iterator[tuple[str, str, object]]:
    document = parse_json(text)
    if not isinstance(document, dict):
        raise InputError("give an object of weights by label")
    for label, value in document.items():
        yield f"weight of {shortened(label)!r}", label, value


def _number(value: object, where: str) -> float:
    with naming(where):
        number = read_number(str(value))
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{where}: {shortened(value)} is not a weight; give a number of calls")
    return number
