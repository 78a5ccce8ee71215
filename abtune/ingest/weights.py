"""Weights of shapes from a file: how often a program calls each."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from abtune.errors import InputError

_HEADER = ("label", "shape")


def read_weights(path: Path) -> Mapping[str, float]:
    """Read weights from CSV or JSON, as the suffix or the first brace tells.

    Parameters
    ----------
    path : Path
        CSV: lines of label and weight, with or without a header ``label,weight``. JSON: an object of
        weights by label.

    Returns
    -------
    mapping from str to float
        Weights above zero; a shape with weight zero is left out.

    Raises
    ------
    InputError
        With the place of the first thing that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text in UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    weights: dict[str, float] = {}
    is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
    entries = _from_json(text, path) if is_json else _from_csv(text, path)
    for place, label, value in entries:
        if label in weights:
            raise InputError(f"{path}: {place}: {label!r} has a weight already")
        weights[label] = _number(value, f"{path}: {place}")
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


def _from_json(text: str, path: Path) -> Iterator[tuple[str, str, object]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: give an object of weights by label")
    for label, value in document.items():
        yield f"weight of {label!r}", label, value


def _number(value: object, place: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        raise InputError(f"{place}: {value!r} is not a number") from None
    if isinstance(value, bool) or not (math.isfinite(number) and number >= 0):
        raise InputError(f"{place}: {value} is not a weight; give a number of calls")
    return number
