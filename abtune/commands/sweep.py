"""``abtune sweep``: tune, re-measure, and write a dataset."""

from __future__ import annotations

import datetime
import math
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from abtune.commands.options import split_commas

if TYPE_CHECKING:
    from abtune.measure.plan import Plan
    from abtune.measure.request import Request
    from abtune.measure.store import Store
    from abtune.measure.sweep import Outcome
    from abtune.measure.target import TargetFacts


_MANY_SEEDS = 100
_MOST_SEEDS = 10_000


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.2 on
    """A time span such as ``90s``, ``15m`` or ``2h``; the command receives seconds."""

    name = "duration"
    _UNITS: ClassVar[dict[str, int]] = {"": 1, "s": 1, "m": 60, "h": 3600}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn the text into seconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value).strip())
        seconds = float(match[1]) * self._UNITS[match[2]] if match else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no time span; give one such as 90s, 15m or 2h", param, ctx)
        return seconds


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
    help="Runs of each cell. [default: 10; until settled: 20]",
)
@click.option(
    "--until-settled",
    is_flag=True,
    help="Look at the data two or three times, and add seeds only to shapes that are not settled.",
)
@click.option(
    "--shapes",
    metavar="LABEL,...",
    multiple=True,
    callback=split_commas,
    help="Presets, labels, or globs over the labels of presets. [default: tvm14009 on a GPU, quick on a CPU]",
)
@click.option("--baseline", metavar="NAME", help="Configuration to compare against, or module:attribute.")
@click.option("--candidate", metavar="NAME", help="Configuration to judge, or module:attribute.")
@click.option("--target", default="auto", show_default=True, help="auto, cuda, cpu, or a TVM target.")
@click.option("--trials", type=click.IntRange(min=1), help="Candidates in a run. [default: 128; CPU: 24]")
@click.option(
    "--trials-per-iter", type=click.IntRange(min=1), help="Candidates in an iteration. [default: 64; CPU: 12]"
)
@click.option(
    "--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds of re-measuring."
)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True, help="Timings a round.")
@click.option(
    "--cache",
    type=click.Choice(["warm", "cold"]),
    default="warm",
    show_default=True,
    help="What a kernel that is timed finds in the caches of its device.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("abtune.nc"),
    show_default=True,
    help="The dataset.",
)
@click.option("--time-limit", type=Duration(), help="Stop in time and keep what is done: 90s, 15m, 2h.")
@click.option(
    "--rng-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all random numbers."
)
@click.option(
    "--cores", type=click.IntRange(min=1), help="Searches to run side by side. [default: all cores]"
)
@click.option("--scheduler", default="", metavar="ADDRESS", help="Use a dask cluster: tcp://host:port.")
@click.option("--rpc-tracker", default="", metavar="HOST:PORT", help="Measure on a device behind TVM's RPC.")
@click.option("--rpc-key", default="", metavar="KEY", help="Which device the tracker is to assign.")
@click.option("--dry-run", is_flag=True, help="Print the plan, its cost, and whether it can succeed.")
def sweep(**options: Any) -> int:
    """Tune every shape with several seeds under two configurations.

    Each run is one MetaSchedule search; the winners of a shape are then measured again together, checked
    against NumPy, and everything is written to one netCDF dataset for abtune analyze. A sweep that was
    stopped goes on with the same command, and loses nothing but the search iterations in flight.
    """
    from abtune.commands.settling import require_design
    from abtune.measure.nvrtc import why_no_gpu
    from abtune.measure.store import Store
    from abtune.measure.target import usable_cores

    started = time.monotonic()  # finding the target belongs to the time limit
    request = request_of(options)
    request.check_names()
    facts = target_of(options)
    plan = request.plan_for(facts)
    store = Store(options["out"])
    store.check(plan)
    require_design(plan, store, until_settled=options["until_settled"])
    cores = options["cores"] or usable_cores()
    here = not facts.remote and not options["scheduler"]
    if options["target"] == "auto" and facts.kind != "cuda" and here:
        click.echo(f"no CUDA device: {why_no_gpu()}; tuning this CPU")
    _say_plan(plan, facts, store, cores, options["scheduler"])
    if options["dry_run"]:
        _say_power(plan, until_settled=options["until_settled"])
        return 0
    end = started + (options["time_limit"] or math.inf)
    outcome = _run(plan, facts, store, cores, options, end)
    return _say_outcome(outcome, plan, options["out"])


def target_of(options: dict[str, Any]) -> TargetFacts:
    """Resolve the target that the options ask for, here or where a cluster measures."""
    from abtune.measure.target import find_target, remote_device

    remote = remote_device(options["rpc_tracker"], options["rpc_key"])
    if options["scheduler"]:
        from abtune.measure.cluster import find_target_at

        return find_target_at(options["scheduler"], options["target"], remote)
    return find_target(options["target"], remote)


def request_of(options: dict[str, Any]) -> Request:
    """Return what the options of a sweep ask for."""
    from abtune.measure.request import Request

    return Request(
        shapes=options["shapes"],
        baseline=options["baseline"],
        candidate=options["candidate"],
        seeds=options["seeds"],
        until_settled=options["until_settled"],
        trials=options["trials"],
        trials_per_iteration=options["trials_per_iter"],
        rounds=options["rounds"],
        repeats=options["repeats"],
        cache=options["cache"],
        rng_seed=options["rng_seed"],
    )


def _run(
    plan: Plan, facts: TargetFacts, store: Store, cores: int, options: dict[str, Any], end: float
) -> Outcome:
    """Carry out the plan, whole or look by look, until a moment of the monotonic clock."""
    from abtune.commands.progress import progress_for
    from abtune.measure.sweep import sweep as carry_out
    from abtune.stats.spending import LOOKS

    def part(plan: Plan, looks: str) -> Outcome:
        with progress_for(sys.stderr) as progress:
            return carry_out(
                plan,
                facts,
                store,
                about=_about(plan, facts, options) | ({LOOKS: looks} if looks else {}),
                scheduler=options["scheduler"],
                cores=cores,
                time_limit=max(end - time.monotonic(), 1.0),
                progress=progress,
            )

    try:
        if options["until_settled"]:
            from abtune.commands.settling import settle

            return settle(plan, store, part)
        return part(plan, "")
    except KeyboardInterrupt:
        click.echo(f"{store.dataset}: what is done is kept; the same command goes on", err=True)
        raise


def _about(plan: Plan, facts: TargetFacts, options: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of this sitting that go into the dataset's attributes."""
    import abtune

    return {
        "title": f"{plan.configs[1].name} against {plan.configs[0].name}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": _command(options),
        "device": facts.devices[0],
        "target": facts.target,
        "abtune_version": abtune.__version__,
        **{f"{name}_version": version for name, version in facts.versions.items()},
    }


# Where and how fast a sweep is done, which is not what it does.
_CIRCUMSTANCES = ("out", "dry_run", "cores", "scheduler", "time_limit", "rpc_tracker", "rpc_key")


def _command(options: dict[str, Any]) -> str:
    """Return the command of this sitting, without where it was done.

    Where an earlier one had other shapes or fewer seeds, it alone would not make the whole dataset.
    """
    words = ["abtune", "sweep"]
    for name, value in options.items():
        if name in _CIRCUMSTANCES or value in (None, (), False, ""):
            continue
        words.append(
            f"--{name.replace('_', '-')}"
            if value is True
            else f"--{name.replace('_', '-')}={','.join(value) if isinstance(value, tuple) else value}"
        )
    return shlex.join(words)


# --- what is said -----------------------------------------------------------------------------------


def _say_plan(plan: Plan, facts: TargetFacts, store: Store, cores: int, scheduler: str) -> None:
    from abtune.measure.estimate import estimate

    done = store.records()
    cost = estimate(plan, facts.kind, cores, len(facts.devices), done)
    devices = f"{len(facts.devices)} x {facts.devices[0]}" if len(facts.devices) > 1 else facts.devices[0]
    settings = plan.settings
    basis = f"from {cost.from_runs} runs done" if cost.from_runs else "a rough guess"
    where = f"the workers of {scheduler}" if scheduler else _count(range(cores), "core")
    time = f"{_span(cost.core_seconds)} of one core" if scheduler else _span(cost.seconds)
    lines = [
        f"target    {facts.kind}: {devices}, searched by {where}",
        f"compare   {plan.configs[1].name} (candidate) with {plan.configs[0].name} (baseline)",
        f"runs      {_count(plan.shapes, 'shape')} x 2 configurations x {_count(plan.seeds, 'seed')}"
        f" = {len(plan.runs)}"
        f", {cost.runs} left",
        f"a run     {settings.trials} trials in iterations of {settings.trials_per_iteration}",
        f"cost      about {time} ({basis})",
    ]
    click.echo("\n".join(lines))


def _say_power(plan: Plan, *, until_settled: bool) -> None:
    from abtune.stats.power import smallest_p
    from abtune.stats.spending import ALPHA, Look, schedule

    n, family = len(plan.seeds), len(plan.shapes)

    def looks(seeds: int) -> tuple[Look, ...]:
        if until_settled:
            return schedule(alpha=ALPHA, most=seeds, shapes=family)
        return (Look(seeds=seeds, alpha=ALPHA),)

    def needed(seeds: int) -> float:
        return looks(seeds)[-1].alpha / family

    reachable = smallest_p(n, n)
    click.echo("")
    for shape in plan.shapes:
        click.echo(shape.label)
    click.echo("")
    if until_settled:
        spent = ", ".join(f"{100 * look.alpha:g} % after {look.seeds}" for look in looks(n))
        click.echo(f"Looks at the data spend the {100 * ALPHA:g} % of false alarms: {spent} seeds a side.")
    where = "at the last look" if until_settled else f"at {100 * (1 - ALPHA):g} % confidence"
    click.echo(
        f"With {_count(plan.seeds, 'seed')} a side the smallest p-value that the exact test can reach "
        f"is {reachable:.2g};\n"
        f"the Holm correction over {_count(plan.shapes, 'shape')} needs {needed(n):.2g} {where}."
    )
    if reachable <= needed(n):
        click.echo("This design can succeed.")
        return
    enough = [seeds for seeds in range(2, _MANY_SEEDS) if smallest_p(seeds, seeds) <= needed(seeds)]
    remedy = ""
    if enough:
        # Beyond 15 + 15 seeds splits are sampled, and the smallest p-value is larger again.
        more = "or more" if enough[-1] == _MANY_SEEDS - 1 else f"to {enough[-1]}"
        remedy = f"--seeds {enough[0]} {more}, or "
    click.echo(f"This design cannot find any single difference: use {remedy}fewer shapes.")


def _say_outcome(outcome: Outcome, plan: Plan, out: Path) -> int:
    import numpy as np

    from abtune.schema import RunStatus

    status = outcome.dataset["run_status"].values
    failed = int(np.sum(status == RunStatus.FAILED))
    note = f", {failed} failed (see variable 'failure')" if failed else ""
    click.echo(f"{out}: {outcome.finished} of {len(plan.runs)} runs done{note}")
    if failed:
        reasons = Counter(str(reason) for reason in outcome.dataset["failure"].values.ravel() if reason)
        reason, count = reasons.most_common(1)[0]
        click.echo(f"{count} of the failures: {reason}")
    if outcome.stopped:
        click.echo(f"stopped by {outcome.stopped}; the same command goes on")
    if outcome.finished:
        click.echo(f"next: abtune analyze{'' if out == Path('abtune.nc') else f' {out}'}", err=True)
    return 0


def _count(things: Sequence[object], word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
