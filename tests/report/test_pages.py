"""Pages: set for any width and as markdown, with nothing lost."""

from __future__ import annotations

import pytest
from report_builders import NAN, fields_in, printed, report_of

from abtune.report.formats import markdown, terminal
from abtune.report.page import (
    SHAPE,
    Bullets,
    Cell,
    Dots,
    Drawn,
    Folded,
    Grid,
    Heading,
    Page,
    Prose,
    Strip,
    Tally,
    column,
    spans,
)
from abtune.report.scale import Interval, Scale
from abtune.shapes import PRESETS

LABELS = tuple(shape.label for shape in PRESETS["tvm14009"][:3])
SCALE = Scale(low=-0.5, high=0.5, margin=0.02)


def drawn(rows: int, gives_way: int = 2) -> Drawn:
    return Drawn(
        intervals=(Interval(low=-0.1, value=0.1, high=0.9),) * rows, scale=SCALE, gives_way=gives_way
    )


def grid(stub: str = SHAPE) -> Grid:
    """Three shapes, two rows each."""
    return Grid(
        stub=stub,
        labels=tuple(label for label in LABELS for _ in "ab"),
        columns=(
            column("side", ["a", "b"] * 3, kind="word"),
            column("number", ["1.5", "22.25", "-", "-", "3", "4"]),
            column("other", ["alpha", "beta", "gamma", "delta", "x", "y"], gives_way=1),
            drawn(6),
        ),
    )


def page() -> Page:
    strip = Strip(name="mainline", values=(1.0, 2.0, 2.0), marked=1.6, mark="1.6 us")
    return (
        Heading(text="title", minor=False),
        Prose(text="Some words. " * 20, remark=True),
        Heading(text="less", minor=True),
        grid(),
        Bullets(items=("One thing is said.", "And <another> | thing."), footnotes=("A note.",)),
        Dots(strips=(strip,), low="1.0 us", high="2.0 us"),
    )


def beside(number: str) -> Grid:
    """Two rows with a number and prose."""
    words = column("meaning", ["Every word of it. " * 8, "Other words."], kind="text", gives_way=1)
    return Grid(stub="name", labels=("one", "two"), columns=(column("n", [number, "2"]), words))


@pytest.mark.parametrize("width", range(50, 130, 7))
def test_lines_fit_and_labels_are_whole(width: int) -> None:
    """At every width lines fit, numbers are whole, and every part of every label is there."""
    text = printed(page(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "22.25" in text
    assert {field for label in LABELS for field in label.split("_")} == set(fields_in(text))


def test_columns_that_give_way_are_named() -> None:
    """Where there is no room a column goes, and the page says which."""
    assert "No room" not in printed(page(), 120)
    narrow = printed((grid(),), 50)
    assert "No room at this width for: drawing." in narrow
    assert "●" not in narrow


def test_tables_with_the_same_headings_have_the_same_columns() -> None:
    """Columns line up across tables, and what is missing is said once, below the last one."""
    short = Grid(
        stub="n",
        labels=("1",),
        columns=(column("name", ["x"], kind="word"), column("more", ["22"], gives_way=1)),
    )
    long = Grid(
        stub="n",
        labels=("a much longer label",),
        columns=(column("name", ["y" * 8], kind="word"), column("more", ["1" * 30], gives_way=1)),
    )
    lines = printed((short, long), 80).splitlines()
    assert lines[0] == lines[3]
    narrow = printed((short, long), 50)
    assert "22" not in narrow
    assert narrow.count("No room at this width for: more.") == 1
    assert " ".join(narrow.split()).endswith("Other formats have every column.")


def test_short_labels_need_little_room() -> None:
    """Labels of a few characters do not keep columns out."""
    small = Grid(stub="n", labels=("1", "2"), columns=(column("a", ["x" * 40] * 2, gives_way=1),))
    assert "x" * 40 in printed((small,), 50)


def test_a_small_column_takes_the_room_that_a_larger_one_cannot_use() -> None:
    """Less important columns stay if they fit where a more important one does not."""
    columns = (column("wide", ["x" * 40], gives_way=1), column("small", ["yy"], gives_way=2))
    text = printed((Grid(stub="n", labels=("a" * 30,), columns=columns),), 50)
    assert "yy" in text
    assert "No room at this width for: wide." in text


def test_labels_that_repeat_are_shown_once() -> None:
    """Rows of one label have it in the first row; other rows of the same label further down show it again."""
    assert [list(rows) for rows in spans(["a", "a", "b", "a"])] == [[0, 1], [2], [3]]
    assert list(spans([])) == []
    rows = Grid(stub="n", labels=("a", "a", "b"), columns=(column("side", ["x", "y", "z"], kind="word"),))
    assert [line.split() for line in printed((rows,), 60).splitlines()] == [
        ["n", "side"],
        ["a", "x"],
        ["y"],
        ["b", "z"],
    ]


def test_prose_in_a_table_wraps_beside_its_row() -> None:
    """Prose takes the room that the other columns leave, and nothing of it is lost."""
    lines = printed((beside("1"),), 80).splitlines()
    assert lines[0].split() == ["name", "n", "meaning"]
    assert {line[:9] for line in lines[2:-1]} == {" " * 9}
    assert " ".join(line[9:] for line in lines[1:-1]) == ("Every word of it. " * 8).strip()
    assert max(map(len, printed((beside("1"),), 10_000).splitlines())) <= 9 + 70


def test_prose_that_has_no_room_stands_below_its_row() -> None:
    """Rows keep their columns, and no column is called missing."""
    text = printed((beside("1" * 30),), 50)
    assert "meaning" not in text
    assert "No room" not in text
    lines = text.splitlines()
    assert lines[2].startswith("    Every word of it.")
    assert lines[-2].split() == ["two", "2"]
    assert lines[-1] == "    Other words."
    assert lines[-2].index("2") == lines[1].rindex("1")
    assert " ".join(line.strip() for line in lines[2:-2]) == ("Every word of it. " * 8).strip()


def test_drawings_are_explained_once() -> None:
    """The last table with drawings has the legend below it, in every format; a page without has none."""
    one = Grid(stub="n", labels=("a",), columns=(drawn(1),))
    other = Grid(stub="m", labels=("b",), columns=(drawn(1),))
    parts = (one, Prose(text="Between.", remark=False), other, Prose(text="After.", remark=False))
    for text in (printed(parts, 80), markdown.render(report_of(parts))):
        assert text.count("Drawing: ") == 1
        assert text.index("Between.") < text.index("Drawing: ") < text.index("After.")
    assert "Drawing" not in printed((grid("n"),), 50)


def test_folded_parts_are_there_or_pointed_to() -> None:
    """A terminal has nothing to click on: it shows the parts, or names the option that does."""
    folded = Folded(summary="Why", option="--why", unfolded=False, parts=(Prose(text="So.", remark=False),))
    assert printed((folded,), 80) == "Why: see --why.\n"
    unfolded = Folded(summary="Why", option="--why", unfolded=True, parts=folded.parts)
    assert printed((unfolded,), 80) == "Why\nSo.\n"
    text = markdown.render(report_of((folded,)))
    assert text == "<details><summary>Why</summary>\n\nSo.\n\n</details>\n"
    assert "<details open>" in markdown.render(report_of((unfolded,)))


def test_footnotes_have_marks() -> None:
    """A cell has the numbers of its footnotes, which stand below the sentences without a number."""
    cell = Cell(text="invalid", tone="invalid", notes=(1, 2))
    table = Grid(stub="n", labels=("a",), columns=(column("verdict", [cell], kind="word"),))
    parts = (table, Bullets(items=("First.",), footnotes=("One.", "Two.")))
    assert "invalid¹ ²" in printed(parts, 80)
    assert "• First.\n¹ One.\n² Two.\n" in printed(parts, 80)
    text = markdown.render(report_of(parts))
    assert "| **invalid**[^1][^2] |" in text
    assert "- First.\n\n[^1]: One.\n[^2]: Two." in text


def test_a_tally_breaks_between_its_counts() -> None:
    """A line never ends between a number and its word."""
    cells = tuple(Cell(text=f"{n} inconclusive") for n in range(10, 20))
    lines = printed((Tally(cells=cells, words=("inconclusive",) * 10),), 50).splitlines()
    assert all(line.rstrip(",").endswith("inconclusive") for line in lines)
    assert sum(line.count("inconclusive") for line in lines) == 10


def test_markdown_has_a_row_a_line_and_keeps_drawings() -> None:
    """Labels stand in every row of markdown; drawings keep their blanks and bars."""
    text = markdown.render(report_of(page()))
    assert text.count(f"| `{LABELS[0]}` |") == 2
    (cell,) = {line.split("|")[5].strip(" `") for line in text.splitlines() if "●" in line and "|" in line}
    assert len(cell) == 24
    assert " " not in cell
    assert "- And \\<another\\> \\| thing." in text
    assert "### less" in text


def test_labels_that_are_no_shapes_are_words_in_markdown() -> None:
    """Only labels of shapes are set as code."""
    words = Grid(stub="n", labels=("a*b",), columns=(column("c", ["1"]),))
    assert "`" not in markdown.render(report_of((words,)))


def test_a_file_gets_whole_labels() -> None:
    """What is not a terminal is as wide as its tables."""
    text = terminal.render(report_of(page()), None)
    assert all(label in text for label in LABELS)


def test_unknown_intervals_are_drawn_as_nothing() -> None:
    """A row without numbers has an empty drawing but for zero."""
    row = Interval(low=NAN, value=NAN, high=NAN)
    table = Grid(stub="n", labels=("a",), columns=(Drawn(intervals=(row,), scale=SCALE, gives_way=1),))
    assert printed((table,), 80).splitlines()[1].split() == ["a", "│"]
