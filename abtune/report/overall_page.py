"""The page about all shapes together, beyond their mean boost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from abtune.analyse.comparison import Analysis, Overall
from abtune.analyse.whole import Improvement, Weighted
from abtune.report.columns import intervals, report_decimals
from abtune.report.notes import count_shapes
from abtune.report.numbers import microseconds, p_value, percent, plain_percent
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, column

_MEANING = (
    "these shapes, shapes like these: as in the report. without: mean over the other shapes, for the shape "
    "whose absence lowers the mean most and the one whose absence raises it most. time: all calls of a "
    "program, each shape's geometric mean latency times its calls."
)
_FEW = 3


def overall_page(analysis: Analysis) -> tuple[Part, ...]:
    """Compose the page."""
    overall = analysis.overall
    items = [_chance(overall.improvement), *_spread(overall)]
    if overall.weighted is not None:
        items += _program(overall.weighted)
    return (
        Heading(text="all shapes together", minor=False),
        _boosts(analysis),
        Bullets(items=tuple(items)),
        Prose(text=_MEANING, remark=True),
    )


def _boosts(analysis: Analysis) -> Grid:
    overall, decimals = analysis.overall, max(report_decimals(analysis), 2)
    rows = [("these shapes", overall.these_shapes), ("shapes like these", overall.shapes_like_these)]
    lines = [(name, line.boost, (line.boost_low, line.boost_high)) for name, line in rows]
    if overall.weighted is not None:
        time = overall.weighted
        lines.append((f"time of {time.name}", time.boost, (time.boost_low, time.boost_high)))
    if overall.leave_one_out is not None:
        ends = overall.leave_one_out.low, overall.leave_one_out.high
        lines += [(f"without {end.shape}", end.boost, (math.nan, math.nan)) for end in ends]
    interval = intervals([bounds for _, _, bounds in lines], decimals)
    return Grid(
        stub="overall",
        labels=tuple(name for name, _, _ in lines),
        columns=(
            column("boost %", [percent(boost, decimals) for _, boost, _ in lines]),
            column(f"{plain_percent(analysis.level)} interval", interval, gives_way=1),
        ),
    )


def _chance(wins: Improvement) -> str:
    if math.isnan(wins.probability):
        return "No shape has timings on both sides."
    bounds = "" if math.isnan(wins.low) else f" ({100 * wins.low:.0f} to {100 * wins.high:.0f}%)"
    return (
        f"A run of the candidate is faster than one of the baseline with probability "
        f"{100 * wins.probability:.0f}%{bounds}, mean over these shapes; 50% is a fair coin."
    )


def _spread(overall: Overall) -> Iterator[str]:
    found = overall.heterogeneity
    if math.isnan(found.q):
        return
    tau, share = (percent(part, 0, signed=False) for part in (found.between, found.share))
    yield (
        f"Do the shapes differ? Q {found.q:.1f}, p {p_value(found.p)} (Welch's F). Their true boosts spread "
        f"by about {tau}% (tau); {share}% of the spread of the estimates is more than their error (I2)."
    )


def _program(time: Weighted) -> Iterator[str]:
    yield (
        f"Time of {time.name}: {microseconds(time.baseline_time)} us for the baseline, "
        f"{microseconds(time.candidate_time)} us for the candidate, in {time.weight:g} of {time.total:g} "
        "calls."
    )
    if time.left_out:
        named = ": " + ", ".join(time.left_out) if len(time.left_out) <= _FEW else ""
        counted = count_shapes(len(time.left_out))
        yield (
            f"{counted} of {time.name} {'is' if len(time.left_out) == 1 else 'are'} "
            f"excluded for lack of timings on both sides{named}."
        )
    if time.not_covered:
        yield f"{time.name}: {time.not_covered}."
