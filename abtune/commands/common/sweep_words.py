"""The words of ``abtune sweep``: about its plan, its power, its outcome, and the facts in its dataset."""

from __future__ import annotations

import datetime
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtune.commands.common.workplace_options import NAMES
from abtune.text import count, span

if TYPE_CHECKING:
    from abtune.measure.plan.plan import Plan
    from abtune.measure.plan.workplace import TargetFacts, Workplace
    from abtune.measure.store.store import Store
    from abtune.measure.sweep.run_sweep import Outcome

# MetaSchedule's cost model predicts at random in the first iterations.
_FEW_GUIDED = 2


def plan_words(plan: Plan, workplace: Workplace, store: Store, dropped: Sequence[str]) -> str:
    """Return what a sweep will do and what that costs, without the shapes that it has dropped."""
    from abtune.measure.plan.plan import estimate

    facts, settings = workplace.facts, plan.settings
    left = replace(plan, shapes=tuple(shape for shape in plan.shapes if shape.label not in dropped))
    cost = estimate(left, workplace, store.records(), [*store.rounds().values()])
    devices = f"{len(facts.devices)} x {facts.devices[0]}" if len(facts.devices) > 1 else facts.devices[0]
    basis = "from a short trial of this machine" if facts.rate else "a rough guess"
    if cost.from_runs:
        basis = f"from {count(cost.from_runs, 'finished run')}"
    searchers, time = count(workplace.cores, "core"), span(cost.seconds)
    if workplace.scheduler:
        searchers, time = f"the workers of {workplace.scheduler}", f"{span(cost.core_seconds)} of one core"
    lines = {
        "target": f"{facts.kind}: {devices}, searched by {searchers}",
        "compare": f"{plan.configs[1].name} (candidate) with {plan.configs[0].name} (baseline)",
        "runs": f"{count(len(plan.shapes), 'shape')} x 2 configurations x {count(len(plan.seeds), 'seed')}"
        f" = {len(plan.runs)}, {cost.runs} left",
        "a run": f"{settings.trials} trials in iterations of {settings.trials_per_iteration}{_guided(plan)}",
        "share": f"{settings.exchanged} of {settings.trials_per_iteration} trials try schedules of the "
        "partner, which is the search of the same seed",
        "dropped": f"{count(len(dropped), 'shape')}: {', '.join(dropped)}",
        "cost": f"about {time} ({basis})",
        "busy": _busy(workplace),
    }
    said = {"share": settings.is_shared, "dropped": bool(dropped), "busy": workplace.is_busy}
    return "\n".join(f"{name:<10}{words}" for name, words in lines.items() if said.get(name, True))


def _busy(workplace: Workplace) -> str:
    """Return that other programs slow the sweep down."""
    noisy = "; timings of this CPU will be noisy" if workplace.facts.shares_cores else ""
    return (
        f"in the last minute {workplace.load:.1f} processes wanted these "
        f"{count(workplace.cores, 'core')}; searches give way to them{noisy}"
    )


def _guided(plan: Plan) -> str:
    """Return how many iterations the cost model guides; fewer than two are mostly luck."""
    settings = plan.settings
    if all(config.strategy != "evolutionary" for config in plan.configs):
        return ""
    if settings.guided >= _FEW_GUIDED:
        return f", {settings.guided} of them guided by the cost model"
    few = settings.guided or "none"
    enough = settings.trials_with(_FEW_GUIDED)
    return f"; the cost model guides {few} of them (--trials {enough}: {_FEW_GUIDED})"


def power_words(plan: Plan, *, until_settled: bool) -> str:
    """Return the shapes of a plan, and whether its design can find any single difference."""
    from abtune.measure.sweep.run_sweep import looks_of
    from abtune.stats.splits import RESAMPLES
    from abtune.stats.testing.design import ALPHA, PROMISING, Look, fewest_seeds, most_exact, smallest_p
    from abtune.stats.testing.difference_tests import default_correction

    seeds, family, paired = len(plan.seeds), len(plan.shapes), plan.settings.is_shared
    looks = looks_of(plan) if until_settled else (Look(seeds=seeds, alpha=ALPHA),)
    reachable = smallest_p(seeds, seeds, paired=paired)
    correction = default_correction(paired=paired, looks=until_settled)
    needed = correction.resolution(looks[-1].alpha, family)
    unit, each = ("pair", "") if paired else ("seed", " per configuration")
    lines = ["", *(shape.label for shape in plan.shapes), ""]
    if until_settled:
        shares = ", ".join(f"{100 * look.alpha:g} % after {look.seeds}" for look in looks)
        first = len(replace(plan, seeds=plan.seeds[: looks[0].seeds]).runs)
        lines += [
            f"The looks at the data share the {100 * ALPHA:g} % of allowed false alarms: "
            f"{shares} {unit}s{each}.",
            f"A shape whose p is above {PROMISING:.2f} at a look gets no more {unit}s: {first} to "
            f"{len(plan.runs)} runs.",
        ]
    level = "at the last look" if until_settled else f"at {100 * (1 - ALPHA):g} % confidence"
    lines += [
        f"With {count(seeds, unit)}{each} the exact test reaches p = {reachable:.2g} at best.",
        f"The correction over {count(family, 'shape')} needs p = {needed:.2g} or less {level}.",
    ]
    if reachable <= needed:
        return "\n".join([*lines, "This design can succeed."])
    enough = fewest_seeds(smallest=needed, paired=paired)
    most = most_exact(paired=paired)
    # Beyond the largest exact test, p is the share of random splits, and has a floor.
    more = "or more" if needed >= 1 / (RESAMPLES + 1) else f"to {most}"
    remedies = [f"--seeds {enough} {more}"] if enough <= most else []
    if needed < looks[-1].alpha:  # it depends on the number of shapes
        remedies.append("fewer shapes")
    return "\n".join(
        [*lines, f"This design cannot find any single difference: use {', or '.join(remedies)}."]
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
            "searched twice, because a schedule was not refused early: "
            f"{count(outcome.repeated, 'iteration')}; please report this"
        )
    if outcome.stopped:
        lines.append(f"stopped by {outcome.stopped}; the same command goes on")
    return "\n".join(lines)


# These options do not change what a sweep does.
_CIRCUMSTANCES = ("out", "time_limit", *NAMES)


def session_facts(plan: Plan, facts: TargetFacts, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about this session for the dataset's attributes."""
    from abtune.version import __version__

    return {
        "title": f"{plan.configs[1].name} against {plan.configs[0].name}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": _command(options),
        "device": facts.devices[0],
        "target": facts.target,
        "abtune_version": __version__,
        **{f"{name}_version": version for name, version in facts.versions.items()},
    }


def _command(options: Mapping[str, Any]) -> str:
    """Return the command of this session, without the circumstances."""
    # Where an earlier session had other shapes or fewer seeds, this command alone does not make the dataset.
    words = ["abtune", "sweep"]
    for name, value in options.items():
        if name not in _CIRCUMSTANCES and value not in (None, (), False, ""):
            text = ",".join(value) if isinstance(value, tuple) else value
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={text}"))
    return shlex.join(words)
