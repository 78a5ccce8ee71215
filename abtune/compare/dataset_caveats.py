"""What a dataset tells that weakens an analysis: what it leaves out, budgets, copies, lost trials, clocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from abtune.compare.settings import Settings
from abtune.dataset.provenance import CONFOUNDED, caveats_of, of_searches, of_throughputs, trials_made
from abtune.dataset.schema import RunStatus, labels_of, runs_of
from abtune.samples import complete_timings, count_trials
from abtune.text import count, percent, shell_path, shortened, some_of


def of_what_is_left_out(dataset: xr.Dataset, shapes: int, settings: Settings) -> Iterator[str]:
    """Yield which shapes and configurations of a dataset the analysis is not about."""
    if shapes < dataset.sizes["shape"]:
        yield (
            f"Tests are corrected over {shapes} of the dataset's {dataset.sizes['shape']} shapes. To show "
            "some and correct over all, give --show in place of --shapes."
        )
    others = sorted({*labels_of(dataset, "config")} - {settings.baseline, settings.candidate})
    if others and settings.of_candidates == 1:
        option = f"--candidate {shell_path(others[0])}"
        yield f"The dataset also has {', '.join(others)}. {option} compares it with {settings.baseline}."
    for config in (settings.baseline, settings.candidate):
        timed = np.isfinite(runs_of(dataset, "latency", config)).any(axis=(2, 3))
        if lost := int(np.sum(timed & (runs_of(dataset, "run_status", config) == RunStatus.MISSING))):
            runs = f"{count(lost, 'run')} of {config} {'has' if lost == 1 else 'have'} times"
            yield f"{runs} and the run_status of a missing run, so no number here counts them."


def of_sources(dataset: xr.Dataset) -> Iterator[str]:
    """Yield the weakness of times by which winners were picked, and of times that were throughputs."""
    if of_searches(dataset):
        yield (
            "The searches chose winners by these very timings. The luckiest timing wins, so times are too "
            "short (selection bias), most where timings are noisier. Time the winners again."
        )
    if of_throughputs(dataset):
        yield "These are throughputs. A time here is that of 10^9 operations or bytes, not of a run."


# Searches of one configuration may differ a little in how many trials they make.
_MORE_TRIALS = 1.1


def of_fairness(dataset: xr.Dataset, settings: Settings) -> Iterator[str]:
    """Yield what else differs between the two configurations: files, devices, the trials of a search."""
    names = settings.baseline, settings.candidate
    yield from (caveat.says for caveat in caveats_of(dataset.attrs) if {*caveat.of} <= {*names})
    made = [trials_made(dataset, name) for name in names]
    both = np.all([(one > 0).any(axis=1) for one in made], axis=0)  # shapes may have budgets of their own
    means = (np.mean([row[row > 0].mean() for row in one[both]]) for one in made if both.any())
    sides = [(float(mean), name) for mean, name in zip(means, names, strict=False)]
    if sides and max(sides)[0] > _MORE_TRIALS * min(sides)[0]:
        (few, fewer), (many, more) = sorted(sides)
        yield (
            f"{CONFOUNDED}: on average a search of {more} made {many:,.0f} trials, and one of {fewer} "
            f"{few:,.0f}. More trials find faster kernels. Give both the same number, or see --section curve."
        )


# Two seeds that agree in ten different timings are copies: chance does not do that.
_COPIED = 10


def of_copies(dataset: xr.Dataset, settings: Settings) -> Iterator[str]:
    """Yield which seeds of a configuration have exactly the timings of an earlier seed, in all shapes."""
    names = labels_of(dataset, "seed")
    for config in (settings.baseline, settings.candidate):
        timings = complete_timings(dataset, config).swapaxes(0, 1)
        # Seeds that agree for lack of noise are no copies.
        varies = (np.fmax.reduce(timings, axis=0) > np.fmin.reduce(timings, axis=0)).any(axis=(1, 2))
        copies, firsts = [], dict[bytes, str]()
        for name, own in zip(names, timings[:, varies], strict=True):
            if len(np.unique(own[~np.isnan(own)])) >= _COPIED:
                first = firsts.setdefault(own.tobytes(), name)
                copies += [f"{name} from {first}"] * (first != name)
        if copies:
            yield (
                f"{config}: {count(len(copies), 'seed')} with timings copied from another (seed "
                f"{some_of(copies)}). Take copies out: they make intervals too narrow, and verdicts too sure."
            )


# Shares of lost trials that differ by less are not worth a line in every report.
_WORTH_SAYING = 0.005


def of_lost_trials(dataset: xr.Dataset, settings: Settings) -> Iterator[str]:
    """Yield a caveat if one side lost a larger share of its trials than the other."""
    sides = [count_trials(dataset, config) for config in (settings.baseline, settings.candidate)]
    known = [side for side in sides if side is not None and side.tried]
    if len(known) < 2:
        return
    less, more = sorted(known, key=lambda side: side.lost_share)
    if more.lost_share - less.lost_share < _WORTH_SAYING:
        return
    fewest = percent(less.lost_share) if less.lost_share else "none"
    yield (
        f"{percent(more.lost_share)} of {more.config}'s trials failed ({less.config}: {fewest}), so "
        f"{more.config} had fewer schedules to choose from."
        f"{more.reason and f' Most often: {shortened(more.reason, 120)}'}"
    )


# Bits of NVML's nvmlClocksEventReason that slow a kernel down; idle and fixed clocks are not among them.
# https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal limit",
    0x40: "hardware thermal limit",
    0x80: "power brake",
}


def of_throttling(dataset: xr.Dataset, settings: Settings) -> Iterator[str]:
    """Yield a caveat if the GPU held its clock down in some rounds, with the reasons."""
    if "throttle_reasons" not in dataset:
        return
    names = settings.baseline, settings.candidate
    rounds = (runs_of(dataset, "throttle_reasons", name).ravel() for name in names)
    sides = [values[np.isfinite(values)].astype(np.int64) for values in rounds]
    # The keys are single bits, so their sum is the mask of all.
    shares = [float(np.mean((bits & sum(_REASONS)) != 0)) if bits.size else 0.0 for bits in sides]
    if not any(shares):
        return
    seen = np.bitwise_or.reduce(np.concatenate(sides))
    reasons = ", ".join(name for bit, name in _REASONS.items() if seen & bit)
    yield (
        f"The GPU lowered its clock ({reasons}) in {percent(shares[0])} of {names[0]}'s timing rounds and "
        f"{percent(shares[1])} of {names[1]}'s."
    )
