"""One dataset from several: the union of their shapes, configurations and seeds."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.dataset.build import add_variables, cells_of, dataset_from_cells, padded
from abtune.dataset.check import validate
from abtune.dataset.provenance import (
    CAVEATS,
    OWN_CODE,
    Caveat,
    between_each_two,
    caveats_of,
    configurations_of,
    decoded,
    parsed,
    settings,
    with_caveats,
)
from abtune.dataset.schema import (
    DESIGN,
    RUN,
    TRANSFER,
    VARIABLES,
    SeedDesign,
    TransferStatus,
    design_of,
    is_paired,
    labels_of,
)
from abtune.errors import DatasetError, InputError, naming
from abtune.text import count

_MORE = ("round", "repeat", "trial")
_PAIR = ("shape", "seed")
_Attrs: TypeAlias = Mapping[str, Any]

# Attributes that say what the numbers are: the same everywhere, or missing everywhere.
_SAME = ("schema_version", "latency_source", "looks")
# Two sweeps make different draws, whatever number their seeds began with.
_MAY_DIFFER = {"rng_seed"}
# Settings of the timing after the search. They may differ if all winners are timed again.
_OF_TIMINGS = {"rounds", "repeats", "repeat_ms", "launched_by"}


def merge_datasets(named: Mapping[str, xr.Dataset], *, timed_again: bool = False) -> xr.Dataset:
    """Return the union of datasets. It records them by their names here, such as their paths.

    Two sweeps with different random numbers may have the same seed numbers. The later one then gets new
    numbers (:func:`new_seeds`). Devices, rounds and repeats may differ if all winners will be timed again.

    Raises
    ------
    DatasetError
        If two datasets have the same run, or contradict each other about what was measured.
    """
    if len(named) < 2:
        raise InputError("there is nothing to merge; give two datasets or more")
    for name, dataset in named.items():
        with naming(name):
            validate(dataset)
    seeds = new_seeds(named)
    named = {
        name: dataset.assign_coords(seed=list(seeds[name].values())) if name in seeds else dataset
        for name, dataset in named.items()
    }
    attrs = _merge_attrs({name: dataset.attrs for name, dataset in named.items()}, timed_again=timed_again)
    if not timed_again:
        attrs |= with_caveats(_about_unlike(named))
    _check_apart(named, paired=design_of(attrs) != SeedDesign.INDEPENDENT)
    return _union(named, attrs)


def _union(named: Mapping[str, xr.Dataset], attrs: _Attrs) -> xr.Dataset:
    """Return a dataset with these attributes and the values of all others, which have no run in common."""
    axes: dict[str, Sequence[Any]] = {
        axis: list(dict.fromkeys(label for one in named.values() for label in one[axis].values.tolist()))
        for axis in RUN
    }
    axes |= {"seed": sorted(axes["seed"]), "origin": axes["config"]}
    least = {dim: max(dataset.sizes.get(dim, 0) for dataset in named.values()) for dim in _MORE}
    known = [name for name in VARIABLES if any(name in dataset for dataset in named.values())]
    of_runs = [name for name in known if VARIABLES[name].dims[: len(RUN)] == RUN]
    of_transfers = [name for name in known if "origin" in VARIABLES[name].dims]
    of_shapes = [name for name in known if VARIABLES[name].dims == ("shape",)]
    runs = {run: values for one in named.values() for run, values in cells_of(one, of_runs)}
    merged = dataset_from_cells(
        runs,
        axes,
        variables=of_runs,
        shape_values={name: _merge_shapes(name, named, axes["shape"]) for name in of_shapes},
        attrs=attrs,
        least=least,
    )
    transfers: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for dataset in named.values():
        if "origin" in dataset.coords:
            # A file of one configuration has transfers of runs in the file of the other.
            for key, values in cells_of(dataset, of_transfers, TRANSFER, also=runs):
                if key not in transfers or transfers[key]["transfer_status"] == TransferStatus.MISSING:
                    transfers[key] = values
    return add_variables(merged, **padded(of_transfers, transfers, [axes[dim] for dim in TRANSFER], least))


def new_seeds(named: Mapping[str, xr.Dataset]) -> dict[str, dict[int, int]]:
    """Return the new number of each seed, for each dataset that has runs of an earlier one's seeds.

    If two sweeps differ in ``rng_seed``, their searches differ, also where seeds have the same number. If
    it is the same or unknown, the searches may be the same. Then the seeds keep their numbers. The new
    ones follow those that the same shapes have so far.
    """
    renamed: dict[str, dict[int, int]] = {}
    taken: set[tuple[Any, ...]] = set()
    drawn: set[int] = set()
    for name, dataset in named.items():
        seeds = dataset["seed"].values.tolist()
        runs = {*_runs(dataset, _PAIR if is_paired(dataset) else RUN)}
        random_numbers = _random_numbers(dataset.attrs)
        if runs & taken and random_numbers and drawn and not random_numbers & drawn:
            shapes = {run[0] for run in runs}
            free = 1 + max(run[-1] for run in taken if run[0] in shapes)
            new = renamed[name] = {seed: free + number for number, seed in enumerate(seeds)}
            runs = {(*run, new[seed]) for *run, seed in runs}
        taken |= runs
        drawn |= random_numbers
    return renamed


def about_new_seeds(named: Mapping[str, xr.Dataset]) -> Iterator[str]:
    """Yield which seeds get which numbers where datasets are merged."""
    for name, seeds in new_seeds(named).items():
        old, new = (f"{min(numbers)} to {max(numbers)}" for numbers in (seeds, seeds.values()))
        yield f"{name}: its seeds {old} are now {new}, because another dataset has seeds of these numbers"


def _runs(dataset: xr.Dataset, axes: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return shape, configuration and seed of each run; or shape and seed of each pair."""
    runs = (dict(zip(RUN, run, strict=True)) for run, _ in cells_of(dataset, ()))
    return list(dict.fromkeys(tuple(run[axis] for axis in axes) for run in runs))


def _random_numbers(attrs: _Attrs) -> set[int]:
    """Return the ``rng_seed`` of each sweep whose runs a dataset has, as far as it says."""
    root, sources = parsed(attrs, "settings", dict).get("rng_seed"), parsed(attrs, "sources", list)
    own = {root} if isinstance(root, int) else set()
    return own.union(*(_random_numbers(source) for source in sources if isinstance(source, dict)))


def _about_unlike(named: Mapping[str, xr.Dataset]) -> Iterator[Caveat]:
    """Yield what differs between the configurations, as the datasets say, and because they are apart."""
    for dataset in named.values():
        yield from caveats_of(dataset.attrs)
    sources: dict[str, dict[str, set[str]]] = {}  # which datasets have runs, by shape and configuration
    for name, dataset in named.items():
        for shape, config, _ in _runs(dataset, RUN):
            sources.setdefault(shape, {}).setdefault(config, set()).add(name)

    def differ(configs: Sequence[str]) -> Iterator[str]:
        both = [[of[config] for config in configs] for of in sources.values() if of.keys() >= {*configs}]
        if mixed := sum(first != second for first, second in both):
            yield (
                f"The configurations of {count(mixed, 'shape')} come from different files. What changed "
                "between their measurements counts as their difference."
            )

    configs = dict.fromkeys(name for dataset in named.values() for name in labels_of(dataset, "config"))
    yield from between_each_two([*configs], differ)


def left_out(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the variables that are not in the schema, which :func:`merge_datasets` leaves out."""
    return sorted({str(name) for dataset in named.values() for name in dataset.data_vars} - VARIABLES.keys())


def _check_apart(named: Mapping[str, xr.Dataset], *, paired: bool) -> None:
    """Refuse two runs of one cell, and a pair with a run in each of two datasets: these share nothing."""
    for axes in (RUN, _PAIR) if paired else (RUN,):
        owners: dict[tuple[Any, ...], str] = {}
        for name, dataset in named.items():
            runs = _runs(dataset, axes)
            if taken := [run for run in runs if run in owners]:
                (shape, *config, seed), both = taken[0], f"{owners[taken[0]]} and {name} both have"
                if not config:
                    pair = f"runs of {shape}, seed {seed}, which would become one pair"
                    raise DatasetError(f"{both} {pair}; give one of them other seed numbers")
                raise DatasetError(
                    f"{both} a run of {shape}, {config[0]}, seed {seed} ({count(len(taken), 'such run')}); "
                    "a run counts once; take it out of one of them, give each sweep an --rng-seed of its "
                    "own, or import all files in one command"
                )
            owners |= dict.fromkeys(runs, name)


def _merge_shapes(name: str, named: Mapping[str, xr.Dataset], shapes: Sequence[str]) -> list[Any]:
    """Return a variable over shapes; refuse datasets that have different values for one shape."""
    known: dict[str, Any] = {}
    for file, dataset in named.items():
        if name not in dataset:
            continue
        for shape, value in zip(dataset["shape"].values.tolist(), dataset[name].values.tolist(), strict=True):
            if value in {"", None} or value != value:  # noqa: PLR0124 - NaN is not itself
                continue
            if known.setdefault(shape, value) != value:
                differ = f"{name} of {shape} is {value}, but {known[shape]} in another file"
                raise DatasetError(f"{file}: {differ}; one label names two shapes: rename one of them")
    return [known.get(shape, VARIABLES[name].fill) for shape in shapes]


def _merge_attrs(named: Mapping[str, _Attrs], *, timed_again: bool) -> dict[str, Any]:
    """Return the attributes that all share, and the others in ``sources``; refuse contradictions."""
    plain = {
        name: {key: np.asarray(value).tolist() for key, value in attrs.items()}
        for name, attrs in named.items()
    }
    seen: dict[str, tuple[str, Any]] = {}
    for name, attrs in plain.items():
        for fact, value in _facts(attrs, timed_again=timed_again):
            first, known = seen.setdefault(fact, (name, value))
            if value != known:
                differ = f"{fact} is {_shown(known)} in {first}, but {_shown(value)} in {name}"
                raise DatasetError(f"{differ}; datasets that were measured differently cannot be merged")
    shared = _shared(list(plain.values()))
    own = [
        {"file": name, **{key: decoded(value) for key, value in attrs.items() if value != shared.get(key)}}
        for name, attrs in plain.items()
    ]
    return {"title": f"merged from {len(plain)} datasets", **shared, "sources": json.dumps(own)}


def _facts(attrs: _Attrs, *, timed_again: bool) -> Iterator[tuple[str, Any]]:
    yield from ((key, attrs.get(key)) for key in _SAME)
    yield DESIGN, design_of(attrs)
    device = "" if timed_again else attrs.get("gpu") or attrs.get("device")
    conditions = {"target": attrs.get("target"), "device": device}
    yield from ((key, value) for key, value in conditions.items() if value)
    may_differ = _MAY_DIFFER | _OF_TIMINGS if timed_again else _MAY_DIFFER
    yield from ((f"setting {key}", value) for key, value in settings(attrs).items() if key not in may_differ)
    yield from ((f"configuration {name}", meaning) for name, meaning in configurations_of(attrs).items())
    # Versions of TVM may make different programs of the same code.
    version = attrs.get("tvm_version")
    yield from (
        (f"code of {name} (TVM {version})", made) for name, made in parsed(attrs, OWN_CODE, dict).items()
    )


def _shared(members: Sequence[_Attrs]) -> dict[str, Any]:
    first, *others = members
    shared = {
        key: value
        for key, value in first.items()
        if key not in {"sources", CAVEATS} and all(attrs.get(key) == value for attrs in others)
    }
    if all("settings" in attrs for attrs in members):  # they differ in nothing that was measured
        shared["settings"] = first["settings"]
    if all(map(configurations_of, members)):
        union = {name: meaning for attrs in members for name, meaning in configurations_of(attrs).items()}
        shared["configurations"] = json.dumps(list(union.values()))
    if code := {name: made for attrs in members for name, made in parsed(attrs, OWN_CODE, dict).items()}:
        shared[OWN_CODE] = json.dumps(code)
    return shared


def _shown(value: Any) -> str:
    return "not given" if value is None else reprlib.repr(value)
