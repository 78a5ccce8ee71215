"""Tables and records of JSON in which each line is a trial of a search, as most tuners write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from abtune.dataset.schema import TrialStatus
from abtune.errors import InputError
from abtune.ingest.importers import Imported, Importer, Inputs, Values
from abtune.ingest.searches.searches import Search, search_reader
from abtune.ingest.sources import Source
from abtune.ingest.texts import naming
from abtune.ingest.timings.csv_file import read_csv
from abtune.ingest.timings.timings import OPTIONS, read_columns


def _read(sources: Sequence[Source], values: Values) -> Imported:
    notes: list[str] = []
    imported = search_reader("trials", partial(_searches, values, notes))(sources, values)
    return replace(imported, notes=(*imported.notes, *notes))


def _searches(values: Values, notes: list[str], path: Path, texts: Mapping[Path, str]) -> list[Search]:
    """Return a search for each shape, with its trials in the order of their lines."""
    with naming(path):
        columns = read_columns(values["columns"])
        reading = read_csv(texts[path], columns, values["unit"], each_a_seed=True, trials=True)
        if any((cell.config, cell.seed) != (None, None) or len(cell.rounds) > 1 for cell in reading.cells):
            has = "has a column config, seed or round, and a file of trials is one search"
            raise InputError(f"{has}; if its lines are repeats: abtune import timings")
    notes += (f"{path}: {note}" for note in reading.notes)
    return [
        Search(
            label=cell.shape or "",
            trials=[
                (TrialStatus.RUN_FAILED if math.isnan(time) else TrialStatus.OK, time)
                for time in cell.rounds[0]
            ],
        )
        for cell in reading.cells
    ]


TRIALS = Importer(
    name="trials",
    kind="a table of trials",
    summary="""Read CSV or JSON with a line for each trial, a file for a search.

    The least time is the winner's. Kernel Tuner (its cache), KTT, CLTune, ATF and others write such files.
    --columns and --unit say which column has the time. A line without a time is a trial that failed. Nobody
    measured the winners again, so each time is the search's own.
    """,
    recognises=lambda *_: False,
    read=_read,
    inputs=Inputs.RUNS,
    like="timings",
    run_is="A table of trials",
    options=OPTIONS,
    examples="""
  abtune import trials --run a='a-*.csv' --run b='b-*.csv' --columns time=cost --unit ns --shape x --out t.nc
  abtune import trials --run a=cache-a.json --run b=cache-b.json --unit ms --shape conv --out t.nc
""",
)
