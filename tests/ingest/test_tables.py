"""Columns that are no configurations are refused by their names; printed numbers fit to their digits."""

from __future__ import annotations

import pytest

from abtune.errors import DatasetError
from abtune.ingest.boosts import fits
from abtune.ingest.table_columns import check_names
from abtune.ingest.timings.published import read_tables
from abtune.ingest.timings.timing_table import has_times, read_table

ROWS = (
    ("M=512_N=256_K=640", 8678.46, 10607.37),
    ("M=8_N=8_K=8", 81.09, 102.9),
    ("M=9_N=9_K=9", 197.1, 183.5),
)


NEVER = (
    "Trials",
    "batch",
    "Weight",
    "Gain",
    "Batch size",
    "p-value",
    "best",
    "Total",
    "seq_len",
    "num_heads",
)


@pytest.mark.parametrize("name", NEVER)
def test_a_column_that_is_no_configuration_by_its_name_is_refused(name: str) -> None:
    """Numbers of trials, weights and gains are not read as throughputs of one more configuration."""
    with pytest.raises(DatasetError, match=rf"line 1: column '{name}' is no configuration by its name; take"):
        read_tables(f"|Shape|old|new|{name}|\n|-|-|-|-|\n|{ROWS[0][0]}|1|2|3|\n", "gflops")
    with pytest.raises(DatasetError, match=rf"^column '{name}' is no configuration"):
        check_names(["old", "new", name])


def test_names_of_configurations_pass() -> None:
    """A word among others, one letter, or a statistic of no other column may be a configuration."""
    check_names(["a", "m", "after the change", "best of 3", "O-max", "batch 8", "run-time", "8_threads"])


def test_a_quotient_is_neither_a_size_nor_a_configuration() -> None:
    """A speedup of two columns is checked, whatever stands before that word, and ms/batch_size is no size."""
    table = "shape,cpu_ms,gpu_ms,cpu_vs_gpu_{}\nx,3.0,2.0,{}\n"
    assert {cell.config for cell in read_table(table.format("speedup", "1.5"), {}, "").cells} == {
        "cpu",
        "gpu",
    }
    with pytest.raises(DatasetError, match=r"the boost is printed as 1[.]7, but the row gives 50% or 1.5x"):
        read_table(table.format("speedup", "1.7"), {}, "")
    long = "shape,config,time_ms,ms/batch_size,batch_size\nx,a,1,2,{}\nx,a,2,3,{}\n"
    assert len(read_table(long.format(1, 1), {}, "").cells) == 1
    with pytest.raises(DatasetError, match=r"join columns: --columns shape=shape[+]batch_size;"):
        read_table(long.format(1, 2), {}, "")


def test_two_extents_are_no_configurations() -> None:
    """Columns M and N are sizes of the shapes, not times of two configurations."""
    with pytest.raises(DatasetError, match="column 'N' is no configuration by its name"):
        read_table("M,N,K,old,new\n1,2,3,4,5\n", {"shape": "M"}, "ms")


@pytest.mark.parametrize("column", ["valid,1", "status,ok", "rc,0"])
def test_an_outcome_beside_headings_without_units_is_refused(column: str) -> None:
    """A flag such as 1 would be the time of a configuration called valid; with units it is an outcome."""
    name, cell = column.split(",")
    with pytest.raises(DatasetError, match=rf"'{name}' may say how runs ended; .*: 'old \(ms\)'"):
        read_table(f"shape,old,new,{name}\nx,1,2,{cell}\n", {}, "ms")
    table = read_table(f"shape,old (ms),new (ms),{name}\nx,1,2,{cell}\n", {}, "ms")
    assert {one.config for one in table.cells} == {"old", "new"}


@pytest.mark.parametrize("name", ["Triton-min", "triton_median", "Triton max", "Triton.p90", "Triton_lo"])
def test_a_statistic_of_another_column_is_refused(name: str) -> None:
    """Triton writes the fastest and the slowest timing of each provider into columns of their own."""
    with pytest.raises(DatasetError, match=f"column '{name}' is a statistic of 'Triton' by its name; take"):
        check_names(["Triton", name, "Torch"])


def test_a_number_fits_to_its_printed_digits() -> None:
    """Half a unit of the last digit is allowed, as rounding makes it."""
    assert fits("1.22", 1.2249)
    assert not fits("1.220", 1.2249)
    assert not fits("1.22", float("nan"))


@pytest.mark.parametrize(("cell", "said"), [("22.2%", "is not a number"), ("-6.9", "must be positive")])
def test_a_boost_among_throughputs_is_named(cell: str, said: str) -> None:
    """A percent or a negative number in a column of numbers says what to do with the column."""
    with pytest.raises(DatasetError, match=rf"{said}.*; a column of boosts is called boost \(%\)"):
        read_tables(f"|Shape|old|new|more|\n|-|-|-|-|\n|{ROWS[0][0]}|1|2|{cell}|\n", "gflops")


@pytest.mark.parametrize("above", ["sep=;\n", "SEP=;\n# exported\n"])
def test_the_line_that_tells_excel_the_separator_is_skipped(above: str) -> None:
    """Excel writes and reads it above the heading."""
    text = f"{above}shape;config;time_us\nx;a;1.5\n"
    assert has_times(text)
    (cell,) = read_table(text, {}, "").cells
    assert (cell.shape, cell.config, cell.rounds) == ("x", "a", ((1.5e-6,),))


def test_case_counts_in_metrics_and_not_in_outcomes() -> None:
    """Gb/s is an eighth of GB/s; ok and OK are the same outcome, and no column that tells runs apart."""
    rows = "x,a,{},1.5\nx,a,{},1.6\n"
    with pytest.raises(DatasetError, match="column metric says 'Gb/s', but 'GB/s' in line 2"):
        read_table(f"shape,config,metric,time_us\n{rows.format('GB/s', 'Gb/s')}", {}, "")
    reading = read_table(f"shape,config,status,time_us\n{rows.format('OK', 'ok')}", {}, "")
    assert len(reading.cells[0].rounds[0]) == 2
    assert "columns left out: status" in reading.notes
