"""``abtune sweep``: tune, re-measure, and write a dataset."""

from __future__ import annotations

import contextlib
import datetime
import math
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import (
    DEFAULT_DATASET,
    count_option,
    rng_seed_option,
    split_commas,
    target_option,
    time_limit_option,
    workplace_of,
    workplace_options,
)
from abtune.commands.common.output import emit, interrupted, progress_for, remark
from abtune.configurations import CONFIGURATIONS, DEFAULT_PAIR
from abtune.measure.plan import defaults
from abtune.text import count, listed, shell_path, span

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console

    from abtune.measure.plan.plan import Plan
    from abtune.measure.plan.workplace import TargetFacts, Workplace
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import Outcome
    from abtune.stats.testing.looks import Look


_TRIALS = defaults.TRIALS
_ON_GPU, _ON_CPU = DEFAULT_PAIR["cuda"], DEFAULT_PAIR["llvm"]


@click.command(
    epilog="""\b
Examples:
  abtune sweep --seeds 10                          what this machine can: a GPU, else its CPU
  abtune sweep --shapes quick --target cpu         minutes on a laptop
  abtune sweep --shapes 'M=512_*' --trials 256     chosen shapes, a larger budget
  abtune sweep --shapes mine:product:m=64_n=512    what product(m=64, n=512) of mine.py returns
  abtune sweep --seeds 10 --dry-run                what it would do, cost and be able to find
"""
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=10_000),
    help=f"Runs per shape and configuration. [default: {defaults.SEEDS}; until settled: "
    f"{defaults.SEEDS_UNTIL_SETTLED}]",
)
@click.option(
    "--until-settled",
    is_flag=True,
    help="Start with few seeds. Look two or three times, and add seeds only to promising shapes "
    "without a clear verdict.",
)
@click.option(
    "--shapes",
    metavar="LABEL,...",
    multiple=True,
    callback=split_commas,
    help="Presets, labels, globs over the labels of presets, or workloads of your own, such as mine:softmax. "
    f"[default: {defaults.SHAPES['cuda']} on a GPU, {defaults.SHAPES['llvm']} on a CPU]",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help=f"Configuration to compare against: {', '.join(CONFIGURATIONS)}, or module:attribute. [default: "
    f"{_ON_GPU[0]} on a GPU, {_ON_CPU[0]} on a CPU]",
)
@click.option(
    "--candidate",
    metavar="NAME,...",
    multiple=True,
    callback=split_commas,
    help="Configurations to judge, each against the baseline. A sweep that goes on may add some. "
    f"[default: {_ON_GPU[1]} on a GPU, {_ON_CPU[1]} on a CPU]",
)
@target_option
@count_option(
    "--trials", f"Schedules that a run tries. [default: {_TRIALS['cuda'][0]}; CPU: {_TRIALS['llvm'][0]}]"
)
@count_option(
    "--trials-per-iter",
    f"Schedules that an iteration tries. [default: {_TRIALS['cuda'][1]}; CPU: {_TRIALS['llvm'][1]}]",
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
@click.option(
    "--out", type=click.Path(path_type=Path), default=DEFAULT_DATASET, show_default=True, help="The dataset."
)
@click.option(
    "--transfer", is_flag=True, help="At the end, rebuild each winner under the other configurations."
)
@click.option(
    "--share",
    is_flag=True,
    help="Have the two searches of a seed exchange their fastest schedules: the boost is at equal knowledge.",
)
@time_limit_option
@rng_seed_option("Seed of all random numbers.")
@workplace_options("Searches to run side by side.")
@click.option("--dry-run", is_flag=True, help="Print the plan, its cost, and what it can show.")
def sweep(**options: Any) -> int:
    """Tune every shape with several seeds under a baseline and one candidate or more.

    Each run is one MetaSchedule search. The winners of a shape are then re-measured together and checked
    against NumPy. All goes into one netCDF dataset for abtune analyze. A sweep that was stopped goes on with
    the same command. It loses only the search iterations that were not finished.
    """
    from abtune.measure.plan.plan import Request
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import require_design
    from abtune.measure.tvm.nvrtc import why_no_gpu
    from abtune.stats.testing.looks import dropped_shapes

    end = time.monotonic() + (options["time_limit"] or math.inf)  # to find the target takes time, too
    asked = {field.name: options[field.name] for field in fields(Request) if field.name in options}
    request = Request(
        **asked, candidates=options["candidate"], trials_per_iteration=options["trials_per_iter"]
    )
    request.check_names()
    workplace = workplace_of(options, tried=True)
    store = Store(options["out"])
    plan = store.timed_alike(request.plan_for(workplace.facts))
    store.check(plan)
    require_design(plan, store, until_settled=request.until_settled)
    if options["target"] == "auto" and workplace.facts.kind != "cuda" and not workplace.scheduler:
        emit(f"no CUDA device: {why_no_gpu()}; tuning this CPU\n")
    dropped = dropped_shapes(store.looks()[0]) if request.until_settled else ()
    emit(_in_width(plan_words(plan, workplace, store, dropped)))
    words = power_words(plan, until_settled=request.until_settled)
    # Whoever starts a sweep that can show nothing is told before it takes hours.
    shown = words if options["dry_run"] else [line for line in words if line.startswith(_HOPELESS)]
    emit(_in_width(("", line) for line in shown))
    if options["dry_run"]:
        return 0
    outcome = _carry_out(plan, store, workplace, options, end)
    emit(f"{outcome_words(outcome, plan, store.dataset)}\n")
    if outcome.finished:
        named = "" if store.dataset == Path(DEFAULT_DATASET) else f" {shell_path(store.dataset)}"
        remark(f"next: abtune analyze{named}")
    return 0


def _carry_out(
    plan: Plan, store: Store, workplace: Workplace, options: Mapping[str, Any], end: float
) -> Outcome:
    """Carry out the plan, at once or look by look, until a moment of the monotonic clock."""
    from abtune.measure.sweep.run_sweep import settle
    from abtune.measure.sweep.run_sweep import sweep as run_sweep
    from abtune.stats.testing.looks import LOOKS

    about = session_facts(plan, workplace.facts, options)

    def carry_out(runs: Plan, looks: str) -> Outcome:
        facts = {**about, LOOKS: looks} if looks else about
        with progress_for(sys.stderr) as progress:
            return run_sweep(runs, store, workplace, about=facts, end=end, progress=progress)

    def report(look: Look, settled: int) -> None:
        dropped = f", {len(look.dropped)} dropped: {', '.join(look.dropped)}" if look.dropped else ""
        with contextlib.suppress(OSError):  # a terminal that is gone, or a full disk, ends no sweep
            emit(f"{look.seeds} seeds: {settled} of {len(plan.shapes)} shapes settled{dropped}\n")

    try:
        if not options["until_settled"]:
            return carry_out(plan, "")
        return settle(plan, store, carry_out=carry_out, goes_on=_goes_on, report=report)
    except KeyboardInterrupt:
        raise interrupted(store.dataset) from None


def _goes_on(dataset: xr.Dataset, labels: Set[str]) -> dict[str, bool]:
    """Return whether each of some shapes is worth more seeds; settled shapes are left out."""
    import abtune
    from abtune.compare.sequential import goes_on
    from abtune.stats.testing.looks import ALPHA

    rows = abtune.analyze(dataset, level=1 - ALPHA).comparisons
    return goes_on([row for row in rows if row.shape in labels])


# MetaSchedule's cost model predicts at random in the first iterations.
_FEW_GUIDED = 2
_HOPELESS = "This design cannot find any single difference"


def _in_width(lines: Iterable[tuple[str, str]]) -> str:
    """Return texts behind their names, wrapped to the standard output."""
    from abtune.report.text.console import prose, text_for

    def draw(console: Console) -> None:
        for name, words in lines:
            prose(console, words, mark=name)

    return text_for(sys.stdout, draw)


def plan_words(
    plan: Plan, workplace: Workplace, store: Store, dropped: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield what a sweep will do and what that costs, by name, without the shapes that it has dropped."""
    from abtune.measure.plan.plan import estimate
    from abtune.shapes import OwnShape

    facts, settings = workplace.facts, plan.settings
    left = replace(plan, shapes=tuple(shape for shape in plan.shapes if shape.label not in dropped))
    cost = estimate(left, workplace, store.records(), [*store.rounds().values()])
    devices = f"{len(facts.devices)} x {facts.devices[0]}" if len(facts.devices) > 1 else facts.devices[0]
    basis = "from a short trial of this machine" if facts.rate else "a rough guess"
    own_shapes = any(isinstance(shape, OwnShape) for shape in plan.shapes)
    if own_shapes or any(config.space_is_foreign for config in plan.configs):
        basis += "; less is known of code of your own"
    if cost.from_runs:
        basis = f"from {count(cost.from_runs, 'finished run')}"
    searchers, cost_time = count(workplace.cores, "core"), span(cost.seconds)
    if workplace.scheduler:
        searchers = f"the workers of {workplace.scheduler}"
        cost_time = f"{span(cost.core_seconds)} of one core"
    noisy = "; timings of this CPU will be noisy" if facts.shares_cores else ""
    baseline, *names = [config.name for config in plan.configs]
    lines = {
        "target": f"{facts.kind}: {devices}, searched by {searchers}",
        "compare": f"{listed(names)} (candidate{'s' * (len(names) > 1)}) with {baseline} (baseline)",
        "runs": f"{count(len(plan.shapes), 'shape')} x {len(plan.configs)} configurations x "
        f"{count(len(plan.seeds), 'seed')}"
        f" = {len(plan.runs)}{f', {cost.runs} left' * (cost.runs < len(plan.runs))}",
        "a run": f"{settings.trials} trials in iterations of {settings.trials_per_iteration}{_guided(plan)}",
        "share": f"{settings.exchanged} of {settings.trials_per_iteration} trials try schedules of the "
        "partner, which is the search of the same seed",
        "dropped": f"{count(len(dropped), 'shape')}: {', '.join(dropped)}",
        "cost": f"about {cost_time} ({basis})",
        "busy": f"other programs use {workplace.load:.1f} of {count(workplace.cores, 'core')}; "
        f"searches give way to them{noisy}",
    }
    said = {"share": settings.is_shared, "dropped": bool(dropped), "busy": workplace.is_busy}
    yield from ((f"{name:<10}", words) for name, words in lines.items() if said.get(name, True))


def _guided(plan: Plan) -> str:
    """Return how many iterations the cost model guides; fewer than two are mostly luck."""
    settings = plan.settings
    if all(config.strategy != "evolutionary" or config.cost_model for config in plan.configs):
        return ""
    own = any(config.cost_model for config in plan.configs)  # of one configuration: it may guide earlier
    model = "MetaSchedule's cost model" if own else "the cost model"
    if settings.guided >= _FEW_GUIDED:
        return f", {settings.guided} of them guided by {model}"
    few = settings.guided or "none"
    enough = settings.trials_per_iteration * (settings.unguided + _FEW_GUIDED)
    return f"; {model} guides {few} of them ({_FEW_GUIDED} with --trials {enough})"


def power_words(plan: Plan, *, until_settled: bool) -> list[str]:
    """Return the shapes of a plan, and whether its design can find any single difference, as lines."""
    from abtune.measure.sweep.run_sweep import looks_of
    from abtune.stats.testing.attainable import smallest_p
    from abtune.stats.testing.difference_tests import Correction, default_correction
    from abtune.stats.testing.looks import ALPHA, Look

    seeds, family, paired = len(plan.seeds), len(plan.shapes), plan.settings.is_shared
    candidates = len(plan.configs) - 1
    looks = looks_of(plan) if until_settled else (Look(seeds=seeds, alpha=ALPHA / candidates),)
    reachable, alpha = smallest_p(seeds, seeds, paired=paired), looks[-1].alpha

    def correction(n: int) -> Correction:
        return default_correction(paired=paired, looks=until_settled, alpha=alpha, seeds=[(n, n)] * family)

    needed = correction(seeds).resolution(alpha, family)
    unit, per_side = ("pair", "") if paired else ("seed", " per configuration")
    lines = ["", *(shape.label for shape in plan.shapes), ""]
    if until_settled:
        lines += _about_looks(plan, looks, unit, per_side)
    level = "at the last look" if until_settled else f"at {100 * (1 - alpha):.3g}% confidence"
    each_of = f" for each of {candidates} candidates" * (candidates > 1)
    which = f"The correction over {family} shapes" if family > 1 else "A difference"
    is_max_t = correction(seeds).joint is not None and not paired
    reasons = [
        f"With {count(seeds, unit)}{per_side} the exact test reaches p = {reachable:.2g} at best.",
        f"{which} needs p = {needed:.2g} or less {level}{each_of}.",
        *["This correction is max-T, because Holm's can show no difference with these seeds."] * is_max_t,
    ]
    if reachable <= needed:
        words = "This design can find a difference; abtune power says how large it must be."
        return [*lines, words, *reasons]
    enough = [
        n
        for n in range(2, 40)  # beyond, p is of random splits
        if smallest_p(n, n, paired=paired) <= correction(n).resolution(alpha, family)
    ]
    more = f"to {enough[-1]}" if enough and enough[-1] < 39 else "or more"
    remedies = [f"--seeds {enough[0]} {more}"] if enough else []
    if needed < alpha:  # it depends on the number of shapes
        remedies.append("fewer shapes")
    words = f"{_HOPELESS}: use {', or '.join(remedies)}."
    return [*lines, words, *reasons]


def _about_looks(plan: Plan, looks: Sequence[Look], unit: str, per_side: str) -> Iterator[str]:
    """Yield what each look may spend, and how many runs that makes."""
    from abtune.stats.testing.looks import ALPHA, PROMISING

    shares = ", ".join(f"{100 * look.alpha:g}% after {look.seeds}" for look in looks)
    first = len(replace(plan, seeds=plan.seeds[: looks[0].seeds]).runs)
    yield (
        f"The looks at the data share the {100 * ALPHA:g}% of allowed false alarms: {shares} "
        f"{unit}s{per_side}."
    )
    yield (
        f"A shape whose p is above {PROMISING:.2f} at a look gets no more {unit}s, so {first} to "
        f"{len(plan.runs)} runs are made."
    )


def outcome_words(outcome: Outcome, plan: Plan, out: Path) -> str:
    """Return how many runs are done, how many failed and why, and why the session stopped."""
    from abtune.dataset.schema import RunStatus

    labels = [shape.label for shape in plan.shapes]
    has = {"shape": outcome.dataset["shape"].isin(labels), "seed": outcome.dataset["seed"].isin(plan.seeds)}
    own = outcome.dataset.isel({name: mask.values for name, mask in has.items()})
    failed = int((own["run_status"].values == RunStatus.FAILED).sum())
    note = f", {failed} failed (see variable 'failure')" if failed else ""
    lines = [f"{out}: {outcome.finished} of {len(plan.runs)} runs done{note}"]
    if failed:
        reasons = Counter(str(reason) for reason in own["failure"].values.ravel() if reason)
        reason, number = reasons.most_common(1)[0]
        lines.append(f"{number} of the failures: {reason}")
    if outcome.repeated:
        lines.append(
            f"{count(outcome.repeated, 'iteration')} searched twice, because a schedule was not refused "
            "early; please report this"
        )
    if outcome.stopped:
        lines.append(outcome.ending)
    return "\n".join(lines)


# These options do not change what a sweep does.
_CIRCUMSTANCES = ("out", "time_limit", "cores", "scheduler")


def session_facts(plan: Plan, facts: TargetFacts, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about this session for the dataset's attributes."""
    from abtune.version import __version__

    baseline, *names = [config.name for config in plan.configs]
    return {
        "title": f"{listed(names)} against {baseline}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": _command(options),
        "device": facts.devices[0],
        "target": facts.target,
        "abtune_version": __version__,
        **{f"{name}_version": version for name, version in facts.versions.items()},
    }


def _command(options: Mapping[str, Any]) -> str:
    # Where an earlier session had other shapes or fewer seeds, this command alone does not make the dataset.
    words = ["abtune", "sweep"]
    for name, value in options.items():
        if name not in _CIRCUMSTANCES and value not in (None, (), False, ""):
            text = ",".join(value) if isinstance(value, tuple) else value
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={text}"))
    return shlex.join(words)
