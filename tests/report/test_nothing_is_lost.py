"""Every text page at every width: no word or number of a sentence is lost, and no label is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
import xarray as xr
from report_builders import printed
from rich.cells import cell_len, set_cell_size
from rich.console import Console

import abtune
from abtune.compare.results import Analysis
from abtune.report.formats.terminal_table import GAP, Fit, fit_tables
from abtune.report.page import Bullets, Column, Folded, Grid, Heading, Page, Part, Prose, Tally, spans
from abtune.report.summary import View, analysis_section
from abtune.sections.curve.curve import boost_curve, curve_page
from abtune.sections.explain import explain_all, explain_page
from abtune.sections.noise import describe_noise, noise_page
from abtune.sections.overall_page import overall_section

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
def pages(report: Analysis, measured: xr.Dataset) -> dict[str, Page]:
    analysis = abtune.analyze(measured)
    return {
        "report": analysis_section(report, View(why=True)).page,
        "explain": explain_page(explain_all(analysis, LABELS[0])[0]),
        "overall": overall_section(analysis).page,
        "noise": tuple(noise_page(describe_noise(analysis))),
        "curve": tuple(curve_page(boost_curve(analysis), analysis.settings.margin)),
    }


PAGES = ("report", "explain", "overall", "noise", "curve")


def squeezed(text: str) -> str:
    return "".join(text.split())


def unfolded(page: Page) -> Iterator[Part]:
    for part in page:
        yield from unfolded(part.parts) if isinstance(part, Folded) else [part]


def sentences(page: Page) -> Iterator[str]:
    for part in unfolded(page):
        match part:
            case Heading() | Prose():
                yield part.text
            case Bullets():
                yield from (*part.items, *part.footnotes)
            case Tally():
                yield from (cell.text for cell in part.cells)


def between(line: str, start: int, stop: int) -> str:
    """Return what stands between two cells of a line."""
    rest = line[len(set_cell_size(line, start)) :]
    return set_cell_size(rest, stop - start)


def below_heading(table: str, fit: Fit) -> list[str]:
    """Return the lines below a heading; its last line has the name of the labels."""
    lines = table.splitlines()
    heading = next(number for number, line in enumerate(lines) if between(line, 0, fit.label_width).strip())
    return lines[heading + 1 :]


def shown_labels(table: str, fit: Fit) -> str:
    """Put together the first column, without the prose that stands below rows."""
    lines = [line for line in below_heading(table, fit) if not line.startswith("    ")]
    return squeezed("".join(between(line, 0, fit.label_width) for line in lines))


def shown_column(table: str, fit: Fit, index: int) -> str:
    """Put together a column of a table."""
    before = [width for position, width in fit.widths.items() if position < index]
    start = fit.label_width + sum(GAP + width for width in before) + GAP
    lines = below_heading(table, fit)
    return squeezed("".join(between(line, start, start + fit.widths[index]) for line in lines))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_every_sentence_is_whole(pages: dict[str, Page], name: str, width: int) -> None:
    """What a page says is all there: names, notes, counts, and what its drawings are named."""
    text = squeezed(printed(pages[name], width))
    assert [sentence for sentence in sentences(pages[name]) if squeezed(sentence) not in text] == []
    assert "…" not in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_every_label_is_whole(pages: dict[str, Page], name: str, width: int) -> None:
    """Tables have every character of every label, so that no two rows look the same."""
    for grid in (part for part in unfolded(pages[name]) if isinstance(part, Grid)):
        fit = fit_tables([grid], Console(width=width, color_system=None))[0]
        table = printed([grid], width).partition("\nNo room at")[0].partition("\nDrawing:")[0]
        labels = "".join(grid.labels[rows[0]] for rows in spans(grid.labels))
        assert shown_labels(table, fit).replace("_", "") == squeezed(labels).replace("_", "")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_names_and_prose_in_tables_are_whole(pages: dict[str, Page], name: str, width: int) -> None:
    """Names beside labels and sentences in tables are all there, beside their rows or below them."""
    for grid in (part for part in unfolded(pages[name]) if isinstance(part, Grid)):
        fit = fit_tables([grid], Console(width=width, color_system=None))[0]
        table = printed([grid], width).partition("\nNo room at")[0].partition("\nDrawing:")[0]
        for index, column in enumerate(grid.columns):
            if not isinstance(column, Column) or column.kind == "number":
                continue
            texts = [squeezed(cell.text) for cell in column.cells]
            if index in fit.below:
                assert all(text in squeezed(table) for text in texts)
            elif not fit.below:
                unmarked = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]", "", shown_column(table, fit, index))
                assert unmarked == "".join(texts)


def test_names_beside_drawings_are_whole(pages: dict[str, Page]) -> None:
    """Names too long to stand beside a drawing stand above it."""
    drawing = printed(pages["explain"], 60).partition("samples\n")[2].partition("\n•")[0]
    assert all(squeezed(name) in squeezed(drawing) for name in CONFIGS)
    assert max(map(cell_len, drawing.splitlines())) <= 60


def test_names_cannot_shift_the_rows_beside_them() -> None:
    """A line break or an escape sequence in the name of a configuration stays in its line."""
    seconds = 1e-3 * np.exp(np.random.default_rng(1).normal(0.0, 0.05, (2, 2, 8)))
    dataset = abtune.make_dataset(seconds, shapes=["a", "b"], configs=["old\x1b[31m\nx", "new"])
    text = printed(tuple(noise_page(describe_noise(abtune.analyze(dataset)))), 80)
    rows = [line.split()[:2] for line in text.splitlines() if "old?[31m?x " in line]
    assert [row[0] for row in rows] == ["old?[31m?x", "a", "b"]
    assert all("new" not in row for row in rows)
    assert "\x1b" not in text
