"""The report of a history: a table with the boosts of each shape beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from abtune.compare.sentence import of_dependent
from abtune.compare.settings import alpha_of
from abtune.report.columns import OVERALL, decimals_of, interval_column
from abtune.report.page import SHAPE, Bullets, Cell, Heading, Part, Prose, Section, column, table
from abtune.sections.change.change_page import VERDICTS, change_counts, mean_words
from abtune.sections.change.change_results import MeanChange, ShapeChange
from abtune.sections.change.history import History
from abtune.text import count, listed, percent_cell, plain_percent


def history_section(history: History) -> Section:
    """Return the report: one table, with the boosts of each shape beside each other."""
    rows = tuple(map(asdict, history.moments))
    return Section(
        name="", page=tuple(_page(history)), result=history, rows=rows, sentence=_sentence(history)
    )


def _page(history: History) -> Iterator[Part]:
    sources = zip(history.datasets, history.sources, strict=True)
    lines = [f"{name} ({source})." for name, source in sources if source]
    yield Heading(f"history of {history.candidate} against {history.baseline}")
    yield Prose(_sentence(history))
    if lines:
        yield Prose(" ".join(lines), remark=True)
    yield _table(history)
    meaning = (
        "Boosts are in percent. change %, verdict: from the first dataset to the last, as in abtune compare; "
        f"tolerance {plain_percent(history.tolerance)}. overall: geometric mean over these shapes. In a "
        "terminal, boosts have the colours of their verdicts in abtune analyze."
    )
    yield Prose(meaning, remark=True)
    alpha = plain_percent(alpha_of(history.level))
    changed = (
        f"Changed since the dataset before. Shapes: the adjusted p is at most {alpha} (Holm over shapes and "
        f"steps). overall: its change excludes zero, at {alpha} shared by the steps."
    )
    some = any(row.changed for row in history.moments)
    yield Bullets(history.caveats, footnotes=(changed,) if some else ())


def _table(history: History) -> Part:
    many, moments, change = len(history.datasets), history.moments, history.first_to_last
    ends: list[MeanChange | ShapeChange] = [change.overall, *change.shapes]
    decimals = decimals_of((row.boost_low, row.boost_high) for row in moments)
    bounds = [(row.low, row.high) for row in ends]
    columns = [
        column("verdict", ["", *(VERDICTS[row.verdict] for row in change.shapes)], kind="word"),
        column("change %", [percent_cell(row.change, decimals) for row in ends]),
        interval_column(bounds, level=history.level, decimals=decimals, gives_way=many - 1),
    ]
    for number, name in enumerate(history.datasets):
        rows, age = moments[number::many], many - 1 - number
        texts = [percent_cell(row.boost, decimals) for row in rows]
        boosts = [
            Cell(text=text, tone=row.verdict or OVERALL, notes=(1,) * row.changed)
            for row, text in zip(rows, texts, strict=True)
        ]
        bounds = [(row.boost_low, row.boost_high) for row in rows]
        # The oldest in between go first, and every interval before any boost.
        columns.append(column(name, boosts, gives_way=age if number else 0))
        columns.append(interval_column(bounds, level=history.level, decimals=decimals, gives_way=many + age))
    return table(SHAPE, [row.shape for row in moments[::many]], *columns)


def _sentence(history: History) -> str:
    many, ends = len(history.datasets), history.first_to_last
    means = listed(f"{percent_cell(row.boost, 1)}%" for row in history.moments[:many])
    changed = sum(row.changed for row in history.moments[many:])
    said = (
        f"Mean boost of {history.candidate} over {count(len(ends.shapes), 'common shape')}: {means} in "
        f"{count(many, 'dataset')}. From first to last it changed by {mean_words(ends.overall, ends.level)}; "
        f"shapes: {listed(change_counts(ends))}. Significant changes from one dataset to the next: {changed}."
    )
    return " ".join([said, *of_dependent(history.caveats)])
