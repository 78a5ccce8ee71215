"""``abtune measure``: time the winners of a dataset again."""

from __future__ import annotations

import datetime
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import (
    count_option,
    dataset_names,
    open_several,
    target_option,
    time_limit_option,
    workplace_of,
    workplace_options,
)
from abtune.commands.common.output import emit, interrupted, progress_for
from abtune.errors import StoreError
from abtune.files import same_file
from abtune.text import count, listed, shell_path

if TYPE_CHECKING:
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import Outcome

# Names of TransferStatus, which needs NumPy.
_STATUS = {"OK": "timed", "SAME_KERNEL": "the same kernel", "DOES_NOT_FIT": "do not fit", "FAILED": "failed"}


@click.command(
    epilog="""\b
Examples:
  abtune measure abtune.nc --out later.nc              the same winners, timed now
  abtune measure abtune.nc --transfer --out both.nc    each winner under both configurations
  abtune measure abtune.nc --cache cold --out cold.nc  with operands that come from memory
  abtune measure one.nc two.nc --out all.nc            winners of two sweeps, timed together
"""
)
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...", shell_complete=dataset_names)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The new dataset.")
@click.option(
    "--transfer",
    is_flag=True,
    help="Rebuild each winner under the other configuration, to tell code from luck.",
)
@count_option("--rounds", "Rounds of measuring. [default: the first sweep's]")
@count_option("--repeats", "Timings per round. [default: the first sweep's]")
@click.option(
    "--cache",
    type=click.Choice(["warm", "cold"]),
    help="State of the device's caches when a winner is timed.  [default: the first sweep's]",
)
@click.option(
    "--trust",
    metavar="MODULE:ATTRIBUTE",
    multiple=True,
    help="Code that the dataset names: a configuration or workload of your own. Repeatable.",
)
@target_option
@time_limit_option
@workplace_options("Builds to run side by side.")
def measure(datasets: tuple[str, ...], out: Path, **options: Any) -> int:
    """Measure the winners of a sweep again, on this machine.

    DATASET is one that abtune sweep made. Its winners are built again from their traces, checked and
    timed together in new rounds. OUT has the new timings and the old searches. A measurement that
    was stopped goes on with the same command.

    Several sweeps become one dataset, as with abtune merge. They may have searched on different machines,
    because all their winners are timed on this one.
    """
    from abtune.dataset.merge import about_new_seeds, merge_datasets
    from abtune.measure.plan.workplace import require_kind
    from abtune.measure.store.as_dataset import settings_from_dataset, trusted_code
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import about_new_timings, adopt_winners, remeasuring_plan, sweep

    end = time.monotonic() + (options["time_limit"] or math.inf)
    if any(same_file(Path(name), out) for name in datasets):
        raise StoreError(f"{out} is a dataset to measure; give another --out")
    named = open_several(datasets)
    swept = merge_datasets(named, timed_again=True) if len(named) > 1 else next(iter(named.values()))
    given = {name: options[name] for name in ("rounds", "repeats", "cache") if options[name]}
    settings = replace(settings_from_dataset(swept), **given)
    own = trusted_code(swept, options["trust"])
    store = Store(out)
    workplace = workplace_of(options)
    require_kind(workplace.facts, settings.target)
    plan = remeasuring_plan(swept, settings, workplace.facts, own, transfer=options["transfer"])
    plan = store.timed_alike(plan)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    try:
        with progress_for(sys.stderr) as progress:
            about = about_new_timings(swept, workplace.facts.devices[0], now)
            adopt_winners(swept, plan, store, about)
            outcome = sweep(plan, store, workplace, about=about, end=end, progress=progress)
    except KeyboardInterrupt:
        raise interrupted(out) from None
    done = f"{out}: the winners of {listed(datasets)}, measured again"
    lines = _words(outcome, store, done, about_new_seeds(named))
    emit("".join(f"{line}\n" for line in lines))
    return 0


def _words(outcome: Outcome, store: Store, done: str, notes: Iterable[str]) -> Iterator[str]:
    """Yield what was measured, notes about it, the outcome of the transfers, and what to do next."""
    measured = store.rounds()
    shapes = outcome.dataset.sizes["shape"]
    yield done if not outcome.stopped else f"{done}: {len(measured)} of {count(shapes, 'shape')}"
    yield from notes
    lost = [winner.failure for rounds in measured.values() for winner in rounds.winners if winner.failure]
    if lost:
        yield f"{count(len(lost), 'winner')} failed; the first: {lost[0]}"
    transfers = [times for rounds in measured.values() for times in rounds.transfers]
    if transfers:
        counts = Counter(times.status.name for times in transfers)
        yield "transfers: " + ", ".join(f"{counts[status]} {word}" for status, word in _STATUS.items())
    failures = [times.failure for times in transfers if times.failure]
    if failures:
        yield f"the first failure: {failures[0]}"
    yield outcome.ending or f"next: abtune analyze {shell_path(store.dataset)}"
