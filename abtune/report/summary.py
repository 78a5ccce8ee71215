"""The main report: as a page, and as the fields that JSON and CSV have, with all digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from abtune.compare.claims import of_all
from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.compare.sentence import of_confounded
from abtune.compare.settings import Settings
from abtune.dataset.provenance import summary
from abtune.errors import InputError
from abtune.report.columns import OVERALL, overall_columns, overall_interval, overall_lines, shape_columns
from abtune.report.page import (
    SHAPE,
    Bullets,
    Cell,
    Folded,
    Grid,
    Heading,
    Part,
    Prose,
    Report,
    Section,
    Tally,
    column,
    table,
)
from abtune.report.scale import choose_scale
from abtune.report.stories import stories
from abtune.shapes import select_labels
from abtune.text import NO_BOUND, bound_percent, count, listed, plain_percent


def _noise(row: Comparison) -> float:
    """Return the noise that the table shows: of pairs, else of the noisier side."""
    if not math.isnan(row.noise_of_pairs):
        return row.noise_of_pairs
    # NaN if either side is: max() would depend on their order.
    return float(np.maximum(row.baseline.noise, row.candidate.noise))


# What `--sort` sorts by, NaN last.
_ORDERS: dict[str, Callable[[Comparison], Any]] = {
    "boost": lambda row: np.nan_to_num(-row.boost, nan=np.inf),
    "p": lambda row: np.nan_to_num(row.p_adjusted, nan=np.inf),
    "verdict": lambda row: list(Verdict).index(row.verdict),
    "noise": lambda row: np.nan_to_num(-_noise(row), nan=np.inf),
    "name": lambda row: row.shape,
}


ONE_RUN_PER_CELL = "One run per cell: --section single-run says what such a table supports."
TIMINGS_OF_ONE_RUN = (
    "If each timing comes from its own process, import with --seed-is timing. If not, see --section timings."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of an analysis is shown; nothing here changes a number."""

    why: bool = False  # whether the reasons of the verdicts are unfolded from the start
    source: str = ""
    rows: tuple[int, ...] | None = None  # positions of the comparisons that are shown; None for all
    brief: bool = False  # whether only the overall result is shown
    hint: str = ONE_RUN_PER_CELL  # a section that would say more of single runs
    said: Sequence[str] = ()  # caveats that stand above the analysis already


def chosen_rows(
    analysis: Analysis, names: Sequence[str] | None, *, order: str | None
) -> tuple[int, ...] | None:
    """Return which comparisons are shown, by shape or verdict, in order; None for all as they are."""
    if names is None and order is None:
        return None
    rows = analysis.comparisons
    kept = list(range(len(rows)))
    if names is not None:
        verdicts = {verdict.words for verdict in Verdict} & {name.replace("-", " ") for name in names}
        others = [name for name in names if name.replace("-", " ") not in verdicts]
        shapes, kinds = [row.shape for row in rows], [row.workload for row in rows]
        try:
            labels = select_labels(others, shapes, kinds) if others else ()
        except InputError as error:
            words = listed(verdict.words.replace(" ", "-") for verdict in Verdict)
            raise InputError(f"{error}; verdicts are {words}") from None
        kept = [i for i in kept if rows[i].shape in labels or rows[i].verdict.words in verdicts]
    if order is not None:
        kept.sort(key=lambda index: _ORDERS[order](rows[index]))
    return tuple(kept)


def analysis_report(analysis: Analysis, *sections: Section, view: View = View()) -> Report:
    """Return the main report with further sections below it."""
    return Report(sections=(analysis_section(analysis, view), *sections))


def analysis_section(analysis: Analysis, view: View = View()) -> Section:
    """Return an analysis as a section, whose fields stand at the top level of JSON."""
    return Section(
        name="",
        page=tuple(_parts(analysis, view)),
        result=analysis_record(analysis),
        rows=tuple(map(comparison_record, analysis.comparisons)),
        shown=view.rows,
        sentence=analysis.sentence,
    )


def _parts(analysis: Analysis, view: View) -> Iterator[Part]:
    source = f"{view.source}: " if view.source else ""
    origin = summary(analysis.dataset)
    yield Heading(title(analysis))
    sentence = analysis.sentence
    for doubt in of_confounded(view.said):
        sentence = sentence.replace(f" {doubt}", "")
    yield Prose(sentence)
    yield Prose(f"{source}{origin and f'{origin}. '}{design(analysis)}", remark=True)
    yield from _all_shapes(analysis, view)
    shown = tuple(range(len(analysis.comparisons))) if view.rows is None else view.rows
    single = all(row.n == (1, 1) for row in analysis.comparisons)
    if not view.brief:
        notes, marks = collect_notes(analysis, shown)
        yield from _shapes(analysis, marks, view.rows)
        new = (text for text in notes.items if text not in view.said)
        yield replace(notes, items=(*new, *[view.hint] * (single and bool(view.hint))))
    # With one run per cell, all reasons are the same, and the methods judge nothing.
    if view.why or not (view.brief or single):
        reasons = (_reasons(analysis, shown),)
        yield Folded(summary="Why, shape by shape", option="--why", unfolded=view.why, parts=reasons)
    if not view.brief:
        how = analysis.settings
        correction = f"Adjusted p: {how.procedure.words}. " if len(analysis.comparisons) > 1 else ""
        methods = (
            f" Interval: {how.interval.words}. Test: {how.difference_test.words}. "
            f"{correction}Resampling seed: {how.rng_seed}."
        )
        yield Prose(f"{analysis.definition}{'' if single else methods}", remark=True)


def _all_shapes(analysis: Analysis, view: View) -> Iterator[Part]:
    """Yield the number of each verdict, the boosts over shapes, at-least counts, and the slowest shape."""
    several, counts = len(analysis.comparisons) > 1, Counter(row.verdict for row in analysis.comparisons)
    # A table with one run per cell would begin with `29 invalid`, which says nothing.
    if not several or set(counts) != {Verdict.INVALID}:
        present = [verdict for verdict in Verdict if counts[verdict]]  # from good to bad
        yield Tally(
            cells=tuple(Cell(text=f"{counts[one]:,} {one.words}", tone=one.value) for one in present),
            words=tuple(one.words for one in present),
        )
    if overall_lines(analysis.overall):
        yield _overall(analysis, view)
        if left_out := analysis.overall.unmatched:
            many = f"{count(len(left_out), 'shape')}, such as {left_out[0]}"
            yield Prose(f"Boosts over shapes leave out {many if len(left_out) > 12 else listed(left_out)}.")
    if several and any(claim.at_least for claim in analysis.claims):
        yield _claims(analysis)
    if several and (worst := analysis.worst) and bound_percent(worst.boost_low) != NO_BOUND:
        limit = bound_percent(worst.boost_low)[1:]  # without its sign
        slowest = f"No shape is slower by more than {limit}. The largest loss is possible in {worst.shape}."
        least = f"No shape is slower. The least certain one is {worst.shape}."
        yield Prose(slowest if worst.boost_low < 0 else least)


def _shapes(
    analysis: Analysis, marks: Sequence[tuple[int, ...]], shown: tuple[int, ...] | None
) -> Iterator[Part]:
    """Yield a table for each kind of workload, or one table in the order that was asked for."""
    columns, details = shape_columns(analysis, marks), stories(analysis)
    if shown is None:
        groups = rows_by_heading(analysis.comparisons)
    else:
        shapes, some = count(len(analysis.comparisons), "shape"), len(shown) < len(analysis.comparisons)
        groups = {f"{len(shown)} of {shapes} shown" if some else shapes: list(shown)}
    for heading, rows in groups.items():
        yield Heading(heading, minor=True)
        labels = tuple(analysis.comparisons[row].shape for row in rows)
        yield Grid(
            stub=SHAPE,
            labels=labels,
            columns=tuple(column.take(rows) for column in columns),
            details=tuple(details[row] for row in rows),
        )


def _claims(analysis: Analysis) -> Grid:
    """Return at least how many shapes are faster, not much slower, slower: of all, and of each kind."""
    kinds = dict.fromkeys(claim.workload for claim in analysis.claims)
    columns = (
        column(
            kind or "all",
            [f"{claim.at_least:,} of {claim.of:,}" for claim in analysis.claims if claim.workload == kind],
            gives_way=number,
        )
        for number, kind in enumerate(kinds)
    )
    labels = [
        f"lose no more than {plain_percent(beyond)}" if beyond else claim
        for claim, beyond in of_all(analysis.claims)
    ]
    return table(f"at least ({plain_percent(analysis.level)} confidence)", labels, *columns)


def collect_notes(analysis: Analysis, shown: Sequence[int]) -> tuple[Bullets, list[tuple[int, ...]]]:
    """Return the caveats, and the footnotes of each comparison; a caveat that all share has no number."""
    # The reason of an invalid comparison is a footnote too: without it the row would say nothing.
    rows = [
        dict.fromkeys((row.reason, *row.caveats) if row.verdict is Verdict.INVALID else row.caveats)
        for row in analysis.comparisons
    ]
    uses = Counter(note for row in rows for note in row)
    general = dict.fromkeys(analysis.caveats)
    if len(rows) > 1:
        general.update(dict.fromkeys(note for note in uses if uses[note] == len(rows)))
    numbered = tuple(dict.fromkeys(note for i in shown for note in rows[i] if note not in general))
    numbers = {note: number for number, note in enumerate(numbered, start=1)}
    marks = [tuple(sorted(numbers[note] for note in row if note in numbers)) for row in rows]
    return Bullets(tuple(general), footnotes=numbered), marks


def title(analysis: Analysis) -> str:
    """Return what is compared."""
    knowledge = " at equal knowledge" if analysis.settings.equal_knowledge else ""
    return f"{analysis.candidate} against {analysis.baseline}{knowledge}"


def design(analysis: Analysis) -> str:
    """Return how much was measured and how it is judged, in one line."""
    settings = analysis.settings
    shapes = some_shapes(analysis) or count(len(analysis.comparisons), "shape")
    return (
        f"{shapes}, {seeds_per_shape(analysis)}; {plain_percent(settings.level)} confidence, margin "
        f"{plain_percent(settings.margin)}, tolerance {plain_percent(settings.tolerance)}"
        f"{shared_level(settings)}."
    )


def some_shapes(analysis: Analysis) -> str:
    """Return how many of the dataset's shapes are judged; empty if all are."""
    judged, in_dataset = len(analysis.comparisons), analysis.shapes_in_dataset
    return f"{judged} of the dataset's {in_dataset} shapes" if judged < in_dataset else ""


def shared_level(settings: Settings) -> str:
    """Return at which level the tests are made if candidates share it."""
    if settings.of_candidates == 1 or not settings.family_wise:
        return ""
    return f", tests at {plain_percent(settings.alpha, 3)} for each of {settings.of_candidates} candidates"


def rows_by_heading(comparisons: Sequence[Comparison]) -> dict[str, list[int]]:
    """Return the positions of the comparisons of each kind of workload, in order of first appearance."""
    kinds = [comparison.workload for comparison in comparisons]
    if 1 < len(set(kinds)) == len(kinds):  # tables of one row each would be hard to compare
        return {count(len(kinds), "shape"): [*range(len(kinds))]}
    rows = {kind: [i for i, one in enumerate(kinds) if one == kind] for kind in dict.fromkeys(kinds)}
    return {f"{kind and f'{kind}, '}{count(len(some), 'shape')}": some for kind, some in rows.items()}


def seeds_per_shape(analysis: Analysis) -> str:
    """Return the seeds of both sides in words."""
    sides = [row.n for row in analysis.comparisons]
    highest = [max(ns) for ns in zip(*sides, strict=True)]
    seeds = f"{'+'.join(map(str, highest))} seeds per shape (baseline + candidate)"
    if analysis.settings.paired:
        seeds = f"{count(highest[0], 'pair')} per shape"
    return seeds if len(set(sides)) == 1 else f"up to {seeds}"


def _overall(analysis: Analysis, view: View) -> Grid:
    lines = overall_lines(analysis.overall)
    drawn = tuple(map(overall_interval, lines.values()))
    # Where shapes are drawn too, all drawings have one scale.
    scale = choose_scale(drawn, margin=analysis.settings.margin) if view.brief else None
    return table(
        OVERALL,
        lines,
        *overall_columns(analysis, drawn, scale),
        column("meaning", [line.meaning for line in lines.values()], kind="text", gives_way=3),
    )


def _reasons(analysis: Analysis, shown: Sequence[int]) -> Part:
    rows = [analysis.comparisons[index] for index in shown]
    if len(rows) > 1 == len({row.reason for row in rows}) and rows[0].verdict is Verdict.INVALID:
        return Prose(f"These {len(rows)} shapes are invalid: {rows[0].reason}")
    verdicts = [Cell(text=row.verdict.words, tone=row.verdict.value) for row in rows]
    return table(
        SHAPE,
        [row.shape for row in rows],
        column("verdict", verdicts, kind="word"),
        column("why", [row.reason for row in rows], kind="text", gives_way=1),
    )


_SETTINGS = "baseline candidate level margin tolerance rng_seed estimand method"
_OF_ANALYSIS = "definition sentence shapes_in_dataset caveats overall claims worst"
# By field, the attribute of an analysis.
ANALYSIS = {
    **{name: f"settings.{name}" for name in _SETTINGS.split()},
    "correction_method": "settings.correction",
    "interval_method": "settings.interval.words",
    "test_method": "settings.difference_test.words",
    "correction": "settings.procedure.words",
    **{name: name for name in _OF_ANALYSIS.split()},
}
# In the order of the columns of CSV; {} stands for each side.
_OF_COMPARISON = """
    shape workload {} n_{} boost boost_low boost_high p p_adjusted verdict reason p_equivalence
    p_equivalence_adjusted p_welch p_welch_adjusted p_resampled p_resampled_adjusted boost_low_simultaneous
    boost_high_simultaneous boost_at_least latency_{} noise_{} noise_of_pairs failed_{} caveats
"""
# By field, the attribute of a comparison: n_baseline is baseline.n.
COMPARISON = {
    field.format(side): f"{side}.{field[:-3] or 'config'}" if field.endswith("{}") else field
    for field in _OF_COMPARISON.split()
    for side in ("baseline", "candidate")
}


def analysis_record(analysis: Analysis) -> dict[str, Any]:
    """Return the fields of an analysis; ``docs/analyze.md`` explains them."""
    fields = {name: attrgetter(path)(analysis) for name, path in ANALYSIS.items()}
    return {
        **fields,
        "origin": summary(analysis.dataset),
        "design": analysis.settings.design.value,
        "comparisons": tuple(map(comparison_record, analysis.comparisons)),
    }


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """Return the fields of a comparison, flat: those of a side have its name behind them."""
    return {name: attrgetter(path)(comparison) for name, path in COMPARISON.items()}
