"""The conditions under which two datasets were measured, and which of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import commonprefix

import xarray as xr

from abtune.dataset import provenance
from abtune.dataset.schema import design_of, labels_of
from abtune.sections.change.change_results import Mismatch
from abtune.text import listed, shortened

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
        **{name: value for name, value in provenance.settings(dataset).items() if name not in _ELSEWHERE},
        "configurations": listed(sorted(labels_of(dataset, "config"))),
    }
    for role, name in zip(("baseline", "candidate")[-len(configs) :], configs, strict=True):
        known |= {
            f"{role} {key}": repr(value) for key, value in meanings.get(name, {}).items() if key != "name"
        }
    return {what.replace("_", " "): str(value) for what, value in known.items()}
