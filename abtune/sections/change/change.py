"""Whether the boost changed between two datasets: two versions of TVM, two devices, two days.

The seeds of the two datasets count as independent samples, also where they have the same numbers. If both
time the same winners, each winner is compared with itself, and the noise of the searches cancels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from os.path import commonprefix
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.compare.caveats import of_neighbours
from abtune.compare.settings import Settings, make_settings
from abtune.dataset import provenance
from abtune.dataset.check import validate
from abtune.dataset.provenance import configurations_of
from abtune.dataset.schema import design_of, labels_of
from abtune.errors import InputError, unknown_name
from abtune.lazy import load
from abtune.samples import Samples, change_of, extract, extract_both, two_sample, what_varies
from abtune.stats.estimates import (
    StandardError,
    conservative_freedom,
    conservative_welch,
    from_log,
    standard_error,
    t_interval,
)
from abtune.stats.intervals.bootstrap_t import PooledT, pool_of_change, resample_tails
from abtune.stats.skewness import skewness_gap
from abtune.stats.testing.significance import OneSided, split_share
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import Booleans, Floats, TwoSample, sizes
from abtune.stats.variance import (
    ClusteredVariance,
    both_variances,
    half_width,
    mean_of_known,
    variance_of_both,
)
from abtune.text import count, listed, shortened

# Settings that are compared under another name, or whose values mean nothing across sweeps.
_ELSEWHERE = {"target", "trials", "rng_seed"}
_RECORDED = ("target", "cuda_version", "driver_version", "latency_source")
Names = tuple[str, ...]
# The log changes of all shapes, the share of one split of the seeds of each, and two variances, whose sum is
# the variance of the mean change.
_LogChange: TypeAlias = tuple[StandardError, Floats, Sequence[ClusteredVariance]]


class ChangeVerdict(StrEnum):
    """What two datasets say about one shape."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_SETTLED = "not settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeChange:
    """The change of one shape; fractions and p-values, NaN where a sample has fewer than two seeds."""

    shape: str
    a: float  # boost (fraction) or geometric mean latency (seconds) in the first dataset
    b: float
    seeds: tuple[int, ...]  # baseline and candidate of the first dataset, then of the second
    change: float  # ratio of b to a, of 1 + boost or of latency, minus 1
    low: float
    high: float
    p: float  # no change
    p_adjusted: float  # by Holm over the shapes
    p_unchanged: float  # a change of at least the tolerance; by Holm over the shapes, too
    verdict: ChangeVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanChange:
    """The geometric mean of the changes of the shapes that have an interval; its error from the seeds."""

    change: float
    low: float
    high: float
    shapes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A condition that the datasets do not share; empty text where a dataset does not record it."""

    what: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What changed from one dataset (A) to another (B); ``print`` shows the sentence.

    Attributes
    ----------
    datasets : tuple of str
        Their names.
    quantity : str
        What is compared: ``"boost"``, or ``"latency"`` of a single configuration.
    configs_a, configs_b : tuple of str
        Baseline and candidate, or the single configuration.
    level, tolerance : float
        As given, fractions.
    shapes : tuple of ShapeChange
        Shapes that both datasets have, in the order of A: ``a`` and ``b`` are boosts (fractions) or latencies
        (seconds); ``change``, ``low`` and ``high`` are fractions; then p-values and ``verdict``.
    overall : MeanChange
        All of them together.
    same_winners : bool
        Whether each winner is compared with itself, because both datasets time the same.
    designs : tuple of str
        ``"independent"``, or ``"shared"`` where the runs of a seed are pairs.
    boosts : tuple of MeanChange
        Mean boost of each dataset over the shapes of ``overall``; empty for latencies.
    only_a, only_b : tuple of str
        Labels of the shapes that one dataset has.
    mismatches : tuple of Mismatch
        Conditions that differ, or that one dataset does not record.
    caveats : tuple of str
        What weakens the comparison.
    """

    datasets: tuple[str, str] = ("A", "B")
    quantity: str
    configs_a: tuple[str, ...]
    configs_b: tuple[str, ...]
    level: float
    tolerance: float
    shapes: tuple[ShapeChange, ...]
    overall: MeanChange
    same_winners: bool
    designs: tuple[str, str]
    boosts: tuple[MeanChange, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentence of ``abtune compare``."""
        sentence: str = load("abtune.sections.change.change_page:change_section")(self, ("", "")).sentence
        return sentence

    @property
    def mean(self) -> MeanChange | ShapeChange:
        """The mean change; of a lone shape its own, with the interval by which it is judged."""
        return self.overall if len(self.shapes) > 1 else self.shapes[0]


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

    Notes
    -----
    The log boost of a dataset is the difference of the mean log latencies of its seeds. The change is
    the difference of two log boosts, of four independent samples. Its error is sqrt(sum of s_i^2/n_i); a
    shared design has one sample, the differences of its pairs.
    Its degrees of freedom are those of Welch and Satterthwaite (1946, DOI 10.2307/3002019), reduced as
    :func:`abtune.analyze` reduces them: within each dataset, and again between the two.

    If both datasets time the same winners, as after ``abtune measure``, a sample has the changes of the log
    latencies of one configuration's winners. The change is the difference of two such means.
    """
    for dataset in (a, b):
        validate(dataset)
    configs = _chosen(a, b, baseline, candidate, config)
    settings = Settings(baseline=configs[0][0], candidate=configs[0][-1], level=level, tolerance=tolerance)
    labels = [labels_of(dataset, "shape") for dataset in (a, b)]
    common = [label for label in labels[0] if label in set(labels[1])]
    if not common:
        raise InputError("the datasets have no shape in common, so there is nothing to compare")
    parts = [dataset.sel(shape=common) for dataset in (a, b)]
    shared, timed_again = common_runs(parts, configs)
    if same_winners := timed_again is not None:
        parts = [keep(side, names, timed_again) for side, names in zip(parts, configs, strict=True)]
    sides = [
        extract_both(side, *names) if len(names) == 2 else [extract(side, *names)]
        for side, names in zip(parts, configs, strict=True)
    ]
    usable = _usable(sides)
    weight = usable / np.count_nonzero(usable)
    samples = _with_each_sign(sides, same_winners=same_winners)
    log, one_split, variances = _log_change(sides, samples, weight, same_winners=same_winners)
    tests = OneSided(estimate=log, one_split=one_split, rounding=_rounding(sides))
    if is_skewed := skewness_gap(samples) != 0:
        tests = replace(tests, pool=_resampled(sides, samples, settings, same_winners=same_winners))
    pairs = [two_sample(*pair) for pair in sides if len(pair) == 2]
    # Of pairs and of the same winners, what both runs share cancels.
    vary = [what_varies(*pair) if len(pair) == 2 else pair for pair in sides]
    series = {f" in {name}": [side.value for side in pair] for name, pair in zip("AB", vary, strict=True)}
    if same_winners:
        series = {"": [samples.first, samples.second]}
    return Change(
        quantity="boost" if pairs else "latency",
        configs_a=configs[0],
        configs_b=configs[1],
        level=level,
        tolerance=tolerance,
        shapes=tuple(_shape_changes(tests, sides, common, settings)),
        overall=_mean(log.difference, variances, usable, level, float(weight @ tests.rounding)),
        same_winners=same_winners,
        designs=(design_of(a.attrs), design_of(b.attrs)),
        boosts=tuple(
            _mean(
                standard_error(pair).difference,
                both_variances(pair, weight),
                usable,
                level,
                float(weight @ pair.rounding),
            )
            for pair in pairs
        ),
        only_a=tuple(label for label in labels[0] if label not in common),
        only_b=tuple(label for label in labels[1] if label not in common),
        mismatches=tuple(_mismatches(_conditions(a, configs[0]), _conditions(b, configs[1]))),
        caveats=(
            *(told for where, values in series.items() for told in of_neighbours(values, 0, where)),
            *_caveats(0 if same_winners else shared, sides, usable, is_skewed=is_skewed),
        ),
    )


def _usable(sides: Sequence[Sequence[Samples]]) -> Booleans:
    """Return which shapes have a variance of each sample; InputError if none has."""
    usable: Booleans = np.min([side.n for pair in sides for side in pair], axis=0) >= 2
    if not usable.any():
        raise InputError(
            "no common shape has two seeds of each configuration in both datasets; a change cannot be told "
            "from search noise without repeated seeds"
        )
    return usable


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
    if config is not None:
        return (config,), (config,)
    if len(first) == len(second) == 1 and baseline is None and candidate is None:
        return tuple(first), tuple(second)
    both = [name for name in first if name in second]
    if len(both) < 2:
        shared = f"{', '.join(both)}; --config compares the latencies of one" if both else "none"
        raise InputError(f"a boost takes two configurations of both datasets; they share {shared}")
    chosen = make_settings(a.sel(config=both), baseline=baseline, candidate=candidate)
    return ((chosen.baseline, chosen.candidate),) * 2


def _shape_changes(
    tests: OneSided, sides: Sequence[Sequence[Samples]], labels: Sequence[str], settings: Settings
) -> Iterator[ShapeChange]:
    interval = t_interval(tests.estimate, level=settings.level).widened(tests.rounding)
    p = tests.difference_p()
    p_adjusted = holm(p)
    p_unchanged = holm(tests.equivalence_p(margin=math.log1p(settings.tolerance)))
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
            p_adjusted=float(p_adjusted[index]),
            p_unchanged=float(p_unchanged[index]),
            verdict=verdict,
        )


def _log_change(
    sides: Sequence[Sequence[Samples]], samples: TwoSample, weight: Floats, *, same_winners: bool
) -> _LogChange:
    """Return the change of one configuration or of a boost; of the same winners, from each by itself."""
    if len(sides[0]) == 2 and not same_winners:
        return _between_boosts([two_sample(*pair) for pair in sides], weight)
    return conservative_welch(samples), split_share(samples), both_variances(samples, weight)


def _with_each_sign(sides: Sequence[Sequence[Samples]], *, same_winners: bool) -> TwoSample:
    """Return what the change adds, and what it subtracts, as two samples of each shape.

    Of two boosts, each side has the deviations of two samples, times the seeds of both over its own: their
    mean has the variance and the skewness of the sum of both means.
    """
    one, two = sides
    if len(one) == 2 and same_winners:
        return two_sample(*map(change_of, one, two))
    if len(one) == 2:
        a, b = (two_sample(*pair) for pair in sides)
        return TwoSample.without_floor(_joined(b.first, a.second), _joined(b.second, a.first))
    if same_winners:
        floor = np.stack([two[0].floor, one[0].floor], axis=1)
        return TwoSample.of_pairs(two[0].value, one[0].value, floor)
    return two_sample(two[0], one[0])


def _resampled(
    sides: Sequence[Sequence[Samples]], samples: TwoSample, settings: Settings, *, same_winners: bool
) -> PooledT:
    """Return the distribution of t over the resamples of all shapes."""
    rng = np.random.default_rng(settings.rng_seed)
    if len(sides[0]) == 2 and not same_winners:
        return pool_of_change(*(two_sample(*pair) for pair in sides), rng=rng)
    return resample_tails(samples, level=settings.level, rng=rng).pool


def _joined(*samples: Floats) -> Floats:
    """Return the deviations of samples side by side, each times the seeds of all over its own."""
    n = [np.maximum(sizes(values), 1)[:, np.newaxis] for values in samples]
    rest = [values - mean_of_known(values)[:, np.newaxis] for values in samples]
    return np.concatenate([sum(n) / own * values for own, values in zip(n, rest, strict=True)], axis=1)


def _between_boosts(pairs: Sequence[TwoSample], weight: Floats) -> _LogChange:
    """Return the change between the boosts of two datasets whose searches are independent."""
    # With plain degrees of freedom, up to 26 instead of 5 in 100 reports of 29 shapes have a false change;
    # with these, up to 8 (analysis/simulations/change_freedom.py).
    a, b = (conservative_welch(pair) for pair in pairs)
    squares = a.error**2, b.error**2
    # Neither boost has a side with fewer seeds, so the noisier of the two is raised.
    equally_many = np.zeros(len(squares[0]), dtype=np.int64)
    # With the degrees of freedom of both boosts, Welch's formula is that of four terms.
    freedom = conservative_freedom(squares, (a.freedom, b.freedom), equally_many)
    # Two or three seeds beside many have their own, as within a dataset.
    n, m = (pair.sizes.min(axis=1) for pair in pairs)
    of_few = np.where(n < m, a.freedom, b.freedom)
    few = (np.minimum(n, m) <= 3) & (np.maximum(n, m) >= 2 * np.minimum(n, m))
    estimate = StandardError(
        difference=b.difference - a.difference,
        error=np.sqrt(sum(squares)),
        freedom=np.where(few, np.fmin(freedom, of_few), freedom),
    )
    # The larger share is the careful one: where nothing varies, it bounds p from below.
    one_split = np.maximum(*map(split_share, pairs))
    return estimate, one_split, [variance_of_both(*both_variances(pair, weight)) for pair in pairs]


def _rounding(sides: Sequence[Sequence[Samples]]) -> Floats:
    """Return how far coarse timers can move the change of each shape, log scale."""
    rounding: Floats = np.sum([side.rounding for pair in sides for side in pair], axis=0)
    return rounding


def _mean(
    log: Floats, variances: Sequence[ClusteredVariance], usable: Booleans, level: float, rounding: float
) -> MeanChange:
    """Return a mean with Welch's t interval on seed blocks: shapes of a seed may share errors."""
    mean, half = float(log[usable].mean()), half_width(variances, level) + rounding
    low, change, high = map(from_log, (mean - half, mean, mean + half))
    return MeanChange(change=change, low=low, high=high, shapes=int(np.count_nonzero(usable)))


def _conditions(dataset: xr.Dataset, configs: Names) -> dict[str, str]:
    attrs, meanings = dataset.attrs, configurations_of(dataset.attrs)
    known: dict[str, object] = {
        "device": provenance.hardware(dataset),
        "TVM": provenance.tuner(dataset).removeprefix("TVM "),
        "design": design_of(attrs),
        "trials": provenance.trials(dataset) or "",
        **{name: attrs.get(name, "") for name in _RECORDED},
        **{name: value for name, value in provenance.settings(dataset).items() if name not in _ELSEWHERE},
        "configurations": listed(sorted(labels_of(dataset, "config"))),
    }
    for role, name in zip(("baseline", "candidate")[-len(configs) :], configs, strict=True):
        known |= {
            f"{role} {key}": repr(value) for key, value in meanings.get(name, {}).items() if key != "name"
        }
    return {what.replace("_", " "): str(value) for what, value in known.items()}


def _mismatches(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Mismatch]:
    """Yield the conditions that differ. Long ones begin shortly before the difference."""
    for what in dict.fromkeys([*a, *b]):
        one, two = a.get(what, ""), b.get(what, "")
        same = len(commonprefix([one, two]))  # noqa: RUF071 - of texts, not of paths
        start = max(same - 20, 0) if max(len(one), len(two)) > 40 else 0
        if one != two:
            yield Mismatch(what=what, a=shortened(one[start:]), b=shortened(two[start:]))


def _caveats(
    shared: int, sides: Sequence[Sequence[Samples]], usable: Booleans, *, is_skewed: bool
) -> Iterator[str]:
    """Yield what weakens the comparison; ``shared`` is the number of runs of B that are runs of A."""
    if shared:
        yield (
            f"{count(shared, 'run')} of B {'has' if shared == 1 else 'have'} the timings or the winner of a "
            "run of A. The datasets may depend on each other, and the intervals are then too wide."
        )
    if single := int(np.count_nonzero(~usable)):
        yield f"{count(single, 'common shape')} without two seeds in every sample: no interval, no test."
    if is_skewed:
        yield (
            "The noise of the change looks skewed, as where searches of one configuration fail in one "
            "dataset only. Verdicts of changed and unchanged must also pass a bootstrap-t test."
        )
    failed = sum(int(side.failed.sum()) for pair in sides for side in pair)
    if failed:
        yield f"{count(failed, 'failed run')} of the common shapes left out."


def common_runs(parts: Sequence[xr.Dataset], configs: Sequence[Sequence[str]]) -> tuple[int, Booleans | None]:
    """Return what the chosen configurations have in common; refuse a dataset with itself.

    First the number of runs of the second dataset that have the timings or the winner of a run of the first.
    Then the winners that both datasets time, shape (shapes, configurations, seeds); None unless they are the
    same in all such runs.
    """
    # By position: a configuration may have another name in the other dataset.
    a, b = (dataset.sel(config=list(names)) for dataset, names in zip(parts, configs, strict=True))
    # Counters intersect as multisets, so a repeated run counts as often as both datasets have it.
    shared, chosen = (
        _runs(a[name]) & _runs(b[name]) if name in a and name in b else Counter()
        for name in ("latency", "winner")
    )
    if shared and shared.total() == _runs(a["latency"]).total() == _runs(b["latency"]).total():
        raise InputError("both datasets have the same timings of every common shape; name two others")
    # A lone rounded timing does not tell its run from others.
    telling = (
        run for run in shared if len(set(run[2:])) > 1 or not math.isclose(float(f"{run[2]:.6g}"), run[2])
    )
    timings, winners = sum(shared[run] for run in telling), chosen.total()
    # A run may share timings and winner; the sum of both would count it twice.
    return max(timings, winners), _timed_again(a, b) if winners and not timings else None


def keep(dataset: xr.Dataset, names: Sequence[str], runs: Booleans) -> xr.Dataset:
    """Return a dataset without the timings of other runs of these configurations."""
    where = {"shape": dataset["shape"], "config": list(names), "seed": dataset["seed"]}
    kept = xr.DataArray(runs, where).reindex(config=dataset["config"], fill_value=True)
    return dataset.assign(latency=dataset["latency"].where(kept))


def _timed_again(a: xr.Dataset, b: xr.Dataset) -> Booleans | None:
    if labels_of(a, "seed") != labels_of(b, "seed"):
        return None
    one, two = (dataset["latency"].notnull().any(("round", "repeat")).values for dataset in (a, b))
    both: Booleans = one & two
    same = (a["winner"].values == b["winner"].values) & (a["winner"].values != "")
    return both if both.any() and same[both].all() else None


def _runs(variable: xr.DataArray) -> Counter[tuple[Any, ...]]:
    """Count what the runs have, by shape and position of the configuration."""
    values = variable.values.reshape(*variable.shape[:3], -1)
    runs = (
        # NaN is not itself, and no winner is an empty text.
        (*index[:2], *(value for value in values[index].tolist() if value == value and value != ""))  # noqa: PLR0124
        for index in np.ndindex(*values.shape[:3])
    )
    return Counter(run for run in runs if len(run) > 2)
