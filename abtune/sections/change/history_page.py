"""The page about boosts over many datasets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

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
from abtune.sections.change.history import History
from abtune.text import boost_decimals, count, listed, percent_cell, plain_percent


def history_section(history: History) -> Section:
    """Return the report: one table, with the boosts of each shape beside each other."""
    rows = tuple(map(asdict, history.moments))
    return Section(
        name="", page=tuple(_page(history)), result=history, rows=rows, sentence=_sentence(history)
    )


def _page(history: History) -> Iterator[Part]:
    sources = zip(history.datasets, history.sources, strict=True)
    lines = [f"{name} ({source})." for name, source in sources if source]
    yield Heading("history")
    yield Prose(_sentence(history))
    if lines:
        yield Prose(" ".join(lines), remark=True)
    yield _table(history)
    yield Prose(_meaning(history), remark=True)
    alpha = plain_percent(alpha_of(history.level))
    changed = (
        f"Changed since the dataset before. Shapes: the adjusted p is at most {alpha} (Holm over shapes and "
        f"steps). overall: its change excludes zero, at {alpha} shared by the steps."
    )
    some = any(row.changed for row in history.moments)
    yield Bullets(history.caveats, footnotes=(changed,) if some else ())


def _table(history: History) -> Grid:
    many, moments, change = len(history.datasets), history.moments, history.first_to_last
    level = history.level
    ends: list[MeanChange | ShapeChange] = [change.overall, *change.shapes]
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in moments)
    columns: list[Column] = []
    for at, name in enumerate(history.datasets):
        rows, age = moments[at::many], many - 1 - at
        texts = [percent_cell(row.boost, decimals) for row in rows]
        boosts = [
            Cell(text=text, tone=row.verdict or OVERALL, notes=(1,) * row.changed)
            for row, text in zip(rows, texts, strict=True)
        ]
        bounds = [(row.boost_low, row.boost_high) for row in rows]
        # The oldest in between go first, and every interval before any boost.
        columns.append(column(name, boosts, gives_way=age if at else 0))
        columns.append(interval_column(bounds, level=level, decimals=decimals, gives_way=many + age))
    columns.append(column("change %", [percent_cell(row.change, decimals) for row in ends]))
    bounds = [(row.low, row.high) for row in ends]
    columns.append(interval_column(bounds, level=level, decimals=decimals, gives_way=many - 1))
    columns.append(column("verdict", ["", *(VERDICTS[row.verdict] for row in change.shapes)], kind="word"))
    return table(SHAPE, [row.shape for row in moments[::many]], *columns)


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
