"""Figures: the right rows, ends where the numbers are, and names that stay names."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import xarray as xr
from example_sweep import swept
from report_builders import NAN, make_analysis, make_comparison, typical_analysis

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.compare.settings import margin_ends
from abtune.report.columns import analysis_scale
from abtune.report.figures.forest import draw_forest, draw_seeds
from abtune.report.figures.panels import SIDE_COLOURS, save_figure
from abtune.report.figures.row_figure import forest_rows
from abtune.samples import extract
from abtune.sections.curve.curve import Curve, Point, ShapeCurve
from abtune.sections.curve.curve_figures import draw_curve, draw_trials, quartiles_so_far
from abtune.text import microseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

pytest.importorskip("matplotlib")


def lines_at(axis: Axes, y: float) -> list[Line2D]:
    """Return what is drawn at a height: intervals, markers, arrows."""
    return [line for line in axis.lines if {*np.atleast_1d(line.get_ydata()).tolist()} == {y}]


def marks(axis: Axes, y: float) -> dict[str, float]:
    """Return the markers at a height and where they are."""
    return {
        str(line.get_marker()): float(np.atleast_1d(line.get_xdata())[0])
        for line in lines_at(axis, y)
        if line.get_marker() != "None"
    }


def forest(analysis: Analysis, beside: dict[str, float] | None = None) -> Axes:
    figure = draw_forest(analysis, beside, "other")
    (axis,) = figure.axes
    return axis


def drawn_seeds(dataset: xr.Dataset) -> tuple[Analysis, Figure]:
    analysis = abtune.analyze(dataset)
    return analysis, draw_seeds(analysis)


def many(number: int) -> Analysis:
    labels = [f"N=1_H={size}_W={size}_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1" for size in range(1, number + 1)]
    return make_analysis(*map(make_comparison, labels))


# Forest


def test_long_names_of_configurations_stay_in_the_figure() -> None:
    """The words below a figure are broken into lines."""
    names = [
        "mainline_with_the_default_search_space_and_cost_model",
        "candidate/async-copy+software-pipelining",
    ]
    analysis = make_analysis(make_comparison("x"), baseline=names[0], candidate=names[1])
    figure = draw_forest(analysis)
    figure.canvas.draw()
    (axis,) = figure.axes
    box = axis.xaxis.label.get_window_extent()
    assert 0 <= box.x0 <= box.x1 <= figure.bbox.width


@pytest.mark.parametrize("boost", [-0.95, -0.999])
def test_a_marker_at_the_end_of_the_scale_is_whole(boost: float) -> None:
    """The marker of a very slow candidate is not cut, at the end of the scale or beyond it."""
    row = make_comparison("x", boost=boost, boost_low=boost - 0.0005, boost_high=boost + 0.001)
    axis = forest(make_analysis(row))
    markers = [line for line in axis.lines if line.get_marker() != "None"]
    at_the_end = [line for line in markers if line.get_xdata()[0] == pytest.approx(axis.get_xlim()[0])]
    assert at_the_end
    assert not any(line.get_clip_on() for line in at_the_end)


def test_one_early_interval_does_not_press_a_curve_flat() -> None:
    """The axis of a curve follows its later boosts and its last intervals."""
    point = Point(
        trials=1,
        boost=0.1,
        boost_low=-0.1,
        boost_high=0.3,
        latency_baseline=1e-3,
        latency_candidate=1e-3,
        n_baseline=3,
        n_candidate=3,
    )
    points = tuple(
        replace(point, trials=1 << index, boost_high=80.0 if index == 4 else 0.3) for index in range(8)
    )
    shape = ShapeCurve(shape="x", points=points)
    curve = Curve(
        level=0.95,
        overall=points,
        shapes=(shape,),
        interval_method="",
        caveats=(),
    )
    figure = draw_curve(curve, typical_analysis())
    figure.canvas.draw()
    (axis,) = figure.axes
    assert all(re.fullmatch(r"0|[+-]\d+", text.get_text()) for text in axis.get_yticklabels())
    assert axis.get_ylim() == pytest.approx((-12, 32))
    assert axis.get_ylabel().endswith("band: 95% interval")
    assert axis.lines[-1].get_xdata().tolist() == [16, 32, 64, 128]  # type: ignore[union-attr]
    (axis,) = draw_curve(replace(curve, shapes=(replace(shape, points=points[:6]),)), typical_analysis()).axes
    assert len(axis.lines[-1].get_xdata()) == 6


def test_forest_has_a_row_for_each_shape_and_the_overall_boosts() -> None:
    """The overall boosts come first, then the groups of the report, the largest boost first; none overlap."""
    rows = forest_rows(typical_analysis())
    assert [row.verdict for row in rows if row.shape] == [
        *(Verdict.IMPROVED, Verdict.EQUIVALENT, Verdict.REGRESSED),
        *(Verdict.NOT_SLOWER, Verdict.INCONCLUSIVE, Verdict.INVALID),
    ]
    assert [row.label for row in rows[:3]] == [
        "async against mainline",
        "these 6 shapes",
        "shapes like these",
    ]
    ends = [(row.y - (row.height - 1) / 2, row.height) for row in rows]
    assert all(two >= one + size - 1e-9 for (one, size), (two, _) in itertools.pairwise(ends))


def test_interval_ends_are_where_the_numbers_are() -> None:
    """Line and marker of a row are at its interval and boost, in percent; the reference lines at theirs."""
    analysis = typical_analysis()
    axis = forest(analysis)
    for row in forest_rows(analysis):
        if row.verdict is None or row.drawn is None or math.isnan(row.drawn.value):
            continue
        spans = [line.get_xdata() for line in lines_at(axis, row.y) if line.get_marker() == "None"]
        scale, drawn = analysis_scale(analysis), row.drawn
        assert [list(map(float, span)) for span in spans] == [
            [100 * scale.clip(drawn.wide_low), 100 * scale.clip(drawn.wide_high)],
            [100 * drawn.low, 100 * drawn.high],
        ]
        marked = marks(axis, row.y)
        assert ("<" in marked) == (drawn.wide_low < scale.low)
        assert [marked[name] for name in marked if name not in "<>"] == [pytest.approx(100 * drawn.value)]
    upright = [line.get_xdata()[0] for line in axis.lines if list(line.get_ydata()) == [0, 1]]
    assert upright == [0, *(pytest.approx(100 * end) for end in margin_ends(0.02))]


def test_numbers_are_those_of_the_report() -> None:
    """Boost, interval and verdict stand beside every row, in the report's digits."""
    texts = [text.get_text() for text in forest(typical_analysis()).texts]
    for words in ("+11.1", "+6.2 to +16.0", "-6.9", "regressed", "invalid", "+11.85", "+7.72 to +16.13"):
        assert words in texts


def test_verdicts_differ_in_the_marker() -> None:
    """Each verdict has a marker of its own, so that grey is enough."""
    rows = [make_comparison(f"s{number}", verdict=verdict) for number, verdict in enumerate(Verdict)]
    analysis = make_analysis(*rows)
    axis = forest(analysis)
    markers = [tuple(marks(axis, row.y)) for row in forest_rows(analysis) if row.shape]
    assert len(set(markers)) == len(Verdict)


def test_an_overall_boost_without_interval_is_hollow() -> None:
    """A small filled diamond would look like a narrow interval."""
    analysis = typical_analysis()
    lone = replace(analysis.overall.these_shapes, boost_low=NAN, boost_high=NAN)
    overall = replace(analysis.overall, these_shapes=lone)
    analysis = replace(analysis, overall=overall)
    axis = forest(analysis)
    (row,) = (row for row in forest_rows(analysis) if row.label == "these 6 shapes")
    (drawn,) = (line for line in lines_at(axis, row.y) if line.get_marker() == "D")
    assert drawn.get_markerfacecolor() == "white"
    assert len(axis.patches) == 1


def test_what_leaves_the_axis_gets_an_arrow() -> None:
    """A wild interval is cut at the edge, with an arrow there; the others stay as they are."""
    wild = make_comparison("wild", boost=0.1, boost_low=-0.8, boost_high=9.0)
    far = make_comparison("far", boost=30.0, boost_low=20.0, boost_high=40.0)
    analysis = make_analysis(wild, far, *(make_comparison(f"s{number}") for number in range(20)))
    scale, axis = analysis_scale(analysis), forest(analysis)
    rows = {row.shape: row.y for row in forest_rows(analysis)}
    markers = marks(axis, rows["wild"])
    assert markers[">"] == pytest.approx(100 * scale.high)
    assert markers["<"] == pytest.approx(100 * scale.low)
    assert marks(axis, rows["far"]) == {">": pytest.approx(100 * scale.high)}
    assert set(marks(axis, rows["s3"])) == {"^"}
    assert "arrows: beyond the scale" in below(axis)
    assert axis.get_xlim() == (pytest.approx(100 * scale.low), pytest.approx(100 * scale.high))


def below(axis: Axes) -> str:
    """Return the text below a figure."""
    return str(axis.get_figure().get_supxlabel())


def test_another_dataset_is_drawn_as_crosses() -> None:
    """Crosses stand on the rows of the shapes that both have, an arrow where one is off the axis."""
    analysis = make_analysis(*(make_comparison(f"s{number}") for number in range(9)))
    axis = forest(analysis, {"s1": 0.3, "s2": NAN, "s3": 900.0, "unknown": 0.1})
    markers = [marks(axis, row.y) for row in forest_rows(analysis) if row.shape]
    assert [row.get("x") for row in markers[:4]] == [None, pytest.approx(30), None, None]
    assert ">" in markers[3]
    assert "crosses: other" in below(axis)
    assert "arrows: beyond the scale" in below(axis)
    assert not re.search("crosses|arrows", below(forest(analysis)))


def test_only_what_is_drawn_is_explained() -> None:
    """A lone shape has no interval of all shapes at once, and one run per configuration has none at all."""
    for draw in (draw_forest, draw_seeds):
        several, lone, single = (
            draw(abtune.analyze(abtune.open_dataset(name), shapes=shapes))
            for name, shapes in (
                ("h200-pilot", None),
                ("h200-pilot", ["M=896_N=896_K=896"]),
                ("tvm14009-rtx3080", ["M=896_N=896_K=896"]),
            )
        )
        assert "thin lines" in below(several.axes[0])
        assert not any("thin lines" in below(figure.axes[0]) for figure in (lone, single))
        words = [{text.get_text() for text in figure.axes[0].texts} for figure in (lone, single)]
        assert ["95% interval" in written for written in words] == [True, False]
        assert "lines: " not in below(single.axes[0])


def test_a_wide_axis_has_numbers_on_both_sides_of_zero() -> None:
    """From half as fast to twice as fast, steps of 50 % would leave the slower side without a number."""
    axis = forest(make_analysis(make_comparison(boost=0.2, boost_low=-0.4, boost_high=1.1)))
    numbers = [label.get_text() for label in axis.get_xticklabels()]
    assert sorted(numbers, key=int) == ["-20", "0", "+50", "+100"]
    axis = forest(make_analysis(make_comparison(boost=0.2, boost_low=-0.06, boost_high=0.4)))
    assert [label.get_text() for label in axis.get_xticklabels()][:3] == ["0", "-5", "+10"]


def test_shapes_without_numbers_have_a_row() -> None:
    """An invalid shape is named, with nothing drawn."""
    nothing = dict.fromkeys(("boost", "boost_low", "boost_high"), NAN)
    analysis = make_analysis(make_comparison("mine", verdict=Verdict.INVALID, **nothing))
    axis = forest(analysis)
    assert "mine" in [text.get_text() for text in axis.get_yticklabels()]
    assert not lines_at(axis, next(row.y for row in forest_rows(analysis) if row.shape))


def test_verdicts_that_say_nothing_are_left_out() -> None:
    """Where one run per configuration supports no verdict, no column has verdicts, as in the report."""
    for name, said in (("tvm14009-rtx3080", False), ("h200-pilot", True)):
        axis = forest(abtune.analyze(abtune.open_dataset(name)))
        texts = [text.get_text() for text in axis.texts]
        assert ("verdict" in texts) == said
        assert "invalid" not in texts


def test_a_figure_of_many_shapes_fits_a_page() -> None:
    """Of more than 40 shapes the largest and the least boosts are drawn, and a row says what is left out."""
    boosts = [*np.linspace(0.5, -0.5, 99), NAN]
    shapes = [
        make_comparison(
            f"s{number}", boost=boost, verdict=Verdict.INVALID if number > 98 else Verdict.IMPROVED
        )
        for number, boost in enumerate(boosts)
    ]
    rows = [row for row in forest_rows(make_analysis(*shapes)) if row.shape or "between" in row.label]
    drawn = [*range(20), None, *range(79, 99)]
    assert [row.shape for row in rows] == ["" if number is None else f"s{number}" for number in drawn]
    assert " ".join(rows[20].label.split()) == "60 shapes between, not drawn: 59 improved, 1 invalid"
    assert draw_forest(make_analysis(*shapes)).get_size_inches()[1] < 11
    assert len([row for row in forest_rows(make_analysis(*shapes[:40])) if row.shape]) == 40
    searches = np.ones((100, 2, 3))
    figure = draw_trials(make_analysis(*shapes), searches, searches)
    titles = [axis.get_title() for axis in figure.axes]
    wanted = [f"s{number}\nimproved" for number in drawn if number is not None]
    assert [title for title in titles if title] == wanted
    assert (
        figure.legends[0]
        .get_title()
        .get_text()
        .endswith("\n40 of 100 shapes: the largest and the least boosts")
    )


@pytest.mark.parametrize("number", [1, 3, 29, 100])
def test_height_grows_with_the_shapes(number: int) -> None:
    """There is as much room for a row however many there are."""
    figure = draw_forest(many(number))
    rows = forest_rows(many(number))
    inches = figure.get_size_inches()
    assert inches[1] / (rows[-1].y + rows[-1].height) > 0.2
    assert inches[0] < 12


# Seeds


def seeds_of(figure: Figure, row: int) -> list[list[float]]:
    """Return where the seeds of both sides of a row are drawn, in percent."""
    (axis,) = figure.axes
    y = axis.get_yticks()[row]
    points = [line for line in axis.lines if line.get_marker() in "oD" and len(line.get_ydata())]
    near = [line for line in points if 0 < abs(line.get_ydata()[0] - y) < 0.5]
    return [sorted(line.get_xdata()) for line in sorted(near, key=lambda line: str(line.get_marker()))[::-1]]


def test_every_seed_is_drawn() -> None:
    """Each row has every seed as its speed against the mean of the baseline, and the boost between them."""
    dataset = swept()
    analysis, figure = drawn_seeds(dataset)
    (axis,) = figure.axes
    row = analysis.comparisons[0]
    sides = [np.exp(extract(dataset, name).value[0]) for name in ("mainline", "async")]
    for speeds, side in zip(seeds_of(figure, 1), sides, strict=True):
        assert speeds == pytest.approx(sorted(100 * (row.baseline.latency / side - 1)))
    drawn = lines_at(axis, axis.get_yticks()[1])
    assert drawn[1].get_xdata() == pytest.approx([100 * row.boost_low, 100 * row.boost_high])
    assert drawn[2].get_xdata() == pytest.approx([100 * row.boost])
    numbers = [text.get_text() for text in axis.texts]
    assert {
        "baseline, us",
        microseconds(row.baseline.latency),
        "+21.8",
        "+18.4 to +25.4",
        "improved",
        "slower",
        "faster",
    } <= set(numbers)


def test_sides_without_timings_say_so() -> None:
    """A side whose runs all failed says how many, and the other is drawn."""
    _, figure = drawn_seeds(swept())
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("10 failed") == 1
    assert len(seeds_of(figure, 5)) == 1


def test_a_shape_without_any_timing_has_a_row() -> None:
    """Where neither side has a timing the row says so once; without a baseline, too."""
    latency = np.full((3, 2, 3), 1e-3) * [1.0, 1.1, 1.2]
    latency[1], latency[2, 0] = NAN, NAN
    dataset = abtune.make_dataset(latency, shapes=["a", "b", "c"], configs=["x", "y"])
    _, figure = drawn_seeds(dataset)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("nothing to compare") == 2
    figure.draw_without_rendering()


def test_seeds_far_apart_leave_room_for_the_others() -> None:
    """A seed far from all others is an arrow at the edge of the scale."""
    latency = np.full((9, 2, 3), 1e-3) * [1.0, 1.02, 1.04]
    latency[0, 1, 0] = 1e-5
    labels = [f"s{number}" for number in range(9)]
    _, figure = drawn_seeds(abtune.make_dataset(latency, shapes=labels, configs=["x", "y"]))
    (axis,) = figure.axes
    assert axis.get_xlim()[1] < 100
    arrows = [line for line in axis.lines if line.get_marker() == ">"]
    of_sides = [line for line in arrows if line.get_color() in SIDE_COLOURS]
    assert len(of_sides) == 1
    assert [arrow.get_xdata()[0] for arrow in arrows] == pytest.approx([axis.get_xlim()[1]] * len(arrows))
    assert [len(side) for side in seeds_of(figure, 1)] == [3, 2]


def test_equal_ratios_are_equally_far() -> None:
    """Twice as fast and half as fast are as far from zero, in forest and seeds; -100 % is not drawn."""
    row = make_comparison("x", boost=-0.999, boost_low=-0.9995, boost_high=3.0)
    latency = np.array([[[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]])
    _, seeds = drawn_seeds(abtune.make_dataset(latency, shapes=["a"], configs=["x", "y"]))
    for axis in (forest(make_analysis(row)), *seeds.axes):
        half, zero, twice = (axis.transData.transform((percent, 0))[0] for percent in (-50, 0, 100))
        assert zero - half == pytest.approx(twice - zero)
        assert axis.get_xlim()[0] >= -95


@pytest.mark.parametrize("boosts", [[0.05, 2.0, 30.0, 300.0], [-0.05, -0.66, -0.97, -0.99], [0.0, 0.1, 0.2]])
def test_words_at_the_axis_do_not_touch(boosts: list[float]) -> None:
    """Boosts of hundreds of percent have ticks whose labels are apart; all words of a heading are, too."""
    rows = [
        make_comparison(f"s{number}", boost=boost, boost_low=boost - 0.001, boost_high=boost + 0.001)
        for number, boost in enumerate(boosts)
    ]
    axis = forest(make_analysis(*rows))
    axis.get_figure().canvas.draw()  # type: ignore[union-attr]
    ticks = [label.get_window_extent() for label in axis.get_xticklabels()]
    ticks = [box for box in ticks if axis.bbox.x0 <= (box.x0 + box.x1) / 2 <= axis.bbox.x1]
    heads = [text.get_window_extent() for text in axis.texts if text.xy[1] == -1.0]  # type: ignore[attr-defined]
    for boxes in (ticks, heads):
        assert len(boxes) > 2
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(sorted(boxes, key=lambda box: box.x0)))


@pytest.mark.parametrize("number", [1, 29, 100])
def test_figures_stay_small(number: int) -> None:
    """A row takes a third of an inch, so that 29 shapes fit a page."""
    latency = np.tile([[1.0, 1.1], [1.0, 1.2]], (number, 1, 1))
    labels = [row.shape for row in many(number).comparisons]
    _, figure = drawn_seeds(abtune.make_dataset(latency, shapes=labels, configs=["x", "y"]))
    assert figure.get_size_inches()[1] < 1.8 + 0.33 * number
    assert figure.get_size_inches()[0] < 12


# Trials


def best() -> np.ndarray:
    """Two shapes, three searches, 32 trials; the last search of the second shape was not made."""
    falls = np.array([8.0, 6.0, 4.0])[:, np.newaxis] / np.arange(1, 33)
    curves = 1e-5 * np.stack([falls, falls])
    curves[0, 0, :2] = NAN
    curves[1, 2] = NAN
    return curves


def test_every_search_is_drawn_with_the_median_bold() -> None:
    """A panel has a thin line for each search and a bold one for the median of each side, as speeds."""
    analysis = make_analysis(make_comparison("a"), make_comparison("b"))
    figure = draw_trials(analysis, best(), 0.5 * best())
    axis = figure.axes[1]
    widths = [line.get_linewidth() for line in axis.lines if len(line.get_xdata())]
    assert (widths.count(0.4), widths.count(1.8)) == (6, 2)
    bold = [line for line in axis.lines if line.get_linewidth() == 1.8]
    assert [line.get_ydata()[-1] for line in bold] == pytest.approx([1, 2])
    assert bold[0].get_ydata()[15] == pytest.approx(0.5)
    assert list(bold[0].get_xdata()[[0, -1]]) == [1, 32]
    assert len(axis.collections) == 2
    band = axis.collections[0].get_paths()[0].vertices
    assert sorted({*band[band[:, 0] == 32, 1].tolist()})[1::2] == pytest.approx([7 / 8, 7 / 6])
    assert axis.get_ylim() == figure.axes[0].get_ylim()
    low, high = axis.get_ylim()
    assert low < 0.5
    assert high > 2 * 7 / 6


@pytest.mark.parametrize(("number", "columns"), [(1, 1), (2, 2), (3, 3), (29, 6), (100, 7)])
def test_searches_of_many_shapes_fit_a_page(number: int, columns: int) -> None:
    """Panels share one scale, and there are about as many below as beside each other."""
    curves = np.tile(best()[:1], (number, 1, 1))
    figure = draw_trials(many(number), curves, curves)
    assert len({axis.get_subplotspec().colspan.start for axis in figure.axes}) == columns
    assert figure.get_size_inches()[0] <= max(2.4 * columns, 5.5)
    figure.canvas.draw()
    (legend,) = figure.legends
    assert 0 <= legend.get_window_extent().x0 <= legend.get_window_extent().x1 <= figure.bbox.width
    assert len({axis.get_ylim() for axis in figure.axes[: min(number, 40)]}) == 1


def test_verdicts_on_some_shapes_say_of_how_many() -> None:
    """Tests are corrected over the chosen shapes alone, so another choice may have another verdict."""
    rows = make_comparison("a"), make_comparison("b")
    curves = best()
    for every, told in ((2, False), (5, True)):
        analysis = make_analysis(*rows, shapes_in_dataset=every)
        (legend,) = draw_trials(analysis, curves, curves).legends
        texts = legend.get_title().get_text(), draw_forest(analysis).get_supxlabel()
        assert ["2 of the dataset's 5 shapes" in text for text in texts] == [told, told]


def test_long_histories_are_shown_from_the_sixteenth_trial_on() -> None:
    """The first candidates are far slower; they would press all others flat."""
    curves = np.tile(1e-3 / np.arange(1, 129), (1, 3, 1))
    (axis,) = draw_trials(make_analysis(make_comparison("a")), curves, curves).axes
    assert axis.get_xlim()[0] == 16
    assert axis.get_xticks().tolist()[-2:] == [64, 128]  # the end of the searches has a label
    assert axis.get_ylim()[0] > 0.1


def test_a_search_that_has_found_nothing_counts_as_slowest() -> None:
    """The median exists once more than half of the searches have found something."""
    _, median, _ = quartiles_so_far(
        np.array([[NAN, 3.0, 3.0], [NAN, NAN, 2.0], [1.0, 1.0, 1.0], [NAN, NAN, NAN]])
    )
    assert math.isnan(median[0])
    assert list(median[1:]) == [3.0, 2.0]
    assert np.isnan(quartiles_so_far(np.full((2, 3), NAN))).all()


def test_a_search_that_never_finds_anything_counts_as_slowest() -> None:
    """Two that found something are not the median of five; one that was not made does not count."""
    best = np.full((6, 2), math.inf)
    best[0], best[1], best[5] = 1.0, 2.0, NAN
    assert np.isnan(quartiles_so_far(best)[1]).all()
    assert list(quartiles_so_far(best[[0, 1, 2, 5]])[1]) == [2.0, 2.0]


def test_shapes_without_histories_have_a_panel() -> None:
    """A shape of which no search has a history says so."""
    analysis = make_analysis(make_comparison("a"))
    figure = draw_trials(analysis, np.full((1, 2, 8), NAN), np.full((1, 2, 8), NAN))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no trials"]
    figure.draw_without_rendering()


def test_lines_begin_where_something_is_found() -> None:
    """Searches that have found nothing leave no line; a shape of nothing else says so."""
    analysis = make_analysis(make_comparison("a"), make_comparison("b"))
    curves = np.where(np.isnan(best()), math.inf, best())
    curves[1] = math.inf
    figure = draw_trials(analysis, curves, curves)
    first = next(line for line in figure.axes[0].lines if line.get_linewidth() == 0.4)
    assert np.isnan(first.get_ydata()[:2]).all()
    assert np.isfinite(first.get_ydata()[2:]).all()
    assert [text.get_text() for text in figure.axes[1].texts] == ["nothing found"]
    figure.draw_without_rendering()


@pytest.mark.filterwarnings("error")
def test_a_side_that_found_nothing_draws_without_a_warning() -> None:
    """Where no search of the first side finds anything, the panel has the lines of the other."""
    analysis = make_analysis(make_comparison("a"))
    figure = draw_trials(analysis, np.full((1, 2, 4), math.inf), np.full((1, 2, 4), 1e-3))
    assert sum(line.get_linewidth() == 0.4 for line in figure.axes[0].lines) == 2
    figure.draw_without_rendering()


# Files


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_files_are_the_same_each_time(tmp_path: Path, suffix: str) -> None:
    """The same figure has the same bytes, whenever it is drawn."""
    contents = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.{suffix}"
        save_figure(draw_forest(typical_analysis()), path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_names_are_written_as_they_are(tmp_path: Path) -> None:
    """Dollar signs are no mathematics, and matplotlib warns of letters that no font has."""
    row = make_comparison("$x^{$ \\frac \U00014400", workload="$a$")  # a hieroglyph of Anatolia
    analysis = make_analysis(row, baseline="$b$", candidate=r"$\broken{$")
    figure = draw_forest(analysis, {row.shape: 0.1}, "$c$")
    with pytest.warns(UserWarning, match="Glyph 82944"):
        save_figure(figure, tmp_path / "f.png")
    values = np.full((1, 2, 4), 1e-3)
    with pytest.warns(UserWarning, match="Glyph 82944"):
        save_figure(draw_trials(analysis, values, values), tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


# Power


def test_power_has_its_cost_above() -> None:
    """The upper axis says what each number of seeds costs, as the plan does."""
    dataset = abtune.open_dataset("h200-pilot")
    figure = abtune.analyze(dataset).plot("power")
    (above,) = figure.axes[0].child_axes
    plan = abtune.power(dataset)
    labels = [label.get_text() for label in above.get_xticklabels()]
    assert labels == [f"{reach.gpu_hours:.2g}" for reach in plan.reaches]
    assert above.get_xlabel() == "GPU hours for 3 shapes"
