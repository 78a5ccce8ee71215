"""``abtune measure``: time the winners of a dataset again."""

from __future__ import annotations

import datetime
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click


@click.command(
    epilog="""\b
Examples:
  abtune measure abtune.nc --out later.nc              the same winners, timed now
  abtune measure abtune.nc --rounds 20 --out long.nc   with more rounds
"""
)
@click.argument("dataset")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The new dataset.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of measuring. [default: as the sweep had]")
@click.option("--repeats", type=click.IntRange(min=1), help="Timings a round. [default: as the sweep had]")
@click.option("--target", default="auto", show_default=True, help="auto, cuda, cpu, or a TVM target.")
@click.option("--cores", type=click.IntRange(min=1), help="Builds to run side by side. [default: all cores]")
@click.option("--scheduler", default="", metavar="ADDRESS", help="Use a dask cluster: tcp://host:port.")
@click.option("--rpc-tracker", default="", metavar="HOST:PORT", help="Measure on a device behind TVM's RPC.")
@click.option("--rpc-key", default="", metavar="KEY", help="Which device the tracker is to assign.")
def measure(dataset: str, out: Path, **options: Any) -> int:
    """Measure the winners of a sweep again, on this machine.

    DATASET is one that abtune sweep made. Its winners are built again from their traces, checked against
    NumPy and timed together in new rounds. The searches are taken over as they are; OUT holds both.
    """
    import abtune
    from abtune.commands.progress import progress_for
    from abtune.commands.sweep import target_of
    from abtune.datasets import place_for
    from abtune.errors import StoreError
    from abtune.measure.again import measure_again, settings_of
    from abtune.measure.target import require_kind, usable_cores

    swept = abtune.open_dataset(dataset)
    settings = settings_of(swept)
    if place_for(out).exists():
        raise StoreError(f"{out} exists; give another --out")
    facts = target_of(options)
    require_kind(facts, settings.target)
    settings = replace(
        settings,
        rounds=options["rounds"] or settings.rounds,
        repeats=options["repeats"] or settings.repeats,
    )
    cores = options["cores"] or usable_cores()
    with progress_for(sys.stderr) as progress:
        again = measure_again(
            swept, facts, settings, scheduler=options["scheduler"], cores=cores, progress=progress
        )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    abtune.save_dataset(again.assign_attrs(measured_again=now), out)
    click.echo(f"{out}: the winners of {dataset}, measured again\nnext: abtune analyze {out}")
    return 0
