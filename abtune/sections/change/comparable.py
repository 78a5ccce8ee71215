"""Which datasets of a folder make a history: one design, common shapes, and every run once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.dataset.build import cells_of
from abtune.dataset.schema import design_of, labels_of
from abtune.text import some_of

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
