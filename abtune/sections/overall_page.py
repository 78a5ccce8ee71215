"""The page about all shapes together, beyond their mean boost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from abtune.compare.results import Analysis, Improvement, Overall, Weighted
from abtune.report.columns import OVERALL, overall_columns, overall_interval
from abtune.report.page import Bullets, Grid, Heading, Section, column, table
from abtune.report.scale import NAN, Interval
from abtune.text import count, microseconds, p_value, percent, percent_cell, plain_percent, some_of


def overall_section(analysis: Analysis) -> Section:
    """Return the page alone: its numbers are those of the report."""
    overall = analysis.overall
    items = [_chance(overall.improvement, analysis.level), *_spread(overall, analysis.settings.alpha)]
    if overall.weighted is not None:
        items += _program(overall.weighted)
    page = (Heading("all shapes together"), _boosts(analysis), Bullets(tuple(items)))
    return Section(name="overall", page=page, result=None)


def _boosts(analysis: Analysis) -> Grid:
    overall = analysis.overall
    means = {"these shapes": overall.these_shapes, "shapes like these": overall.shapes_like_these}
    means |= {f"other {kind.words}": kind.shapes_like_these for kind in overall.by_kind}
    rows = [(name, overall_interval(line), line.meaning) for name, line in means.items()]
    if (time := overall.weighted) is not None:
        rows.append((f"time of {time.name}", overall_interval(time), time.meaning))
    if (ends := overall.leave_one_out) is not None:
        for end, which in ((ends.low, "lowest"), (ends.high, "highest")):
            drawn = Interval(low=NAN, value=end.boost, high=NAN, tone=OVERALL)
            rows.append((f"without {end.shape}", drawn, f"the {which} mean over all shapes but one"))
    names, intervals, meanings = zip(*rows, strict=True)
    columns = overall_columns(analysis, intervals)
    return table(OVERALL, names, *columns, column("meaning", meanings, kind="text", gives_way=3))


def _chance(wins: Improvement, level: float) -> str:
    if math.isnan(wins.probability):
        return "No shape has timings of both configurations."
    interval = f" ({plain_percent(level)} interval {100 * wins.low:.0f} to {100 * wins.high:.0f}%)"
    bounds = "" if math.isnan(wins.low) else interval
    return f"{wins.meaning.capitalize()}: {100 * wins.probability:.0f}%{bounds}; 50% is a tie."


def _spread(overall: Overall, alpha: float) -> Iterator[str]:
    """Yield how the shapes differ, and what the interval of all takes for granted if their kinds are few."""
    spread = overall.heterogeneity
    if not math.isnan(spread.q):
        tau, share = percent(spread.between), percent_cell(spread.share, 0, signed=False)
        differ = "differ" if spread.p <= alpha else "are not shown to differ"
        yield (
            f"The boosts of the shapes {differ}: p {p_value(spread.p)} (Brown and Forsythe's F). The "
            f"standard deviation of true boosts is about {tau} (tau). True differences make {share}% of the "
            "variance of the estimates (I2), and noise the rest."
        )
    if len(overall.few_kinds) > 1:
        yield (
            f"The shapes are of {len(overall.by_kind)} kinds. If boosts within a kind are correlated, the "
            'interval of "shapes like these" is too narrow. Then use the lines by kind.'
        )


def _program(time: Weighted) -> Iterator[str]:
    yield (
        f"Time of {time.name}: {microseconds(time.baseline_time)} us for the baseline, "
        f"{microseconds(time.candidate_time)} us for the candidate, in {time.weight:g} of {time.total:g} "
        "calls."
    )
    if time.left_out:
        left_out = f"Left out: {count(len(time.left_out), 'shape')} of {time.name}"
        lacking = "not chosen, or without timings of both configurations"
        yield f"{left_out}, {lacking}: {some_of(time.left_out, most=1)}."
    if time.not_covered:
        yield f"{time.name}: {time.not_covered}."
