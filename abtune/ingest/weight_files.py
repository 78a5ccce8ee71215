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
            for where, label, value in _entries(text, is_json=is_json):
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


def _entries(text: str, *, is_json: bool) -> Iterator[tuple[str, str, object]]:
    """Yield the place, the label and the value of each entry."""
    if is_json:
        if not isinstance(document := parse_json(text), dict):
            raise InputError("give an object of weights by label")
        yield from ((f"weight of {shortened(label)!r}", label, value) for label, value in document.items())
        return
    for number, (line, cells) in enumerate(csv_rows(text)):
        if number or cells[0].lower() not in {"label", "shape"}:
            if len(cells) != 2 or not cells[0]:
                raise InputError(f"line {line} is not label,weight")
            yield f"line {line}", cells[0], cells[1]
