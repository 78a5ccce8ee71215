"""Whether the boost changed between two datasets: two versions of TVM, two devices, two days.

The seeds of the two datasets count as independent samples, also where they have the same numbers. If both
time the same winners, each winner is compared with itself, and the noise of the searches cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os.path import commonprefix

import numpy as np
import xarray as xr

from abtune.compare.caveats import of_changed_units, of_neighbours, of_outliers, of_unseen
from abtune.compare.claims import FEWEST_PAIRS
from abtune.compare.overall import halves_over_seeds
from abtune.compare.settings import Settings, configurations
from abtune.dataset import provenance
from abtune.dataset.check import validate
from abtune.dataset.schema import design_of, in_order, labels_of
from abtune.errors import InputError, unknown_name
from abtune.samples import Samples, extract, extract_both, two_sample, what_varies
from abtune.sections.change.change_results import Change, ChangeVerdict, Mismatch, ShapeChange
from abtune.sections.change.change_statistics import (
    confirmed_holm,
    halves_of_mean,
    log_changes,
    mean_change,
    with_each_sign,
)
from abtune.sections.change.same_winners import common_runs, timed
from abtune.stats.estimates import from_log, standard_error, t_interval
from abtune.stats.skewness import PERHAPS_CHANCE, may_be_chance, more_skewed
from abtune.stats.testing.significance import OneSided
from abtune.stats.two_sample import Booleans, TwoSample
from abtune.text import count, listed, shortened

Names = tuple[str, ...]


def compare_datasets(
    a: xr.Dataset,
    b: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    config: str | None = None,
    level: float = 0.95,
    tolerance: float = 0.05,
) -> Change:
    """Say whether the boost of each shape changed between two datasets.

    Parameters
    ----------
    a, b : xarray.Dataset
        As :func:`abtune.open_dataset` returns them. The change is that from ``a`` to ``b``.
    baseline, candidate : str, optional
        Names of configurations that both have. By default the first two that both have, in the order of
        ``a``.
    config : str, optional
        Compare the latencies of this one configuration instead. This is the default if each dataset has a
        single configuration.
    level : float
        Confidence level of the intervals; tests are at 1 - ``level``, each family corrected over the shapes.
    tolerance : float
        The largest change, a fraction, that still counts as unchanged. A fall by the same ratio counts as
        equally large.

    Returns
    -------
    Change
        Changes are fractions, latencies are seconds.

    Raises
    ------
    InputError
        If the datasets are the same, have no shape or too few configurations in common, have fewer than two
        seeds in every common shape, or an argument cannot be used.
    DatasetError
        If a dataset is not valid.

    Notes
    -----
    The log boost of a dataset is the difference of the mean log latencies of its seeds. The change is
    the difference of two log boosts, of four independent samples. Its error is sqrt(sum of s_i^2/n_i); a
    shared design has one sample, the differences of its pairs.
    Its degrees of freedom are those of Welch and Satterthwaite (1946, DOI 10.2307/3002019), reduced as
    :func:`abtune.analyze` reduces them: within each dataset, and again between the two. Tests, but not the
    interval, also take the variances of all shapes (docs/statistics.md, "Moderated t-test").

    Both datasets may time the same winners, as after ``abtune measure``. Then a sample has the changes of the
    log latencies of one configuration's winners. The change is the difference of two such means. A winner is
    told by its schedule and the time that its search measured. Other winners are left out.
    """
    for dataset in (a, b):
        validate(dataset)
    configs = _chosen(a, b, baseline, candidate, config)
    settings = Settings(baseline=configs[0][0], candidate=configs[0][-1], level=level, tolerance=tolerance)
    labels = [labels_of(dataset, "shape") for dataset in (a, b)]
    common = [label for label in labels[0] if label in set(labels[1])]
    if not common:
        raise InputError("the datasets have no shape in common, so there is nothing to compare")
    parts = [in_order(dataset.sel(shape=common)) for dataset in (a, b)]
    shared, timed_again = common_runs(parts, configs)
    same_winners = timed_again is not None
    kept = timed_again or parts
    sides, usable = _sides(kept, configs)
    pairs = [two_sample(*pair) for pair in sides if len(pair) == 2]
    boosts = [] if same_winners else pairs  # of the same winners, each is compared with itself
    samples = with_each_sign(sides, boosts, same_winners=same_winners)
    rounding = np.sum([side.rounding for pair in sides for side in pair], axis=0)
    tests = log_changes(boosts, samples, settings, rounding=rounding)
    halves = halves_of_mean(boosts, samples, usable, rounding=rounding, level=level)
    shapes = tuple(_shape_changes(tests, sides, common, settings))
    return Change(
        quantity="boost" if pairs else "latency",
        configs_a=configs[0],
        configs_b=configs[1],
        level=settings.level,
        tolerance=settings.tolerance,
        shapes=shapes,
        overall=mean_change(tests[0].estimate.difference, halves, usable),
        same_winners=same_winners,
        designs=(design_of(a.attrs), design_of(b.attrs)),
        boosts=tuple(
            mean_change(standard_error(pair).difference, halves_over_seeds(pair, usable, level), usable)
            for pair in pairs
        ),
        only_a=tuple(label for label in labels[0] if label not in common),
        only_b=tuple(label for label in labels[1] if label not in common),
        mismatches=tuple(mismatches(a, b, configs)),
        caveats=(
            *of_changed_units({row.shape: row.change for row in shapes}),
            *_about_outliers(sides, common),
            *_about_others(parts, kept, configs),
            *_about_neighbours(sides, samples if same_winners else None),
            *_caveats(shared, sides, usable, samples, same_winners=same_winners),
        ),
    )


def _sides(
    datasets: Sequence[xr.Dataset], configs: Sequence[Names]
) -> tuple[list[Sequence[Samples]], Booleans]:
    """Return the samples of each dataset, and which shapes have all variances; InputError if none has."""
    sides: list[Sequence[Samples]] = [
        extract_both(dataset, *names) if len(names) == 2 else [extract(dataset, *names)]
        for dataset, names in zip(datasets, configs, strict=True)
    ]
    usable: Booleans = np.min([side.n for pair in sides for side in pair], axis=0) >= 2
    if not usable.any():
        raise InputError(
            "no common shape has two seeds of each configuration in both datasets; a change cannot be told "
            "from search noise without repeated seeds; to see both: abtune plot A --beside B --out boosts.svg"
        )
    return sides, usable


def _chosen(a: xr.Dataset, b: xr.Dataset, *roles: str | None) -> tuple[Names, Names]:
    """Return the configurations to compare, by the names given as baseline, candidate or only one."""
    first, second = (labels_of(dataset, "config") for dataset in (a, b))
    baseline, candidate, config = roles
    if config is not None and (baseline is not None or candidate is not None):
        raise InputError("--config is instead of --baseline and --candidate; give one or the other")
    for which, known in (("first", first), ("second", second)):
        for name in roles:
            if name is not None and name not in known:
                raise InputError(f"{which} dataset: {unknown_name('configuration', str(name), known)}")
    of_latencies = len(first) == len(second) == 1 and baseline is None and candidate is None
    if config is not None or of_latencies:
        if provenance.of_throughputs(a) != provenance.of_throughputs(b):
            raise InputError(
                "one dataset has times, the other throughputs; only their boosts can be compared"
            )
        return (tuple(first), tuple(second)) if config is None else ((config,), (config,))
    both = [name for name in first if name in second]
    if len(both) < 2:
        shared = f"{', '.join(both)}; --config compares the latencies of one" if both else "none"
        raise InputError(f"a boost takes two configurations of both datasets; they share {shared}")
    return (configurations(a.sel(config=both), baseline, candidate),) * 2


def _shape_changes(
    tests: Sequence[OneSided], sides: Sequence[Sequence[Samples]], labels: Sequence[str], settings: Settings
) -> Iterator[ShapeChange]:
    alone, margin = tests[0], math.log1p(settings.tolerance)
    interval = t_interval(alone.estimate, level=settings.level).widened(alone.rounding)
    p, p_moderated = (one.difference_p() for one in tests)
    p_adjusted = confirmed_holm(p, p_moderated)
    p_unchanged = confirmed_holm(*(one.equivalence_p(margin=margin) for one in tests))
    for index, label in enumerate(labels):
        latencies = ([float(side.latency[index]) for side in pair] for pair in sides)
        a, b = (pair[0] / pair[1] - 1 if len(pair) == 2 else pair[0] for pair in latencies)
        # A change may be shown, and be shown to be small. It is *changed* then; the page counts those.
        small = p_unchanged[index] <= settings.alpha
        verdict = ChangeVerdict.UNCHANGED if small else ChangeVerdict.NOT_SETTLED
        if p_adjusted[index] <= settings.alpha:
            verdict = ChangeVerdict.CHANGED
        yield ShapeChange(
            shape=label,
            a=a,
            b=b,
            seeds=tuple(int(side.n[index]) for pair in sides for side in pair),
            change=from_log(interval.difference[index]),
            low=from_log(interval.low[index]),
            high=from_log(interval.high[index]),
            p=float(p[index]),
            p_moderated=float(p_moderated[index]),
            p_adjusted=float(p_adjusted[index]),
            p_unchanged=float(p_unchanged[index]),
            verdict=verdict,
        )


def _about_neighbours(sides: Sequence[Sequence[Samples]], changes: TwoSample | None) -> Iterator[str]:
    """Yield where neighbouring seeds are alike: in the changes of the same winners, or in each dataset."""
    # Of pairs and of the same winners, what both runs share cancels.
    if changes is not None:
        yield from of_neighbours([changes.first, changes.second], 0)
        return
    for name, pair in zip("AB", sides, strict=True):
        vary = what_varies(*pair) if len(pair) == 2 else pair
        yield from of_neighbours([side.value for side in vary], 0, f" in {name}")


def _about_outliers(sides: Sequence[Sequence[Samples]], labels: Sequence[str]) -> Iterator[str]:
    """Yield which seeds of either dataset may have a wrong timing, and which agree too well."""
    for name, pair in zip("AB", sides, strict=True):
        for side in pair:
            yield from of_outliers(side, labels, "change", f" in {name}")
            if exact := int(np.count_nonzero((side.noise == 0) & ~(side.floor > 0))):
                agree = f"{side.config} in {name}: all seeds agree exactly in {count(exact, 'shape')}"
                yield f"{agree}. Intervals and verdicts ignore the rounding of the timer."


def _about_others(
    parts: Sequence[xr.Dataset], kept: Sequence[xr.Dataset], configs: Sequence[Names]
) -> Iterator[str]:
    """Yield how many timed winners of a dataset the other does not time."""
    for name, other, every, some, names in zip("AB", "BA", parts, kept, configs, strict=True):
        if runs := timed(every, names) - timed(some, names):
            yield f"{name} has {count(runs, 'winner')} that {other} does not time. These are left out."


def _caveats(
    shared: int,
    sides: Sequence[Sequence[Samples]],
    usable: Booleans,
    samples: TwoSample,
    *,
    same_winners: bool,
) -> Iterator[str]:
    """Yield what weakens a comparison with ``shared`` runs, whose changes are the ``samples``."""
    if shared and not same_winners:
        yield (
            f"{count(shared, 'run')} of B {'has' if shared == 1 else 'have'} the timings or the winner of a "
            "run of A. If the datasets are not independent, intervals are too wide."
        )
    if single := int(np.count_nonzero(~usable)):
        what = "common winners of each configuration" if same_winners else "seeds in every sample"
        yield f"{count(single, 'common shape')} without two {what}: no interval, no test."
    fewest = min(int(side.n[usable].min()) for pair in sides for side in pair)
    if fewest < FEWEST_PAIRS and np.count_nonzero(usable) > 1 and not same_winners:
        yield (
            f"{fewest} seeds do not show whether runs end at one of two speeds. If so, up to 57% of reports "
            "have a false change (simulated, docs/compare.md)."
        )
    if not same_winners:
        yield from of_unseen(fewest)
    if more_skewed(samples):
        chance = f" {PERHAPS_CHANCE}" if may_be_chance(samples) else ""
        yield (
            "The noise of the change looks skewed, as where some runs of one configuration are far slower in "
            f"one dataset only.{chance} Verdicts of changed and unchanged must also pass a bootstrap-t test. "
            "Intervals know only slow runs that their shape shows."
        )
    failed = sum(int(side.failed.sum()) for pair in sides for side in pair)
    if failed:
        yield f"{count(failed, 'failed run')} of the common shapes left out."


# Settings that are compared under another name, or whose values mean nothing across sweeps.
_ELSEWHERE = {"target", "trials", "rng_seed"}
_RECORDED = ("target", "cuda_version", "driver_version", "latency_source")


def mismatches(a: xr.Dataset, b: xr.Dataset, configs: Sequence[Sequence[str]]) -> Iterator[Mismatch]:
    """Yield the conditions that differ. Long ones begin shortly before the difference."""
    first, second = _conditions(a, configs[0]), _conditions(b, configs[1])
    for what in dict.fromkeys([*first, *second]):
        one, two = first.get(what, ""), second.get(what, "")
        same = len(commonprefix([one, two]))  # noqa: RUF071 - of texts, not of paths
        start = max(same - 20, 0) if max(len(one), len(two)) > 40 else 0
        if one != two:
            yield Mismatch(what=what, a=shortened(one[start:]), b=shortened(two[start:]))


def _conditions(dataset: xr.Dataset, configs: Sequence[str]) -> dict[str, str]:
    attrs, meanings = dataset.attrs, provenance.configurations_of(dataset.attrs)
    known: dict[str, object] = {
        "device": provenance.hardware(dataset),
        "TVM": provenance.tuner(dataset).removeprefix("TVM "),
        "design": design_of(attrs),
        "trials": provenance.trials(dataset) or "",
        **{name: attrs.get(name, "") for name in _RECORDED},
        **{name: value for name, value in provenance.settings(attrs).items() if name not in _ELSEWHERE},
        "configurations": listed(sorted(labels_of(dataset, "config"))),
    }
    for role, name in zip(("baseline", "candidate")[-len(configs) :], configs, strict=True):
        known |= {
            f"{role} {key}": repr(value) for key, value in meanings.get(name, {}).items() if key != "name"
        }
    return {what.replace("_", " "): str(value) for what, value in known.items()}
