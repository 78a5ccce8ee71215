"""The expected best of k searches."""

import math
import re

import numpy as np
import pytest
import xarray as xr
from closed_forms import mean_best

import abtune
from abtune.compare.results import Aggregate
from abtune.errors import InputError
from abtune.stats.estimand import ALLOWED_BEST_OF, BEST_OF
from abtune.stats.variance import best_of


def over_these_shapes(dataset: xr.Dataset) -> list[Aggregate]:
    """Return the boosts over all shapes of the best of two and of three searches."""
    return [abtune.analyze(dataset, estimand=f"best-of:{k}").overall.these_shapes for k in (2, 3)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pseudo_values_are_those_of_all_subsets(k: int) -> None:
    """Their mean is the mean smallest over all subsets, and each follows from leaving its seed out."""
    rng = np.random.default_rng(k)
    values = rng.normal(size=(4, 7))
    values[1, 2], values[2] = np.nan, 1.0  # a missing seed, and ties
    computed = best_of(values, k)
    for row, pseudo in zip(values, computed, strict=True):
        known = row[~np.isnan(row)]
        whole = mean_best(known, k)
        assert np.array_equal(np.isnan(pseudo), np.isnan(row))
        assert np.nanmean(pseudo) == pytest.approx(whole)
        left_out = [mean_best(np.delete(known, index), k) for index in range(len(known))]
        expected = len(known) * whole - (len(known) - 1) * np.array(left_out)
        assert pseudo[~np.isnan(pseudo)] == pytest.approx(expected)


def test_equal_pseudo_values_do_not_differ_by_rounding() -> None:
    """The last of ten has no weight in the best of two, so all pseudo-values are the others' value."""
    values = np.full((1, 10), np.log(1e-3 / 3))
    values[0, 4] += 0.1
    for shift in (0.0, 1.7, -3.3):
        assert (best_of(values + shift, 2) == values[0, 0] + shift).all()


def test_too_few_seeds_have_no_best() -> None:
    assert np.isnan(best_of(np.array([[1.0, 2.0, np.nan]]), 2)).all()


def test_the_help_says_how_many_seeds_the_best_takes() -> None:
    """Every estimand of several searches is listed with its fewest seeds."""
    parts = re.findall(r"(best-of.*?) take (\d+)", ALLOWED_BEST_OF)
    takes = {name: int(fewest) for names, fewest in parts for name in names.split(" and ")}
    assert takes == {estimand.value: estimand.fewest_seeds for estimand in BEST_OF}


def test_the_reference_data() -> None:
    """Of the 29 shapes the boost hardly depends on k; in five with long searches it gets narrower."""
    dataset = abtune.open_dataset("h200-tvm14009")
    boosts = [100 * both.boost for both in over_these_shapes(dataset)]
    assert boosts == pytest.approx([8.8, 8.7], abs=0.06)
    with pytest.raises(InputError, match="best-of:2 takes 10 seeds per configuration"):
        over_these_shapes(dataset.isel(seed=slice(9)))


@pytest.mark.slow
def test_intervals_of_the_best_hold() -> None:
    """At 10 seeds some 92 of 100 intervals hold at least, over normal and skewed noise."""
    rng, held, reports = np.random.default_rng(5), np.zeros((2, 2)), 100
    for kind, draw in enumerate((rng.standard_normal, rng.standard_exponential)):
        for _ in range(reports):
            logs = 0.1 * draw((6, 2, 10))
            dataset = abtune.make_dataset(
                np.exp(logs - 8)[..., np.newaxis, np.newaxis], shapes=list("abcdef"), configs=["a", "b"]
            )
            held[kind] += [both.boost_low <= 0 <= both.boost_high for both in over_these_shapes(dataset)]
    assert (held / reports >= 0.92 - 3 * math.sqrt(0.92 * 0.08 / reports)).all()
