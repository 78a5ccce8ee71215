"""Every text page at every width: no word or number of a sentence is lost, and no label is cut."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import xarray as xr
from rich.cells import set_cell_size
from rich.console import Console

import abtune
from abtune.analyse.comparison import Analysis
from abtune.analyse.convergence import boost_curve
from abtune.analyse.explain import explain
from abtune.analyse.noise import describe_noise
from abtune.report.columns import report_columns
from abtune.report.curve_page import curve_page
from abtune.report.explain_page import explain_page
from abtune.report.labels import group_by_workload
from abtune.report.layout import break_words, choose_layout, with_marks
from abtune.report.noise_page import noise_page
from abtune.report.notes import collect_notes, design, methods, title
from abtune.report.overall_page import overall_page
from abtune.report.page import Bullets, Grid, Heading, Page, Prose
from abtune.report.terminal import render_terminal
from abtune.report.terminal_page import render_page

WIDTHS = (40, 60, 80, 100, 140)
CJK = "卷积层{}_输入通道六十四_输出通道一百二十八"
LONG = "fused_nn_conv2d_add_relu_some_long_kernel0(1x56x56x64)_and_further_parts_that_go_on_for_very_long"
LABELS = (
    CJK.format("一"),
    CJK.format("二"),
    "🚀" * 40 + "甲",
    "🚀" * 40 + "乙",
    "x" * 149 + "1",
    "x" * 149 + "2",
    LONG,
    "矩阵乘法 M=512_N=256 ünïcode-❤️-straße",
    "N=1_H=56_W=56_C=64_K=64_R=1_S=1_STR=1_PAD=0_DIL=1",
)
CONFIGS = ("基线配置" * 10, "候选-configuration-" * 4)


@pytest.fixture(scope="module")
def report() -> Analysis:
    """Many shapes with names that are hard to set."""
    noise = np.random.default_rng(1).normal(0.0, 0.05, (len(LABELS), 2, 8))
    dataset = abtune.make_dataset(1e-3 * np.exp(noise), shapes=LABELS, configs=CONFIGS)
    return abtune.analyze(dataset)


@pytest.fixture(scope="module")
def measured() -> xr.Dataset:
    """Real searches under such names, with rounds and trials."""
    shapes = [LABELS[0], LABELS[2], LONG]
    return abtune.open_dataset("h200-pilot").assign_coords(shape=shapes, config=list(CONFIGS))


@pytest.fixture(scope="module")
def pages(measured: xr.Dataset) -> dict[str, Page]:
    analysis = abtune.analyze(measured)
    return {
        "explain": explain_page(explain(measured, analysis, LABELS[0], abtune.analyze)),
        "overall": overall_page(analysis),
        "noise": noise_page(describe_noise(measured, analysis)),
        "curve": curve_page(boost_curve(measured, analysis), analysis),
    }


def console_of(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, color_system=None)


def printed(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def squeezed(text: str) -> str:
    return "".join(text.split())


def labels_shown(table: str, label_width: int) -> str:
    """Put together what stands in the first column of a table without the heading."""
    lines = table.splitlines()[1:]
    return squeezed("".join(set_cell_size(line, label_width) for line in lines).replace("_", ""))


def labels_whole(labels: Sequence[str]) -> str:
    return squeezed("".join(labels).replace("_", ""))


def sentences(page: Page) -> Iterator[str]:
    for part in page:
        match part:
            case Heading() | Prose():
                yield part.text
            case Bullets():
                yield from part.items


@pytest.mark.parametrize("width", WIDTHS)
def test_every_sentence_of_the_report_is_whole(report: Analysis, width: int) -> None:
    """Names, reasons and notes are all there, whatever they are made of."""
    console = console_of(width)
    render_terminal(report, console, why=True)
    text = squeezed(printed(console))
    notes = collect_notes(report)
    said = [title(report), design(report), *notes.general, *notes.numbered]
    said += [f"{row.shape}: {row.verdict.value}. {row.reason}" for row in report.comparisons]
    said += [f"{report.definition} {methods(report)}"]
    assert [sentence for sentence in said if squeezed(sentence) not in text] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_label_of_the_report_is_whole(report: Analysis, width: int) -> None:
    """The table of shapes has every character of every label, so that no two shapes look the same."""
    console = console_of(width)
    render_terminal(report, console, why=False)
    columns = with_marks(report_columns(report), collect_notes(report), ascii_only=False)
    layout = choose_layout(columns, group_by_workload(report.comparisons), width)
    table = printed(console).partition("\nshape ")[2].partition("\n\noverall ")[0]
    assert labels_shown(table, layout.label_width) == labels_whole(LABELS)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["explain", "overall", "noise", "curve"])
def test_every_sentence_of_a_page_is_whole(pages: dict[str, Page], name: str, width: int) -> None:
    """What a page says is all there, as is what its drawings are named."""
    console = console_of(width)
    render_page(pages[name], console)
    text = squeezed(printed(console))
    assert [sentence for sentence in sentences(pages[name]) if squeezed(sentence) not in text] == []
    assert "…" not in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["explain", "overall", "noise", "curve"])
def test_every_label_of_a_page_is_whole(pages: dict[str, Page], name: str, width: int) -> None:
    """Tables of pages have every character of every label and of every name beside it."""
    for grid in (part for part in pages[name] if isinstance(part, Grid)):
        console = console_of(width)
        render_page([grid], console)
        columns = break_words(grid.columns, width)
        layout = choose_layout(columns, [grid], width, stub=grid.stub)
        table = printed(console).partition("\nno room at this width")[0]
        assert labels_shown(table, layout.label_width) == labels_whole(grid.labels)
        sides = [column for column in grid.columns if column.key == "side"]
        for character in set("".join(CONFIGS)) if sides else ():
            assert table.count(character) >= len(grid.labels) * "".join(CONFIGS).count(character)


def test_names_beside_drawings_are_whole(pages: dict[str, Page]) -> None:
    """Names too long to stand beside a drawing stand above it."""
    console = console_of(60)
    render_page(pages["explain"], console)
    drawing = printed(console).partition("samples\n")[2].partition("\n•")[0]
    assert all(squeezed(name) in squeezed(drawing) for name in CONFIGS)
    assert max(map(len, drawing.splitlines())) <= 60


def test_names_cannot_shift_the_rows_beside_them() -> None:
    """A line break or an escape sequence in the name of a configuration stays in its line."""
    seconds = 1e-3 * np.exp(np.random.default_rng(1).normal(0.0, 0.05, (2, 2, 8)))
    dataset = abtune.make_dataset(seconds, shapes=["a", "b"], configs=["old\x1b[31m\nx", "new"])
    console = console_of(80)
    render_page(noise_page(describe_noise(dataset, abtune.analyze(dataset))), console)
    rows = [line.split()[:2] for line in printed(console).splitlines() if "old?[31m?x " in line]
    assert [row[0] for row in rows] == ["old?[31m?x", "a", "b"]
    assert all("new" not in row for row in rows)
    assert "\x1b" not in printed(console)
