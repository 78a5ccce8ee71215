"""Several candidates against one baseline: a table of all, and the fields that JSON has of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from abtune.compare.claims import FASTER, NOT_SLOWER, SLOWER, of_all
from abtune.compare.results import Analysis
from abtune.report.columns import drawn_boosts, overall_decimals, overall_interval
from abtune.report.page import Bullets, Column, Grid, Heading, Part, Prose, Section, column, fields_of, table
from abtune.report.scale import choose_scale
from abtune.report.summary import title
from abtune.text import count, plain_percent


def candidates_sections(
    analyses: Sequence[Analysis], reports: Sequence[Sequence[Section]], caveats: Sequence[str]
) -> Iterator[Section]:
    """Yield a table with a row for each candidate and caveats of all, then the sections of each report.

    In JSON, the table has the fields of all these sections.
    """
    page = (*_parts(analyses), Bullets(tuple(caveats)))
    yield Section(name="candidates", page=page, result=tuple(map(fields_of, reports)), unasked=True)
    for analysis, sections in zip(analyses, reports, strict=True):
        if not any(section.page and not section.name for section in sections):  # no report that names it
            yield Section(name="", page=(Heading(title(analysis)),), result=None, unasked=True)
        yield from (replace(section, result=None) for section in sections)


def _parts(analyses: Sequence[Analysis]) -> Iterator[Part]:
    first = analyses[0]
    yield Heading(f"{count(len(analyses), 'candidate')} against {first.baseline}")
    yield _table(analyses)
    shared = "All candidates are compared with the same runs of the baseline, so their boosts are correlated."
    if first.settings.family_wise:
        level = plain_percent(first.settings.alpha, 3)
        shared += f" Tests are corrected over shapes and candidates: each candidate is tested at {level}."
        shared += " Intervals are not."
    yield Prose(shared, remark=True)


def _table(analyses: Sequence[Analysis]) -> Grid:
    first = analyses[0]
    drawn = [overall_interval(analysis.overall.these_shapes) for analysis in analyses]
    scale = choose_scale(drawn, margin=first.settings.margin)
    decimals = max(map(overall_decimals, analyses))
    # As in the report of one candidate, counts that are all zero are left out.
    shown = any(claim.at_least for analysis in analyses for claim in analysis.claims)
    return table(
        "candidate",
        [analysis.candidate for analysis in analyses],
        *drawn_boosts(drawn, scale, level=first.level, decimals=decimals),
        *(_claims(analyses) if shown else ()),
    )


def _claims(analyses: Sequence[Analysis]) -> Iterator[Column]:
    tolerance = analyses[0].settings.tolerance
    known = [of_all(analysis.claims) for analysis in analyses]
    for heading, claim, beyond, gives_way in (
        ("faster", FASTER, 0.0, 3),
        (f"lose at most {plain_percent(tolerance)}", NOT_SLOWER, tolerance, 5),
        ("slower", SLOWER, 0.0, 4),
    ):
        shown = [claims[claim, beyond] for claims in known]
        cells = [f"{one.at_least} of {one.of}" for one in shown]
        yield column(f"{heading} (at least)", cells, gives_way=gives_way)
