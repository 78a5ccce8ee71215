"""The page about boosts over many datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise

from abtune.compare.settings import alpha_of
from abtune.report.columns import OVERALL, interval_column
from abtune.report.page import (
    SHAPE,
    Bullets,
    Cell,
    Column,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    column,
    table,
)
from abtune.sections.change.change import MeanChange, ShapeChange
from abtune.sections.change.change_page import VERDICTS, change_counts, mean_words
from abtune.sections.change.history import History, Moment
from abtune.text import boost_decimals, count, listed, percent_cell, plain_percent

# What a boost may be marked for, in the order of the footnotes.
_CHANGED, _VERDICT = "changed", "verdict"


def history_section(history: History) -> Section:
    """Return the report: one table, with the boosts of each shape beside each other."""
    rows = tuple(map(asdict, history.moments))
    return Section(
        name="", page=tuple(_page(history)), result=history, rows=rows, sentence=_sentence(history)
    )


def _page(history: History) -> Iterator[Part]:
    sources = zip(history.datasets, history.sources, strict=True)
    lines = [f"{name} ({source})." for name, source in sources if source]
    marked = {mark for row, before in _neighbours(history) for mark in _marks(row, before)}
    footnotes = {mark: text for mark, text in _footnotes(history).items() if mark in marked}
    yield Heading("history")
    yield Prose(_sentence(history))
    if lines:
        yield Prose(" ".join(lines), remark=True)
    yield _table(history, list(footnotes))
    yield Prose(_meaning(history), remark=True)
    yield Bullets(history.caveats, footnotes=tuple(footnotes.values()))


def _neighbours(history: History) -> Iterator[tuple[Moment, Moment]]:
    """Yield each moment but the first of a shape, with the one before."""
    for before, row in pairwise(history.moments):
        if before.shape == row.shape:
            yield row, before


def _marks(row: Moment, before: Moment) -> list[str]:
    return [_CHANGED] * row.changed + [_VERDICT] * (row.verdict != before.verdict)


def _footnotes(history: History) -> dict[str, str]:
    alpha = plain_percent(alpha_of(history.level))
    return {
        _CHANGED: f"Changed since the dataset before. Shapes: the adjusted p is at most {alpha} (Holm over "
        f"shapes and steps). overall: its change excludes zero, at {alpha} shared by the steps.",
        _VERDICT: "Another verdict than in the dataset before, which alone does not show a change.",
    }


def _table(history: History, marks: Sequence[str]) -> Grid:
    many, moments, change = len(history.datasets), history.moments, history.first_to_last
    ends: list[MeanChange | ShapeChange] = [change.overall, *change.shapes]
    notes = {
        row: tuple(marks.index(mark) + 1 for mark in _marks(row, before))
        for row, before in _neighbours(history)
    }
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in moments)
    columns: list[Column] = []
    for at, name in enumerate(history.datasets):
        rows, age = moments[at::many], many - 1 - at
        texts = [percent_cell(row.boost, decimals) for row in rows]
        boosts = [
            Cell(text=text, tone=row.verdict or OVERALL, notes=notes.get(row, ()))
            for row, text in zip(rows, texts, strict=True)
        ]
        bounds = [(row.boost_low, row.boost_high) for row in rows]
        # The oldest in between go first, and every interval before any boost.
        columns.append(column(name, boosts, gives_way=age if at else 0))
        columns.append(_interval(bounds, history, decimals, gives_way=many + age))
    columns.append(column("change %", [percent_cell(row.change, decimals) for row in ends]))
    columns.append(_interval([(row.low, row.high) for row in ends], history, decimals, gives_way=many - 1))
    columns.append(column("verdict", ["", *(VERDICTS[row.verdict] for row in change.shapes)], kind="word"))
    return table(SHAPE, [row.shape for row in moments[::many]], *columns)


def _interval(ends: Sequence[tuple[float, float]], history: History, decimals: int, gives_way: int) -> Column:
    return replace(interval_column(ends, level=history.level, decimals=decimals), gives_way=gives_way)


def _meaning(history: History) -> str:
    return (
        "Boosts are in percent. change %, verdict: from the first dataset to the last, as in abtune compare; "
        f"tolerance {plain_percent(history.tolerance)}. overall: geometric mean over these shapes. In a "
        "terminal, boosts have the colours of their verdicts in abtune analyze."
    )


def _sentence(history: History) -> str:
    many, ends = len(history.datasets), history.first_to_last
    means = listed(f"{percent_cell(row.boost, 1)}%" for row in history.moments[:many])
    changed = sum(row.changed for row in history.moments[many:])
    return (
        f"Mean boost of {history.candidate} over {count(len(ends.shapes), 'common shape')}: {means} in "
        f"{count(many, 'dataset')}. From first to last it changed by {mean_words(ends.overall)}; shapes: "
        f"{listed(change_counts(ends))}. Significant changes between neighbours: {changed}."
    )
