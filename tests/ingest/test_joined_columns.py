"""Columns that become labels: sizes that ``triton.testing.perf_report`` writes before a column for each side.

https://triton-lang.org/main/python-api/generated/triton.testing.perf_report.html
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import abtune
from abtune.dataset.schema import labels_of
from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import Imported, recognise, run_importer
from abtune.ingest.joined_columns import compared_rows, with_runs
from abtune.ingest.sources import Source
from abtune.ingest.timings.published import read_tables
from abtune.ingest.timings.timing_table import read_table

GB_PER_S = "N,Triton (GB/s),Torch (GB/s)\n256.000000,50.5,200.0\n384.000000,100.0,80.0\n"


def read(folder: Path, *texts: str, unit: str = "", columns: str = "") -> Imported:
    """Return what the importer makes of files that it knows by their content."""
    sources = []
    for number, text in enumerate(texts):
        path = folder / f"softmax-{number}.csv"
        path.write_text(text, encoding="utf-8")
        sources.append(Source(path=path))
    importer = recognise(sources)
    values = {option.name: option.default for option in importer.options}
    return run_importer(
        importer, sources, values | {"unit": unit} | ({"columns": columns} if columns else {})
    )


def boosts(imported: Imported) -> list[float]:
    """Return the boost of the second configuration over the first in each shape, as a ratio."""
    latency = imported.dataset["latency"].values.reshape(-1, imported.dataset.sizes["config"])
    return (latency[:, 0] / latency[:, 1]).tolist()


def test_a_throughput_is_read_as_the_time_of_its_work(tmp_path: Path) -> None:
    """More GB/s are a shorter time, and ratios stay. A note and an attribute say so."""
    imported = read(tmp_path, GB_PER_S)
    assert labels_of(imported.dataset, "shape") == ["N=256", "N=384"]
    assert labels_of(imported.dataset, "config") == ["Triton", "Torch"]
    assert boosts(imported) == pytest.approx([200 / 50.5, 0.8])
    assert imported.dataset["latency"].values.ravel()[2] == pytest.approx(1e9 / 100e9)
    assert any(note.startswith("throughputs are read as times of 10^9 bytes") for note in imported.notes)
    assert imported.dataset.attrs["latency_source"] == "throughput"
    analysis = abtune.analyze(imported.dataset)
    assert "A time here is that of 10^9 operations or bytes, not of a run" in " ".join(analysis.caveats)


def test_sizes_of_a_product_tell_its_operations(tmp_path: Path) -> None:
    """M, N and K become the label of a GEMM, so that TFLOPS become times of a run."""
    text = "M,N,K,cuBLAS (TFLOPS),Triton (TFLOPS)\n256.0,512.0,128.0,4.0,5.0\n"
    imported = read(tmp_path, text)
    assert labels_of(imported.dataset, "shape") == ["M=256_N=512_K=128"]
    assert imported.dataset["latency"].values.ravel() * [4e12, 5e12] == pytest.approx(
        2 * 256 * 512 * (128 + 1)
    )
    assert imported.dataset.attrs["latency_source"] == "timings"


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (
            "M,N,K,cuBLAS,Triton\n256.0,256.0,256.0,8.0,8.0\n512.0,256.0,256.0,8.5,7.5\n",
            ["M=256_N=256_K=256"],
        ),
        ("size,Triton,Torch\n4096.0,8.0,8.0\n8192.0,16.0,15.9\n8e3,1.5,2\n", []),
        ("batch_size,seq_len,A,B\n16.0,64.0,26.2,25.7\n", ["batch_size=16_seq_len=64"]),
        ("N,Triton (ms),Torch (ms)\n256,8,9\n", ["N=256"]),
        ("hidden,Triton (ms),Torch (ms)\n256.0,8,9\n", ["hidden=256"]),
        ("hidden,Triton (ms),Torch (ms)\n256,8,9\n", []),
        ("timestamp,Triton (ms),Torch (ms)\n1690000000,8,9\n", []),
        ("M,num_kv_heads,config,time_ms\n512,8,old,5\n512,8,new,4\n", ["M=512_num_kv_heads=8"]),
        ("timestamp,config,time_ms\n1690000000.0,old,5\n1690000000.0,new,4\n", []),
        ("N,Triton,Torch\n256,8,9\n", []),  # whole numbers may be measured
        ("N,Triton,Torch,Naive\n4.0,8.0,8.5,7.5\n", []),  # so may these, and Triton names no size
        ("N,Triton (GB/s)\n256.0,8.5\n", []),
        ("N,Triton (GB/s),speedup\n256.0,8.5,1.5\n", []),
        ("run,Triton (ms),Torch (ms)\n1,8,9\n", []),
        ("seed,Triton (ms),Torch (ms)\n1,8,9\n", []),
    ],
)
def test_what_is_a_size(tmp_path: Path, text: str, shapes: list[str]) -> None:
    """Only whole numbers before columns that are surely measured make a label; else nothing is guessed."""
    if shapes:
        assert (
            labels_of(read(tmp_path, text, unit="" if "ms" in text else "gb/s").dataset, "shape")[:1]
            == shapes
        )
    else:
        with pytest.raises((DatasetError, InputError)):
            read(tmp_path, text, unit="" if "ms" in text or "GB" in text else "gb/s")


def test_several_files_are_seeds(tmp_path: Path) -> None:
    """A script that ran in several processes supports verdicts; lines of one size in a file are repeats."""
    again = GB_PER_S.replace("50.5", "51.5")
    dataset = read(tmp_path, GB_PER_S, again, f"{again}384.0,101.0,81.0\n").dataset
    assert dict(dataset.sizes) == {"shape": 2, "config": 2, "seed": 3, "round": 1, "repeat": 2}
    times = dataset["latency"].sel(shape="N=384", config="Triton", seed=2).values.ravel()
    assert times == pytest.approx([0.01, 1e9 / 101e9])
    assert dataset.attrs["latency_source"] == "throughput"


def test_files_of_different_kinds_are_refused(tmp_path: Path) -> None:
    """GB/s, TFLOPS and times of one shape cannot be compared."""
    for other in ("ms", "TFLOPS"):
        with pytest.raises(DatasetError, match="some files have times, or throughputs of another kind"):
            read(tmp_path, GB_PER_S, GB_PER_S.replace("GB/s", other))
    for text in ("N,A (GB/s),B (ms)\n8.0,1.5,2.5\n", "N,A (GB/s),B (TFLOPS)\n8.0,1.5,2.5\n"):
        with pytest.raises(DatasetError, match="columns of times stand beside throughputs, or kinds of"):
            read_table(text, {}, "")


def test_files_may_have_shapes_of_known_and_of_unknown_operations(tmp_path: Path) -> None:
    """The operations of each label are the same in all files, so files of GFLOPS are of one kind."""
    known, unknown = ("shape,A (GFLOPS),B (GFLOPS)\n" + f"{label},10,20\n" for label in ("M=8_N=8_K=8", "x"))
    dataset = read(tmp_path, known, unknown).dataset
    assert dataset["latency"].sel(config="A").max("seed").values.ravel() == pytest.approx([1.152e-7, 0.1])
    with pytest.raises(DatasetError, match="some files have times, or throughputs of another kind"):
        read(tmp_path, known, known.replace("GFLOPS", "ms"))


def test_a_line_for_each_timing_takes_no_throughput(tmp_path: Path) -> None:
    """A column called time has times; nor can a throughput be zero."""
    with pytest.raises(InputError, match="--unit gb/s: column time holds times; give one of s, ms, us, ns"):
        read(tmp_path, "shape,config,time\na,old,1\na,new,2\n", unit="gb/s")
    with pytest.raises(DatasetError, match=r"column Triton \(GB/s\): a throughput must be positive, not 0"):
        read(tmp_path, GB_PER_S, GB_PER_S.replace("50.5", "0"))


def test_columns_still_names_the_shapes(tmp_path: Path) -> None:
    """With --columns, the first column keeps its name and cells."""
    text = "N,Triton (ms),Torch (ms)\n256.0,8,9\n256.0,8,9\n"
    assert labels_of(read(tmp_path, text, columns="shape=N").dataset, "shape") == ["256.0"]
    text = "M,N,impl,time_ms\n512,8,old,5\n512,8,new,4\n"
    with pytest.raises(DatasetError, match=r"has no column config \(give --columns config=ITS_NAME"):
        read(tmp_path, text)
    assert labels_of(read(tmp_path, text, columns="config=impl").dataset, "shape") == ["M=512_N=8"]


PRINTED = """Warming up
softmax-performance:
         N  Triton (GB/s)  Torch (native) (GB/s)
0    256.0      50.500000             200.000000
1    384.0     100.000000              80.000000
11  1536.0            NaN              90.000000
Done in 3 s
"""


def test_what_it_prints_is_read_as_well(tmp_path: Path) -> None:
    """A title, a heading without a word for the index, and numbered rows; other lines are prose."""
    imported = read(tmp_path, PRINTED)
    assert labels_of(imported.dataset, "shape") == ["N=256", "N=384", "N=1536"]
    assert labels_of(imported.dataset, "config") == ["Triton", "Torch (native)"]
    assert boosts(imported)[:2] == pytest.approx([200 / 50.5, 0.8])


def test_titles_tell_the_same_sizes_of_several_tables_apart() -> None:
    """Otherwise the second benchmark would be taken for the first one once more."""
    cells = read_tables(PRINTED + PRINTED.replace("softmax", "layernorm"), "").cells
    assert [cell.shape for cell in cells[4:8:2]] == [
        "softmax-performance_N=1536",
        "layernorm-performance_N=256",
    ]


def test_markdown_of_pandas_is_read() -> None:
    """``to_markdown`` numbers the rows in a column without a name."""
    text = "|    |   N |   A (TFLOPS) |   B (TFLOPS) |\n|---:|----:|-----:|-----:|\n|  0 | 256 | 4.5 | 9 |\n"
    a, b = read_tables(text, "").cells
    assert (a.shape, b.shape) == ("N=256", "N=256")
    assert a.rounds[0][0] / b.rounds[0][0] == pytest.approx(2)


@pytest.mark.parametrize("text", ["+--+\n", "|", "||\n|1|\n", "t:\n N  A (ms)\n0\n", "+-+\nt:\n x  y\n"])
def test_a_table_of_nothing_is_no_table(text: str) -> None:
    """A drawn rule alone has one empty cell, and pandas would number nothing."""
    with pytest.raises(DatasetError, match="no table here"):
        read_tables(text, "")


def test_throughputs_weigh_nothing(tmp_path: Path) -> None:
    """The time of a program is a sum of times, which a throughput without operations does not tell."""
    with pytest.raises(InputError, match="weights need times, and this dataset has throughputs"):
        abtune.analyze(read(tmp_path, GB_PER_S).dataset, weights={"N=256": 2})


COMPARED = """Num threads: 6
[------ mm ------]
                        |  old (a)  |  new  |  speed-up old vs new
1 threads: ---------------------------------
      64 | float        |    10     |   9 (! 5%)  |  1.1
      128               |    20.5 (+-0.1)  |  {last}  |
{more}
Times are in {unit}.
"""


def test_prints_of_compare_are_tables(tmp_path: Path) -> None:
    """Compare of torch.utils.benchmark has the unit below its tables; a spread is no part of a number.

    https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html
    """
    imported = read(tmp_path, COMPARED.format(last=10.25, more="", unit="microseconds (us)"))
    assert labels_of(imported.dataset, "shape") == ["64 | float", "128"]
    assert labels_of(imported.dataset, "config") == ["old (a)", "new"]
    assert imported.dataset["latency"].values.ravel().tolist() == [1e-5, 9e-6, 2.05e-5, 1.025e-5]


def test_prints_of_compare_tell_their_tables_apart(tmp_path: Path) -> None:
    """Titles and threads stand in the labels where they differ, and an empty cell is missing."""
    heading = "[-- add --]\n  | old (a) | new | speed-up old vs new\n1 threads: -\n"
    more = f"2 threads: ---\n 128 | 3 | 2 |\n\n{heading} 128 | 3 | 2 |\n"
    imported = read(tmp_path, COMPARED.format(last="", more=more, unit="seconds (s)"))
    shapes = ["mm_64 | float_threads=1", "mm_128_threads=1", "mm_128_threads=2", "add_128_threads=1"]
    assert labels_of(imported.dataset, "shape") == shapes
    assert boosts(imported)[2:] == [1.5, 1.5]
    assert np.isnan(boosts(imported)[1])


def test_prints_of_compare_may_have_shapes_in_columns(tmp_path: Path) -> None:
    """Their times would be compared as those of configurations."""
    text = COMPARED.format(last=10, more="", unit="seconds (s)").replace("old (a)", "M=64, K=8")
    with pytest.raises(DatasetError, match="are shapes by their names; transpose the table"):
        read(tmp_path, text.replace("new  |  speed", "M=64, K=16  |  speed"))
    assert labels_of(read(tmp_path, text).dataset, "config") == ["M=64, K=8", "new"]


def test_speedups_of_compare_may_say_of_what(tmp_path: Path) -> None:
    """PyTorch's own scripts write the sides behind a colon."""
    text = COMPARED.format(last=10.25, more="", unit="microseconds (us)")
    imported = read(tmp_path, text.replace("speed-up old vs new", "Speed-up: new vs old"))
    assert labels_of(imported.dataset, "config") == ["old (a)", "new"]


def test_a_line_of_many_dashes_is_read_at_once() -> None:
    """The time to look for a title would else grow with the cube of the length of a line."""
    assert compared_rows(["[" + "-" * 100_000, " | a | b"]) == {}


def test_prints_of_other_tables_are_no_seeds(tmp_path: Path) -> None:
    """A title or number of threads that all lines of a file share is in no label, and tells files apart."""
    first = COMPARED.format(last=10, more="", unit="milliseconds (ms)")
    short, long = (first.replace("[------ mm ------]", title) for title in ("[---- add ---]", "[ add ]"))
    for second in (short, long, first.replace("1 threads", "8 threads")):
        with pytest.raises(
            DatasetError, match=r"titles are mm, 1 threads in .* and (add, 1|mm, 8) threads in .*1.csv;"
        ):
            read(tmp_path, first, second)
    with pytest.raises(DatasetError, match="files are seeds of the same tables; those of others belong into"):
        read(tmp_path, PRINTED, PRINTED.replace("softmax", "gelu"))


def test_several_prints_of_compare_are_seeds(tmp_path: Path) -> None:
    """A file is one; a print that was cut above its unit is not read."""
    texts = [COMPARED.format(last=last, more="", unit="milliseconds (ms)") for last in (10, 11, 12)]
    latency = read(tmp_path, *texts).dataset["latency"]
    assert latency.sel(shape="128", config="new").values.ravel().tolist() == [0.010, 0.011, 0.012]
    with pytest.raises(InputError, match="no importer knows this content"):
        read(tmp_path, texts[0].partition("Times")[0])


@pytest.mark.parametrize(
    ("heading", "column"),
    [
        ("run1_us,run2_us,run3_us", "run"),
        ("rep 1 (us),rep 2 (us),rep 3 (us)", "rep"),
        ("Seed_0_us,seed1_us,seed2_us", ""),
    ],
)
def test_columns_of_runs_are_lines(tmp_path: Path, heading: str, column: str) -> None:
    """A spreadsheet with a column for each run is read as one with a line for each. Gaps are no runs."""
    text = f"shape,config,{heading}\na,old,10,11,12\na,new,9,,8\nb,old,20,21,22\nb,new,19,18,17\n"
    imported = read(tmp_path, text, columns=f"seed={column}" if column else "")
    assert labels_of(imported.dataset, "config") == ["old", "new"]
    latency = 1e6 * imported.dataset["latency"].isel(round=0, repeat=0)
    np.testing.assert_allclose(latency.sel(shape="a"), [[10, 11, 12], [9, np.nan, 8]])
    np.testing.assert_allclose(latency.sel(shape="b"), [[20, 21, 22], [19, 18, 17]])
    if column:  # unless users say that a run is a seed, it is a repeat
        imported = read(tmp_path, text)
        assert imported.dataset.sizes["seed"] == 1
        assert f"each is a seed: --columns seed={column}" in " ".join(imported.notes)


@pytest.mark.parametrize("statistic", ["mean_us", "avg (us)", "std_us", "median_us", "Average"])
def test_a_mean_of_the_runs_is_no_time_of_its_own(tmp_path: Path, statistic: str) -> None:
    """A spreadsheet that also has their mean has the same times."""
    text = f"shape,config,run1_us,run2_us,{statistic}\na,old,10,12,11\na,new,9,7,8\n"
    latency = read(tmp_path, text, columns="seed=run").dataset["latency"]
    np.testing.assert_allclose(1e6 * latency.values.ravel(), [10, 12, 9, 7])


@pytest.mark.parametrize(
    "heading", ["run1_us,run2_ms", "run1_us,rep1_us", "v1_us,v2_us", "run1_us,time_us", "run1_us,run01_us"]
)
def test_other_numbered_columns_stay(heading: str) -> None:
    """Columns of two units or two names, of versions, or beside another time, are not runs of one thing."""
    table = [(1, ["shape", *heading.split(",")]), (2, ["a", "10", "11"])]
    assert list(with_runs(table)) == table


def test_a_line_that_is_cut_short_is_refused_among_columns_of_runs(tmp_path: Path) -> None:
    """It may lack a run, or its label."""
    with pytest.raises(DatasetError, match="line 3: 3 cells under a heading of 4"):
        read(tmp_path, "shape,config,run1_us,run2_us\na,old,1,2\na,new,2\n")
