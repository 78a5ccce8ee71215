"""Published tables: every figure comes through to the last digit, and every fault is named with its line."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import abtune
from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.importers import recognise
from abtune.ingest.sources import Source
from abtune.ingest.timings.published import PUBLISHED, read_tables
from abtune.ingest.timings.timing_cells import Imported, import_readings
from abtune.ingest.units import published_flop
from abtune.shapes import PRESETS, Gemm

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "data" / "tvm14009-rtx3080.md"
GEMM = "M=512_N=256_K=640"


def imported(text: str, unit: str = "") -> Imported:
    return import_readings({Source(path=Path("t.md")): read_tables(text, unit)}, shape="")


def parse(text: str, unit: str = "gflops") -> xr.Dataset:
    return imported(text, unit).dataset


def published_rows() -> list[list[str]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith(("| N=", "| M="))]


MARKDOWN = "|Shape|old (s)|new (s)|\n|-|-|-|\n|x|1|2."


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        *((MARKDOWN, True), (f"{MARKDOWN}5|", False)),
        *((f"{MARKDOWN}5|\n", False), (f"{MARKDOWN}5|\nend", False)),
    ],
)
def test_a_last_line_that_does_not_end_is_said(tmp_path: Path, text: str, *, is_cut: bool) -> None:
    """Its last number may lack digits; a closing bar or the end of the line shows that it does not."""
    (tmp_path / "t").write_text(text, encoding="utf-8")
    notes = PUBLISHED.read([Source(path=tmp_path / "t")], {"unit": ""}).notes
    assert any("its last line does not end" in note for note in notes) == is_cut


@pytest.mark.parametrize(
    "text",
    [
        " kernel | old (ms) | new (ms) \n--------+----------+----------\n gemm   |      1.5 | 1\n(1 row)\n",
        "| Kernel | old (ms) | new (ms) |\n|--------+----------+----------|\n| gemm   |      1.5 | 1 |\n",
        "|    | kernel | old (ms) | new (ms) |\n|---:|:-------|------:|------:|\n|  0 | gemm | 1.5 | 1 |\n",
        "+--+----+\n|  | kernel | old (ms) | new (ms) |\n|--+----|\n| 0 | gemm | 1.5 | 1 |\n+--+----+\n",
    ],
)
def test_psql_org_mode_and_pandas_draw_tables(tmp_path: Path, text: str) -> None:
    """They differ in their rules, and pandas numbers the rows, also where it draws as psql does."""
    (tmp_path / "t").write_text(text, encoding="utf-8")
    sources = [Source(path=tmp_path / "t")]
    assert recognise(sources) is PUBLISHED
    imported = PUBLISHED.read(sources, {"unit": ""})
    assert imported.notes[1:] == ()
    assert imported.dataset["shape"].values.tolist() == ["gemm"]
    assert imported.dataset["latency"].values.ravel().tolist() == [0.0015, 0.001]


def table(*rows: str, heading: str = "|Shape|a|b|boost|") -> str:
    return "\n".join(["Workload: GEMM NN", "", heading, "|-|-|-|-|", *rows])


def test_every_published_boost_comes_out_to_the_last_digit() -> None:
    """The ratio of latencies gives each of the 29 published boosts within a few units of rounding."""
    latency = abtune.open_dataset("tvm14009-rtx3080")["latency"].squeeze()
    rows = published_rows()
    assert len(rows) == 29
    for label, _, _, boost in rows:
        baseline, candidate = latency.sel(shape=label).values
        speedup = 1 + float(boost.rstrip("%")) / 100
        assert baseline / candidate == pytest.approx(speedup, rel=1e-14)


def test_published_throughput_comes_back() -> None:
    """Operations by the published count over latency are the published GFLOPS."""
    latency = abtune.open_dataset("tvm14009-rtx3080")["latency"].squeeze()
    for label, *gflops, _ in published_rows():
        shape = next(shape for shape in PRESETS["tvm14009"] if shape.label == label)
        rates = published_flop(shape) / latency.sel(shape=label).values / 1e9
        assert rates == pytest.approx([float(rate) for rate in gflops], rel=1e-14)


def test_the_bundled_dataset_is_the_table() -> None:
    """The script that makes the bundled dataset makes just this one."""
    script = ROOT / "analysis" / "studies" / "make_tvm14009_table.py"
    spec = importlib.util.spec_from_file_location("make_tvm14009_table", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bundled = abtune.open_dataset("tvm14009-rtx3080")
    built = module.build().assign_attrs(abtune_version=bundled.attrs["abtune_version"])
    xr.testing.assert_identical(built, bundled)


def test_operations_are_counted_as_published() -> None:
    """A product counts 2 (M N K + M N); a convolution counts as the product that it implies."""
    assert published_flop(Gemm(m=2, n=3, k=5)) == 2 * (2 * 3 * 5 + 2 * 3)
    first = PRESETS["tvm14009"][0]
    m, n, k = 112 * 112, 64, 7 * 7 * 3
    assert published_flop(first) == 2 * (m * n * k + m * n)


@given(rates=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=5))
def test_any_number_of_configurations(rates: list[float]) -> None:
    """Each further column is a configuration, named by its heading, its latency inverse to its rate."""
    names = [f"config {number}" for number in range(len(rates))]
    text = f"|Shape|{'|'.join(names)}|\n|-|\n|{GEMM}|{'|'.join(map(repr, rates))}|"
    dataset = parse(text)
    assert dataset["config"].values.tolist() == names
    assert dataset["latency"].values.ravel() * np.array(rates) * 1e9 == pytest.approx(
        published_flop(Gemm(m=512, n=256, k=640))
    )


def test_text_around_and_between_tables_is_ignored() -> None:
    """Several tables of the same configurations become one dataset; prose and other tables are skipped."""
    text = "\n\n".join(
        [
            "# Results",
            "|Machine|GPU|\n|-|-|\n|mine|RTX|",
            table(f"|{GEMM}|1|2|100%|"),
            "| shape | a | b |\n| :-- | --: | --: |\n| `M=1_N=1_K=1` | 1.5 | n/a |\n\nThe end.",
        ]
    )
    dataset = parse(text)
    assert dataset["shape"].values.tolist() == [GEMM, "M=1_N=1_K=1"]
    assert dataset["workload"].values.tolist() == ["gemm_nn", "gemm_nn"]
    assert math.isnan(dataset["latency"].values.ravel()[-1])


def test_a_cell_may_say_that_its_run_failed() -> None:
    """A failure that counts as missing would hide that one side fails more often."""
    dataset = parse(table(f"|{GEMM}|1|2|100%|", "|M=1_N=1_K=1|OOM|-|-|"))
    failed, missing = RunStatus.FAILED, RunStatus.MISSING
    assert dataset["run_status"].values.tolist() == [[[0], [0]], [[failed], [missing]]]


def test_a_table_of_means_or_of_nothing_may_stand_apart() -> None:
    """The other tables of a text are read all the same."""
    heading = "|Shape|a (ms)|b (ms)|\n|-|-|-|\n"
    read = imported(f"{heading}|x|1|2|\n\n{heading}|geomean|1|2|\n\n{heading}|y|-|-|\n")
    assert read.dataset["shape"].values.tolist() == ["x"]
    assert [note.partition(": ")[2][:15] for note in read.notes[1:]] == ["line 7 left out", "2 cells without"]


def test_tables_that_are_left_out_are_said(tmp_path: Path) -> None:
    """A table whose heading is none of results may hold some all the same."""
    first = "| Layer | a (ms) | b (ms) |\n|---|--:|--:|\n| x | 1 | 2 |\n"
    path = tmp_path / "t.md"
    path.write_text(f"{first}\nWithout units:\n\n{first.replace(' (ms)', '')}", encoding="utf-8")
    imported = PUBLISHED.read([Source(path=path)], {"unit": ""})
    assert imported.dataset.sizes["shape"] == 1
    said = "the table in line 7 is left out: its heading does not begin with Shape, or a column has no unit"
    assert imported.notes[1:] == (f"{path}: {said}",)
    path.write_text(first, encoding="utf-8")
    assert PUBLISHED.read([Source(path=path)], {"unit": ""}).notes[1:] == ()


@pytest.mark.parametrize("between", ["", "<!-- of another day -->", "Later:"])
def test_rows_without_a_heading_are_said(tmp_path: Path, between: str) -> None:
    """An empty line or a comment ends a table of markdown, and the rows below it would go without a word."""
    first = "| Layer | a (ms) | b (ms) |\n|---|--:|--:|\n| x | 1 | 2 |\n"
    path = tmp_path / "t.md"
    path.write_text(f"{first}{between}\n| y | 1 | 2.5 |\n| z | 1 | 2 |", encoding="utf-8")
    imported = PUBLISHED.read([Source(path=path)], {"unit": ""})
    said = "the rows from line 5 on are left out: they have no heading; take out what stands between them and"
    assert imported.dataset["shape"].values.tolist() == ["x"]
    assert imported.notes[1:] == (f"{path}: {said} their table",)


def test_beside_times_any_label_is_a_shape() -> None:
    """Only a throughput needs operations; what a label says of them is kept where it does."""
    heading = "|Shape|old (ms)|new (us)|boost|"
    dataset = parse(table("|softmax 4096|1.5|1200|+25%|", f"|{GEMM}|1|500|100%|", heading=heading))
    assert dataset["shape"].values.tolist() == ["softmax 4096", GEMM]
    assert dataset["workload"].values.tolist() == ["", "gemm_nn"]
    np.testing.assert_allclose(dataset["latency"].values[0].ravel(), [1.5e-3, 1.2e-3], rtol=1e-14)
    np.testing.assert_array_equal(dataset["flop"].values, [np.nan, 2 * 512 * 256 * 640])
    assert "flop" not in parse(table("|softmax|1|2|", heading="|Shape|a (s)|b (s)|"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no table here"),
        ("|Shape|a|b|\n|-|-|-|", "no table here"),
        ("|Shape|a|\n|-|-|\n", "line 1: needs a column of times, or a column for each"),
        ("|Shape|a|a|\n|-|-|\n", "line 1: needs a column of times, or a column for each"),
        ("|Shape|a||\n|-|-|\n", "line 1: column '': a heading is NAME"),
        (table(f"|{GEMM}|1|2|"), "line 5: 3 cells under a heading of 4; complete the line or take"),
        (
            table("|résumé 7|1|2|", heading="|Shape|a (ms)|b|"),
            "line 3: columns of times stand beside throughputs, or kinds of throughputs; keep one kind",
        ),
        (
            table(f"|{GEMM}|1|2|", heading="|Shape|a (GB/s)|b|"),
            "columns of times stand beside throughputs, or kinds",
        ),
        (table("|Geomean|1|2|100|"), "^line 5 left out: 'Geomean' sums up other lines; if it is a shape"),
        (table("||1|2|", heading="|Shape|a (ms)|b (s)|"), "line 5: column Shape is empty"),
        (
            table(f"|{GEMM}|fast|2|100|"),
            "line 5: column a: 'fast' is not a number; if that run failed, leave",
        ),
        (table(f"|{GEMM}|0|2|100|"), "line 5: column a: a throughput must be positive, not 0"),
        (table(f"|{GEMM}|1|1e999|100|"), "line 5: column b: a throughput must be positive, not 1e999"),
        (table(f"|{GEMM}|1|2|1e999|"), "line 5: the boost is printed as 1e999, but the row gives 100%"),
        (table(f"|{GEMM}|1|2|nan%|"), "line 5: the boost is printed as nan%, but the row gives 100%"),
        (table(f"|{GEMM}|-|n/a|-|"), "^has a heading and no timings"),
        (
            table(f"|{GEMM}|1|2|much|"),
            "line 5: 'much' is not a number; write the number alone, such as 1.25x",
        ),
        (table(f"|{GEMM}|1|2|50%|"), "line 5: .* printed as 50%, but .* 100% or 2x; take the column out"),
        (
            table(f"|{GEMM}|1|2|100|", f"|{GEMM}|1|2|100|"),
            "line 6: shape M=512_N=256_K=640 is in line [0-9] already; if it is another, write more",
        ),
        (table() + f"\n|{GEMM}|1|2|100|\n\n|Shape|a|c|\n|-|-|-|", "line 7: configurations are"),
    ],
)
def test_faults_are_named_with_their_line(text: str, message: str) -> None:
    """Whatever is wrong with a table is said with the number of its line."""
    with pytest.raises(AbtuneError, match=message):
        parse(text)


def test_cells_may_have_units_of_their_own() -> None:
    """Tools scale each time, as in comments on pull requests; the printed digits count for a boost, too."""
    table = (
        "|Kernel|before|**after**|speedup|\n|-|-|-|-|\n|a|1.2 ms|`1.1ms`|1.13x|\n|b|850 \u00b5s|0.8 ms||\n"
    )
    dataset = parse(table, "")
    assert dataset["latency"].values.ravel().tolist() == [1.2e-3, 1.1e-3, 850e-6, 0.8e-3]
    rates = parse("|Shape|old|new|\n|-|-|-|\n|x|1.5 TFLOPS|900 GFLOP/s|\n|y|-|2.0 TFLOPS|\n", "")
    assert rates["latency"].values.ravel().tolist()[:2] == [1 / 1500, 1 / 900]
    summed = parse("|Shape|old|new|error|\n|-|-|-|-|\n|x|2 ms|1 ms|0.1 ms|\n|Geomean||2.0x||\n", "")
    assert summed["latency"].values.ravel().tolist() == [2e-3, 1e-3]
    for cells, said in (
        (
            "1 200 ms|1 ms",
            "line 3: '1 200 ms' is not a number with its unit; write the unit into the heading",
        ),
        (
            "9 ms|1,200 ms",
            "line 3: '1,200 ms' is .*; write 1200 ms if the comma marks thousands, or 1.200 ms$",
        ),
        ("9 ms|1,200.5 ms", "'1,200.5 ms' is not a number with its unit; write 1200.5 ms$"),
        ("1.2 ms|9 GB/s", "kinds of throughputs; keep one kind"),
        ("1.2 ms|9", "column 'new' has no unit beside one that has"),
    ):
        with pytest.raises(AbtuneError, match=said):
            parse(f"|Shape|old|new|\n|-|-|-|\n|x|{cells}|\n", "")


def test_a_bar_behind_a_backslash_is_part_of_its_cell() -> None:
    """Markdown writes a label with a bar so."""
    table = "| Kernel | a (ms) | b (ms) |\n|---|---|---|\n| x\\|y | 1 | 2 |\n"
    dataset = parse(table)
    assert dataset["shape"].item() == "x|y"
    assert dataset["latency"].values.ravel().tolist() == [1e-3, 2e-3]


def test_a_drawn_table_is_a_table() -> None:
    """The rules that psql and tabulate draw between lines do not end it."""
    rule = "+-------+----------+==========+"
    lines = [
        rule,
        "| Shape | old (ms) | new (ms) |",
        rule,
        "| x | 1.5 | 1.25 |",
        rule,
        "| y | 2 | 1.75 |",
        rule,
    ]
    dataset = parse("\n".join(lines))
    assert dataset["latency"].values.ravel().tolist() == [1.5e-3, 1.25e-3, 2e-3, 1.75e-3]


@pytest.mark.parametrize("heading", ["Performance Boost", "perf boost (%)", "Boost"])
def test_a_boost_of_several_words_is_checked_and_dropped(heading: str) -> None:
    """The heading of the second published table is read; a wrong boost below it is refused."""
    text = table(f"|{GEMM}|13838.05219|14687.89452|{{}}|", heading=f"|Shape|a|b|{heading}|")
    assert list(parse(text.format("6.141343581679319%"))["config"].values) == ["a", "b"]
    with pytest.raises(DatasetError, match=r"line 5: the boost is printed as 7%, but the row gives 6"):
        parse(text.format("7%"))


def test_a_boost_is_over_the_baseline_in_any_order_of_columns() -> None:
    """The configuration that a name calls the baseline is what the boost is over, also where it is last."""
    text = table(f"|{GEMM}|10607.37|8678.46|22.23%|", heading="|Shape|Async|Mainline|boost|")
    assert parse(text)["config"].values.tolist() == ["Async", "Mainline"]
    with pytest.raises(DatasetError, match=r"printed as -18.18%, but the row gives 22.2264%"):
        parse(text.replace("22.23%", "-18.18%"))


def test_a_boost_beside_three_configurations_has_to_fit_two_of_them() -> None:
    """A column that is called a boost and holds something else is not dropped without a word."""
    text = f"|Shape|a|b|c|turbo boost|\n|-|-|-|-|-|\n|{GEMM}|100|110|150|{{}}|"
    assert parse(text.format("50%")).sizes["config"] == 3
    with pytest.raises(DatasetError, match="line 3: the boost is printed as 160"):
        parse(text.format("160"))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "3,000",
            "'3,000' is not a number; write 3000 if the comma marks thousands, or 3.000; if semicolons",
        ),
        (
            "3.0 \u00b1 0.1",
            "is not a number; write the number alone, without its error",
        ),
        (
            "3.0 ms",
            "'3.0 ms' is not a number; write the unit into the heading, such as time .ms., and the number",
        ),
        ("+7%", "'.7%' is not a number; a column of boosts is called boost"),
        (
            "-3",
            "a time must be positive, not -3; if that run failed, leave the cell empty",
        ),
    ],
)
def test_a_cell_without_a_number_says_what_to_write(cell: str, said: str) -> None:
    """Only where it looks like a boost is a column of boosts spoken of."""
    with pytest.raises(DatasetError, match=said):
        parse(f"|Kernel|a (ms)|b (ms)|\n|-|-|-|\n|x|{cell}|1|\n")


def test_a_table_of_single_timings_has_other_marks_between_columns(tmp_path: Path) -> None:
    """Bars make a published table, in which each configuration has a column."""
    path = tmp_path / "t.csv"
    path.write_text("shape|config|seed|time_ms\na|old|0|10\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="line 1: a column config is of a table with a line for each"):
        PUBLISHED.read([Source(path=path)], {"unit": ""})


@pytest.mark.parametrize(
    ("heading", "printed", "said"),
    [
        ("speedup", ("2x", "0.5x", "1.0x"), ""),
        (
            "speedup",
            ("0.5x", "2.0x", "1.0x"),
            "speedup is not over old, the baseline; if another is the baseline",
        ),
        ("new/old", ("0.5", "2.0", "1.0"), ""),
        (
            "speedup",
            ("2x", "2x", "1.0x"),
            "line 4: the boost is printed as 2x, but the row gives -50% or 0.5x",
        ),
        (
            "speedup",
            ("0.5x", "0.5x", "1x"),
            "line 4: .* 0.5x, but the row gives 2x, over the same side as above",
        ),
        ("ratio", ("0.5", "-", "50%"), "line 5: .* printed as 50%, but the row gives 1x, over the same side"),
    ],
)
def test_boosts_of_a_table_are_over_one_side(
    tmp_path: Path, heading: str, printed: Sequence[str], said: str
) -> None:
    """Each line alone may divide either way. If all are over the other side, the baseline is in doubt."""
    lines = zip(("2|1", "1|2", "1|1"), printed, strict=True)
    rows = "".join(f"|{'abc'[index]}|{times}|{boost}|\n" for index, (times, boost) in enumerate(lines))
    (tmp_path / "t.md").write_text(
        f"|Kernel|old (ms)|new (ms)|{heading}|\n|-|-|-|-|\n{rows}", encoding="utf-8"
    )
    source = Source(path=tmp_path / "t.md")
    if said.startswith("line"):
        with pytest.raises(DatasetError, match=said):
            PUBLISHED.read([source], {"unit": ""})
    else:
        notes = " ".join(PUBLISHED.read([source], {"unit": ""}).notes[1:])
        assert said in notes
        assert bool(said) == bool(notes)


@pytest.mark.parametrize("boost", ["6.1%", "6.14", "6.141343581679319%", "-", ""])
def test_a_boost_is_checked_to_its_printed_digits(boost: str) -> None:
    """A boost that is right to its printed digits passes, and none at all passes too."""
    assert parse(table(f"|{GEMM}|13838.05219|14687.89452|{boost}|")).sizes["shape"] == 1


@pytest.mark.parametrize(
    ("heading", "cells", "milliseconds"),
    [
        ("a|b", "1000|2000", (0.168034304, 0.084017152)),
        ("a (TFLOPS)|b [GFLOP/s]", "1|2000", (0.168034304, 0.084017152)),
        ("a (ms)|b (µs)", "1.5|750", (1.5, 0.75)),
        ("a_ms|b [s]", "1.5|0.00075", (1.5, 0.75)),
        ("**a**|b", "**1000**|`2000`", (0.168034304, 0.084017152)),
        ("a|b", "1000|—", (0.168034304,)),
    ],
)
def test_units_and_bold_numbers_are_read(heading: str, cells: str, milliseconds: tuple[float, float]) -> None:
    """A unit stands at the end of the heading; 2 (M N K + M N) operations give the time of a throughput."""
    dataset = parse(f"|Shape|{heading}|\n|:-|-:|:-:|\n|{GEMM}|{cells}|\n")
    assert dataset["config"].values.tolist() == ["a", "b"][: len(milliseconds)]
    assert 1e3 * dataset["latency"].values.ravel() == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    "heading", ["main (ps)", "main (k)", "main min", "cycles", "throughput", "async/main"]
)
def test_headings_that_are_not_understood_are_refused(heading: str) -> None:
    """A unit that is not known, or the name of something else, would turn a gain into a loss."""
    with pytest.raises(
        InputError, match=r"line 1: column .*: a heading is NAME or NAME \(UNIT\) with UNIT one of s, ms"
    ):
        parse(f"|Shape|{heading}|async|\n|-|-|-|\n|{GEMM}|2|1|\n")


def test_an_improvement_is_checked() -> None:
    """It is a quotient, or percents, of the other two columns, and no configuration."""
    table = f"|Shape|a (ms)|b (ms)|Improvement|\n|-|-|-|-|\n|{GEMM}|3|2|"
    for printed in ("50.0%", "1.5x"):
        assert parse(f"{table}{printed}|\n")["config"].values.tolist() == ["a", "b"]
    with pytest.raises(DatasetError, match=r"the boost is printed as 40%, but the row gives 50%"):
        parse(f"{table}40%|\n")


def test_names_of_all_kinds_are_configurations() -> None:
    """Names without a unit are words; where a unit is told, a name may be any text."""
    names = ["max-autotune", "first", "timeless", "msvc", "async + cutlass", "#14009", "v2.1", "P40", "a_b"]
    dataset = parse(f"|Shape|{'|'.join(names)}|\n|-|\n|{GEMM}{'|1' * len(names)}|\n")
    assert dataset["config"].values.tolist() == names
    headings = ["ONNX Runtime (s)", "torch.compile (max-autotune) (s)", "b/a (ms)", "main_us"]
    dataset = parse(f"|Shape|{'|'.join(headings)}|\n|-|\n|{GEMM}{'|1' * len(headings)}|\n")
    names = ["ONNX Runtime", "torch.compile (max-autotune)", "b/a", "main"]
    assert dataset["config"].values.tolist() == names


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("faster (%)", "column 'faster (%)' is in %; if it is a boost, call it boost (%)"),
        ("gain (%)", "column 'gain (%)' is in %; if it is a boost, call it boost (%)"),
    ],
)
def test_only_a_boost_is_in_percent(heading: str, said: str) -> None:
    """The column that is checked against the others is headed boost or boost (%); no other is in percent."""
    with pytest.raises(InputError, match=f"line 1: {re.escape(said)}"):
        parse(f"|Shape|a|b|{heading}|\n|-|-|-|-|\n|{GEMM}|1|2|100|\n")
    checked = parse(f"|Shape|a|b|Boost (%)|\n|-|-|-|-|\n|{GEMM}|1|2|100|\n")
    assert checked["config"].values.tolist() == ["a", "b"]


@pytest.mark.parametrize("cell", ["1_500", "\uff11\uff15", "\u0661\u0662", "1 500", "0x10", "1,5"])
def test_numbers_have_ascii_digits_only(cell: str) -> None:
    """What Python reads as a number may be none for its author."""
    with pytest.raises(
        DatasetError, match=r"line 3: column .* is not a number; (if that run failed|write digits)"
    ):
        parse(f"|Shape|a|b|\n|-|-|-|\n|{GEMM}|{cell}|1|\n")


@pytest.mark.parametrize("unit", ["ms", "TFLOPS", "GFLOPS"])
def test_beside_a_unit_a_number_needs_its_own(unit: str) -> None:
    """A unit in one heading only is meant for all as likely as not."""
    text = f"|Shape|main ({unit})|async|\n|-|-|-|\n|{GEMM}|2|1|\n"
    with pytest.raises(
        DatasetError, match=r"line 1: column 'async' has no unit beside one that has; name it 'async \(ms\)'"
    ):
        parse(text, unit="")
    both = parse(text.replace("async", f"async ({unit})"), unit=""), parse(text, unit=unit.lower())
    xr.testing.assert_equal(*both)


def test_a_column_that_may_be_no_configuration_is_named() -> None:
    """A batch size is no time, whatever unit the other columns have; so the message asks for each column."""
    for heading, said in (
        ("Shape|depth|a_ms|b_ms", "line 1: column 'depth' has no unit .*, or take it out if it is no conf"),
        (
            "Shape|batch|a_ms|b_ms",
            "line 1: column 'batch' is no configuration by its name; take it out",
        ),
        ("Shape|depth|a|b", "line 1: nothing says in which unit the numbers of depth, a, b"),
    ):
        with pytest.raises(AbtuneError, match=said):
            parse(f"|{heading}|\n|-|-|-|-|\n|x|8|1|2|\n", unit="")


@pytest.mark.parametrize(
    "parts",
    ["cpu_time|real_time", "User|Sys", "h2d|d2h", "compile time|runtime", "start|end", "forward|backward"],
)
def test_parts_of_one_run_are_no_configurations(parts: str) -> None:
    """Two columns such as user and sys would else be compared; one of them may be what a user calls so."""
    one, two = parts.split("|")
    text = "|Model|{} (ms)|{} (ms)|\n|-|-|-|\n|x|2|1|\n"
    with pytest.raises(DatasetError, match=f"line 1: columns '{one}' and '{two}' are of one run by their"):
        parse(text.format(one, two))
    assert parse(text.format(one, "eager"))["config"].values.tolist() == [one, "eager"]


@pytest.mark.parametrize(
    ("above", "line"), [("", 1), ("|Shape|a (ms)|b (ms)|\n|-|-|-|\n|M=1_N=1_K=1|2|1|\n\n", 5)]
)
def test_without_any_unit_a_table_says_nothing(above: str, line: int) -> None:
    """Times that are read as throughputs would turn a gain into a loss, so the unit has to be told."""
    text = f"{above}|Shape|a|b|\n|-|-|-|\n|{GEMM}|2|1|\n"
    said = (
        f"^line {line}: nothing says in which unit the numbers of a, b are; give --unit, one of s, ms, us, "
    )
    with pytest.raises(InputError, match=said):
        parse(text, unit="")
    assert parse(text, unit="ms")["latency"].values[:, 0].max() == 2e-3


def test_a_unit_may_be_told_beside_the_table() -> None:
    """It counts for headings without one."""
    text = f"|Shape|main exec|async (us)|\n|-|-|-|\n|{GEMM}|2|1|\n"
    assert parse(text, unit="ms")["latency"].values.ravel().tolist() == [2e-3, 1e-6]
    with pytest.raises(InputError, match="line 1: column 'std': a heading is NAME"):
        parse(text.replace("main exec", "std"), unit="ms")


@pytest.mark.parametrize(
    "label",
    [
        *("mean", "Average", "AVG.", "geomean", "**Total**", "Geo. mean", "Geo-Mean", "Mean (all)", "Sum"),
        *("arith. mean", "harmonic mean", "average over shapes", "median of all", "TOTAL (ms)", "Summary"),
        *("\u03a3", "\u2211", "speedup", "Speed-up (geomean)", "All shapes", "Mean:", "total time in ms"),
        *("Total Execution", "Total execution time"),
        *("Grand total", "geometric mean across all workloads", "\u00d8", "Average [us]"),
        *("Mittelwert", "Moyenne", "\u5e73\u5747", "G-mean", "AVERAGE (n=3)", "Geomean over 29 shapes"),
    ],
)
def test_lines_of_means_and_totals_are_no_shapes(label: str) -> None:
    """They would count as one shape more, so they are left out, and a note says which, also with GFLOPS."""
    for unit, shape in (("ms", "softmax"), ("GFLOPS", GEMM)):
        text = f"|Shape|a ({unit})|b ({unit})|\n|-|-|-|\n|{shape}|2|1|\n|{label}|2|1|\n|{label}|3|1|\n"
        read = imported(text)
        assert read.dataset["shape"].values.tolist() == [shape]
        said = "t.md: 2 lines left out, the first in line 4: "
        assert sum(note.startswith(said) for note in read.notes) == 1


def test_shapes_may_have_the_words_of_statistics() -> None:
    """A model or kernel that merely contains such a word is a shape."""
    labels = ["mean_pool", "reduce_sum", "layernorm mean kernel", "sum 4096", "all-to-all", "mean[64,64]"]
    labels += ["sum n=4 k=2", "mean 3 layers x"]
    rows = "".join(f"|{label}|2|1|\n" for label in labels)
    dataset = parse(f"|Shape|a (ms)|b (ms)|\n|-|-|-|\n{rows}")
    assert dataset["shape"].values.tolist() == labels


def test_tables_without_outer_bars_and_with_a_mark_of_their_encoding(tmp_path: Path) -> None:
    """Markdown lets the outer bars away; some editors put a byte order mark before the first."""
    path = tmp_path / "bare.md"
    path.write_text(f"Shape | a | b\n--- | --: | --\n{GEMM} | 1 | 2\n", encoding="utf-8-sig")
    assert PUBLISHED.read([Source(path=path)], {"unit": "ms"}).dataset.sizes["shape"] == 1


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder and a binary file are named, not raised as they come."""
    binary = tmp_path / "binary.md"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "absent.md", tmp_path, binary):
        with pytest.raises(DatasetError, match=path.name):
            PUBLISHED.read([Source(path=path)], {"unit": ""})


def test_a_boost_needs_no_unit_beside_columns_with_units() -> None:
    """Nor does a table then need to begin with Shape."""
    text = f"|Workload|A (GFLOPS)|B (GFLOPS)|Performance Boost|\n|-|-|-|-|\n|{GEMM}|1000|1100|10%|\n"
    assert parse(text, unit="")["config"].values.tolist() == ["A", "B"]


@pytest.mark.parametrize("name", ["model", "Network", "operator", "test", "case"])
def test_the_first_column_may_have_an_ordinary_name(tmp_path: Path, name: str) -> None:
    """Where all other headings have units, it says what was timed."""
    path = tmp_path / "t.md"
    path.write_text(f"| {name} | eager (ms) | compiled (ms) |\n|-|-|-|\n| bert | 2 | 1 |\n", encoding="utf-8")
    assert PUBLISHED.read([Source(path=path)], {"unit": ""}).dataset["shape"].values.tolist() == ["bert"]


@pytest.mark.parametrize(
    ("times", "boost", "is_said"),
    [
        *(("1.2|1.1", "1.13x", False), ("1.2|1.1", "13%", False), ("5.848|6.471", "1.107", False)),
        *(("1.2|1.1", "1.25x", True), ("1.20|1.10", "1.13x", True), ("12|11", "1.13x", True)),
    ],
)
def test_boosts_may_be_of_times_before_rounding(times: str, boost: str, *, is_said: bool) -> None:
    """People print times in few digits and compute boosts from all; a whole number counts as exact."""
    text = f"|Shape|old (ms)|new (ms)|speedup|\n|-|-|-|-|\n|x|{times}|{boost}|\n"
    with pytest.raises(DatasetError, match="printed as") if is_said else contextlib.nullcontext():
        assert parse(text).sizes["shape"] == 1
