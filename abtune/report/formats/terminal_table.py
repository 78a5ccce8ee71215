"""The tables of a page for a terminal.

With less room, labels lose the fields that their group shares and break into lines. Then the less important
columns go. Digits are never wrapped or cut. Prose that has no room beside its row stands below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from abtune.report.formats.characters import axis_text, draw_interval, legend
from abtune.report.page import Column, Drawn, Grid, Kind, Page, spans
from abtune.report.text.console import prose, shown, wrap
from abtune.report.text.labels import NARROWEST, fit_labels, width_of_one_line
from abtune.text import NOTHING, some_of

STYLES = {
    "improved": "bold green",
    "regressed": "bold red",
    "equivalent": "cyan",
    "not-slower": "green",
    "inconclusive": "dim",
    "invalid": "bold magenta",
    "overall": "bold",
}
GAP = 2  # cells of the console between two columns
# Only the most important optional column may leave labels less room than this. Most need two lines then.
_PREFERRED = 22
_IMPORTANT = 2  # optional columns that matter more than labels in one line
# The widths that prose beside a row gets at least, the preferred one first, and at most.
_LEAST_PROSE, _MOST_PROSE = (50, 30), 70
_NARROWEST_DRAWING, _WIDEST_DRAWING = 15, 24
_NARROWEST_NAME = 8  # of a dataset above its boosts
_SUPERSCRIPTS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The columns of a table that fit, and what happens to the others."""

    label_width: int  # the width of the labels
    widths: Mapping[int, int]  # the width of each column that fits, by its position
    below: tuple[int, ...]  # the positions of the columns of prose that stand below their rows
    remarks: tuple[str, ...]  # sentences below the table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """A column in characters."""

    heading: str
    cells: tuple[Text, ...]
    kind: Kind | Literal["drawing"]
    gives_way: int

    @property
    def width(self) -> int:
        """The longest line."""
        return max(map(cell_len, (self.heading, *(cell.plain for cell in self.cells))))


def mark(numbers: Sequence[int], *, ascii_only: bool) -> str:
    """Return footnote numbers as superscripts, or in brackets where there are none."""
    if not numbers:
        return ""
    text = ",".join(map(str, numbers))
    return f" [{text}]" if ascii_only else text.translate(_SUPERSCRIPTS)


def fit_tables(page: Page, console: Console) -> dict[int, Fit]:
    """Return how each table of a page fits; tables with the same headings get the same columns."""
    grids = {index: table for index, table in enumerate(page) if isinstance(table, Grid)}
    families: dict[tuple[str, ...], list[int]] = {}
    for index, grid in grids.items():
        families.setdefault((grid.stub, *(column.heading for column in grid.columns)), []).append(index)
    fits: dict[int, Fit] = {}
    for members in families.values():
        fit = _fit([grids[index] for index in members], console)
        # Remarks stand below the last of these tables only.
        fits |= dict.fromkeys(members, replace(fit, remarks=())) | {members[-1]: fit}
    for index in reversed(grids):
        drawn = grids[index].drawn
        if drawn and grids[index].columns.index(drawn) in fits[index].widths:
            remarks = (*fits[index].remarks, legend(drawn, ascii_only=console.options.ascii_only))
            fits[index] = replace(fits[index], remarks=remarks)
            break
    return fits


def print_table(grid: Grid, fit: Fit, console: Console) -> None:
    """Print a table, and the remarks below it."""
    columns = [_texts(column, console, width=fit.widths.get(i)) for i, column in enumerate(grid.columns)]
    rows = list(spans(grid.labels))
    labels = fit_labels([shown(grid.labels[span[0]], console) for span in rows], fit.label_width)
    if labels.shared:
        prose(console, labels.shared, style="dim")
    table = _new_table(grid.stub, columns, fit)
    for span, lines in zip(rows, labels.lines, strict=True):
        for number, row in enumerate(span):
            # The last row of a label takes all the lines that are left of it.
            label = lines[number:] if row == span[-1] else lines[number : number + 1]
            cells = (_cell(columns[index], row, width) for index, width in fit.widths.items())
            table.add_row(_label(label), *cells)
            below = [index for index in fit.below if columns[index].cells[row].plain != NOTHING]
            for index in below:
                console.print(table, crop=False)
                prose(console, columns[index].cells[row].plain, mark=" " * 4)
                table = _new_table(grid.stub, columns, fit)
                table.show_header = False
    if table.row_count:
        console.print(table, crop=False)
    for remark in fit.remarks:
        prose(console, remark, style="dim")


def _fit(grids: Sequence[Grid], console: Console) -> Fit:
    written = [[_texts(column, console) for column in grid.columns] for grid in grids]
    columns = [max(texts, key=lambda column: column.width) for texts in zip(*written, strict=True)]
    labels = [tuple(dict.fromkeys(shown(label, console) for label in grid.labels)) for grid in grids]
    texts = {index for index, column in enumerate(columns) if column.kind == "text"}
    # Labels of rows with a drawing take one line if a narrower drawing makes room for that.
    drawn = grids[0].drawn
    whole = max(map(width_of_one_line, labels), default=0) if drawn else 0
    for least in _LEAST_PROSE:
        asked = [_room(column, least, console) for column in columns]
        if _left_by_important(columns, asked, console.width) < NARROWEST:
            asked = [_below_name(*pair) for pair in zip(columns, asked, strict=True)]
        if drawn:
            position = grids[0].columns.index(drawn)
            narrower = asked[position] - max(whole - _left_by_important(columns, asked, console.width), 0)
            if narrower >= _NARROWEST_DRAWING:
                asked[position] = narrower
        widths, label_width = _choose(columns, asked, labels, console.width, stub=grids[0].stub, whole=whole)
        if texts <= widths.keys():
            break
    spare = max(_left(console.width, widths.values()) - label_width, 0)
    for index in sorted(index for index in widths if columns[index].kind in {"text", "word"}):
        wider = min(columns[index].width, widths[index] + spare, max(_MOST_PROSE, widths[index]))
        spare -= wider - widths[index]
        widths[index] = wider
    gone = [index for index in range(len(columns)) if index not in widths]
    missing = dict.fromkeys(_name(grids[0], index) for index in gone if index not in texts)
    names = some_of([name.replace(" ", "\xa0") for name in missing], most=9)
    return Fit(
        label_width=label_width,
        widths=widths,
        below=tuple(index for index in gone if index in texts),
        remarks=(f"No room at this width for: {names}. Other formats have every column.",) if names else (),
    )


def _name(grid: Grid, index: int) -> str:
    """Return the heading of a column. If others have it, too, the column that it belongs to is named."""
    headings = [column.heading for column in grid.columns]
    own = headings[index]
    owners = [heading for heading in headings[:index] if headings.count(heading) == 1]
    return f"{own} of {owners[-1]}" if headings.count(own) > 1 and owners else own


def _choose(
    columns: Sequence[_Texts],
    widths: Sequence[int],
    groups: Sequence[Sequence[str]],
    width: int,
    *,
    stub: str,
    whole: int,
) -> tuple[dict[int, int], int]:
    """Return the widths of the columns that leave labels readable, and the width of the labels.

    The two most important optional columns may break labels. A further one may not, if labels have room for
    ``whole`` cells without it.
    """
    longest = max((cell_len(label) for labels in groups for label in labels), default=0)
    preferred, least = (max(min(room, longest), len(stub)) for room in (_PREFERRED, NARROWEST))
    kept = {index: widths[index] for index, column in enumerate(columns) if not column.gives_way}
    optional = sorted(set(range(len(columns))) - kept.keys(), key=lambda index: columns[index].gives_way)
    for rank, index in enumerate(optional):
        needed = preferred if rank else least
        if rank >= _IMPORTANT and whole <= _left(width, kept.values()):
            needed = max(needed, whole)
        if needed <= _left(width, (*kept.values(), widths[index])):
            kept[index] = widths[index]
    room = max(_left(width, kept.values()), least)
    widest = max((fit_labels(labels, room).width for labels in groups), default=0)
    return dict(sorted(kept.items())), max(widest, len(stub))


def _left_by_important(columns: Sequence[_Texts], widths: Sequence[int], width: int) -> int:
    """Return the width that the columns which matter most leave to labels."""
    optional = sorted(filter(None, (column.gives_way for column in columns)))
    last = max(optional[:_IMPORTANT], default=0)
    pairs = zip(columns, widths, strict=True)
    return _left(width, (taken for column, taken in pairs if column.gives_way <= last))


def _left(width: int, columns: Iterable[int]) -> int:
    return width - sum(GAP + column for column in columns)


def _room(column: _Texts, least_prose: int, console: Console) -> int:
    """Return the width that a column asks for; names may break, and so may prose."""
    if column.kind == "word":
        texts = {column.heading, *(cell.plain for cell in column.cells)}
        return max(_least_width(text, max(NARROWEST, console.width // 3)) for text in texts)
    return min(column.width, least_prose) if column.kind == "text" else column.width


def _below_name(column: _Texts, width: int) -> int:
    """Return the width of numbers below a heading that breaks, such as the name of a dataset."""
    if column.kind != "number" or " " in column.heading:
        return width
    cells = max((cell_len(cell.plain) for cell in column.cells), default=0)
    return max(cells, _least_width(column.heading, max(_NARROWEST_NAME, cells)))


def _least_width(text: str, most: int) -> int:
    """Return the least width in which a text takes no more lines than in a width of ``most``."""
    widths = range(1, most + 1)
    return next(width for width in widths if len(wrap(text, width)) <= len(wrap(text, most)))


def _texts(column: Column | Drawn, console: Console, *, width: int | None = None) -> _Texts:
    """Write a column: its drawings in a width, or its cells with the marks of their footnotes."""
    ascii_only = console.options.ascii_only
    if isinstance(column, Drawn):
        width = width or min(max(console.width // 5, _NARROWEST_DRAWING), _WIDEST_DRAWING)
        cells = tuple(
            Text(draw_interval(row, column.scale, width, ascii_only=ascii_only), STYLES.get(row.tone, ""))
            for row in column.intervals
        )
        heading = axis_text(column.scale, width)
        return _Texts(heading=heading, cells=cells, kind="drawing", gives_way=column.gives_way)
    cells = tuple(
        Text(shown(cell.text, console) + mark(cell.notes, ascii_only=ascii_only), STYLES.get(cell.tone, ""))
        for cell in column.cells
    )
    heading = shown(column.heading, console)
    return _Texts(heading=heading, cells=cells, kind=column.kind, gives_way=column.gives_way)


def _new_table(stub: str, columns: Sequence[_Texts], fit: Fit) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(Text(stub), width=fit.label_width, no_wrap=True)
    for index, width in fit.widths.items():
        column = columns[index]
        justify: Literal["left", "right"] = "right" if column.kind == "number" else "left"
        heading = "\n".join(wrap(column.heading, width)) if column.kind == "number" else column.heading
        table.add_column(Text(heading), width=width, no_wrap=True, justify=justify)
    # A console that is too narrow even for this table gets longer lines, not fewer digits.
    table.width = fit.label_width + sum(GAP + width for width in fit.widths.values())
    return table


def _label(lines: Sequence[str]) -> Text:
    first, *more = lines or ("",)
    return Text.assemble(first, *((f"\n{line}", "dim") for line in more))


def _cell(column: _Texts, row: int, width: int) -> Text:
    cell = column.cells[row]
    if column.kind in {"number", "drawing"}:
        return cell
    return Text("\n".join(wrap(cell.plain, width)), style=cell.style)
