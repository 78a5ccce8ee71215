"""The weights of shapes in a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from abtune.errors import DatasetError, InputError, naming
from abtune.ingest.tables import csv_rows
from abtune.ingest.texts import parse_json, read_text
from abtune.ingest.units import read_number
from abtune.text import shortened


def read_weights(path: Path) -> Mapping[str, float]:
    """Return the weights in a file but those of zero; it is JSON by its suffix or first brace, else CSV."""
    weights: dict[str, float] = {}
    try:
        text = read_text(path)
        is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
        with naming(path):
            for where, label, value in _json_weights(text) if is_json else _csv_weights(text):
                if label in weights:
                    raise InputError(f"{where}: {shortened(label)!r} has a weight already")
                with naming(where):
                    weights[label] = read_number(str(value))
                if not 0 <= weights[label] < math.inf:
                    raise InputError(f"{where}: {shortened(value)} is not a weight; give a number of calls")
            if not any(weights.values()):
                raise InputError("no shape has a weight; give lines of label,weight")
    except DatasetError as error:
        raise InputError(str(error)) from None
    return {label: weight for label, weight in weights.items() if weight}


def _csv_weights(text: str) -> Iterator[tuple[str, str, object]]:
    """Yield the place, the label and the value of each entry."""
    for number, (line, cells) in enumerate(csv_rows(text)):
        if number == 0 and cells[0].lower() in {"label", "shape"}:
            continue
        if len(cells) != 2 or not cells[0]:
            raise InputError(f"line {line} is not label,weight")
        yield f"line {line}", cells[0], cells[1]


def _json_weights(text: str) -> Iterator[tuple[str, str, object]]:
    document = parse_json(text)
    if not isinstance(document, dict):
        raise InputError("give an object of weights by label")
    for label, value in document.items():
        yield f"weight of {shortened(label)!r}", label, value
