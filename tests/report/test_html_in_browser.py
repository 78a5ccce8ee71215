"""The HTML report in a browser: sorting, filters, seeds, copying, keyboard, width and paper."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from browser import Page, needs_chromium, visit
from report_builders import typical_analysis
from running import Run

import abtune
from abtune.compare.results import Analysis
from abtune.report.formats import html
from abtune.report.formats.html import _resource
from abtune.report.page import Report
from abtune.report.summary import View, analysis_report
from abtune.sections.change.change_page import change_section

# Labels of the rows that are shown, and cells of a column, in the table of a kind.
TABLE = "[...document.querySelectorAll('.shapes')][%d]"
GROUPS = f"[...{TABLE}.tBodies].filter(group => group.checkVisibility())"
SHAPES = f"{GROUPS}.map(group => group.rows[0].cells[0].dataset.word)"
COLUMN = f"{GROUPS}.map(group => group.rows[0].cells[%d].textContent.trim())"
HEADS = f"[...{TABLE}.querySelectorAll('thead th')]"
# What is wider than its box.
SCROLLED = (
    "[...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth)"
    ".map(box => [box.ariaLabel, box.scrollWidth, box.clientWidth])"
)
COLOURS = (
    "ink",
    "faint",
    "link",
    "improved",
    "regressed",
    "equivalent",
    "not-slower",
    "inconclusive",
    "invalid",
)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return abtune.analyze(abtune.open_dataset("h200-tvm14009"))


@pytest.fixture(scope="module")
def file(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "report.html"
    path.write_text(html.render(analysis_report(analysis)), encoding="utf-8")
    return path


def seen(file: Path, act: Callable[[Page], Awaitable[None]]) -> None:
    """Do something in a page that must not complain."""

    async def watched(page: Page) -> None:
        await act(page)
        assert page.complaints == []

    visit(file, watched)


async def click(page: Page, table: int, column: int) -> None:
    await page.run(f"{HEADS % table}[{column}].querySelector('button').click()")


@needs_chromium
def test_a_click_on_a_heading_sorts(file: Path, analysis: Analysis) -> None:
    """Rows are sorted by numbers, names and verdicts, up and down and back, and unknown numbers stay last."""
    rows = [row for row in analysis.comparisons if row.workload == "conv2d_nhwc"]
    labels = [row.shape for row in rows]

    async def act(page: Page) -> None:
        for way, wanted in (
            ("ascending", sorted(rows, key=lambda row: row.boost)),
            ("descending", sorted(rows, key=lambda row: -row.boost)),
            (None, rows),
        ):
            await click(page, 0, 2)
            assert await page.run(SHAPES % 0) == [row.shape for row in wanted]
            assert await page.run(f"{HEADS % 0}[2].getAttribute('aria-sort')") == way
        await click(page, 0, 5)
        p = [re.sub("^<", "", cell) for cell in await page.run(COLUMN % (0, 5))]
        assert [float(cell) for cell in p] == sorted(map(float, p))
        await click(page, 0, 0)
        natural = sorted(labels, key=lambda label: [int(number) for number in re.findall(r"\d+", label)])
        assert await page.run(SHAPES % 0) == natural
        assert await page.run(f"{HEADS % 0}.filter(head => head.ariaSort).length") == 1
        await click(page, 0, 1)
        verdicts = [re.sub(r"[\d ]+$", "", cell)[2:] for cell in await page.run(COLUMN % (0, 1))]
        assert verdicts == sorted(verdicts, key=["improved", "not slower", "inconclusive"].index)
        await page.run(f"{TABLE % 0}.tBodies[0].rows[0].cells[2].textContent = '-'")
        await page.run(f"{TABLE % 0}.tBodies[1].rows[0].cells[2].textContent = '>1000'")
        await click(page, 0, 2)
        assert (await page.run(COLUMN % (0, 2)))[-2:] == [">1000", "-"]
        await click(page, 0, 2)
        cells = await page.run(COLUMN % (0, 2))
        assert (cells[0], cells[-1]) == (">1000", "-")

    seen(file, act)


@needs_chromium
def test_shapes_are_filtered_by_verdict_and_by_text(file: Path, analysis: Analysis) -> None:
    """Both filters apply at once, to every table of shapes, and the number of shapes left is told."""
    verdicts = {row.shape: row.verdict.words for row in analysis.comparisons}

    async def act(page: Page) -> None:
        async def shown() -> set[str]:
            return {*(await page.run(SHAPES % 0)), *(await page.run(SHAPES % 1))}

        press = "document.querySelector('.counts [data-word=\"%s\"] button').click()"
        told = "document.querySelector('.tools output').value"
        assert await page.run(told) == "29 of 29 shapes"
        await page.run(press % "improved")
        assert await shown() == {shape for shape, words in verdicts.items() if words == "improved"}
        assert await page.run(told) == "2 of 29 shapes"
        await page.run(press % "not slower")
        assert await shown() == {shape for shape, words in verdicts.items() if words != "inconclusive"}
        await page.run("document.querySelector('.tools input').focus()")
        await page.write("M= 2048")
        left = {shape for shape, words in verdicts.items() if words != "inconclusive" and "M=2048" in shape}
        assert await shown() == left
        assert len(left) == 1
        await page.run(press % "improved")
        await page.run(press % "not slower")
        assert await shown() == {shape for shape in verdicts if "M=2048" in shape}
        await page.run("document.querySelector('details').open = true")
        assert await page.run(SHAPES % 2) == sorted(await shown())

    seen(file, act)


@needs_chromium
def test_shapes_are_filtered_by_reading(run: Run, tmp_path: Path) -> None:
    """A count that stands behind its word, such as `not settled: 17`, filters its table, too."""
    file = tmp_path / "same.html"
    run("analyze", "h200-tvm14009", "--section", "same-schedule", "--out", str(file))

    async def act(page: Page) -> None:
        rows = len(await page.run(SHAPES % 0))
        counts = await page.run("[...document.querySelectorAll('.counts button')].map(one => one.innerText)")
        assert sum(int(words.rpartition(": ")[2]) for words in counts) == rows == 29
        for words in counts:
            await page.run(
                f"document.querySelector('[data-word=\"{words.rpartition(': ')[0]}\"] button').click()"
            )
            assert len(await page.run(SHAPES % 0)) == int(words.rpartition(": ")[2])
            await page.run("document.querySelector('[aria-pressed=true]').click()")

    seen(file, act)


@needs_chromium
def test_without_a_table_of_shapes_there_is_no_filter(analysis: Analysis, tmp_path: Path) -> None:
    """A summary has nothing to filter; the filter told `0 of 0 shapes`."""
    path = tmp_path / "summary.html"
    path.write_text(html.render(analysis_report(analysis, view=View(brief=True))), encoding="utf-8")

    async def act(page: Page) -> None:
        assert not await page.run("document.querySelector('.tools').checkVisibility()")

    seen(path, act)


@needs_chromium
def test_the_overall_row_is_no_shape(tmp_path: Path) -> None:
    """Of a comparison, the number of shapes leaves out the row over all of them."""
    pair = (abtune.open_dataset(name) for name in ("h200-tvm14009", "h100-tvm14009-winners"))
    section = change_section(abtune.compare_datasets(*pair), ("", ""))
    path = tmp_path / "compare.html"
    path.write_text(html.render(Report(sections=(section,))), encoding="utf-8")

    async def act(page: Page) -> None:
        assert await page.run("document.querySelector('.tools output').value") == "29 of 29 shapes"

    seen(path, act)


@needs_chromium
def test_a_shape_opens_to_its_seeds(file: Path, analysis: Analysis) -> None:
    """The seeds of a row are hidden until it is opened, move with it, and say what points mean."""
    row = analysis.comparisons[0]

    async def act(page: Page) -> None:
        story = f"{TABLE % 0}.querySelector('.story')"
        assert not await page.run(f"{story}.checkVisibility()")
        await page.run(f"{TABLE % 0}.querySelector('.opener').click()")
        assert await page.run(f"{story}.checkVisibility()")
        text = await page.run(f"{story}.innerText")
        assert row.reason in re.sub(r"\s+", " ", text)
        assert all(gate.asks in re.sub(r"\s+", " ", text) for gate in row.gates)
        tips = await page.run(f"[...{story}.querySelectorAll('.dot title')].map(tip => tip.textContent)")
        assert len(tips) == row.baseline.n + row.candidate.n
        assert all(re.fullmatch(r"seed \d: [\d.,]+ us", tip) for tip in tips)
        await click(page, 0, 1)
        below = f"{GROUPS % 0}.find(group => group.contains({story})).rows[0].cells[0].dataset.word"
        assert await page.run(below) == (await page.run(SHAPES % 0))[0]

    seen(file, act)


@needs_chromium
def test_everything_works_from_the_keyboard(file: Path) -> None:
    """Tab reaches links, verdicts, the filter, headings and shapes; Enter and the space bar act."""
    focus = "document.activeElement.%s"

    async def act(page: Page) -> None:
        async def move_to(selector: str) -> None:
            for _ in range(40):
                await page.press("Tab")
                if await page.run(f"document.activeElement.matches({json.dumps(selector)})"):
                    return
            raise AssertionError(selector)

        await move_to("nav a")
        await move_to(".counts button")
        await page.press(" ")
        assert await page.run(focus % "ariaPressed") == "true"
        await move_to(".tools input")
        await move_to(".shapes thead button")
        await page.press("Enter")
        assert await page.run(focus % "closest('th').ariaSort") == "ascending"
        outline = await page.run("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        await move_to(".opener input")
        await page.press(" ")
        assert await page.run(
            "document.activeElement.closest('tbody').querySelector('.story').checkVisibility()"
        )

    seen(file, act)


@needs_chromium
def test_a_table_is_copied_as_markdown(file: Path, analysis: Analysis) -> None:
    """The rows that are shown are copied in their order, without drawings and stories."""

    async def act(page: Page) -> None:
        await page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        await page.run("document.querySelector('.counts [data-word=improved] button').click()")
        await click(page, 0, 2)
        await page.run(f"{TABLE % 0}.parentElement.nextElementSibling.click()")
        lines = str(await page.run("window.copied")).splitlines()
        best = sorted(
            (row for row in analysis.comparisons if row.verdict == "improved"), key=lambda row: row.boost
        )
        assert [line.split(" | ")[0] for line in lines] == [
            "| shape",
            "| ---",
            *(f"| {row.shape}" for row in best),
        ]
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
        assert lines[0].split(" | ")[1:4] == ["verdict", "boost %", "95% interval"]
        assert re.search(r" \| improved \| \+[\d.]+ \| [+-][\d.]+ to \+[\d.]+ \|", lines[2])

    seen(file, act)


@needs_chromium
def test_nothing_is_wider_than_the_window(file: Path, tmp_path: Path) -> None:
    """No page scrolls sideways, nor a table on a wide screen, whether shapes are open or not."""
    other = tmp_path / "typical.html"
    other.write_text(html.render(analysis_report(typical_analysis())), encoding="utf-8")

    async def act(page: Page) -> None:
        for width in (360, 800, 1023, 1024, 1100, 1220, 1400):
            await page.resize(width)
            for opened in ("false", "true"):
                await page.run(
                    f"document.querySelectorAll('.opener input').forEach(box => box.checked = {opened})"
                )
                assert await page.run("document.documentElement.scrollWidth") <= width
                assert width < 1024 or await page.run(SCROLLED) == []

    seen(file, act)
    seen(other, act)


@needs_chromium
def test_columns_stand_below_each_other(run: Run, tmp_path: Path) -> None:
    """A row whose shape stands in the row above has its cells where that row has them."""
    page_file = tmp_path / "noise.html"
    run("analyze", "h200-pilot", "--section", "noise", "--out", str(page_file))
    cells = "[...document.querySelectorAll('.shapes td')]"
    sides = f"{cells}.filter(cell => /mainline|async/.test(cell.textContent))"

    async def act(page: Page) -> None:
        for width in (1100, 1400):
            await page.resize(width)
            assert (
                await page.run(f"new Set({sides}.map(cell => getComputedStyle(cell).paddingLeft)).size") == 1
            )

    seen(page_file, act)


@needs_chromium
def test_columns_of_all_tables_line_up_on_a_wide_screen(run: Run, tmp_path: Path) -> None:
    """Tables of shapes with long and short labels have their verdicts at one place."""
    page_file = tmp_path / "report.html"
    run("analyze", "h200-deep-winners", "--section", "report", "--out", str(page_file))
    verdicts = "[...document.querySelectorAll('.shapes:has(.opener) tbody .word')]"
    starts = f"{verdicts}.map(cell => Math.round(cell.getBoundingClientRect().x))"

    async def act(page: Page) -> None:
        await page.resize(1400)
        assert await page.run(f"new Set({starts}).size") == 1
        await page.resize(1000)
        assert await page.run(f"new Set({starts}).size") == 2

    seen(page_file, act)


@needs_chromium
def test_a_long_label_leaves_room_for_its_numbers(tmp_path: Path) -> None:
    """It breaks into lines."""
    labels = ["_".join(["long"] * 50), "_".join(["other"] * 40)]
    dataset = abtune.make_dataset([[[2.0, 2.1], [1.0, 1.1]]] * 2, shapes=labels, configs=["old", "new"])
    page_file = tmp_path / "long.html"
    page_file.write_text(html.render(analysis_report(abtune.analyze(dataset))), encoding="utf-8")
    rows = "[...document.querySelectorAll('.shapes tr')]"
    ends = f"{rows}.map(row => row.lastElementChild.getBoundingClientRect().right)"

    async def act(page: Page) -> None:
        await page.resize(1500)
        assert await page.run(f"Math.max(...{ends})") <= 1500

    seen(page_file, act)


@needs_chromium
@pytest.mark.parametrize(
    "command",
    [
        "analyze h200-tvm14009 --section report,noise,curve,overall",
        "analyze h200-pilot --explain M=512_N=3072_K=768",
        "analyze tvm14009-rtx3080 --section single-run",
        "compare h200-tvm14009 h200-deep",
        "history h200-tvm14009 h200-pilot h200-deep",
        "power h200-pilot --shapes 29",
        "calibrate h200-pilot --replications 100",
    ],
)
def test_tables_scroll_beside_their_names_on_a_phone(run: Run, tmp_path: Path, command: str) -> None:
    """No page is wider than a phone or a tablet, and readable names stay where a table scrolls."""
    path = tmp_path / "report.html"
    path.write_text(run(*command.split(), "--format", "html").out, encoding="utf-8")
    names = "[...document.querySelectorAll('tbody th')].map(name => name.getBoundingClientRect().%s)"
    covered = """[...document.querySelectorAll('thead .label')].filter(head => {
        scrollBy(0, head.getBoundingClientRect().top - 200)
        const {left, right, bottom} = head.getBoundingClientRect()
        const points = [...Array(Math.floor(right - left) - 1).keys()].map(x => [left + x + 1, bottom - 12])
        return points.some(point => document.elementFromPoint(...point).closest('th') !== head)}).length"""

    async def act(page: Page) -> None:
        await page.run("document.querySelectorAll('details').forEach(block => block.open = true)")
        for width in (360, 390, 768, 800):
            await page.resize(width)
            assert await page.run("document.documentElement.scrollWidth") <= width
            before = await page.run(names % "left")
            await page.run("document.querySelectorAll('.wide').forEach(box => box.scrollLeft = 99)")
            assert before
            assert await page.run(names % "left") == before
            assert await page.run(covered) == 0
            assert width > 400 or min(await page.run(names % "width")) > 90

    seen(path, act)


@needs_chromium
@pytest.mark.parametrize(
    "command", ["analyze h200-tvm14009", "compare h200-tvm14009 h200-deep", "history h200-pilot h200-deep"]
)
def test_a_phone_shows_the_verdict_with_the_boost_and_its_interval(
    run: Run, tmp_path: Path, command: str
) -> None:
    """Nobody has to scroll for the answer: it stands beside the name, and two columns of numbers do."""
    path = tmp_path / "report.html"
    path.write_text(run(*command.split(), "--format", "html").out, encoding="utf-8")
    numbers = ".shapes td:has(> .verdict) + .number + .number"
    beyond = f"[...document.querySelectorAll('{numbers}')].map(cell => cell.getBoundingClientRect().right)"

    async def act(page: Page) -> None:
        await page.resize(390)
        assert 0 < max(await page.run(beyond)) <= 390

    seen(path, act)


@needs_chromium
def test_the_story_of_a_shape_is_no_wider_than_a_phone(file: Path) -> None:
    """Its lines end within the screen. The table around it may be wider."""
    parts = "[...document.querySelectorAll('.story td > *')].map(part => part.getBoundingClientRect().right)"

    async def act(page: Page) -> None:
        await page.resize(390)
        await page.run(f"{TABLE % 0}.querySelector('.opener input').click()")
        assert 0 < max(await page.run(parts)) <= 390

    seen(file, act)


@needs_chromium
def test_paper_has_the_tables_and_no_controls(file: Path) -> None:
    """In print there are no buttons to press, folded sections are open, and tables are tables."""

    async def act(page: Page) -> None:
        await page.resize(900)
        reasons = "document.querySelector('details table')"
        assert not await page.run(f"{reasons}.checkVisibility()")
        await page.send("Emulation.setEmulatedMedia", media="print")
        for control in ("nav", ".tools", ".copy", ".opener input"):
            assert not await page.run(f"document.querySelector('{control}').checkVisibility()")
        assert await page.run(f"getComputedStyle({TABLE % 0}).display") == "table"
        assert await page.run(f"{reasons}.checkVisibility()")

    seen(file, act)


@needs_chromium
def test_without_script_the_report_is_complete(file: Path, tmp_path: Path) -> None:
    """Tables, seeds and sections are there; controls that would do nothing are not."""
    still = tmp_path / "still.html"
    still.write_text(re.sub("<script>.*</script>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL))

    async def act(page: Page) -> None:
        assert not await page.run("document.querySelector('button')")
        assert not await page.run("document.querySelector('.tools').checkVisibility()")
        await page.run(f"{TABLE % 0}.querySelector('.opener').click()")
        assert await page.run(f"{TABLE % 0}.querySelector('.story').checkVisibility()")

    seen(still, act)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour by WCAG 2."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_of_known_colours() -> None:
    """Black on white has the ratio 21, and #767676 is the lightest grey with 4.5."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_text_can_be_read_on_paper_and_screen() -> None:
    """Every colour of text has a contrast of 4.5 on both backgrounds, light, dark and printed (WCAG 2 AA)."""
    themes = re.findall(r":root \{(.*?)\}", _resource("report.css"), flags=re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme))
        for background in ("paper", "band"):
            poor = {name: contrast(colours[name], colours[background]) for name in COLOURS}
            assert min(poor.values()) >= 4.5, poor
