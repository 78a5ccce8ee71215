"""The boosts of the same shapes over many datasets, in the order in which they were measured.

Of a folder, the datasets of one design with common shapes make a history, and every run counts once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from scipy.special import bdtrc

from abtune.compare.caveats import ALIKE
from abtune.compare.compare import analyze
from abtune.compare.results import Aggregate, Comparison
from abtune.compare.sentence import NEIGHBOURS
from abtune.compare.settings import alpha_of, check_fraction, configurations
from abtune.dataset.build import cells_of
from abtune.dataset.check import validate
from abtune.dataset.provenance import measured, origin
from abtune.dataset.schema import design_of, labels_of
from abtune.errors import InputError, naming
from abtune.lazy import load
from abtune.report.columns import OVERALL
from abtune.sections.change.change import compare_datasets
from abtune.sections.change.change_results import Change, MeanChange, ShapeChange
from abtune.sections.change.change_statistics import confirmed_holm
from abtune.stats.estimates import EqualWithNaN
from abtune.text import count, listed, some_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment(EqualWithNaN):
    """A shape in one dataset, or all common shapes; fractions, NaN where nothing is known."""

    shape: str  # ``overall`` for the geometric mean over the common shapes
    dataset: str
    date: str  # when the dataset was measured, as it says; empty if it does not
    boost: float
    boost_low: float
    boost_high: float
    verdict: str = ""  # of the report of this dataset; empty for overall
    change: float = math.nan  # (1 + boost)/(1 + boost in the dataset before) - 1; NaN in the first dataset
    change_low: float = math.nan  # so wide that the intervals of all steps of a shape hold at once
    change_high: float = math.nan
    p: float = math.nan  # no change since the dataset before; NaN for overall
    p_adjusted: float = math.nan  # by Holm over shapes and steps
    changed: bool  # of a shape: the adjusted p is small; overall: the interval of the change excludes zero


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The boosts of many datasets, and their changes; ``print`` shows the sentence.

    Attributes
    ----------
    datasets, dates : tuple of str
        Names and dates, in the order of the dates.
    sources : tuple of str
        The origin of each dataset, in words, without its date.
    baseline, candidate : str
        Configurations that all datasets have.
    level, tolerance : float
        As given, fractions.
    moments : tuple of Moment
        Overall first, then each common shape: one for each dataset, with boosts and changes as fractions.
    first_to_last : Change
        From the first dataset to the last, corrected over the shapes.
    caveats : tuple of str
        About the order, shapes left out, and what differs between neighbours.
    """

    datasets: tuple[str, ...]
    dates: tuple[str, ...]
    sources: tuple[str, ...]
    baseline: str
    candidate: str
    level: float
    tolerance: float
    moments: tuple[Moment, ...]
    first_to_last: Change
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentence of ``abtune history``."""
        return load("abtune.sections.change.change_page:history_section")(self).sentence

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each shape and dataset, with the fields of :class:`Moment`."""
        import pandas as pd

        return pd.DataFrame([asdict(moment) for moment in self.moments]).set_index(["shape", "dataset"])


def history(
    datasets: Mapping[str, xr.Dataset] | Sequence[xr.Dataset],
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    level: float = 0.95,
    tolerance: float = 0.05,
) -> History:
    """Return the boosts of each common shape over many datasets, and what changed between them.

    Parameters
    ----------
    datasets : mapping of str to xarray.Dataset, or sequence of xarray.Dataset
        Two or more, with names; those of a sequence are called 1, 2, .... They are sorted by the day on
        which their winners were timed. If one has no such date, all stay in the order given.
    baseline, candidate : str, optional
        Names of configurations that all have. By default the first two that all have.
    level : float
        Confidence level of the intervals; tests are at 1 - ``level``.
    tolerance : float
        The largest change, a fraction, that still counts as unchanged.

    Returns
    -------
    History
        Boosts and changes are fractions.

    Raises
    ------
    InputError
        If there are fewer than two datasets, their designs differ, they have no shape or fewer than two
        configurations in common, two neighbours cannot be compared, or an argument cannot be used.
    DatasetError
        If a dataset is not valid.

    Notes
    -----
    Boosts and verdicts are those of :func:`abtune.analyze`. Changes between neighbours are those of
    :func:`abtune.compare_datasets`, and Holm's correction covers all shapes and steps (https://www.jstor.org/stable/4615733).
    """
    if not isinstance(datasets, Iterable):
        raise InputError("a history takes a list of datasets, or a dict of them by name")
    pairs = datasets.items() if isinstance(datasets, Mapping) else enumerate(datasets, start=1)
    given = {str(name): dataset for name, dataset in pairs}
    if len(given) < 2:
        raise InputError("a history takes two datasets or more")
    for dataset in given.values():
        validate(dataset)
    dates = {name: date for name, dataset in given.items() if (date := _date(dataset))}
    undated = [name for name in given if name not in dates]
    series = given if undated else {name: given[name] for name in sorted(dates, key=dates.__getitem__)}
    designs = {design_of(dataset.attrs): name for name, dataset in series.items()}
    if len(designs) > 1:
        kinds = listed(f"{name} is {design}" for design, name in designs.items())
        raise InputError(f"a history takes datasets of one design, and {kinds}; abtune compare takes both")
    shapes, both = _common(series, "shape", 1), _common(series, "config", 2)
    chosen = configurations(next(iter(series.values())).sel(config=both), baseline, candidate)
    level = check_fraction("level", level, 0.95)
    how = {"baseline": chosen[0], "candidate": chosen[1], "level": level, "tolerance": tolerance}
    # Bonferroni over the steps: the overall changes of all steps are read side by side.
    strict = {**how, "level": 1 - alpha_of(level) / (len(series) - 1)}
    parts = {name: dataset.sel(shape=shapes) for name, dataset in series.items()}
    steps = [_change(parts, *pair, how=strict) for pair in pairwise(series)]
    first, *_, last = series
    return History(
        datasets=tuple(series),
        dates=tuple(map(measured, series.values())),
        sources=tuple(map(origin, series.values())),
        baseline=chosen[0],
        candidate=chosen[1],
        level=level,
        tolerance=tolerance,
        moments=tuple(_moments(series, steps, shapes, how)),
        first_to_last=_change(parts, first, last, how=how),
        caveats=tuple(_caveats(series, undated, shapes, steps)),
    )


def _date(dataset: xr.Dataset) -> datetime | None:
    """Return when a dataset was made; None if it does not say, or not as ISO 8601."""
    try:
        date = datetime.fromisoformat(measured(dataset))
    except ValueError:
        return None
    # Python cannot compare a time with a zone and one without; without one, UTC is assumed.
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _common(series: Mapping[str, xr.Dataset], what: str, least: int) -> list[str]:
    """Return the shapes or configurations that all datasets have, in the order of the first."""
    first, *others = (labels_of(dataset, what) for dataset in series.values())
    common = [name for name in first if all(name in other for other in others)]
    if len(common) < least:
        has = f"only {common[0]}" if common else f"no {what}"
        latency = "; for latencies of one: abtune compare A B --config NAME" if common else ""
        raise InputError(
            f"the datasets have {has} in common; a history takes at least {count(least, what)}{latency}"
        )
    return common


def _change(parts: Mapping[str, xr.Dataset], *names: str, how: Mapping[str, Any]) -> Change:
    first, last = names
    with naming(f"{first} and {last}"):
        return replace(compare_datasets(parts[first], parts[last], **how), datasets=(first, last))


def _moments(
    series: Mapping[str, xr.Dataset], steps: Sequence[Change], shapes: Sequence[str], how: Mapping[str, Any]
) -> Iterator[Moment]:
    reports = {name: analyze(dataset, **how) for name, dataset in series.items()}
    means = [step.overall for step in steps]
    for (name, report), step in zip(reports.items(), (None, *means), strict=True):
        some = len(shapes) < len(report.comparisons)
        # Verdicts keep the correction of the whole report; the mean is over shapes that all datasets have.
        mean = (analyze(series[name], shapes=shapes, **how) if some else report).overall.these_shapes
        changed = step is not None and not step.low <= 0 <= step.high
        yield Moment(shape=OVERALL, dataset=name, changed=changed, **_numbers(series[name], mean, step))
    # One family: a mark anywhere in the table is a claim.
    alone, moderated = np.array([(row.p, row.p_moderated) for step in steps for row in step.shapes]).T
    p = confirmed_holm(alone, moderated).reshape(len(steps), len(shapes))
    for number, shape in enumerate(shapes):
        for i, (name, report) in enumerate(reports.items()):
            row = next(row for row in report.comparisons if row.shape == shape)
            since = steps[i - 1].shapes[number] if i else None
            adjusted = float(p[i - 1, number]) if i else math.nan
            yield Moment(
                shape=shape,
                dataset=name,
                verdict=row.verdict.value,
                p=since.p if since else math.nan,
                p_adjusted=adjusted,
                changed=adjusted <= alpha_of(how["level"]),
                **_numbers(series[name], row, since),
            )


def _numbers(
    dataset: xr.Dataset, boost: Aggregate | Comparison, since: ShapeChange | MeanChange | None
) -> dict[str, Any]:
    """Return the date, the boost, and the change since the dataset before; the first has no change."""
    numbers = {name: getattr(boost, name) for name in ("boost", "boost_low", "boost_high")}
    if since:
        numbers |= {"change": since.change, "change_low": since.low, "change_high": since.high}
    return {"date": measured(dataset), **numbers}


# As many datasets whose neighbouring seeds are alike count as chance if they are this likely.
_BY_CHANCE = 0.05


def _caveats(
    series: Mapping[str, xr.Dataset], undated: Sequence[str], shapes: Sequence[str], steps: Sequence[Change]
) -> Iterator[str]:
    if undated:
        yield f"No date: {some_of(undated)}. The datasets stand in the order given."
    labels = {label for dataset in series.values() for label in labels_of(dataset, "shape")}
    if more := len(labels) - len(shapes):
        yield f"Left out: {count(more, 'shape')} that not all datasets have."
    with_mismatch: dict[str, list[str]] = {}  # the steps, by what differs
    with_caveat: dict[str, list[str]] = {}
    for change in steps:
        step = " to ".join(change.datasets)
        if known := [row.words for row in change.mismatches if row.known]:
            with_mismatch.setdefault("; ".join(known), []).append(step)
        for caveat in change.caveats:
            with_caveat.setdefault(caveat, []).append(step)
    yield from (f"{some_of(some)}, not the same: {words}." for words, some in with_mismatch.items())
    dependent = {caveat: some for caveat, some in with_caveat.items() if caveat.startswith(NEIGHBOURS)}
    # Two steps test a dataset, once as A and once as B. Of many datasets, some seem alike by chance.
    tested = {caveat.replace(" in A ", " ").replace(" in B ", " ") for caveat in dependent}
    by_chance = dependent and bdtrc(len(tested) - 1, len(series), ALIKE) > _BY_CHANCE
    for caveat, some in with_caveat.items():
        if not (by_chance and caveat in dependent):
            yield f"{some_of(some)} (A to B): {caveat}"
    if by_chance:
        some = list(dict.fromkeys(chain(*dependent.values())))
        as_by_chance = "seem alike, in as few datasets as chance explains"
        yield f"{some_of(some)}: runs with neighbouring seed numbers {as_by_chance}."


# What a dataset has, by name: its design, and sets of configurations, shapes and timings.
_Facts: TypeAlias = Mapping[str, Any]


def do_not_fit(datasets: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Return why some datasets do not fit; the others are the largest group that makes a history."""
    facts = {name: _facts(dataset) for name, dataset in datasets.items()}
    usable = [name for name, own in facts.items() if own["shapes"]]
    fewest_first = sorted(usable, key=lambda name: facts[name]["timings"].total())
    groups: list[dict[str, _Facts]] = []
    for first in fewest_first:
        groups.append({first: facts[first]})
        for name in fewest_first:  # beside its parts, a merged dataset is left out
            if not _misfit(facts[name], groups[-1]):
                groups[-1][name] = facts[name]
    # Of groups of one size, the one with most runs: a merged dataset wins where its parts share few shapes.
    sizes = [(len(group), sum(own["timings"].total() for own in group.values())) for group in groups]
    largest = groups[sizes.index(max(sizes))] if groups else {}
    for name in fewest_first:  # a sweep takes the place of an earlier copy, and not of several parts
        earlier, own = _same_runs(facts[name], largest), facts[name]
        rest = {other: largest[other] for other in largest if other not in earlier}
        if rest and len(earlier) == 1 and own["timings"] > largest[earlier[0]]["timings"]:
            largest = largest if _misfit(own, rest) else {**rest, name: own}
    return {name: _misfit(own, largest) for name, own in facts.items() if name not in largest}


def _facts(dataset: xr.Dataset) -> _Facts:
    """Return what datasets of one history share; a shape counts with two seeds of two configurations."""
    known = dataset["latency"].notnull().any(set(dataset["latency"].dims) - {"shape", "config", "seed"})
    usable = (known.sum("seed") >= 2).sum("config") >= 2
    latencies = ((labels[:2], values["latency"]) for labels, values in cells_of(dataset, ["latency"]))
    runs = ((*labels, run[~np.isnan(run)].tobytes()) for labels, run in latencies)
    return {
        "design": {str(design_of(dataset.attrs))},
        "configurations": set(labels_of(dataset, "config")),
        "shapes": set(labels_of(dataset.sel(shape=usable), "shape")),
        # Seeds may have new numbers after a merge. Coarse timings may be equal, so they are counted.
        "timings": Counter(run for run in runs if run[-1]),
    }


def _same_runs(own: _Facts, group: Mapping[str, _Facts]) -> list[str]:
    """Return copies, parts, merged datasets, and the same sweep with fewer or more seeds."""
    runs = {name: facts["timings"] for name, facts in group.items()}
    return sorted(name for name, other in runs.items() if other <= own["timings"] or own["timings"] <= other)


def _shared(group: Mapping[str, _Facts], what: str) -> set[str]:
    return set.intersection(*(facts[what] for facts in group.values()))


def _misfit(own: _Facts, group: Mapping[str, _Facts]) -> str:
    """Return why a dataset with these facts does not fit a group; empty if it does."""
    if not own["shapes"]:
        return "no shape has two seeds of two configurations"
    for what, least in (("design", 1), ("configurations", 2), ("shapes", 1)):
        if len(_shared(group, what) & own[what]) < least:
            has, others = (some_of(sorted(names)) for names in (own[what], _shared(group, what)))
            return f"{what} {has} instead of {others}"
    same = _same_runs(own, group)
    return f"the same runs as {some_of(same)}; a run counts once" if same else ""
