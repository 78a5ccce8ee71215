"""One dataset from several: the union of their shapes, configurations and seeds.

A cell is one shape, configuration and seed. Two datasets may not both have a run in one cell, and they have
to agree about what was measured. Numbers are copied, never averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.check import validate
from abtune.dataset.merge_attrs import merge_attrs
from abtune.dataset.schema import RUN, VARIABLES, RunStatus, TrialStatus, Variable
from abtune.errors import DatasetError, InputError
from abtune.text import count

# Values that one variable of the result may have; 1 GiB.
_MOST = 2**27
_FILL: Mapping[str, Any] = {"f": math.nan, "U": "", "M": np.datetime64("NaT", "ns")}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A dataset, its name, the indices of its labels in the union, and which of its cells have a run."""

    name: str
    dataset: xr.Dataset
    indices: tuple[npt.NDArray[np.intp], ...]
    present: npt.NDArray[np.bool_]


def merge_datasets(named: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return the union of several datasets.

    Parameters
    ----------
    named : mapping from str to xarray.Dataset
        Valid datasets by the names under which they are recorded, such as their paths. Their order
        decides the order of shapes and configurations; the first configuration is the usual baseline.

    Returns
    -------
    xarray.Dataset
        Attributes that all share are kept; the attribute ``sources`` (JSON) has the others, by name.
        Variables that are not in the schema are left out.

    Raises
    ------
    InputError
        If there are fewer than two datasets.
    DatasetError
        If one is not valid, or if two have a run in one cell, contradict each other, or make an array too
        large.
    """
    if len(named) < 2:
        raise InputError("there is nothing to merge; give two datasets or more")
    for name, dataset in named.items():
        _check_valid(name, dataset)
    attrs = merge_attrs({name: dataset.attrs for name, dataset in named.items()})
    axes = _axes(named.values())
    _check_size("run_status", [len(axis) for axis in axes])
    members = [_member(name, dataset, axes) for name, dataset in named.items()]
    _check_apart(members, axes)
    values = {
        name: _merge_runs(variable, name, members, axes)
        for name, variable in VARIABLES.items()
        if variable.dims[: len(RUN)] == RUN and any(name in member.dataset for member in members)
    }
    values |= {
        name: _merge_shapes(name, members, axes)
        for name in ("workload", "flop")
        if any(name in member.dataset for member in members)
    }
    merged = make_dataset(
        values.pop("latency"),
        shapes=axes[0],
        configs=axes[1],
        seeds=axes[2],
        workloads=values.pop("workload").tolist(),
        run_status=values.pop("run_status"),
        attrs=attrs,
    )
    return add_variables(merged, **values) if values else merged


def mixed_shapes(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the shapes whose configurations come from different datasets.

    What changed between two measurements counts there as a difference between configurations.
    """
    files: dict[str, dict[str, set[str]]] = {}
    for name, dataset in named.items():
        made = dataset["run_status"].transpose(*RUN).values != RunStatus.MISSING
        shapes, configs = dataset["shape"].values.tolist(), dataset["config"].values.tolist()
        for shape, config in np.argwhere(made.any(axis=2)).tolist():
            files.setdefault(shapes[shape], {}).setdefault(configs[config], set()).add(name)
    return [shape for shape, origins in files.items() if len(set(map(frozenset, origins.values()))) > 1]


def left_out(named: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the variables that are not in the schema, which :func:`merge_datasets` leaves out."""
    return sorted({str(name) for dataset in named.values() for name in dataset.data_vars} - VARIABLES.keys())


def _check_valid(name: str, dataset: xr.Dataset) -> None:
    """Check that a dataset is valid by the schema, its units too."""
    try:
        validate(dataset)
    except DatasetError as error:
        raise DatasetError(f"{name}: {error}") from None


_Axes = tuple[list[str], list[str], list[int]]


def _axes(datasets: Any) -> _Axes:
    """Return shapes and configurations in the order in which they come, and seeds in theirs."""
    shapes, configs, seeds = (
        dict.fromkeys(label for dataset in datasets for label in dataset[axis].values.tolist())
        for axis in RUN
    )
    return list(shapes), list(configs), sorted(seeds)


def _member(name: str, dataset: xr.Dataset, axes: _Axes) -> _Member:
    order = [{label: index for index, label in enumerate(axis)} for axis in axes]
    indices = tuple(
        np.array([index[label] for label in dataset[axis].values.tolist()], dtype=np.intp)
        for axis, index in zip(RUN, order, strict=True)
    )
    status = dataset["run_status"].transpose(*RUN).values
    return _Member(name=name, dataset=dataset, indices=indices, present=status != RunStatus.MISSING)


def _check_size(name: str, sizes: Sequence[int]) -> None:
    """Refuse an array that memory does not hold: the union has room for every shape with every seed."""
    if math.prod(sizes) > _MOST:
        raise DatasetError(
            f"{name} would take {math.prod(sizes) * 8 / 2**30:.0f} GiB; merge fewer datasets at once"
        )


def _check_apart(members: Sequence[_Member], axes: _Axes) -> None:
    """Refuse two runs of one cell, and name the first."""
    owner = np.full([len(axis) for axis in axes], -1)
    for number, member in enumerate(members):
        region = np.ix_(*member.indices)
        taken = member.present & (owner[region] >= 0)
        if taken.any():
            cell = np.argwhere(taken)[0].tolist()
            labels = [str(member.dataset[axis].values[index]) for axis, index in zip(RUN, cell, strict=True)]
            first = members[owner[region][tuple(cell)]]
            raise DatasetError(
                f"{first.name} and {member.name} both have a run of {labels[0]}, "
                f"{labels[1]}, seed {labels[2]} ({count(int(taken.sum()), 'such run')}); a run counts "
                "once, so take it out of one of them"
            )
        owner[region] = np.where(member.present, number, owner[region])


def _merge_runs(variable: Variable, name: str, members: Sequence[_Member], axes: _Axes) -> npt.NDArray[Any]:
    """Return a variable over shape, config, seed and more; what no member has is filled."""
    more = variable.dims[len(RUN) :]
    having = [member for member in members if name in member.dataset]
    longest = [max(member.dataset.sizes[dim] for member in having) for dim in more]
    sizes = [len(axes[0]), len(axes[1]), len(axes[2]), *longest]
    _check_size(name, sizes)
    merged = np.full(sizes, _fill(variable), dtype=object if variable.kind == "U" else None)
    for member in having:
        values = member.dataset[name].transpose(*variable.dims).values
        region = np.ix_(*member.indices)
        block = merged[region]
        begin: tuple[Any, ...] = tuple(slice(size) for size in values.shape[len(RUN) :])
        block[(member.present, *begin)] = values[member.present]
        merged[region] = block
    return merged


def _fill(variable: Variable) -> Any:
    if variable.flags is None:
        return _FILL[variable.kind]
    return RunStatus.MISSING if variable.flags is RunStatus else TrialStatus.NOT_RUN


def _merge_shapes(name: str, members: Sequence[_Member], axes: _Axes) -> npt.NDArray[Any]:
    """Return a variable over shapes, about which the members that know it agree."""
    is_text = VARIABLES[name].kind == "U"
    merged = np.full(len(axes[0]), "" if is_text else math.nan, dtype=object if is_text else float)
    for member in members:
        if name not in member.dataset:
            continue
        for index, value in zip(member.indices[0], member.dataset[name].values.tolist(), strict=True):
            known = merged[index]
            if _is_known(value) and _is_known(known) and value != known:
                raise DatasetError(
                    f"{member.name}: {name} of {axes[0][index]} is {value}, but {known} in another file; one "
                    "label names two shapes: rename one of them"
                )
            merged[index] = value if _is_known(value) else known
    return merged


def _is_known(value: Any) -> bool:
    return bool(value != "" and value == value)  # noqa: PLR0124 - NaN is not itself
