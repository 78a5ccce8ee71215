"""Notes on how well winners were timed: precision against the noise of the search, and throttling."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import abtune
from abtune.dataset.build import add_variables
from abtune.sections.noise import describe_noise


def dataset(session: float, *, throttled: float = 0.0) -> xr.Dataset:
    """Twelve seeds that scatter by 10 %, five rounds that scatter by ``session``."""
    rng = np.random.default_rng(0)
    seeds = rng.normal(0, 0.1, (1, 2, 12, 1, 1))
    rounds = rng.normal(0, session, (1, 2, 12, 5, 1))
    latency = np.exp(seeds + rounds + rng.normal(0, 1e-4, (1, 2, 12, 5, 3)))
    made = abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"])
    reasons = np.full((1, 2, 12, 5), 1.0)  # idle
    reasons[0, 1, :, 0] = throttled
    reasons[0, 0, 0, 0] = np.nan
    return add_variables(made, throttle_reasons=reasons)


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (0.001, "The error is less than a tenth"),
        (0.1, "In 2 of 2 cells"),
    ],
)
def test_timing_is_held_against_the_search(session: float, said: str) -> None:
    """The error of a seed's value, which five rounds make smaller, is small enough or is not."""
    made = dataset(session)
    notes = describe_noise(abtune.analyze(made)).caveats
    assert any(note.startswith(said) for note in notes)


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        (0.0, ""),
        (2.0, ""),  # clocks that were set
        (4.0, "power cap"),
        (8.0, "hardware slowdown"),
        (32.0, "software thermal limit"),
        (64.0, "hardware thermal limit"),
        (128.0, "power brake"),
        (68.0, "power cap, hardware thermal limit"),
    ],
)
def test_throttling_is_said_of_each_side(bits: float, said: str) -> None:
    """Rounds in which the clock was held down are counted; idleness and fixed clocks are not that."""
    notes = [note for note in abtune.analyze(dataset(0.001, throttled=bits)).caveats if "clock" in note]
    whole = f"The GPU lowered its clock ({said}) in 0% of a's timing rounds and 20% of b's."
    assert notes == ([whole] if said else [])


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1000.0, "b: one seed differs from the median seed by a factor of 1,000. Check that timing, "),
        (0.05, "b: one seed differs from the median seed by a factor of 20. Check that timing, "),
        (9.0, ""),
        (1 / 9, ""),
    ],
)
def test_a_seed_far_from_the_others_is_said(factor: float, said: str) -> None:
    """A unit may be wrong, or something disturbed that run; the verdict alone does not show it."""
    latency = np.tile([1.0, 1.0, 1.0, 1.0, factor], (1, 2, 1))
    latency[0, 0, -1] = 1.0
    row = abtune.analyze(abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"])).comparisons[0]
    notes = [note for note in row.caveats if "by a factor of" in note]
    assert [note.startswith(said) for note in notes] == ([True] if said else [])


def copies(log: np.ndarray) -> list[str]:
    labels = [f"s{number}" for number in range(len(log))]
    made = abtune.make_dataset(np.exp(log - 8), shapes=labels, configs=["old", "new"])
    return [note for note in abtune.analyze(made).caveats if "timings copied" in note]


def test_copied_runs_are_told() -> None:
    """Five seeds that are copied look like ten; one copy is told, too, and seeds without noise are none."""
    log = np.random.default_rng(0).normal(0, 0.1, (12, 2, 10))
    assert not copies(log)
    one, five, alike = log.copy(), log.copy(), log.copy()
    one[:, 0, 7] = log[:, 0, 2]
    five[:, 1, 5:] = log[:, 1, :5]
    alike[:, 0] = log[:, 0, :1]
    alike[0, 0, 0] += 0.1  # only one shape varies
    assert [note[:63] for note in copies(one)] == [
        "old: 1 seed with timings copied from another (seed 7 from 2). T"
    ]
    assert copies(five)[0].startswith("new: 5 seeds with")
    assert "(seed 5 from 0, 6 from 1, 7 from 2 and 2 more)" in copies(five)[0]
    assert not copies(alike)


@pytest.mark.parametrize(("factor", "said"), [(1000.0, True), (1e-3, True), (50.0, False)])
def test_a_side_in_another_unit_is_pointed_out(factor: float, said: bool) -> None:  # noqa: FBT001
    """A thousand times as fast is a matter of units; fifty times may be real."""
    made = dataset(0.001)
    slower = xr.DataArray([1.0, factor], dims="config")
    analysis = abtune.analyze(made.assign(latency=made["latency"] * slower))
    check = "Check that the times of both have the same unit"
    assert any(check in caveat for caveat in analysis.caveats) is said
    assert ("But one configuration is more than 100 times as fast in" in analysis.sentence) is said


@pytest.mark.parametrize(("factor", "said"), [(10.0, True), (3.0, True), (1.5, False)])
def test_a_run_that_makes_all_runs_look_skewed_is_named(factor: float, said: bool) -> None:  # noqa: FBT001
    """One run far off leaves other shapes without a verdict, so the caveat says in which shape it is."""
    log = np.random.default_rng(0).normal(0, 0.01, (3, 2, 8))
    log[1, 1, 3] = np.median(np.delete(log[1, 1], 3)) + np.log(factor)
    made = abtune.make_dataset(np.exp(log), shapes=["a", "b", "c"], configs=["old", "new"])
    caveats = abtune.analyze(made).caveats
    far = f"new's most extreme run is one of b, a factor of {factor:,.0f}"
    assert any("The runs of new look more skewed" in caveat for caveat in caveats) or not said
    assert any(far in caveat for caveat in caveats) is said
