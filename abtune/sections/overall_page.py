"""The page about all shapes together, beyond their mean boost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from abtune.compare.results import Analysis, Improvement, Overall, Weighted
from abtune.report.columns import OVERALL, overall_columns, overall_interval
from abtune.report.page import Bullets, Grid, Heading, Prose, Section, table
from abtune.report.scale import NAN, Interval
from abtune.text import count, microseconds, p_value, percent_cell, some_of


def overall_section(analysis: Analysis) -> Section:
    """Return the page alone: its numbers are those of the report."""
    overall = analysis.overall
    items = [_chance(overall.improvement), *_spread(overall, analysis.settings.alpha)]
    if overall.weighted is not None:
        items += _program(overall.weighted)
    meanings = Prose(" ".join(_meanings(overall)), remark=True)
    page = (Heading("all shapes together"), _boosts(analysis), Bullets(tuple(items)), meanings)
    return Section(name="overall", page=page, result=None)


def _meanings(overall: Overall) -> Iterator[str]:
    """Yield what the lines are, those that the table has."""
    yield "these shapes: as in the report. shapes like these: expected for other shapes of all these kinds."
    if overall.by_kind:
        yield "other: expected for other shapes of that kind."
    if overall.weighted is not None:
        yield "time: all calls of a program, each shape's geometric mean latency times its calls."
    if overall.leave_one_out is not None:
        yield "without: the lowest and the highest mean that leaving out one shape gives."


def _boosts(analysis: Analysis) -> Grid:
    overall = analysis.overall
    rows = {
        "these shapes": overall_interval(overall.these_shapes),
        "shapes like these": overall_interval(overall.shapes_like_these),
    }
    for kind in overall.by_kind:
        rows[f"other {kind.words}"] = overall_interval(kind.shapes_like_these)
    if overall.weighted is not None:
        rows[f"time of {overall.weighted.name}"] = overall_interval(overall.weighted)
    if overall.leave_one_out is not None:
        for end in (overall.leave_one_out.low, overall.leave_one_out.high):
            rows[f"without {end.shape}"] = Interval(low=NAN, value=end.boost, high=NAN, tone=OVERALL)
    return table(OVERALL, rows, *overall_columns(analysis, rows.values()))


def _chance(wins: Improvement) -> str:
    if math.isnan(wins.probability):
        return "No shape has timings of both configurations."
    bounds = "" if math.isnan(wins.low) else f" ({100 * wins.low:.0f} to {100 * wins.high:.0f}%)"
    return f"{wins.meaning.capitalize()}: {100 * wins.probability:.0f}%{bounds}; 50% is a fair coin."


def _spread(overall: Overall, alpha: float) -> Iterator[str]:
    """Yield how the shapes differ, and what the interval of all takes for granted if their kinds are few."""
    spread = overall.heterogeneity
    if not math.isnan(spread.q):
        tau, share = (percent_cell(value, 0, signed=False) for value in (spread.between, spread.share))
        differ = "differ" if spread.p <= alpha else "are not shown to differ"
        yield (
            f"The boosts of the shapes {differ}: p {p_value(spread.p)} (Brown and Forsythe's F). True "
            f"boosts spread by about {tau}% (tau). True differences make {share}% of the variance of the "
            "estimates (I2)."
        )
    if len(overall.few_kinds) > 1:
        yield (
            f"The shapes are of {len(overall.by_kind)} kinds. If shapes of one kind have something in "
            "common, the interval of shapes like these is too narrow. The lines by kind do not depend on it."
        )


def _program(time: Weighted) -> Iterator[str]:
    yield (
        f"Time of {time.name}: {microseconds(time.baseline_time)} us for the baseline, "
        f"{microseconds(time.candidate_time)} us for the candidate, in {time.weight:g} of {time.total:g} "
        "calls."
    )
    if time.left_out:
        left_out = f"{count(len(time.left_out), 'shape')} of {time.name}"
        lacking = "without timings of both configurations, left out"
        yield f"{left_out} {lacking}: {some_of(time.left_out, most=1)}."
    if time.not_covered:
        yield f"{time.name}: {time.not_covered}."
