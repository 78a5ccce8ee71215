"""``abtune sweep``: tune, re-measure, and write a dataset."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import count_option, rng_seed_option, split_commas
from abtune.commands.common.output import emit, interrupted, remark
from abtune.commands.common.workplace_options import (
    out_option,
    target_option,
    time_limit_option,
    workplace_of,
    workplace_options,
)
from abtune.measure.plan import defaults
from abtune.text import shell_path

if TYPE_CHECKING:
    import xarray as xr

    from abtune.measure.plan.plan import Plan
    from abtune.measure.plan.workplace import Workplace
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import Outcome
    from abtune.stats.testing.design import Look


_MOST_SEEDS = 10_000
_TRIALS = defaults.TRIALS


@click.command(
    epilog="""\b
Examples:
  abtune sweep --seeds 10                          what this machine can: a GPU, else its CPU
  abtune sweep --shapes quick --target cpu         minutes on a laptop
  abtune sweep --shapes 'M=512_*' --trials 256     chosen shapes, a larger budget
  abtune sweep --seeds 10 --dry-run                what it would do, cost and be able to find
"""
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=_MOST_SEEDS),
    help=f"Runs per shape and configuration. [default: {defaults.SEEDS}; until settled: "
    f"{defaults.SEEDS_UNTIL_SETTLED}]",
)
@click.option(
    "--until-settled",
    is_flag=True,
    help="Look at the data two or three times, and add seeds only to promising shapes that are not settled.",
)
@click.option(
    "--shapes",
    metavar="LABEL,...",
    multiple=True,
    callback=split_commas,
    help=f"Presets, labels, or globs over the labels of presets. [default: {defaults.SHAPES['cuda']} on a "
    f"GPU, {defaults.SHAPES['llvm']} on a CPU]",
)
@click.option("--baseline", metavar="NAME", help="Configuration to compare against, or module:attribute.")
@click.option("--candidate", metavar="NAME", help="Configuration to judge, or module:attribute.")
@target_option
@count_option("--trials", f"Candidates in a run. [default: {_TRIALS['cuda'][0]}; CPU: {_TRIALS['llvm'][0]}]")
@count_option(
    "--trials-per-iter",
    f"Candidates in an iteration. [default: {_TRIALS['cuda'][1]}; CPU: {_TRIALS['llvm'][1]}]",
)
@count_option("--rounds", "Rounds of re-measuring.", defaults.ROUNDS)
@count_option("--repeats", "Timings per round.", defaults.REPEATS)
@click.option(
    "--cache",
    type=click.Choice(["warm", "cold"]),
    default=defaults.CACHE,
    show_default=True,
    help="State of the device's caches when a kernel is timed.",
)
@out_option("The dataset.")
@click.option(
    "--transfer", is_flag=True, help="At the end, rebuild each winner under the other configuration."
)
@click.option(
    "--share",
    is_flag=True,
    help="Have the two searches of a seed exchange their fastest schedules: the boost at equal knowledge.",
)
@time_limit_option
@rng_seed_option("Seed of all random numbers.")
@workplace_options("Searches to run side by side.")
@click.option("--dry-run", is_flag=True, help="Print the plan, its cost, and whether it can succeed.")
def sweep(**options: Any) -> int:
    """Tune every shape with several seeds under two configurations.

    Each run is one MetaSchedule search. The winners of a shape are then re-measured together and checked
    against NumPy. All goes into one netCDF dataset for abtune analyze. A sweep that was stopped goes on with
    the same command, and loses nothing but the search iterations in flight.
    """
    from abtune.commands.common.sweep_words import outcome_words, plan_words, power_words
    from abtune.measure.plan.plan import Request
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import require_design
    from abtune.stats.testing.design import dropped_shapes

    end = time.monotonic() + (options["time_limit"] or math.inf)  # to find the target takes time, too
    asked = {field.name: options[field.name] for field in fields(Request) if field.name in options}
    request = Request(**asked, trials_per_iteration=options["trials_per_iter"])
    request.check_names()
    workplace = workplace_of(options, tried=True)
    plan, store = request.plan_for(workplace.facts), Store(options["out"])
    store.check(plan)
    require_design(plan, store, until_settled=request.until_settled)
    _say_why_no_gpu(options["target"], workplace)
    dropped = dropped_shapes(store.looks()[0]) if request.until_settled else ()
    emit(f"{plan_words(plan, workplace, store, dropped)}\n")
    if options["dry_run"]:
        emit(f"{power_words(plan, until_settled=request.until_settled)}\n")
        return 0
    outcome = _carry_out(plan, store, workplace, options, end)
    emit(f"{outcome_words(outcome, plan, store.dataset)}\n")
    if outcome.finished:
        named = "" if store.dataset == Path(defaults.OUT) else f" {shell_path(store.dataset)}"
        remark(f"next: abtune analyze{named}")
    return 0


def _say_why_no_gpu(target: str, workplace: Workplace) -> None:
    """Say why this machine's CPU is tuned if the user did not choose it."""
    from abtune.measure.tvm.cuda.nvrtc import why_no_gpu

    facts = workplace.facts
    here = not facts.remote and not workplace.scheduler
    if target == "auto" and facts.kind != "cuda" and here:
        emit(f"no CUDA device: {why_no_gpu()}; tuning this CPU\n")


def _carry_out(
    plan: Plan, store: Store, workplace: Workplace, options: Mapping[str, Any], end: float
) -> Outcome:
    """Carry out the plan, at once or look by look, until a moment of the monotonic clock."""
    from abtune.commands.common.output import progress_for
    from abtune.commands.common.sweep_words import session_facts
    from abtune.measure.sweep.run_sweep import settle
    from abtune.measure.sweep.run_sweep import sweep as run_sweep
    from abtune.stats.testing.design import LOOKS

    about = session_facts(plan, workplace.facts, options)

    def carry_out(runs: Plan, looks: str) -> Outcome:
        with progress_for(sys.stderr) as progress:
            return run_sweep(
                runs,
                store,
                workplace,
                about={**about, LOOKS: looks} if looks else about,
                time_limit=max(end - time.monotonic(), 1.0),
                progress=progress,
            )

    def report(look: Look, settled: int) -> None:
        dropped = f", {len(look.dropped)} dropped: {', '.join(look.dropped)}" if look.dropped else ""
        emit(f"{look.seeds} seeds: {settled} of {len(plan.shapes)} shapes settled{dropped}\n")

    try:
        if not options["until_settled"]:
            return carry_out(plan, "")
        return settle(plan, store, carry_out=carry_out, goes_on=_goes_on, report=report)
    except KeyboardInterrupt:
        raise interrupted(store.dataset) from None


def _goes_on(dataset: xr.Dataset) -> dict[str, bool]:
    """Return whether each shape is worth more seeds; settled and dropped shapes are left out."""
    import abtune
    from abtune.compare.sequential import goes_on
    from abtune.stats.testing.design import ALPHA, LOOKS, dropped_shapes, looks_from_json

    dropped = dropped_shapes(looks_from_json(dataset.attrs[LOOKS])[0])
    rows = abtune.analyze(dataset, level=1 - ALPHA).comparisons
    return goes_on([row for row in rows if row.shape not in dropped])
