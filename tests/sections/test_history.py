"""The boosts of shapes over many datasets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.errors import InputError
from abtune.report.page import Grid, Prose
from abtune.sections.change.change_page import history_section
from abtune.stats.testing.step_procedures import holm


def dated(boosts: list[float], seed: int, day: str = "") -> xr.Dataset:
    attrs = {"created": f"2026-05-{day}T10:00:00+00:00"} if day else {}
    return make_sweep(boosts, noise=0.01, seed=seed).assign_attrs(attrs)


@pytest.fixture(scope="module")
def three() -> dict[str, xr.Dataset]:
    """Shape 0 gains on the second day, and shape 1 never changes; given in another order."""
    days = {"01": [0.0, 0.1], "02": [0.3, 0.1], "03": [0.3, 0.1]}
    made = {f"day{day}": dated(boosts, int(day), day) for day, boosts in days.items()}
    return {name: made[name] for name in ("day03", "day01", "day02")}


def test_boosts_are_those_of_the_analyses_in_the_order_of_dates(three: dict[str, xr.Dataset]) -> None:
    """Each row has what analyze says of its dataset."""
    history = abtune.history(three)
    assert history.datasets == ("day01", "day02", "day03")
    assert str(history).startswith("Mean boost of async over 2 common shapes: ")
    assert str(history.first_to_last).startswith("Boost of 2 common shapes: ")
    frame = history.to_dataframe()
    for name, dataset in three.items():
        report = abtune.analyze(dataset)
        assert frame.loc[("overall", name), "boost"] == report.overall.these_shapes.boost
        for row in report.comparisons:
            told = frame.loc[(row.shape, name)]
            assert (told.boost, told.boost_low, told.verdict) == (row.boost, row.boost_low, row.verdict.value)
            assert told.date == dataset.attrs["created"]


def test_changes_are_corrected_over_shapes_and_steps(three: dict[str, xr.Dataset]) -> None:
    """The p-values are those of two datasets; Holm's correction covers all four of them."""
    history = abtune.history(three)
    steps = [abtune.compare_datasets(three[a], three[b]) for a, b in pairwise(history.datasets)]
    p, moderated = np.array([(row.p, row.p_moderated) for step in steps for row in step.shapes]).T
    frame = history.to_dataframe()
    told = [frame.loc[(shape, name)] for name in history.datasets[1:] for shape in ("shape0", "shape1")]
    assert [row.p for row in told] == p.tolist()
    assert [row.p_adjusted for row in told] == np.maximum(p, holm(moderated)).tolist()
    assert [row.changed for row in told] == [True, False, False, False]
    assert told[0].change == steps[0].shapes[0].change
    assert [row.changed for row in history.moments[:3]] == [False, True, False]
    wide = abtune.compare_datasets(three["day01"], three["day02"], level=0.975)
    assert (told[0].change_low, told[0].change_high) == (wide.shapes[0].low, wide.shapes[0].high)
    last = abtune.compare_datasets(three["day01"], three["day03"])
    assert history.first_to_last.shapes == last.shapes
    assert [row.verdict for row in history.first_to_last.shapes] == ["changed", "unchanged"]


def test_two_datasets_have_the_change_of_compare(three: dict[str, xr.Dataset]) -> None:
    """The only step is that from first to last."""
    pair = {name: three[name] for name in ("day01", "day02")}
    history = abtune.history(pair)
    (step,) = [row for row in history.moments if row.shape == "shape0" and row.dataset == "day02"]
    whole = history.first_to_last.shapes[0]
    assert (step.change, step.change_low, step.p_adjusted) == (whole.change, whole.low, whole.p_adjusted)


def test_without_a_date_the_order_is_that_given(three: dict[str, xr.Dataset]) -> None:
    """The caveat names what has none; datasets of a sequence are numbered."""
    plain = dated([0.0, 0.1], 7)
    history = abtune.history([three["day03"], plain, three["day01"]])
    assert history.datasets == ("1", "2", "3")
    assert history.dates == ("2026-05-03T10:00:00+00:00", "", "2026-05-01T10:00:00+00:00")
    assert history.caveats[0] == "No date: 2. The datasets stand in the order given."
    odd = plain.assign_attrs(created="yesterday")
    assert abtune.history([odd, three["day01"]]).datasets == ("1", "2")


def test_only_common_shapes_have_rows(three: dict[str, xr.Dataset]) -> None:
    """The overall boost is over these shapes, and the verdicts stay those of the whole report."""
    one_shape = three["day02"].isel(shape=[0])
    history = abtune.history({**three, "day02": one_shape})
    assert {row.shape for row in history.moments} == {"overall", "shape0"}
    assert "Left out: 1 shape that not all datasets have." in history.caveats
    over = abtune.analyze(three["day01"], shapes=["shape0"]).overall.these_shapes
    assert history.moments[0].boost == pytest.approx(over.boost)


def test_what_differs_between_neighbours_is_told() -> None:
    """Only the steps at which a condition changes have a caveat; those with the same change share it."""
    devices = ("H100", "H100", "H200", "H100", "H200")
    series = [
        dated([0.1], day, f"0{day}").assign_attrs(device=device)
        for day, device in enumerate(devices, start=1)
    ]
    assert abtune.history(series).caveats[:2] == (
        "2 to 3, 4 to 5, not the same: device (H100 / H200).",
        "3 to 4, not the same: device (H200 / H100).",
    )


def test_what_holds_of_many_steps_is_told_once() -> None:
    """Steps with one caveat share it; few shapes do not show whether skewness is chance."""
    caveats = abtune.history([dated([0.1] * 3, day, f"0{day}") for day in range(1, 7)]).caveats
    skewed = [caveat for caveat in caveats if "looks skewed" in caveat]
    assert len(skewed) == 1
    assert skewed[0].startswith("2 to 3, 3 to 4, 4 to 5 (A to B): The noise of the change")
    assert "With fewer than 5 shapes, that may be chance." in skewed[0]


def test_datasets_of_one_origin_share_a_sentence() -> None:
    """A hundred nightly datasets had a hundred sentences before the table."""

    def said(devices: str) -> str:
        days = enumerate(devices, start=1)
        series = {f"n{day}": dated([0.1], day, f"{day:02}").assign_attrs(device=name) for day, name in days}
        section = history_section(abtune.history(series))
        return [prose.text for prose in section.page if isinstance(prose, Prose)][1]

    together = "n1 to n3, n5, n7 (A, 2026-05-01 to 2026-05-07). n4, n6 (B, 2026-05-04 to 2026-05-06)."
    assert said("AAABABA") == together
    assert said("ABCDEFGH").endswith(" n6 (F, 2026-05-06). 2 more origins.")


def test_a_long_history_shows_a_trend() -> None:
    """Each dataset has a row with its mean; shapes have ten columns, with those in which one changed."""
    boosts = [0.0] * 3 + [0.3] * 12
    made = {
        f"day{day:02}": dated([boost, 0.1], day, f"{day:02}") for day, boost in enumerate(boosts, start=1)
    }
    history = abtune.history(made)
    shapes, means = (grid for grid in history_section(history).page if isinstance(grid, Grid))
    assert means.labels == tuple(made)
    dates, mean, _, drawn, change = means.columns
    assert dates.cells[3].text == "2026-05-04"
    assert [float(cell.text) for cell in mean.cells[2:4]] == pytest.approx([5, 20], abs=2)
    assert drawn.intervals[3].value == history.moments[3].boost
    assert [bool(cell.notes) for cell in change.cells] == [row.changed for row in history.moments[:15]]
    shown = [column.heading for column in shapes.columns][3:]
    assert shown == ["day01", "day04", *[f"day{day:02}" for day in range(8, 16)]]
    assert len(history_section(history).rows) == 3 * 15
    few = abtune.history(dict(list(made.items())[:3]))
    assert sum(isinstance(grid, Grid) for grid in history_section(few).page) == 1


def alternating(seed: int, day: str, *, alike: bool) -> xr.Dataset:
    """Return a dataset whose seeds come in two batches, or in a random order."""
    batches = np.repeat([0.0, 0.1], 5)
    order = np.arange(10) if alike else np.random.default_rng(seed).permutation(10)
    dataset = make_sweep([0.1] * 6, n=10, noise=0.02, seed=seed)
    slow = xr.DataArray(np.exp(batches[order]), dims="seed")
    return dataset.assign(latency=dataset["latency"] * slow).assign_attrs(created=f"2026-05-{day}")


def test_neighbours_that_are_alike_by_chance_are_not_in_the_headline() -> None:
    """In one of many datasets that may be luck; in one of two, or in most of many, it is not."""
    kinds = {"two": [1, 0], "one of many": [0, 1] + [0] * 6, "most of many": [1] * 6 + [0] * 2}
    told: dict[str, list[str]] = {}
    for kind, alike in kinds.items():
        made = [alternating(i, f"{i + 1:02}", alike=bool(own)) for i, own in enumerate(alike)]
        history = abtune.history(made)
        told[kind] = [caveat for caveat in history.caveats if "neighbouring" in caveat]
        luck = kind == "one of many"
        assert ("But runs with neighbouring seed numbers are alike" in str(history)) != luck
        assert any("as few datasets as chance explains" in caveat for caveat in told[kind]) == luck
    (by_chance,) = told["one of many"]
    assert by_chance.startswith("1 to 2, 2 to 3: runs with neighbouring seed numbers seem alike,")


def test_shapes_without_seeds_have_no_test() -> None:
    """A shape with one seed in a dataset keeps its boost, and is not said to have changed."""
    pair = [dated([0.1, 0.1], day, f"0{day}") for day in (1, 2)]
    pair[1]["latency"][0, 1, 1:] = np.nan
    pair[1]["run_status"][0, 1, 1:] = abtune.RunStatus.MISSING
    row = next(row for row in abtune.history(pair).moments if row.shape == "shape0" and row.dataset == "2")
    assert np.isfinite(row.boost)
    assert np.isnan(row.p_adjusted)
    assert not row.changed


@pytest.mark.slow
def test_without_a_change_few_histories_have_one() -> None:
    """Of 20 histories of four datasets without a change, the correction leaves few with a mark."""
    marked = 0
    for first in range(0, 80, 4):
        series = [make_sweep([0.1] * 3, n=6, seed=first + step) for step in range(4)]
        marked += any(row.changed for row in abtune.history(series).moments if row.shape != "overall")
    assert marked <= 3


def test_mixed_or_foreign_datasets_are_refused() -> None:
    """One line says what is missing, and which two datasets cannot be compared."""
    first, second = dated([0.1], 1, "01"), dated([0.1], 2, "02")
    other = second.assign_coords(shape=["other"])
    shared = second.assign_attrs(design="shared")
    single = second.isel(seed=[0])
    cases: dict[str, Any] = {
        "takes a list of datasets": None,
        "two datasets or more": [first],
        "no shape in common": [first, other],
        "1 is independent and 2 is shared": [first, shared],
        "only mainline in common; .*; for latencies of one: abtune compare A B --config NAME": [
            first,
            second.sel(config=["mainline"]),
        ],
        "no config in common": [first, second.assign_coords(config=["x", "y"])],
        "1 and 2: no common shape has two seeds": [first, single],
        "1 and 2: both datasets have the same timings": [first, first.copy()],
    }
    for said, series in cases.items():
        with pytest.raises(InputError, match=said):
            abtune.history(series)
    with pytest.raises(InputError, match="unknown configuration 'asink'"):
        abtune.history([first, second], candidate="asink")
    with pytest.raises(InputError, match=r"level is a fraction between 0 and 1, such as 0\.95, not '0\.95'"):
        abtune.history([first, second], level="0.95")  # type: ignore[arg-type]
