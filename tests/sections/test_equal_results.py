"""The same data give equal results, also where numbers are unknown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import xarray as xr

import abtune

# Those that show something of a single seed.
SECTIONS = ("noise", "timings", "curve", "single_run", "explain")


def described(name: str, section: str, *, seeds: int) -> object:
    """Return what a section shows of the first seeds of two shapes."""
    dataset = first(name, seeds=seeds)
    explain = {"explain": dataset["shape"].values.tolist()[:1]} if section == "explain" else {}
    return abtune.describe(abtune.analyze(dataset), section, **explain)


def first(name: str, *, seeds: int) -> xr.Dataset:
    return abtune.open_dataset(name).isel(shape=slice(2), seed=slice(seeds))


@pytest.mark.parametrize(
    "make",
    [
        *(lambda name=name: abtune.analyze(first(name, seeds=1)) for name in ("h200-pilot", "h200-share")),
        lambda: abtune.power(cv=0.1),
        lambda: abtune.compare_datasets(*(first("h200-pilot", seeds=seeds) for seeds in (2, 3))),
        lambda: abtune.history({"a": first("h200-pilot", seeds=2), "b": first("h200-pilot", seeds=3)}),
        lambda: described("h200-tvm14009", "same_schedule", seeds=1),
        *(lambda section=section: described("h200-pilot", section, seeds=1) for section in SECTIONS),
    ],
)
def test_results_of_the_same_data_are_equal(make: Callable[[], object]) -> None:
    """A second call returns other objects, which are equal."""
    one, two = make(), make()
    assert one is not two
    assert one == two
