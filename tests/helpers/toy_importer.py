"""An importer as somebody else would write it: lines of ``toy SHAPE CONFIG MILLISECONDS``."""

from __future__ import annotations

from collections.abc import Sequence

import abtune
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.sources import Source
from abtune.ingest.texts import read_text


def read(sources: Sequence[Source], values: Values) -> Imported:
    (source,) = sources
    rows = [line.split()[1:] for line in read_text(source.path).splitlines()]
    shapes, configs = (list(dict.fromkeys(row[axis] for row in rows)) for axis in (0, 1))
    time = {(shape, config): float(number) / 1e3 for shape, config, number in rows}
    latency = [[[time[shape, config]] for config in configs] for shape in shapes]
    dataset = abtune.make_dataset(latency, shapes=shapes, configs=configs)
    return Imported(dataset=dataset, notes=(f"{values['mood']} toys",))


TOY = Importer(
    name="toy",
    kind="a toy",
    summary="Read toys.",
    recognises=lambda path, text: text.startswith("toy "),
    read=read,
    inputs=Inputs.TABLES,
    options=(Option(name="mood", choices=("happy", "sad"), default="happy", help="How they feel."),),
)
