"""Dumps of timings: what goes in is what the analysis sees, and every fault is named with its place."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from import_samples import SAMPLES

import abtune
from abtune.dataset.merge import merge_datasets
from abtune.dataset.netcdf import bundled_path
from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.importers import Imported
from abtune.ingest.sources import Source, find_files, find_matching
from abtune.ingest.timings.conditions import about_columns
from abtune.ingest.timings.file_cells import FileCell, FileContent
from abtune.ingest.timings.timing_table import has_times, read_table
from abtune.ingest.timings.timings import TIMINGS, read_columns

HEADING = "shape,config,seed,time_us\n"


def read_sources(
    sources: Sequence[Source],
    *,
    shape: str = "",
    unit: str = "",
    columns: Mapping[str, str] = MappingProxyType({}),
    seed_is: str = "file",
) -> Imported:
    entries = ",".join(f"{field}={name}" for field, name in columns.items())
    return TIMINGS.read(sources, {"shape": shape, "unit": unit, "columns": entries, "seed-is": seed_is})


def read(*files: Path | str, runs: Sequence[str] = (), **options: Any) -> Imported:
    return read_sources(find_files([str(file) for file in files], runs), **options)


def read_text(folder: Path, text: str, **options: Any) -> xr.Dataset:
    path = folder / "dump.txt"
    path.write_text(text, encoding="utf-8")
    return read(path, **options).dataset


# --- tables -----------------------------------------------------------------------------------------


@given(
    latency=st.lists(
        st.lists(st.lists(st.floats(1e-3, 9e8), min_size=1, max_size=3), min_size=1, max_size=3),
        min_size=2,
        max_size=2,
    ),
    unit=st.sampled_from([("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)]),
    data=st.data(),
)
def test_a_table_round_trips(
    latency: list[list[list[float]]], unit: tuple[str, float], data: st.DataObject
) -> None:
    """Every timing comes out in its cell, in the order of its lines, whatever order the cells have."""
    rows = [
        (f"config {config}", seed, time)
        for config, seeds in enumerate(latency)
        for seed, times in enumerate(seeds)
        for time in times
    ]
    order = data.draw(st.permutations(range(len(rows))))
    text = f"time_{unit[0]},seed,config,shape\n"
    text += "".join(f"{rows[index][2]!r},{rows[index][1]},{rows[index][0]},mine\n" for index in order)
    reading = read_table(text, {}, "")
    for cell in reading.cells:
        expected = [
            rows[index][2] / unit[1] for index in order if rows[index][:2] == (cell.config, cell.seed)
        ]
        assert [list(timings) for timings in cell.rounds] == [expected]
    assert sum(len(cell.rounds[0]) for cell in reading.cells) == len(rows)


def test_the_analysis_sees_the_table(tmp_path: Path) -> None:
    """An imported table and the same array have the same analysis."""
    rng = np.random.default_rng(0)
    latency = rng.lognormal(0.0, 0.1, size=(2, 2, 4, 2, 3)) * 1e-4
    shapes, configs = ["M=16_N=16_K=16", "softmax 4096"], ["main", "branch"]
    rows = [
        f"{shapes[a]},{configs[b]},{seed},{c},{float(time)!r}"
        for (a, b, seed, c, _), time in np.ndenumerate(latency)
    ]
    dataset = read_text(tmp_path, "shape,config,seed,round,time_s\n" + "\n".join(rows))
    np.testing.assert_array_equal(dataset["latency"].values, latency)
    assert dataset["workload"].values.tolist() == ["gemm_nn", ""]
    made = abtune.make_dataset(latency, shapes=shapes, configs=configs, workloads=["gemm_nn", ""])
    seen, expected = abtune.analyze(dataset), abtune.analyze(made)
    assert seen.comparisons == expected.comparisons


def test_rounds_are_placed_by_their_labels(tmp_path: Path) -> None:
    """A round has one place in all cells of all files, whatever the order of lines, and may be missing."""
    text = "shape,config,seed,round,time_s\na,b,0,10,5\na,b,0,2.0,3\na,c,0,2,3\na,c,0,10,5\na,c,1,10,7\n"
    more = "shape,config,seed,round,time_s\na,b,1,1,2\n"
    one, two, named, bare = (tmp_path / f"{name}.csv" for name in ("one", "two", "named", "bare"))
    one.write_text(text, encoding="utf-8")
    two.write_text(more, encoding="utf-8")
    dataset = read(one, two).dataset
    seconds = [[[math.nan, 3, 5], [2, math.nan, math.nan]], [[math.nan, 3, 5], [math.nan, math.nan, 7]]]
    np.testing.assert_array_equal(dataset["latency"].values[0, ..., 0], seconds)
    named.write_text(
        text.replace(",10,", ",first,").replace(",2,", ",last,").replace(",2.0,", ",last,"), "utf-8"
    )
    np.testing.assert_array_equal(read(named).dataset["latency"].values[0, 0, 0, :, 0], [5, 3])
    bare.write_text("shape,config,seed,time_s\na,c,5,3\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match="some files have a column round and some have none"):
        read(one, bare)


def test_one_large_cell_among_many_is_named(tmp_path: Path) -> None:
    """An array has room everywhere for the timings of the largest cell; what cannot be held is refused."""
    rows = ["large,a,3,1"] * 20_000 + [f"x{number},a,0,1" for number in range(20_000)]
    said = "20001 x 1 x 2 x 1 x 20000 values, 6 GiB, mostly empty; large, a, 3 has the most repeats; take"
    with pytest.raises(AbtuneError, match=said):
        read_text(tmp_path, HEADING + "\n".join(rows))


def test_a_run_without_a_time_has_failed(tmp_path: Path) -> None:
    """A line without a time is a failed run, unless another line has a time of that run."""
    path = tmp_path / "dump.csv"
    path.write_text(HEADING + "x,a,0,1\nx,a,1,\nx,b,0,NaN\nx,b,0,2\nx,b,1,n/a\nx,b,1,-\n", encoding="utf-8")
    dataset, notes = (imported := read(path)).dataset, imported.notes
    status = {config: dataset["run_status"].sel(config=config).values[0].tolist() for config in ("a", "b")}
    assert status == {name: [RunStatus.COMPLETE, RunStatus.FAILED] for name in ("a", "b")}
    assert np.nansum(dataset["latency"].values) == pytest.approx(3e-6)
    failed = "4 lines without a time, the first in line 3; a run without any time counts as failed"
    assert notes[-1] == f"{path}: {failed}"
    assert "2 seeds per cell, 1 timing per seed" in notes[0]


def test_a_cell_without_a_time_is_said(tmp_path: Path) -> None:
    """Beside several configurations it is missing, because a table with a column for each has all cells."""
    path = tmp_path / "dump.csv"
    path.write_text("shape,seed,a_ms,b_ms\nx,0,1,\nx,1,1,2\ny,0,,n/a\n", encoding="utf-8")
    imported = read(path)
    assert imported.dataset["run_status"].values.tolist() == [[[0, 0], [RunStatus.MISSING, 0]]]
    said = "3 cells without a time, the first in line 2; a run without any time is missing"
    then = "or failed if its cell says so; shapes without runs are left out"
    assert imported.notes[-1] == f"{path}: {said}, {then}"


@pytest.mark.parametrize("word", ["OOM", "failed", "inf", "Timeout"])
def test_a_cell_may_say_that_its_run_failed(tmp_path: Path, word: str) -> None:
    """A failure that counts as missing would hide that one side fails more often."""
    text = f"shape,seed,a_ms,b_ms\nx,0,1,{word}\nx,1,1,2\nx,2,,2\nx,3,1,\n"
    (status,) = read_text(tmp_path, text)["run_status"].values.tolist()
    assert status == [[0, 0, RunStatus.MISSING, 0], [RunStatus.FAILED, 0, 0, RunStatus.MISSING]]


def test_a_shape_may_be_called_as_its_column(tmp_path: Path) -> None:
    """Only a line without a number is the heading again."""
    dataset = read_text(tmp_path, "kernel,config,time_s\nkernel,a,2\n", columns={"shape": "kernel"})
    assert (dataset["shape"].item(), dataset["latency"].item()) == ("kernel", 2)


def test_a_column_without_any_time_is_named(tmp_path: Path) -> None:
    """Its configuration is not in the dataset, and nobody should look for it there."""
    path = tmp_path / "dump.csv"
    path.write_text("shape,old_ms,new_ms\nx,1,\ny,2,\n", encoding="utf-8")
    imported = read(path)
    assert imported.dataset["config"].values.tolist() == ["old"]
    assert imported.notes[-1] == f"{path}: configurations without any time: new"


@pytest.mark.parametrize("line", ["x,a,1,,", "x,a,1,nan,", "x,a,1,,us"])
def test_a_run_without_a_time_has_no_unit(tmp_path: Path, line: str) -> None:
    """It has failed where a column has the units, too; a time still needs its unit."""
    text = "shape,config,seed,time,unit\nx,a,0,1,us\nx,b,0,2,us\n"
    dataset = read_text(tmp_path, f"{text}{line}\n")
    assert dataset["run_status"].sel(config="a", seed=1).item() == RunStatus.FAILED
    with pytest.raises(AbtuneError, match="line 4: column unit is empty"):
        read_text(tmp_path, f"{text}x,a,1,3,\n")


def test_a_file_is_a_seed(tmp_path: Path) -> None:
    """Without a column seed the files of a configuration are its seeds, their timings repeats."""
    runs = []
    for number, (config, times) in enumerate([("old", [3, 4]), ("new", [1, 2, 5]), ("old", [7])]):
        path = tmp_path / f"{number}.csv"
        path.write_text("shape,time_ms\n" + "".join(f"x,{time}\n" for time in times), encoding="utf-8")
        runs.append(f"{config}={path}")
    imported = read(runs=runs)
    milliseconds = imported.dataset["latency"].values[0, :, :, 0] * 1e3
    expected = [[[3, 4, math.nan], [7, math.nan, math.nan]], [[1, 2, 5], [math.nan] * 3]]
    np.testing.assert_allclose(milliseconds, expected)
    assert imported.notes[0].startswith("each file is one seed: 1 to 2 seeds per cell, 1 to 3 timings")


def test_fifty_timings_are_one_seed(tmp_path: Path) -> None:
    """A single file is one seed, one round, and as many repeats; the importer says what that supports."""
    path = tmp_path / "one.csv"
    path.write_text("config,time_us\n" + "old,10\nnew,11\n" * 50, encoding="utf-8")
    imported = read(path, shape="softmax")
    assert dict(imported.dataset.sizes) == {"shape": 1, "config": 2, "seed": 1, "round": 1, "repeat": 50}
    assert "one seed per cell supports no verdict" in imported.notes[0]
    assert abtune.analyze(imported.dataset).comparisons[0].verdict == "invalid"


def test_columns_may_be_named_otherwise(tmp_path: Path) -> None:
    """Columns are found by their given names; a unit may be an option, or a column with one in each line."""
    columns = {"shape": "Kernel", "config": "variant", "time": "elapsed"}
    dataset = read_text(
        tmp_path, "kernel;Variant;elapsed;host\nx;a;5;h\nx;b;6;h\n", columns=columns, unit="ms"
    )
    assert (dataset["latency"].values.ravel() * 1e3).tolist() == pytest.approx([5.0, 6.0])
    dataset = read_text(tmp_path, "shape\tconfig\ttime\tunit\nx\ta\t5\tns\n")
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([5e-9])


def test_lines_of_all_configurations_may_be_numbered(tmp_path: Path) -> None:
    """What --columns names is no configuration, so that a table of one shape may number repeats or seeds."""
    text = "Repetition,old_ns,new_ns\n1,5,3\n2,6,4\n"
    repeats = read_text(tmp_path, text, shape="x", columns={"repeat": "Repetition"})["latency"]
    np.testing.assert_allclose(repeats.squeeze(), [[5e-9, 6e-9], [3e-9, 4e-9]])
    seeds = read_text(tmp_path, text, shape="x", columns={"seed": "Repetition"})
    assert seeds["seed"].values.tolist() == [1, 2]


@pytest.mark.parametrize(
    "columns", [{"shape": "config"}, {"seed": "time_us"}, {"seed": "run", "round": "run"}]
)
def test_a_column_is_one_thing(tmp_path: Path, columns: dict[str, str]) -> None:
    """One column for two fields is a slip, which nothing later would show."""
    with pytest.raises(AbtuneError, match="one column would be two things"):
        read_text(tmp_path, "shape,config,run,time_us\nx,a,0,1\n", columns=columns)
    swapped = {"shape": "config", "config": "shape"}
    dataset = read_text(tmp_path, "shape,config,time_us\na,x,1\n", columns=swapped)
    assert (dataset["shape"].item(), dataset["config"].item()) == ("x", "a")


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        *(
            ("time(s)", "s"),
            ("time_s", "s"),
            ("elapsed_s", "s"),
            ("latency_us", "us"),
            ("wall_s", "s"),
            ("step_s", "s"),
        ),
        *(
            ("t_ms", "ms"),
            ("Time [ms]", "ms"),
            ("Time (\u03bcs)", "us"),
            ("wall (\u00b5s)", "us"),
            ("x (ns)", "ns"),
        ),
        *(
            ("seconds", "s"),
            ("time_seconds", "s"),
            ("msec", "ms"),
            ("Elapsed (microseconds)", "us"),
            ("ns", "ns"),
        ),
    ],
)
def test_the_name_of_a_column_says_the_unit(tmp_path: Path, column: str, unit: str) -> None:
    """Its end does; the same by --unit does no harm, and another one is refused."""
    text = f"shape,config,{column}\nx,a,2\n"
    seconds = {"s": 2.0, "ms": 2e-3, "us": 2e-6, "ns": 2e-9}
    for told in ("", unit):
        dataset = read_text(tmp_path, text, columns={"time": column}, unit=told)
        assert dataset["latency"].values.ravel().tolist() == [seconds[unit]]
    other = "ms" if unit == "us" else "us"
    with pytest.raises(AbtuneError, match=f"told twice, by the name .* and by --unit {other}; keep one"):
        read_text(tmp_path, text, columns={"time": column}, unit=other)


@pytest.mark.parametrize(
    "column",
    [
        "throughput.avg",
        "config.strategy.rate",
        "perf.ips",
        "adaptive-rate",
        "avg_ts",
        "ns_per_day",
        "busbw",
        "req_s.mean",
    ],
)
def test_a_rate_is_no_time(tmp_path: Path, column: str) -> None:
    """Read as a time, a gain would be a loss; JSON within JSON has names with dots."""
    with pytest.raises(AbtuneError, match=r"is no rate|such a unit"):
        read_text(tmp_path, f"shape,config,{column}\nx,a,2\n", columns={"time": column}, unit="s")


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("frame_time_ms", "ms"),
        ("inter_token_latency_s", "s"),
        ("latency-read-mean(us)", "us"),
        ("min_time_ns", "ns"),
        ("p99_ms", "ms"),
        ("read.lat_ns.mean", "ns"),
        ("results_ttft_us_mean", "us"),
    ],
)
def test_the_time_of_a_frame_is_a_time(tmp_path: Path, column: str, unit: str) -> None:
    """A word before time or latency says what was timed; so may a minimum, if the user names it."""
    dataset = read_text(tmp_path, f"shape,config,{column}\nx,a,2\n", columns={"time": column})
    assert dataset["latency"].values.ravel().tolist() == [
        {"s": 2.0, "ms": 2e-3, "us": 2e-6, "ns": 2e-9}[unit]
    ]


def test_the_unit_of_a_throughput_may_follow_a_hyphen(tmp_path: Path) -> None:
    """hipblaslt-bench writes hipblaslt-Gflops."""
    text = "shape,config,hipblaslt-Gflops\nx,a,2\n"
    dataset = read_text(tmp_path, text, columns={"time": "hipblaslt-Gflops"})
    assert dataset["latency"].values.ravel().tolist() == [0.5]


@pytest.mark.parametrize("column", ["real_time", "elapsed", "value", "runs", "times", "gpu-status"])
def test_ordinary_names_say_no_unit(tmp_path: Path, column: str) -> None:
    """A name without a unit needs --unit."""
    text = f"shape,config,{column}\nx,a,2\n"
    with pytest.raises(AbtuneError, match="nothing says in which unit"):
        read_text(tmp_path, text, columns={"time": column})
    dataset = read_text(tmp_path, text, columns={"time": column}, unit="ns")
    assert dataset["latency"].item() == 2e-9


@pytest.mark.parametrize("unit", ["", "s"])
@pytest.mark.parametrize(
    "column",
    [
        *("gflop_s", "iter/s", "it_s", "fps", "throughput", "speedup", "mean_iter/s", "samples_s"),
        *("time_ps", "time (min)", "duration_h", "cycles", "std_ms", "log_time_us", "tput"),
    ],
)
def test_columns_of_something_else_are_refused(tmp_path: Path, column: str, unit: str) -> None:
    """More of a rate is better, and a unit that is not known may contradict the one that is given."""
    with pytest.raises(
        AbtuneError, match=r"a heading is NAME or NAME \(UNIT\) with UNIT one of s, ms, us, ns, MFLOPS"
    ):
        read_text(tmp_path, f"shape,config,{column}\nx,a,2\n", columns={"time": column}, unit=unit)


@pytest.mark.parametrize(
    "column", ["mean_time_ms", "avg (ms)", "time.median_ms", "samples_ms", "median(ms)", "med(ms)"]
)
def test_a_column_of_means_may_be_named(tmp_path: Path, column: str) -> None:
    """Each mean is then one time; only the user knows that there is no better column."""
    text = f"shape,config,{column}\nx,a,2\n"
    assert read_text(tmp_path, text, columns={"time": column})["latency"].item() == 2e-3
    with pytest.raises(DatasetError, match="has no column of times"):
        read_text(tmp_path, text)


@pytest.mark.parametrize("column", ["Mean time per rep (sec.)", "mean speed (rows per s)"])
def test_an_error_about_a_column_names_it_as_the_file_does(tmp_path: Path, column: str) -> None:
    """A mean is read as a time, but no message calls it so."""
    with pytest.raises(AbtuneError, match=re.escape(f"column '{column}': a heading is NAME")):
        read_text(tmp_path, f"shape,config,{column}\nx,a,1\n", columns={"time": column}, unit="s")


@pytest.mark.parametrize(("name", "columns"), [("seed", {}), ("run", {"seed": "run"})])
def test_columns_of_configurations_beside_seeds_take_the_unit_that_is_told(
    tmp_path: Path, name: str, columns: dict[str, str]
) -> None:
    """A table of one shape that pandas pivoted has no column of shapes, and no units in its heading."""
    text = f"{name},old,new\n3,2,1\n4,4,3\n"
    latency = read_text(tmp_path, text, shape="x", columns=columns, unit="ms")["latency"]
    assert latency["seed"].values.tolist() == [3, 4]
    assert latency.squeeze().transpose("seed", "config").values.tolist() == [[2e-3, 1e-3], [4e-3, 3e-3]]
    with pytest.raises(DatasetError, match=r"if columns are configurations: .* or give --unit"):
        read_text(tmp_path, text, shape="x", columns=columns)


@pytest.mark.parametrize(
    "text", ["old,new\n2.5,1.5\n", '{"old": [2], "new": [1]}', "run,old,new\n0,2.5,1.5\n"]
)
def test_bare_columns_of_configurations_say_how_to_go_on(tmp_path: Path, text: str) -> None:
    """Without a unit of their own they may be a time and something else."""
    with pytest.raises(DatasetError, match=r"if columns are configurations: write units there, such as"):
        read_text(tmp_path, text, shape="x", unit="ms")
    columns, unit = ({"seed": "run"}, "ms") if "run" in text else ({}, "")
    text = text if columns else text.replace("old", "old_ms").replace("new", "new_ms")
    dataset = read_text(tmp_path, text, shape="x", columns=columns, unit=unit)
    assert dataset["config"].values.tolist() == ["old", "new"]


def test_means_of_configurations_are_to_be_called_by_these(tmp_path: Path) -> None:
    """Nothing in the rule for headings says that a word is of a statistic."""
    text = "shape,old_mean_ms,new_mean_ms\nx,2.5,1.5\n"
    with pytest.raises(AbtuneError, match="call a column of means by its configuration alone"):
        read_text(tmp_path, text)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "column",
    ["TFLOPS", "Triton (TFLOPS)", "Triton_tflops", "throughput_tflops", "Bandwidth (TB/s)", "perf [TFLOPS]"],
)
def test_the_only_column_beside_labels_may_hold_throughputs(
    tmp_path: Path, column: str, *, told: bool
) -> None:
    """A file for each configuration may have one; without a unit in its name, --unit gives it."""
    (tmp_path / "t.csv").write_text(f"shape,{column}\nx,0.5\n")
    columns = {"time": column} if told or column == "TFLOPS" else {}
    dataset = read(runs=[f"old={tmp_path / 't.csv'}"], columns=columns).dataset
    assert dataset["latency"].item() == 1e9 / 0.5e12
    assert dataset.attrs["latency_source"] == "throughput"
    named = "shape,config,throughput\nx,a,0.5\n"
    assert read_text(tmp_path, named, columns={"time": "throughput"}, unit="tb/s")["latency"] == 1e9 / 0.5e12
    with pytest.raises(DatasetError, match="has no column of times"):
        read_text(tmp_path, named.replace("throughput", "mean_throughput (GB/s)"))
    (tmp_path / "t.csv").write_text("N,Triton\n128.0,0.5\n")
    plain = read(runs=[f"old={tmp_path / 't.csv'}"], unit="tflops").dataset
    assert plain["latency"].item() == 1e9 / 0.5e12
    assert plain["shape"].item() == "N=128"


@pytest.mark.parametrize(
    "text",
    [
        '{"shape": "x", "config": "a", "time_ms": 2}\n\n{"shape": "x", "config": "a", "time_ms": 3}\n',
        '{"shape": "x", "config": "a", "time_ms": 2},\n{"shape": "x", "config": "a", "time_ms": 3},\n',
        '{"shape": "x", "config": "a", "time": 2e6, "unit": "ns/iter"}\n'
        '{"shape": "x", "config": "a", "time": 3e3, "unit": "us/op"}\n',
        '[{"shape": "x", "config": "a", "time_ms": 2},\n {"time_ms": 3, "config": "a", "shape": "x"}]',
        '{"device": "d", "results": [{"shape": "x", "config": "a", "time_ms": [2, 3.0]}], "more": []}',
        '{"tune": {"n": [1]}, "cache": {"1": {"shape": "x", "config": "a", "time_ms": [2, 3]}}}',
        'shape,config,time_ms\nx,a,"[2, 3]"\n',
        '{"shape": "x", "config": "a", "time_ms": [2, 3], "env": {"cpu": {"n": 1}}, "layers": [{"time": 9}]}',
        '{"shape": "x", "config": "a", "time_ms": 2, "env": {"cpu": {"n": 1}}}\n'
        '{"shape": "x", "config": "a", "time_ms": 3, "env": {"cpu": {"n": 1}}}\n',
    ],
)
def test_records_of_json_are_a_table(tmp_path: Path, text: str) -> None:
    """They come as JSON lines, as a list, or as a part of a document; a list of times has repeats."""
    assert has_times(text)
    assert read_text(tmp_path, text)["latency"].values.ravel().tolist() == [0.002, 0.003]


def test_a_wide_record_may_have_lists(tmp_path: Path) -> None:
    """Each configuration then has repeats; the content tells that these are times."""
    text = '[{"shape": "x", "a_s": [1, 2], "b_s": [3]}]'
    assert has_times(text)
    assert read_text(tmp_path, text)["latency"].values.ravel()[:3].tolist() == [1, 2, 3]


def test_a_fault_names_the_record(tmp_path: Path) -> None:
    """All records of a document may stand in one line."""
    text = '[{"shape": "x", "config": "a", "time_s": 1}, {"shape": "x", "config": "a", "time_s": true}]'
    with pytest.raises(DatasetError, match="record 2, line 1: column time_s: 'true' is not a number"):
        read_text(tmp_path, text)


@pytest.mark.parametrize("column", ["batch", "calls", "pass_count", "num_heads"])
def test_a_lone_column_of_sizes_or_numbers_is_no_time(tmp_path: Path, column: str) -> None:
    """A unit is not enough to make it one; --columns is."""
    text = f"shape,{column}\nx,2\n"
    with pytest.raises(DatasetError, match="has no column of times"):
        read_text(tmp_path, text, unit="ms")


def test_how_long_all_records_took_is_none_of_them(tmp_path: Path) -> None:
    """Is a time beside records theirs, or the whole run's? The import asks."""
    path = tmp_path / "a.json"
    path.write_text('{"duration_s": 9, "results": [{"time_s": 1}, {"time_s": 2}]}', encoding="utf-8")
    with pytest.raises(DatasetError, match="has a time beside its records in results; keep one of them"):
        read(runs=[f"a={path}"], shape="x")


def test_names_within_and_beside_an_object_may_not_be_one(tmp_path: Path) -> None:
    """Python would keep the last value."""
    with pytest.raises(DatasetError, match=r"has .config\.name. twice in one object; keep one of them"):
        read_text(tmp_path, '{"shape": "x", "config": {"name": "a"}, "config.name": "b", "time_s": 1}')


def test_records_of_json_may_lack_names(tmp_path: Path) -> None:
    """What a record lacks or has as null is empty; an object within has both names."""
    text = """{"shape": "x", "config": {"name": "a", "n": 1}, "time_ms": null, "repeat": 1}
        {"shape": "x", "config": {"name": "a"}, "repeat": 2, "time_ms": 3}"""
    (tmp_path / "t").write_text(text)
    imported = read(tmp_path / "t", columns={"config": "config.name"})
    assert imported.dataset["latency"].values.ravel().tolist() == [0.003]
    assert any("1 line without a time, the first in line 1" in note for note in imported.notes)


def test_keys_of_records_in_an_object_are_kept(tmp_path: Path) -> None:
    """Without them, the times of two kernels would be repeats of one."""
    text = '{"results": {"gemm": {"time_s": [1, 2]}, "conv": {"time_s": 3}}}'
    (tmp_path / "t").write_text(text)
    runs = [f"a={tmp_path / 't'}"]
    by_name = read(runs=runs, columns={"shape": "key"}).dataset
    assert by_name["shape"].values.tolist() == ["gemm", "conv"]
    notes = read(runs=runs, shape="x").notes
    assert any("configuration differ in key; if that matters" in note for note in notes)


def test_a_document_may_be_an_object_of_records(tmp_path: Path) -> None:
    """Its keys are kept, too, and one that a field hides is refused."""
    text = '{"gemm": {"config": "a", "time_s": 1}, "conv": {"config": "a", "time_s": 3}}'
    by_name = read_text(tmp_path, text, columns={"shape": "key"})
    assert by_name["shape"].values.tolist() == ["gemm", "conv"]
    hidden = text.replace('"config"', '"key": 1, "config"')
    with pytest.raises(DatasetError, match="record gemm has a field key; rename that field"):
        read_text(tmp_path, hidden, columns={"shape": "key"})


@pytest.mark.parametrize(
    "word", ["OOM", "Failed", "None", "null", "timeout", "inf", "CompilationFailedConfig"]
)
def test_words_for_failures_are_no_times(tmp_path: Path, word: str) -> None:
    """A run without a time has failed, whatever word stands in its place."""
    dataset = read_text(tmp_path, f"{HEADING}x,a,0,{word}\nx,b,0,2\n")
    assert dataset["run_status"].values.ravel().tolist() == [RunStatus.FAILED, RunStatus.COMPLETE]


def test_names_of_columns_may_have_commas() -> None:
    """TritonBench calls a column of sizes (M, N, K)."""
    assert read_columns("time=a b, shape=(M, N, K)") == {"time": "a b", "shape": "(M, N, K)"}
    with pytest.raises(InputError, match="unknown field 'sape'"):
        read_columns("time=a,sape=b")


def test_a_time_in_json_is_no_size(tmp_path: Path) -> None:
    """Objects of the same names are records; no whole time is the size of a shape, as in tables of Triton."""
    text = '{"gemm": {"old": 1.0, "new": 0.9}, "conv": {"old": 2.0, "new": 1.9}}'
    dataset = read_text(tmp_path, text, columns={"shape": "key"}, unit="ms")
    assert dataset["latency"].sel(shape="gemm", config=["old", "new"]).values.ravel().tolist() == [
        1e-3,
        0.9e-3,
    ]
    flat = '{"gemm_old": 1.0, "gemm_new": 0.9, "conv_old": 2.0, "conv_new": 1.9}'
    with pytest.raises(AbtuneError, match="has no column of times among gemm_old, gemm_new"):
        read_text(tmp_path, flat, unit="ms")
    sized = '[{"N": 8.0, "old": 1.0, "new": 0.9}, {"N": 16.0, "old": 2.0, "new": 1.9}]'
    assert read_text(tmp_path, sized, unit="ms")["shape"].values.tolist() == ["N=8", "N=16"]
    timed = '[{"n_elements": 8.0, "old_ms": 1.0, "new_ms": 0.9}]'
    assert read_text(tmp_path, timed)["shape"].values.tolist() == ["n_elements=8"]


def test_statistics_and_objects_of_the_same_names_are_no_records(tmp_path: Path) -> None:
    """The user names one of the statistics; of nested objects, each may be a file."""
    text = '{"latency": {"mean": 1.5, "c": "a", "s": "x"}, "memory": {"mean": 3, "c": "a", "s": "x"}}'
    columns = {"time": "latency.mean", "shape": "latency.s", "config": "latency.c"}
    assert read_text(tmp_path, text, columns=columns, unit="ms")["latency"].item() == 1.5e-3
    nested = '{"old": {"x": {"time_ms": 1}, "y": {}}, "new": {"x": {"time_ms": 1}, "y": {}}}'
    with pytest.raises(DatasetError, match="has records in old and new; keep one of them"):
        read_text(tmp_path, nested)


@pytest.mark.parametrize("heading", ["unit,metric_unit", "time_unit,unit", "time_unit,result unit"])
def test_of_two_columns_of_units_that_of_the_time_counts(tmp_path: Path, heading: str) -> None:
    """The other may be of a size in memory."""
    for order, units in ((1, "us,ms"), (-1, "ms,us")):
        names = ",".join(heading.split(",")[::order])
        dataset = read_text(tmp_path, f"shape,config,time,{names}\nx,a,5,{units}\n")
        assert dataset["latency"].item() == 5e-6


def test_infinity_of_json_has_failed(tmp_path: Path) -> None:
    """Python writes an infinite float so."""
    text = '{"shape": "x", "config": "a", "time_s": Infinity}\n{"shape": "x", "config": "b", "time_s": 2}\n'
    dataset = read_text(tmp_path, text)
    assert dataset["run_status"].values.ravel().tolist() == [RunStatus.FAILED, RunStatus.COMPLETE]


@pytest.mark.parametrize("number", ["1_500", "\uff11\uff15", "\u0661\u0662"])
def test_numbers_have_ascii_digits_only(tmp_path: Path, number: str) -> None:
    """What Python reads as a number may be none for its author."""
    with pytest.raises(AbtuneError, match=r"line 2: column time_us: .* is not a number"):
        read_text(tmp_path, f"{HEADING}x,a,0,{number}\n")
    with pytest.raises(AbtuneError, match=r"times.0.: .* is not a number"):
        read_text(tmp_path, hyperfine(times=[number]), shape="s")


def test_a_cell_has_a_length(tmp_path: Path) -> None:
    """A label of thousands of characters is none; a column that is left out may have any."""
    with pytest.raises(AbtuneError, match="line 2: column shape has 5,000 characters, and the most is 4,096"):
        read_text(tmp_path, f"{HEADING}{'x' * 5000},a,0,1\n")
    text = f"shape,config,time_us,trace\nx,a,1,{'x' * 5000}\n"
    assert read_text(tmp_path, text)["latency"].item() == 1e-6


@pytest.mark.parametrize("unit", ["\u00b5s", "\u03bcs", "us"])
def test_a_column_of_units_takes_any_micro_sign(tmp_path: Path, unit: str) -> None:
    """There are two signs, which look alike, and u."""
    dataset = read_text(tmp_path, f"shape,config,time,unit\nx,a,5,us\nx,b,6,{unit}\n")
    assert dataset["latency"].values.ravel().tolist() == [5e-6, 6e-6]


@pytest.mark.parametrize(
    "text",
    [
        "# machine: x\n# by, hand\nshape,config,time_us\nx,a,2\n",
        "shape;config;time_us;note, free\nx;a;2;y\n",
        "shape,config,time (us)\nx,a,2\n",
        "shape\tconfig\tlatency [µs]\nx\ta\t2\n",
        'shape, config, "time (us)", note\n"x", "a", "2", "b, c"\n',
    ],
)
def test_headings_of_other_programs(tmp_path: Path, text: str) -> None:
    """Comments above the heading, commas within it, units in brackets, blanks behind commas."""
    dataset = read_text(tmp_path, text)
    assert dataset["latency"].values.ravel().tolist() == [2e-6]
    assert (dataset["shape"].item(), dataset["config"].item()) == ("x", "a")


def test_a_file_may_hold_nothing_but_times() -> None:
    """Its only heading says the unit; without a unit it could be any text."""
    assert has_times("time_ms\n1.0\n")
    assert has_times("kernel;old_ms;new_ms\nx;1,5;2,5\n"), "commas are refused where they are read"
    assert not has_times("time\nand again\n")


def test_seeds_may_be_written_as_pandas_does(tmp_path: Path) -> None:
    """A column of whole numbers that lacked one somewhere has points."""
    assert read_text(tmp_path, HEADING + "x,a,1.0,2\nx,a,2.0,2\n")["seed"].values.tolist() == [1, 2]


def test_columns_that_are_not_used_are_said(tmp_path: Path) -> None:
    """Whatever is left out is named."""
    path = tmp_path / "t.csv"
    path.write_text("shape,config,room,time_us,date\nx,a,h,1,d\nx,b,i,1,d\n", encoding="utf-8-sig")
    differ = "room: h in a and i in b; unless you compare that, differences may come from it"
    assert read(path).notes[1:] == (f"{path}: columns left out: room, date", differ)


def test_configurations_on_different_machines_are_said(tmp_path: Path) -> None:
    """A boost may come from the machine, unless each configuration ran on every one."""
    path, note = tmp_path / "t.csv", "GPU of x: A in old and B in new; differences may come from that"
    heading = "shape,config,seed,GPU,time_us\n"
    path.write_text(f"{heading}x,old,0,A,2\nx,old,1,A,2\nx,new,0,B,1\nx,new,1,B,1\n", encoding="utf-8")
    assert [said.partition(", so")[0] for said in read(path).notes if "GPU of" in said] == [note]
    path.write_text(f"{heading}x,old,0,A,2\nx,old,1,B,2\nx,new,0,B,1\nx,new,1,A,1\n", encoding="utf-8")
    assert not [said for said in read(path).notes if "GPU of" in said]
    lines = [f"x,{config},{seed},{config}{seed % 4},1\n" for config in ("old", "new") for seed in range(9)]
    path.write_text(heading + "".join(lines), encoding="utf-8")
    assert "GPU of x: old0 in 3 of 9 runs of old, old1 in 2 of 9 runs of old" in read(path).notes[-1]
    lines = [f"x,{config},{seed},{config}{seed},1\n" for config in ("old", "new") for seed in range(9)]
    path.write_text(heading + "".join(lines), encoding="utf-8")
    assert not [said for said in read(path).notes if "GPU of" in said], "a machine of its own for each run"
    path.write_text(f"{heading}x,old,0,0.71,2\nx,new,0,0.83,1\n".replace("GPU", "cpu"), encoding="utf-8")
    assert not [said for said in read(path).notes if "cpu of" in said], "a load is no machine"


def two_sides(name: str, old: str, new: str, seeds: int = 3) -> str:
    """Return a table whose sides differ in one column beside the times."""
    lines = [
        f"{shape},{config},{seed},{value},{1 + seed / 10}\n"
        for shape in "xy"
        for config, value in (("old", old), ("new", new))
        for seed in range(seeds)
    ]
    return f"shape,config,seed,{name},time_us\n{''.join(lines)}"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("dtype", "fp16", "fp32"), ("batch", "1", "8"), ("driver", "535.1", "550.2"), ("runner", "a", "b")],
)
def test_settings_that_differ_are_a_caveat(tmp_path: Path, name: str, old: str, new: str) -> None:
    """Both sides should have them alike, so the report of the dataset says so, too."""
    dataset = read_text(tmp_path, two_sides(name, old, new))
    (caveat,) = json.loads(dataset.attrs["caveats"])
    assert f"({name}: {old} in old and {new} in new)" in caveat


def test_a_caveat_is_about_the_two_configurations_that_differ(tmp_path: Path) -> None:
    """Of three configurations one has another driver; the report of the other two does not speak of it."""
    text = two_sides("driver", "535.1", "550.2")
    third = two_sides("driver", "535.1", "535.1").replace(",new,", ",next,").splitlines(keepends=True)
    dataset = read_text(tmp_path, text + "".join(line for line in third if ",next," in line))
    analyses = {one.candidate: one for one in abtune.analyze_all(dataset)}
    differ = "More differs than the configuration (driver: 535.1 in old and 550.2 in new). Run both alike."
    assert differ in analyses["new"].caveats
    assert not [note for note in analyses["next"].caveats if "driver" in note]
    assert "driver" not in analyses["next"].sentence
    merged = merge_datasets({"a": dataset, "b": dataset.assign_coords(seed=dataset["seed"] + 100)})
    assert merged.attrs["caveats"] == dataset.attrs["caveats"]


def test_settings_that_one_run_has_otherwise_are_a_caveat(tmp_path: Path) -> None:
    """A run of several may differ from the others of its side."""
    text = two_sides("driver", "535.1", "550.2", seeds=5).replace("x,old,4,535.1", "x,old,4,550.2")
    (caveat,) = json.loads(read_text(tmp_path, text).attrs["caveats"])
    assert "(driver: 535.1 in 4 of 5 runs of old and 550.2 in 1 of 5 runs of old and in new)" in caveat


@pytest.mark.parametrize(
    ("name", "old", "new"), [("dtype", "fp-old", "fp-new"), ("dtype", "", "fp16"), ("dtype", "OLD", "new")]
)
def test_settings_that_configurations_name_or_lack_are_no_caveat(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    """Configurations may be called by the setting that is compared; an empty cell says nothing."""
    assert "caveats" not in read_text(tmp_path, two_sides(name, old, new)).attrs


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("date", "05-01", "05-02"), ("cuda", "11.8", "12.4"), ("trials", "64", "2000"), ("layout", "A", "B")],
)
def test_a_column_that_tells_configurations_apart_is_said(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    """The comparison may be of that, so it is no caveat."""
    path = tmp_path / "t.csv"
    path.write_text(two_sides(name, old, new), encoding="utf-8")
    imported = read(path)
    said = f"{name}: {old} in old and {new} in new; unless you compare that, differences may come from it"
    assert imported.notes[-1] == said
    assert "caveats" not in imported.dataset.attrs


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        *(("commit", "abc", "def"), ("commit_date", "05-01", "05-02"), ("impl", "a", "b")),
        *(("speed", "3.25", "4.5"), ("occupancy", "50%", "75%"), ("day", "1", "1"), ("side", "old", "new")),
        *(("rmse_error", "5.59e-08", "2.17e-04"), ("bytes", "1e9", "2E+9")),
    ],
)
def test_a_column_that_says_nothing_new_is_not_said(tmp_path: Path, name: str, old: str, new: str) -> None:
    """A commit and a repeated name are the configuration, and decimals were rather measured."""
    path = tmp_path / "t.csv"
    path.write_text(two_sides(name, old, new), encoding="utf-8")
    assert not [note for note in read(path).notes if "unless you compare" in note]


@pytest.mark.parametrize("name", ["registers", "sm_clock", "cycles"])
def test_whole_numbers_that_no_second_timing_shows_again_are_not_said(tmp_path: Path, name: str) -> None:
    """A count differs from line to line anyway; a setting is the same in all lines of a configuration."""
    path = tmp_path / "t.csv"
    path.write_text(f"shape,config,{name},time_us\nx,old,1951,2\nx,new,1946,1\n", encoding="utf-8")
    assert not [note for note in read(path).notes if "unless you compare" in note]
    with path.open("a", encoding="utf-8") as file:
        file.write("x,old,1951,2\nx,new,1946,1\n")
    assert f"{name}: 1951 in old and 1946 in new; unless you compare that" in read(path).notes[-1]
    path.write_text(path.read_text("utf-8").replace("new,1946,1\n", "new,1947,1\n", 1), encoding="utf-8")
    assert not [note for note in read(path).notes if "unless you compare" in note]


def test_settings_that_differ_within_runs_are_no_caveat(tmp_path: Path) -> None:
    """Workers may share the repeats of each run; which one was the first says nothing."""
    lines = [
        f"x,{config},{seed},{worker},1\n"
        for config in ("old", "new")
        for seed in range(3)
        for worker in ("a" if config == "old" else "b", "cde"[seed])
    ]
    dataset = read_text(tmp_path, f"shape,config,seed,worker,time_us\n{''.join(lines)}")
    assert "caveats" not in dataset.attrs


def test_a_column_that_tells_files_apart_is_said(tmp_path: Path) -> None:
    """Each file may have one value, as with --run."""
    for config in ("old", "new"):
        text = f"shape,cuda,time_us\nx,{len(config)}.{config[0]},1\n"
        (tmp_path / config).write_text(text, encoding="utf-8")
    notes = read(runs=[f"{config}={tmp_path / config}" for config in ("old", "new")]).notes
    assert notes[-1].startswith("cuda: 3.o in old and 3.n in new; unless you compare that")


def test_a_column_that_tells_configurations_apart_that_names_them_is_told() -> None:
    """The name of a configuration may have the value within it."""
    cells = [("main-sm80", 1, {"arch": "SM80"}), ("main-sm90", 1, {"arch": "sm90"})]
    assert not [*about_columns(cells)]
    assert [*about_columns([*cells, ("other", 1, {"arch": "sm70"})])]


def test_a_column_that_may_number_runs_is_pointed_out(tmp_path: Path) -> None:
    """Its name may have a space or a mark, which the command quotes."""
    path = tmp_path / "t.csv"
    path.write_text("shape,config,Try #,time_us\nx,a,0,1\nx,a,1,2\nx,b,0,1\nx,b,1,3\n", encoding="utf-8")
    said = "if Try # tells separate runs apart, each is a seed: --columns 'seed=Try #'"
    left_out = f"{path}: columns left out: Try #"  # and nothing of what they differ in, which is the run
    assert read(path).notes[1:] == (left_out, f"{path}: {said}")
    assert read(path, seed_is="timing").notes[1:] == (left_out,)


def test_a_column_of_processes_is_pointed_out(tmp_path: Path) -> None:
    """A process is a run, so its timings are repeats of a seed."""
    path = tmp_path / "t.csv"
    lines = (f"x,{config},{number},{number}\n" for config in "ab" for number in (7, 7, 9, 9))
    path.write_text(f"shape,config,pid,time_us\n{''.join(lines)}", encoding="utf-8")
    said = f"{path}: if pid tells separate runs apart, each is a seed: --columns seed=pid"
    assert said in read(path).notes
    assert "2 seeds per cell, 2 timings per seed" in read(path, columns={"seed": "pid"}).notes[0]


def test_columns_in_which_repeats_differ_are_said(tmp_path: Path) -> None:
    """Two types of data or phases would be pooled without it."""
    path = tmp_path / "t.csv"
    path.write_text("note,host,shape,config,time_us\nA,h,x,a,1\nH,h,x,a,9\n", encoding="utf-8-sig")
    assert read(path).notes[1:] == (
        f"{path}: columns left out: note, host; lines of one shape and configuration differ in note; "
        "if that matters, write it into the shape or the configuration",
    )
    path.write_text("shape,config,seed,dtype,time_us\nx,a,0,f16,1\nx,a,1,f32,9\n", encoding="utf-8")
    assert "configuration differ in dtype; if that matters" in read(path).notes[1], "each seed has one line"
    path.write_text("shape,config,seed,iterations,time_us\nx,a,0,10,1\nx,a,1,90,9\n", encoding="utf-8")
    said = "iterations differ between lines; where a time is the sum of its iterations, divide it by them"
    assert f"{path}: {said}" in read(path).notes


@pytest.mark.parametrize(
    ("column", "one", "two", "is_refused"),
    [
        *(("device", "A100", "H100", True), ("dtype", "f16", "f32", True)),
        *(("batch", "32", "8", True), ("quantile", "0.2", "0.5", True), ("op", "add", "mul", True)),
        *(("r", "r1", "r2", False), ("iteration", "0", "1", False), ("note", "", "busy", False)),
    ],
)
def test_what_splits_all_runs_alike_makes_no_repeats(
    tmp_path: Path, column: str, one: str, two: str, *, is_refused: bool
) -> None:
    """The median of times on two devices or of two sizes is of neither; what counts repeats may differ."""
    path, heading = tmp_path / "t.csv", f"shape,config,seed,{column},time_us\n"
    cells = [(config, seed, word) for config in "ab" for seed in (0, 1) for word in (one, two)]
    path.write_text(
        heading + "".join(f"x,{c},{s},{w},{n + 1}\n" for n, (c, s, w) in enumerate(cells)), "utf-8"
    )
    said = f"column {column} says '{one}' and '{two}' of one run; .* --columns shape=shape\\+{column};"
    with pytest.raises(DatasetError, match=said) if is_refused else contextlib.nullcontext():
        read(path)
    if is_refused:  # days are repeats, if the user says so
        assert read(path, columns={"round": column}).dataset.sizes["round"] == 2
    assert read(path, columns={"shape": f"shape+{column}"}).dataset.sizes["shape"] == 2
    path.write_text(path.read_text("utf-8").replace(f"b,1,{two}", f"b,1,{one}"), "utf-8")
    with pytest.raises(DatasetError, match=said) if column == "op" else contextlib.nullcontext():
        read(path)  # one run has one word alone


def test_a_column_that_splits_one_shape_makes_no_repeats(tmp_path: Path) -> None:
    """One shape comes in two types of data, another in one, and one run lost a time."""
    cells = [("x", config, seed, dtype) for config in "ab" for seed in range(3) for dtype in ("f16", "f32")]
    cells = cells[1:] + [("y", config, seed, "f16") for config in "ab" for seed in range(3)]
    text = "shape,config,seed,dtype,time_us\n" + "".join(",".join(map(str, cell)) + ",5\n" for cell in cells)
    with pytest.raises(DatasetError, match="column dtype says 'f16' and 'f32' of one run"):
        read_text(tmp_path, text)


@pytest.mark.parametrize("shapes", [3, 4])
def test_a_column_that_splits_one_configuration_makes_no_repeats(tmp_path: Path, shapes: int) -> None:
    """Two variants would count as one configuration; three runs may be split so by chance."""
    lines = [f"x{n},b,{variant},5\n" for n in range(shapes) for variant in "pq"]
    lines += [f"x{n},{config},s,5\n" for n in range(3) for config in "acac"]
    refused = pytest.raises(DatasetError, match=r"'p' and 'q' of one run; .*: --columns config=variant;")
    with refused if shapes > 3 else contextlib.nullcontext():
        read_text(tmp_path, "shape,config,variant,time_us\n" + "".join(lines))


@pytest.mark.parametrize(("column", "word"), [("benchmark", "50{}.a_r"), ("runtype", "WARMUP")])
def test_benchmarks_and_warm_ups_are_no_repeats_of_one_run(tmp_path: Path, column: str, word: str) -> None:
    """SPEC names more benchmarks than a column has kinds; warm-ups may stand in a column of any name."""
    (tmp_path / "t.csv").write_text(
        f"{column},time_s\nreal,5\n" + "".join(f"{word.format(n)},9\n" for n in range(30))
    )
    with pytest.raises(DatasetError, match=f"column {column} says '.*' and '.*' of one run"):
        read(runs=[f"old={tmp_path / 't.csv'}"], shape="x")


def test_a_pruned_trial_has_no_time(tmp_path: Path) -> None:
    """Optuna writes the last value of a trial that it stopped early."""
    text = "shape,config,seed,time_ms,state\nx,a,0,5,COMPLETE\nx,a,1,1,PRUNED\n"
    assert np.isnan(read_text(tmp_path, text)["latency"].values).sum() == 1


def test_sizes_that_split_the_only_run_of_each_shape_make_no_repeats(tmp_path: Path) -> None:
    """A file of one configuration without seeds has one run of each shape, so shapes are compared."""
    paths = tmp_path / "old.csv", tmp_path / "new.csv"
    for time, path in enumerate(paths, start=5):
        lines = [f"x{number},{batch},{time}\n" for number in range(6) for batch in (8, 32)]
        path.write_text("shape,batch,time_us\n" + "".join(lines), "utf-8")
    with pytest.raises(DatasetError, match="column batch says '32' and '8' of one run"):
        read(runs=[f"{path.stem}={path}" for path in paths])


def test_sizes_that_are_a_label_can_be_joined_with_others(tmp_path: Path) -> None:
    """The message calls them shape, though no column does."""
    path = tmp_path / "t.csv"
    lines = [f"{n},{n}.0,{lam},{config},1.5\n" for n in (50, 60) for lam in (20, 50) for config in "ab"]
    path.write_text("size,p,lam,config,time_ms\n" + "".join(lines), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"join columns: --columns shape=shape[+]lam;"):
        read(path)
    dataset = read(path, columns={"shape": "shape+lam"}).dataset
    assert dataset["shape"].values.tolist() == [
        f"size={n}_p={n}_lam={lam}" for n in (50, 60) for lam in (20, 50)
    ]


@pytest.mark.parametrize("heading", ["kernel,variant,time_us", "device,batch,time_us"])
def test_missing_columns_are_said_before_columns_that_split_repeats(tmp_path: Path, heading: str) -> None:
    """Without a column of shapes or configurations, times of several look like repeats of one run."""
    lines = [f"{kernel},{variant},5\n" for kernel in "xy" for variant in ("old", "new") for _ in range(4)]
    with pytest.raises(
        DatasetError, match=r"has no column shape .* and no column config .*the other columns"
    ):
        read_text(tmp_path, f"{heading}\n" + "".join(lines))


def test_a_measured_number_may_differ_between_repeats(tmp_path: Path) -> None:
    """Clocks take the same few values in each run, but not equally often."""
    clocks = ("1965", "1980", "1980"), ("1965", "1965", "1980"), ("1980", "1980", "1965"), ("1965",) * 3
    lines = [f"x,{'ab'[n % 2]},{n // 2},{clock},5\n" for n, own in enumerate(clocks) for clock in own]
    text = "shape,config,seed,clock,time_us\n" + "".join(lines)
    assert read_text(tmp_path, text).sizes["repeat"] == 3


@pytest.mark.parametrize(
    "values", [range(60, 80, 2), ("1755", "1965", "1980"), ("93%", "95%", "99%"), ("0.1", "0.2", "0.4")]
)
def test_measured_values_that_come_again_in_many_runs_make_repeats(
    tmp_path: Path, values: Sequence[object]
) -> None:
    """Among hundreds of runs most pairs of temperatures come twice, but no pair is that of most runs."""
    rng = np.random.default_rng(0)
    cells = [(x, config, seed) for x in range(29) for config in "ab" for seed in range(10) for _ in range(3)]
    lines = ["x{},{},{},{},5\n".format(*cell, rng.choice(values)) for cell in cells]
    text = "shape,config,seed,measured,time_us\n" + "".join(lines)
    assert read_text(tmp_path, text).sizes["repeat"] == 3


@pytest.mark.parametrize("column", ["iteration", "iter", "step"])
def test_numbers_in_a_column_of_iterations_count_repeats(tmp_path: Path, column: str) -> None:
    """The name tells 100 and 200 from sizes. Elsewhere they are refused, and may number runs."""
    lines = [f"x,{config},{number},5\n" for config in "ab" for number in (100, 200)]
    text = f"shape,config,{column},time_us\n" + "".join(lines)
    refused = pytest.raises(DatasetError, match="if each is a run: --columns seed=step; if these are repeats")
    with refused if column == "step" else contextlib.nullcontext():
        assert read_text(tmp_path, text).sizes["repeat"] == 2


@pytest.mark.parametrize("is_count", [True, False])
def test_counts_in_steps_and_times_of_day_make_repeats(tmp_path: Path, *, is_count: bool) -> None:
    """Every hundredth iteration counts, and sides that ran in turns share the minute."""
    cells = [(config, seed, repeat) for seed in range(8) for config in "ab" for repeat in range(3)]
    lines = [f"x,{c},{s},{100 * r if is_count else f'12:{3 * s + r:02}'},5\n" for c, s, r in cells]
    dataset = read_text(tmp_path, "shape,config,seed,when,time_us\n" + "".join(lines))
    assert dataset.sizes["repeat"] == 3


@pytest.mark.parametrize(
    ("column", "one", "two", "is_refused"),
    [
        *(("error", "", "wrong result", True), ("error", "0.25", "1e-3", False), ("error", "nan", "", False)),
        *(("error", "0", "1e-05", False), ("error", "None", "", False), ("errors", "0", "2", True)),
        *(
            ("rc", "0.0", "1.0", True),
            ("valid", "1.0", "0.0", True),
        ),  # as pandas writes them beside gaps
        *(
            ("phase", "compile", "run", True),
            ("Stage", "a", "a", False),
        ),
    ],
)
def test_a_time_beside_an_error_is_none(
    tmp_path: Path, column: str, one: str, two: str, *, is_refused: bool
) -> None:
    """A kernel with a wrong result may be the fastest; an error bar is none."""
    text = f"shape,config,seed,{column},time_us\nx,a,0,{one},5\nx,a,1,{two},1\n"
    expected = pytest.raises(
        AbtuneError, match=f"line 3: column {column} says '{two}', but '{one}' in line 2"
    )
    with expected if is_refused else contextlib.nullcontext():
        assert read_text(tmp_path, text)["latency"].values.ravel().tolist() == [5e-6, 1e-6]


def test_shapes_may_be_of_different_stages(tmp_path: Path) -> None:
    """Layers of a network have stages, and kernels have parameters called so."""
    text = "shape,stage,config,time_ms\nx,1,a,5\nx,1,b,6\ny,2,a,1\ny,2,b,2\n"
    assert read_text(tmp_path, text)["latency"].values.ravel().tolist() == [5e-3, 6e-3, 1e-3, 2e-3]
    trials = read_table("stage,time_ms\n2,5\n3,6\n", {}, "", "trial")
    assert trials.cells[0].rounds == ((5e-3, 6e-3),)


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADING}a,x,0,1\nTotal,x,0,3\na,x,1,2\ngeomean,x,1,4\n",
        "shape,seed,x_us,y_us\na,0,1,1\nTotal,0,3,3\na,1,2,2\nmean,0,1.5,1.5\n",
        f"{HEADING}a,x,0,1\na,x,Average,3\na,x,1,2\na,x,std,4\n",
    ],
)
def test_lines_that_sum_up_others_are_left_out(tmp_path: Path, text: str) -> None:
    """Lines of means and totals are left out, and a note names them."""
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    imported = read(tmp_path / "t.csv")
    assert imported.dataset["shape"].values.tolist() == ["a"]
    assert imported.dataset["latency"].sel(config="x").values.ravel().tolist() == [1e-6, 2e-6]
    assert "2 lines left out, the first in line 3: " in imported.notes[-1]


def test_a_column_that_may_number_seeds_is_said(tmp_path: Path) -> None:
    """Else the runs of a file would count as repeats of one seed."""
    path = tmp_path / "t.csv"
    path.write_text("shape,config,Run,time_us\nx,a,1,1\nx,a,2,1\n", encoding="utf-8")
    assert "each is a seed: --columns seed=Run" in read(path).notes[-1]
    (note,) = read(path, columns={"seed": "Run"}).notes
    assert note.startswith("each number in the column Run is one seed: ")


def test_runs_without_a_time_may_have_another_status(tmp_path: Path) -> None:
    """The status of a run without a time may differ. So may the sizes of two shapes."""
    path = tmp_path / "t.csv"
    lines = "x,a,,oom,1\nx,b,2,ok,1\ny,a,1,ok,2\n"
    path.write_text(f"shape,config,time_us,status,size\n{lines}", encoding="utf-8")
    imported = read(path)
    assert imported.dataset["run_status"].sel(shape="x", config="a").item() == RunStatus.FAILED
    assert imported.notes[1] == f"{path}: columns left out: status, size"


def test_a_quotient_tells_no_lines_apart(tmp_path: Path) -> None:
    """It is left out of a table with a column for each configuration, whose lines are repeats."""
    path = tmp_path / "t.csv"
    path.write_text("shape,old_ms,new_ms,speedup\nx,2,1,2\nx,3,2,1.5\n", encoding="utf-8")
    assert read(path).notes[1:] == ()
    lists = '[{"shape": "x", "old_ms": [2, 4], "new_ms": [1, 3], "speedup": 1.5}]'
    assert read_text(tmp_path, lists)["latency"].values.ravel().tolist() == [2e-3, 4e-3, 1e-3, 3e-3]
    path.write_text("shape,old_ms,new_ms,speedup\nx,2,1,2\nx,3,2,1.6\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match=r"line 3: the boost is printed as 1\.6"):
        read(path)


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        ("code", "FAIL"),
        ("result.status", "timeout"),
        ("execution_status", "crashed"),
        ("Disposition", "incorrect"),
        *(("exception", "OSError"), ("checkStatus", "failed:SIGSEGV"), ("is_correct", "incorrect")),
        *(("validation", "Fail"), ("what", "crash")),  # by what the columns say
    ],
)
def test_the_time_of_a_failed_run_does_not_count(tmp_path: Path, outcome: str, failed: str) -> None:
    """LLVM's lit writes a code and a time for tests that failed, too."""
    path = tmp_path / "t.json"
    tests = [{"name": name, outcome: word, "time_ms": 5} for name, word in (("a", "PASS"), ("b", failed))]
    path.write_text(json.dumps({"tests": tests}), encoding="utf-8")
    dataset = read(runs=[f"old={path}"], columns={"shape": "name"}).dataset
    assert dataset["run_status"].values.ravel().tolist() == [RunStatus.COMPLETE, RunStatus.FAILED]


@pytest.mark.parametrize(
    "rate", ["throughput", "ops/sec", "requests_per_second", "qps", "iops", "Throughput.avg"]
)
def test_how_long_runs_were_to_take_is_no_time(tmp_path: Path, rate: str) -> None:
    """Load generators run for ten seconds, and tell how much was done: all configurations would be equal."""
    head = f"shape,config,seed,duration_s,{rate},error_rate\n"
    path = tmp_path / "t.csv"
    path.write_text(
        head + "x,a,1,10,100,0\nx,a,2,10.01,103,1\nx,b,1,10,200,0\nx,b,2,10,205,0\n", encoding="utf-8"
    )
    with pytest.raises(
        DatasetError, match=r"the times of x hardly differ, and .* does, so each run may have"
    ):
        read(path)
    named = read(path, columns={"time": "duration_s"})
    assert (named.dataset["latency"] > 9).all()
    assert any("the times of x hardly differ" in note for note in named.notes)
    # Both differ alike, or hardly, if the time was measured. An error_rate says nothing of it.
    path.write_text(head + "x,a,1,10,100,0\nx,a,2,8,125,3\nx,b,1,5,200,0\nx,b,2,4,250,0\n", encoding="utf-8")
    assert read(path).dataset["latency"].values.ravel().tolist() == [10, 8, 5, 4]
    path.write_text(
        head + "x,a,1,10,100,0\nx,a,2,10,100,3\nx,b,1,10.05,99.5,0\nx,b,2,10,100,0\n", encoding="utf-8"
    )
    assert read(path).dataset["latency"].values.ravel().tolist() == [10, 10, 10.05, 10]
    # Each run may have a file of its own, and the runs of one configuration may agree.
    for name, number in (("a1", 100), ("a2", 100.1), ("b1", 200), ("b2", 200.1)):
        text = f"shape,duration_s,{rate}\nx,10,{number}\n"
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match="the times of x hardly differ"):
        read(runs=[f"{side}={tmp_path}/{side}*.csv" for side in "ab"])


@pytest.mark.parametrize("column", ["gflops", "qps", "loops", "drops_per_run", "error_rate"])
def test_short_kernels_may_all_take_the_time_of_a_launch(tmp_path: Path, column: str) -> None:
    """Of shapes that take equally long, the larger has the higher rate; loops are calibrated."""
    text = f"shape,config,seed,time_us,{column}\nx,a,1,5,10\nx,a,2,5.01,9.98\nx,b,1,5,10\nx,b,2,5,10\n"
    text += "y,a,1,5,20\ny,a,2,5,20\ny,b,1,5,20\ny,b,2,5.02,20\n"
    assert read_text(tmp_path, text).sizes["shape"] == 2
    assert read_text(tmp_path, f"{text}x,b,3,FAILED,0\n").sizes["shape"] == 2
    if column not in ("gflops", "qps"):
        assert read_text(tmp_path, text.replace("x,b,2,5,10", "x,b,2,5,70")).sizes["shape"] == 2


def test_a_setting_beside_a_time_is_no_failure(tmp_path: Path) -> None:
    """A limit may be infinite; a column that says of some lines that they failed tells no kinds apart."""
    text = "shape,config,seed,time_ms,{}\nx,a,1,5,{}\nx,a,2,6,{}\nx,a,3,7,{}\n"
    path = tmp_path / "t.csv"
    path.write_text(text.format("limit", "inf", "inf", "inf"), encoding="utf-8")
    assert (read(path).dataset["run_status"] == RunStatus.COMPLETE).all()
    path.write_text(text.format("check", "FAIL", "PASS", "PASS"), encoding="utf-8")
    reading = read(path)
    assert reading.dataset["run_status"].values.ravel().tolist() == [
        RunStatus.FAILED,
        RunStatus.COMPLETE,
        RunStatus.COMPLETE,
    ]
    assert f"{path}: columns left out: check" in reading.notes


def test_errors_of_some_requests_are_no_failed_run(tmp_path: Path) -> None:
    """Vegeta lists them beside the latencies of all requests."""
    path = tmp_path / "t.json"
    path.write_text('{"shape": "get", "config": "a", "time_ms": 5, "errors": ["timeout"]}', encoding="utf-8")
    assert read(path).dataset["latency"].values.ravel().tolist() == [5e-3]


def test_times_of_one_run_are_no_configurations(tmp_path: Path) -> None:
    """LNT writes how long each test compiled and ran; Bencher, the limits of each measurement."""
    for text in (
        '{"tests": [{"name": "a", "compile_time": 0.1, "execution_time": 2}]}',
        '{"a": {"latency": {"value": 2, "lower_value": 1, "upper_value": 3}}}',
        "name,wall_time,mem_bytes\na,1,2\n",
        "name,nodes,my.cores\na,1,2\n",
        "name,gx,bx,runs\na,1,2,3\n",  # launch dimensions, as OpenTuner's users write them
    ):
        path = tmp_path / "t.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DatasetError, match=r"of one run by their names|is no configuration by its name"):
            read(path, unit="s", columns={} if "name" in text else {"shape": "key"})


def test_what_a_column_numbers_is_a_size(tmp_path: Path) -> None:
    """A simulator of 4 and 5 qubits has two shapes; how many trials a time is of may differ."""
    text = "shape,config,{},time_us\nqft,a,4,1\nqft,a,5,2\n"
    with pytest.raises(DatasetError, match="num_qubits says '5', but '4' in line 2; they are two shapes"):
        read_text(tmp_path, text.format("num_qubits"))
    assert read_text(tmp_path, text.format("num_trials")).sizes["repeat"] == 2


def test_many_statistics_by_name_are_a_table(tmp_path: Path) -> None:
    """KernelBench has the mean and more of each of its problems; a report of a server has a few metrics."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps({f"{i}_matmul": {"mean": i + 1, "std": 0} for i in range(60)}))
    columns = {"shape": "key", "time": "mean"}
    assert read(runs=[f"old={path}"], unit="ms", columns=columns).dataset.sizes["shape"] == 60


def test_the_unit_beside_a_statistic_is_its_unit(tmp_path: Path) -> None:
    """genai-perf writes the unit of each metric; --unit s would have made seconds of milliseconds."""
    path = tmp_path / "t.json"
    path.write_text('{"model": "a", "latency": {"unit": "ms", "avg": 2}, "tokens": {"unit": "1", "avg": 9}}')
    columns = {"shape": "model", "time": "latency.avg"}
    assert read(runs=[f"old={path}"], columns=columns).dataset["latency"].values.ravel().tolist() == [2e-3]
    with pytest.raises(AbtuneError, match=r"told twice, by --unit s and by the column latency\.unit"):
        read(runs=[f"old={path}"], columns=columns, unit="s")


def test_statistics_below_their_timings_are_no_shapes(tmp_path: Path) -> None:
    """The CSV of Google Benchmark ends with them; a name that ends in mean may be that of a kernel."""
    text = "shape,config,time_ns\nreduce,a,1\nreduce_mean,a,2\n{}"
    assert read_text(tmp_path, text.format("")).sizes["shape"] == 2
    with pytest.raises(DatasetError, match="line 4: reduce_stddev sums up lines above it; take all such"):
        read_text(tmp_path, text.format("reduce_stddev,a,0.1\n"))


@pytest.mark.parametrize("name", ["max_time_ms", "stats.max"])
def test_the_slowest_of_several_may_be_named(tmp_path: Path, name: str) -> None:
    """Its name says what it is, with the unit or without."""
    (tmp_path / "t.csv").write_text(f"shape,config,{name}\nx,a,5\n", encoding="utf-8")
    unit = "" if name.endswith("ms") else "ms"
    assert read(tmp_path / "t.csv", columns={"time": name}, unit=unit).dataset["latency"].item() == 5e-3


def test_a_score_with_its_unit_may_be_a_time(tmp_path: Path) -> None:
    """The CSV of JMH has scores; one in ops/ms is a rate, and no --unit makes a time of it."""
    text = "shape,config,Score,Units\nx,a,2,{}\n"
    dataset = read_text(tmp_path, text.format("ms/op"), columns={"time": "Score"})
    assert dataset["latency"].values.ravel().tolist() == [2e-3]
    with pytest.raises(DatasetError, match=r"unit 'ops/ms' is none of .*, or write 1 / rate as time"):
        read_text(tmp_path, text.format("ops/ms"), columns={"time": "Score"})


def test_the_unit_of_a_time_may_be_in_brackets(tmp_path: Path) -> None:
    """A table of MLPerf results has such a column."""
    text = "shape,config,time,Result_Units\nx,a,2,Latency (ms)\n"
    assert read_text(tmp_path, text)["latency"].values.ravel().tolist() == [2e-3]


def test_a_status_beside_configurations_is_none(tmp_path: Path) -> None:
    """Who took it out, as the command said, counted the times of failed runs."""
    path = tmp_path / "t.csv"
    table = "shape,seed,status,old_ms,new_ms\nx,0,ok,2,1\nx,1,failed,{},9\n"
    path.write_text(table.format(3), encoding="utf-8")
    with pytest.raises(DatasetError, match="'failed', but 'ok' in line 2; leave the times of failed runs"):
        read(path)
    path.write_text(table.format("").replace(",9", ","), encoding="utf-8")
    assert read(path).dataset["config"].values.tolist() == ["old", "new"]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "is empty"),
        ("\n  \n", {}, "is empty"),
        (HEADING, {}, "has a heading and no timings"),
        ("shape,config,time_us\nx,a,6 \u00b1 4%\n", {}, "write the number alone, without its error"),
        ("shape,config,seed\nx,a,0\n", {}, "has no column of times among shape, config, seed"),
        ("shape,config,time_us,time_ms\nx,a,1,1\n", {}, "has 2 columns of times"),
        ("shape,config,time\nx,a,1\n", {}, "nothing says in which unit time is; give --unit"),
        ("shape,config,time_us\nx,a,1\n", {"unit": "ms"}, "told twice, by the name time_us and by --unit ms"),
        (
            "shape,config,time_us,unit\nx,a,1,us\n",
            {},
            "told twice, by the name time_us and by the column unit",
        ),
        ("shape,config,time,unit\nx,a,1,min\n", {}, "line 2: unit 'min' is none of s, ms, us, ns"),
        (
            "shape,config,time,unit\nx,a,1,op\n",
            {},
            "'op' is none of .*, or take the column out and give --unit$",
        ),
        (
            "shape,config,time,unit\nx,a,1,ops/sec\n",
            {},
            "'ops/sec' is none of .*, or write 1 / rate as time .s.,",
        ),
        (
            "shape,config,time,unit\nx,a,1,GFLOPS\n",
            {},
            "'GFLOPS' is none of .*, or write 1 / rate as time .s.,",
        ),
        ("shape,time_us\nx,1\n", {}, "give --columns config=ITS_NAME, or --run NAME="),
        (
            "config,time_us\nx,1\n",
            {},
            "has no column shape (give --columns shape=ITS_NAME, or --shape LABEL.$",
        ),
        (
            "a,time_us\nx,1\n",
            {},
            "column shape (.* --shape LABEL. and no column config (.* --run NAME=.*; the other columns: a$",
        ),
        ("a,b,time_us\nx,y,1\n", {}, r"dump.txt.; the other columns: a, b$"),
        ("1200000,ns,0.9\n1300000,ns,0.9\n", {}, "holds values; write above it names of columns: shape,"),
        (
            "shape,config,time_us\nx,a,1\n",
            {"shape": "y"},
            "says itself which shape a time is of, .x.; leave out --shape LABEL",
        ),
        (
            "shape,config,time_us\nx,a,1\n",
            {"columns": {"seed": "run"}},
            "has no column 'run'; there are shape",
        ),
        (HEADING + "x,a,0,1\n", {"seed_is": "timing"}, "a column seed; leave out --seed-is"),
        ("shape,shape,time_us\nx,a,1\n", {}, "two columns have the same name"),
        (HEADING + "x,a,0,fast\n", {}, "line 2: column time_us: 'fast' is not a number; if that run"),
        (
            HEADING + "x,a,0,1e16\n",
            {},
            "1e16 us is no time but marks a failure; if that run failed, leave the",
        ),
        (
            HEADING + "x,a,0,1\n\nx,a,0,-1\n",
            {},
            "line 4: column time_us: a time must be positive, not -1; if that",
        ),
        (HEADING + "x,a,0,0\n", {}, "line 2: column time_us: a time must be positive, not 0"),
        (HEADING + "x,a,0,nan\nx,b,0,\n", {}, "has no timings"),
        ("shape,config,time_us\nx,a,nan\nx,b,\n", {"seed_is": "timing"}, "has no timings"),
        (HEADING + "x,a,0,-inf\n", {}, "line 2: column time_us: a time must be positive, not -inf"),
        (HEADING + "x,,0,1\n", {}, "line 2: column config is empty"),
        (HEADING + "x,a,0\n", {}, "line 2: 3 cells under a heading of 4; complete the line or take"),
        (HEADING + "x,a,1.5,1\n", {}, "line 2: seed '1.5' is not a whole number"),
        (HEADING + "x,a,-1,1\n", {}, "line 2: seed '-1' .* of up to 18 digits; number the runs"),
        (HEADING + "x,a,0,1\n" + HEADING, {}, "line 3: is the heading again; take it out, or"),
        (HEADING + "x,a,0,1\nshape,config,seed,time_ms\n", {}, "line 3: is the heading again"),
        (HEADING + 'x,a,0,"1\n', {}, "line 2: unexpected end of data"),
        (
            "shape,config,seed,repeat,time_us\nx,a,0,0,1\nx,a,0,1,1\nx,a,0,0,2\n",
            {},
            "line 4: the same cell, round and repeat as in line 2; keep one, or join columns",
        ),
        (HEADING + "x,a,0,1\n#x,a,1,1\n", {}, "line 3: begins with #, but comments stand above the heading"),
        ("shape;config;time_us\nx;a;1,5\n", {}, "such as 1234.5; if semicolons .* tr ',;' '.,' < FILE"),
        ("shape,config,time_us\nx,a,1e-320\n", {}, "line 2: column time_us: a time must be positive"),
        (
            "shape,main,branch\nx,1,2\n",
            {},
            "in which unit the numbers of main, branch are; give --unit, one of s, ms",
        ),
        ("shape,a_ms,b\nx,1,2\n", {}, "column 'b' has no unit beside one that has; name it 'b .ms.'"),
        ("shape,size,a_ms,b_ms\nx,1,2,3\n", {}, "column 'size' is no configuration by its name; take it out"),
        ("shape,a_ms,b_ms,tuning_s\nx,1,2,3\n", {}, "column 'tuning' is no configuration by its name"),
        ("shape,a_ms,b_ms,gap_ms\nx,1,2,3\n", {}, "column 'gap' is no configuration by its name"),
        ('shape,config,time_ms\n"x,a,1\n', {}, "line 2: unexpected end of data; close each quote"),
        (
            "shape,a_ms,b_ms\nx,1,2\n",
            {"unit": "s"},
            "the unit is told twice, by the headings and by --unit s",
        ),
        ("shape,a_ms,b_ms\nx,1,2\ny,1,1:00\n", {}, "line 3: column b_ms: '1:00' is not a number"),
        ("shape,a_ms,a_us\nx,1,2\n", {}, "a column for each configuration, two or more of different names"),
        ("shape,a_ms,b_ms,speedup,a_gflops\nx,2,1,2,3\n", {}, "each configuration, two or more of different"),
        ("s\0h\0a\0p\0e\0", {}, "not a text in UTF-8"),
        (
            "shape,config,time_us,Passed\nx,a,1,yes\nx,b,2,yes\ny,b,9,no\n",
            {},
            "line 4: column Passed says 'no', but 'yes' in line 2; leave the times of failed runs",
        ),
        (
            "shape,config,time_us,allclose\nx,a,1,True\nx,b,2,False\n",
            {},
            "line 3: column allclose says 'False', but 'True' in line 2; leave the times of failed runs",
        ),
        (
            "shape,config,M,N,time_us\nx,a,1,1,1\ny,a,2,1,2\nx,b,2,1,9\n",
            {},
            "line 4: column M says '2', but '1' in line 2; they are two shapes of one label, "
            r"so join columns: --columns shape=shape\+M\+N; take it out if it is a result",
        ),
        (
            "shape,config,GrdX,time_us\nx,a,1,1\nx,a,64,9\n",
            {},
            r"column GrdX says '64', but '1' in line 2; .* join columns: --columns shape=shape\+GrdX",
        ),
        (
            "shape,config,stat,time_us\nx,a,mean,1\nx,a,std,2\n",
            {},
            "line 3: column stat says 'std', but 'mean' in line 2; they are no repeats",
        ),
        (
            "shape,config,Measurement_IterationStage,time_us\nx,a,Jitting,1\nx,a,Result,2\n",
            {},
            "line 3: column Measurement_IterationStage says 'Result', but 'Jitting' in line 2",
        ),
        (
            "Grid X,shape,config,time\n,,,us\n1,x,a,9\n",
            {"unit": "ms"},
            "line 2: holds units and no values; take the line out, and give --unit us",
        ),
        (
            HEADING + "x,a,0,Timeout (60 s)\n",
            {},
            "'Timeout .60 s.' is not a number; if that run failed, leave",
        ),
        ("just some words\n", {}, "has no column of times among just some words"),
        (
            "shape,config,timeMs,averageMs\nx,a,8,4\nx,b,9,3\n",
            {},
            "timeMs may be a total, and averageMs its mean; name .* --columns time=averageMs$",
        ),
        *(
            (f"shape,config,time_ms,{mean}\nx,a,8,4\n", {}, f"time_ms may be a total, and {mean} its mean")
            for mean in ("mean_ms", "p50_ms", "samples_ms")
        ),
        (  # of kernels that one side calls more often (nsys, rocprof)
            "config,Name,Calls,TotalDurationNs,AverageNs\na,x,2,8,4\nb,x,3,12,4\n",
            {"columns": {"shape": "Name", "time": "TotalDurationNs"}},
            "TotalDurationNs may be a total, and AverageNs its mean; name .* --columns time=AverageNs$",
        ),
        (
            "Total Time (ns),Instances,Avg (ns),Med (ns),Name\n8,2,4,4,x\n",
            {"columns": {"shape": "Name", "time": "Total Time (ns)"}},
            r"Total Time (ns\) may be a total, and Avg (ns\) its mean; .* --columns 'time=Avg (ns\)'$",
        ),
        (
            '{"shape": "x", "config": "a", "time_ms": [[1, 2], [3, 4]]}',
            {},
            "line 1: column time_ms: a list of lists; write a line for each list",
        ),
    ],
)
def test_bad_tables_say_where(tmp_path: Path, text: str, options: dict[str, Any], said: str) -> None:
    """Every fault of a table is one line with the place and what to do."""
    with pytest.raises(AbtuneError, match=said.replace("(", r"\(")) as raised:
        read_text(tmp_path, text, **options)
    assert "\n" not in str(raised.value)


def test_cells_of_several_files(tmp_path: Path) -> None:
    """A seed that two files give is refused, and so are files if only some tell seeds."""
    one, two, bare = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "bare.csv"
    one.write_text(HEADING + "x,a,0,1\n", encoding="utf-8")
    two.write_text(HEADING + "x,a,1,1\nx,a,0,1\n", encoding="utf-8")
    bare.write_text("shape,config,time_us\nx,a,1\n", encoding="utf-8")
    with pytest.raises(
        AbtuneError, match=r"two.csv: line 3: a has timings of x, seed 0, already; number the"
    ):
        read(one, two)
    with pytest.raises(AbtuneError, match="let all have it, or none"):
        read(one, bare)
    with pytest.raises(
        AbtuneError, match=r"says itself which config a time is of, .a.; leave out --run NAME="
    ):
        read(runs=[f"a={one}"])


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, another encoding, the same file twice, nothing at all."""
    (tmp_path / "utf16.csv").write_text(HEADING, encoding="utf-16-le")
    for path, said in (
        (tmp_path / "absent.csv", "cannot read"),
        (tmp_path, "cannot read"),
        (tmp_path / "utf16.csv", "not a text in UTF-8"),
        (bundled_path("h200-pilot"), "is netCDF or HDF5, not a text; if it is a dataset: abtune analyze"),
    ):
        with pytest.raises(AbtuneError, match=said):
            read(path)
    with pytest.raises(AbtuneError, match="given twice"):
        read(SAMPLES / "times.csv", SAMPLES / "times.csv")
    with pytest.raises(AbtuneError, match="nothing to import; give files"):
        read()


def test_a_line_of_any_length_is_looked_at_in_no_time(tmp_path: Path) -> None:
    """What a file is must not take a time that grows with the square of a line: this took an hour."""
    with pytest.raises(AbtuneError, match="two columns have the same name") as raised:
        read_text(tmp_path, "a," * 200_000)
    assert len(str(raised.value)) < 400


class Seed(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Seed.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_work_grows_with_the_number_of_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No seed is searched for among all others: 30,000 of them took most of a minute."""
    cells = tuple(
        FileCell(where="", name=None, shape="x", config=config, seed=Seed(seed), rounds=((1.0,),), labels=())
        for seed in range(500)
        for config in "ab"
    )
    reading = FileContent(cells=cells, each_a_process=False, notes=())
    monkeypatch.setattr("abtune.ingest.timings.timings.read_table", lambda *_, **__: reading)
    Seed.compared = 0
    assert read_text(tmp_path, HEADING).sizes["seed"] == 500
    assert Seed.compared < 10 * len(cells)


def test_paths_may_name_shape_configuration_and_seed(tmp_path: Path) -> None:
    """Files that hold nothing but times are told apart by their paths."""
    times = {("old", "a", 3): [1, 2], ("old", "a", 7): [3], ("new", "a", 3): [4], ("new", "b", 7): [5, 6]}
    for (config, shape, seed), milliseconds in times.items():
        path = tmp_path / config / f"{shape}-{seed}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("time_ms\n" + "".join(f"{time}\n" for time in milliseconds), encoding="utf-8")
    imported = read_sources(find_matching(f"{tmp_path}/{{config}}/{{shape}}-{{seed}}.csv"))
    cells = imported.dataset["latency"].squeeze("round")
    assert cells["seed"].values.tolist() == [3, 7]
    for (config, shape, seed), milliseconds in times.items():
        timings = cells.sel(config=config, shape=shape, seed=seed).dropna("repeat").values * 1e3
        assert timings.tolist() == pytest.approx(milliseconds)
    assert imported.notes[0].startswith("each number in the path is one seed: 1 to 2 seeds per cell")
    counted = read_sources(find_matching(f"{tmp_path}/{{config}}/{{shape}}-*.csv"))
    assert counted.dataset["seed"].values.tolist() == [0, 1]
    assert "each file is one seed" in counted.notes[0]


def test_paths_and_columns_are_not_both_asked(tmp_path: Path) -> None:
    """What a path says and a column too is told twice."""
    path = tmp_path / "a-1.csv"
    path.write_text("shape,config,seed,time_us\nx,a,0,1\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match=r"has a column seed; leave .seed. out of --pattern"):
        read_sources(find_matching(f"{tmp_path}/a-{{seed}}.csv"))
    with pytest.raises(AbtuneError, match=r"says itself which config a time is of, .a.; leave out --run "):
        read_sources(find_matching(f"{tmp_path}/{{config}}-1.csv"))
    with pytest.raises(AbtuneError, match="both name the shape"):
        read_sources(find_matching(f"{tmp_path}/{{shape}}-1.csv"), shape="y")


# --- benchmark runners --------------------------------------------------------------------------------


def test_pytest_benchmark() -> None:
    """Benchmarks are shapes, files are seeds, the data are seconds of one call."""
    dataset = read(runs=[f"old={SAMPLES}/pytest-*.json"]).dataset
    assert dataset["shape"].values.tolist() == ["test_b.py::test_small", "test_b.py::test_large"]
    for seed in (0, 1):
        document = json.loads((SAMPLES / f"pytest-{seed + 1}.json").read_text(encoding="utf-8"))
        for index, entry in enumerate(document["benchmarks"]):
            cell = dataset["latency"].isel(shape=index, seed=seed).values.ravel()
            assert cell.tolist() == entry["stats"]["data"]
            assert cell.mean() == pytest.approx(entry["stats"]["mean"])


def test_google_benchmark() -> None:
    """Repetitions are repeats in the unit that the file says; aggregates are left out."""
    document = json.loads((SAMPLES / "google-1.json").read_text(encoding="utf-8"))
    dataset = read(runs=[f"old={SAMPLES}/google-1.json"]).dataset
    times = [e["real_time"] for e in document["benchmarks"] if e["run_type"] == "iteration"]
    assert dataset["latency"].values.ravel().tolist() == [time / 1e9 for time in times]
    assert len(times) == 3 < len(document["benchmarks"])


def test_settings_of_google_benchmark_that_differ_are_a_caveat(tmp_path: Path) -> None:
    """It names no processor, but the host, its processors and how its library was built."""
    settings = {"host_name": "one", "num_cpus": 8, "library_build_type": "debug", "cpu_scaling_enabled": True}
    for config, context in (("old", settings), ("new", {**settings, "library_build_type": "release"})):
        document = {**json.loads(google()), "context": context}
        (tmp_path / config).write_text(json.dumps(document), encoding="utf-8")
    imported = read(runs=[f"{config}={tmp_path / config}" for config in ("old", "new")])
    differ = "library_build_type of x: debug in old and release in new"
    assert imported.notes[1:] == (f"{differ}; differences may come from that, so run both alike",)
    assert differ in imported.dataset.attrs["caveats"]


def test_a_container_is_no_host(tmp_path: Path) -> None:
    """Its name is new in each run, whatever machine it runs on."""
    for config, host in (("old", "0123456789ab"), ("new", "f00dcafe0123")):
        document = {**json.loads(google()), "context": {"host_name": host}}
        (tmp_path / config).write_text(json.dumps(document), encoding="utf-8")
    imported = read(runs=[f"{config}={tmp_path / config}" for config in ("old", "new")])
    assert len(imported.notes) == 1


@pytest.mark.parametrize("about", [None, [], "x", {"python_version": None}])
def test_what_is_said_of_a_machine_may_be_damaged(tmp_path: Path, about: object) -> None:
    """The times are counted all the same."""
    for name in ("context", "machine_info"):
        entry = {"name": "x", "time_unit": "us", "real_time": 1, "fullname": "x", "stats": {"data": [1e-6]}}
        (tmp_path / name).write_text(json.dumps({name: about, "benchmarks": [entry]}), encoding="utf-8")
        assert read(runs=[f"old={tmp_path / name}"]).dataset["latency"].values.ravel().tolist() == [1e-6]


def test_numbers_with_marks_of_thousands_are_refused(tmp_path: Path) -> None:
    """A German spreadsheet writes both marks, and the error says how to write the number."""
    path = tmp_path / "t.csv"
    path.write_text("shape;old_ms;new_ms\na;1.234,5;1.100,2\n", encoding="utf-8")
    assert has_times(path.read_text(encoding="utf-8"))
    with pytest.raises(DatasetError, match=r"'1\.234,5' is not a number; write digits and a decimal point"):
        read(path)


def test_versions_of_python_are_said(tmp_path: Path) -> None:
    """Both sides may run under different ones without anybody's intent."""
    for config, version in (("old", "3.10.4"), ("new", "3.12.1")):
        entry = {"fullname": "x", "stats": {"data": [1e-6]}}
        document = {"machine_info": {"python_version": version}, "benchmarks": [entry]}
        (tmp_path / config).write_text(json.dumps(document), encoding="utf-8")
    imported = read(runs=[f"{config}={tmp_path / config}" for config in ("old", "new")])
    assert imported.notes[-1].startswith("python_version: 3.10.4 in old and 3.12.1 in new; unless")


def test_hyperfine() -> None:
    """Commands are configurations of the shape that is named; a timing may be a seed, as it was a process."""
    document = json.loads((SAMPLES / "hyperfine-1.json").read_text(encoding="utf-8"))
    times = [entry["times"] for entry in document["results"]]
    dataset = read(SAMPLES / "hyperfine-1.json", shape="sleep").dataset
    assert dataset["config"].values.tolist() == ["sleep 0.01", "sleep 0.02"]
    assert dataset["latency"].values[0, :, 0, 0].tolist() == times
    assert (
        read(SAMPLES / "hyperfine-1.json", shape="sleep")
        .notes[0]
        .endswith("with --seed-is timing each is a seed")
    )
    imported = read(SAMPLES / "hyperfine-1.json", shape="sleep", seed_is="timing")
    assert imported.dataset["latency"].values[0, :, :, 0, 0].tolist() == times
    seeds, in_a_row = imported.notes
    assert seeds == "each timing is one seed: 4 seeds per cell, 1 timing per seed"
    assert in_a_row.startswith(
        "Hyperfine makes all runs of a command in a row, so a drift of the machine counts"
    )
    assert abtune.analyze(imported.dataset).caveats[0] == in_a_row


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("shape,config,time_s\nx,a,1\nx,b,3\nx,a,2\nx,b,\n", [[1, 2], [3, math.nan]]),
        ("shape,a_s,b_s\nx,1,3\nx,2,4\n", [[1, 2], [3, 4]]),
    ],
)
def test_each_line_of_a_table_may_be_a_process(tmp_path: Path, text: str, seconds: list[list[float]]) -> None:
    """With --seed-is timing each time is a seed, and an empty one failed; without it, a line says so."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    imported = read(path, seed_is="timing")
    np.testing.assert_equal(imported.dataset["latency"].values[0, :, :, 0, 0], seconds)
    assert imported.notes[0] == "each timing is one seed: 2 seeds per cell, 1 timing per seed"
    failed = imported.dataset["run_status"].values == RunStatus.FAILED
    np.testing.assert_equal(failed[0], np.isnan(seconds))
    assert "if each timing was of a process of its own, add --seed-is timing" in read(path).notes[0]


def hyperfine(**entry: Any) -> str:
    return json.dumps({"results": [{"command": "x", **entry}]})


def google(**entry: Any) -> str:
    return json.dumps(
        {"context": {}, "benchmarks": [{"name": "x", "time_unit": "us", "real_time": 1, **entry}]}
    )


def pytest_json(**entry: Any) -> str:
    return json.dumps({"machine_info": {}, "benchmarks": [{"fullname": "x", **entry}]})


def test_old_google_benchmark_means_are_left_out(tmp_path: Path) -> None:
    """Releases without run_type tell a mean by its name alone; one that stands by itself is a benchmark."""
    names = ["f/8", "f/8", "f/8_mean", "f/8_stddev", "g", "g_BigO", "find_mean"]
    entries = [
        {"name": name, "time_unit": "us", "real_time": 1 + number} for number, name in enumerate(names)
    ]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"context": {}, "benchmarks": entries}), encoding="utf-8")
    dataset = read(runs=[f"a={path}"]).dataset
    assert dataset["shape"].values.tolist() == ["f/8", "g", "find_mean"]
    assert dataset["latency"].sel(shape="f/8").values.ravel().tolist() == [1e-6, 2e-6]


def test_a_note_is_given_once(tmp_path: Path) -> None:
    """A benchmark that was skipped in each of its repetitions is left out with one line."""
    skipped = {"name": "f", "run_type": "iteration", "skipped": True}
    timed = {"name": "g", "run_type": "iteration", "time_unit": "us", "real_time": 1}
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"context": {}, "benchmarks": [skipped] * 3 + [timed]}), encoding="utf-8")
    assert read(runs=[f"a={path}"]).notes[1:] == (f"{path}: f was skipped, and is left out",)


@pytest.mark.parametrize("heading", ["seed,old_ms,new_ms", "seed,speedup,old (ms),new (ms)"])
def test_a_column_for_each_configuration_needs_no_shape(tmp_path: Path, heading: str) -> None:
    """The option names the only one; without it the error says so."""
    path = tmp_path / "t.csv"
    path.write_text(f"{heading}\n" + "2," * (heading.count(",") - 1) + "2,1\n", encoding="utf-8")
    assert has_times(path.read_text(encoding="utf-8"))
    dataset = read(path, shape="mm").dataset
    assert dataset["shape"].values.tolist() == ["mm"]
    assert dataset["config"].values.tolist() == ["old", "new"]
    assert dataset["latency"].values.ravel().tolist() == [2e-3, 1e-3]
    with pytest.raises(AbtuneError, match=r"has no column shape \(give .*--shape LABEL\)"):
        read(path)


def test_lines_that_are_there_twice_are_said(tmp_path: Path) -> None:
    """A timing that was copied looks like a repeat; a failed run has none."""
    path = tmp_path / "t.csv"
    lines = "a,old,0,1.5\na,old,0,1.5\na,old,0,1.6\na,old,0,1.5\na,old,1,\na,old,1,\n"
    path.write_text(HEADING + lines, encoding="utf-8")
    imported = read(path)
    assert imported.dataset.sizes["repeat"] == 4
    assert imported.notes[1] == f"{path}: 2 lines are the same as one above; each counts as a repeat"


@pytest.mark.parametrize("column", ["Units", "time_unit", "Metric Unit", "latency.unit"])
def test_a_column_of_units_is_one_by_other_names(tmp_path: Path, column: str) -> None:
    """MLPerf has Samples/s in Units, and ncu a unit in each line; --unit is not read in their place."""
    path, columns = tmp_path / "t.csv", {"shape": "Benchmark", "config": "Submitter", "time": "Result"}
    heading = f"Submitter,Benchmark,Result,{column}\n"
    path.write_text(f"{heading}a,resnet,5,Samples/s\nb,resnet,6,Samples/s\n", encoding="utf-8")
    for unit, said in (("", "unit 'Samples/s' is none of s, ms, us, ns"), ("ms", "the unit is told twice")):
        with pytest.raises(AbtuneError, match=said):
            read(path, columns=columns, unit=unit)
    path.write_text(f"{heading}a,resnet,5,ms\nb,resnet,6,us\n", encoding="utf-8")
    assert read(path, columns=columns).dataset["latency"].values.ravel().tolist() == [5e-3, 6e-6]


def test_a_table_that_may_be_cut_within_its_last_number_is_said(tmp_path: Path) -> None:
    """1.95 cut to 1 is a number, too, and only the missing end of the line tells."""
    path = tmp_path / "cut.csv"
    path.write_text(f"{HEADING}a,old,0,1.95\na,new,0,1", encoding="utf-8")
    assert read(path).notes[-1] == f"{path}: its last line does not end; if the file was cut, take it out"


@pytest.mark.parametrize(
    ("number", "said"), [(1, "1 repetition of f was skipped"), (2, "2 repetitions of f were skipped")]
)
def test_a_repetition_that_was_skipped_leaves_the_others(tmp_path: Path, number: int, said: str) -> None:
    """Only a benchmark that was skipped in each repetition is left out."""
    skipped = {"name": "f", "run_type": "iteration", "skipped": True}
    timed = {"name": "f", "run_type": "iteration", "time_unit": "us", "real_time": 1}
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"context": {}, "benchmarks": [skipped] * number + [timed]}), encoding="utf-8")
    imported = read(runs=[f"a={path}"])
    assert imported.dataset["latency"].values.ravel().tolist() == [1e-6]
    assert imported.notes[1:] == (f"{path}: {said}",)


def test_a_benchmark_that_ended_with_an_error_is_a_failed_run(tmp_path: Path) -> None:
    """Left out, its failures would pass every gate; what no file times was never meant to run here."""
    failed = {"run_type": "iteration", "error_occurred": True, "error_message": "wrong result"}
    timed = {"run_type": "iteration", "time_unit": "us", "real_time": 1}
    runs = []
    for number, f_ends in enumerate((timed, failed, failed)):
        entries = [{"name": "f", **f_ends}, {"name": "f", **f_ends}, {"name": "g", **failed}]
        extra = [{"name": "h", **timed, "real_time": 2 + number}]
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": entries + extra}), encoding="utf-8")
        runs.append(f"new={path}")
    imported = read(runs=runs)
    assert imported.dataset["shape"].values.tolist() == ["f", "h"]
    assert imported.dataset["run_status"].sel(shape="f").values.tolist() == [[0, 1, 1]]
    first, second, third = (tmp_path / f"{number}.json" for number in range(3))
    assert imported.notes[1:] == (
        f"{first} and 2 more files: g failed and has no time, so it is left out",
        f"{second} and 1 more file: f failed, which counts",
    )
    third.write_text(json.dumps({"context": {}, "benchmarks": [{"name": "g", **failed}]}), "utf-8")
    with pytest.raises(DatasetError, match="has no timings"):
        read(runs=[f"new={third}"])


def test_hyperfine_runs_that_failed_have_no_time(tmp_path: Path) -> None:
    """They are failed seeds, or left out of repeats; a command without any other run has failed."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(hyperfine(times=[3, 4, 5], exit_codes=[0, 1, None]), encoding="utf-8")
    new.write_text(hyperfine(times=[1, 2], exit_codes=[1, 1]), encoding="utf-8")
    runs = [f"old={old}", f"new={new}"]
    for seed_is, status, said in (
        ("file", [[0], [1]], "ended with an error; its other times are counted"),
        ("timing", [[0, 1, 1], [1, 2, 2]], "ended with an error, which counts"),
    ):
        imported = read(runs=runs, seed_is=seed_is)
        assert imported.dataset["run_status"].values.tolist() == [status]
        assert np.nansum(imported.dataset["latency"]) == 3
        assert imported.notes[1:3] == (f"{old}: 2 runs of 'x' {said}", f"{new}: x failed, which counts")
    with pytest.raises(DatasetError, match="has 1 times and 2 exit_codes"):
        read_text(tmp_path, hyperfine(times=[1], exit_codes=[0, 0]), shape="s")
    with pytest.raises(DatasetError, match=r"results\[0\]: .* has the exit code \[0\]"):
        read_text(tmp_path, hyperfine(times=[1], exit_codes=[[0]]), shape="s")


@pytest.mark.parametrize(
    ("times", "said"),
    [([1], "1 run of 'x' ended with an error; its time is"), ([1, 2], "2 runs of 'x' .*; their times are")],
)
def test_one_error_of_all_runs_was_ignored(tmp_path: Path, times: list[float], said: str) -> None:
    """Where every run ended with the same error, hyperfine was told to ignore it, which is noted."""
    (tmp_path / "x").write_text(hyperfine(times=times, exit_codes=[2] * len(times)), encoding="utf-8")
    imported = read(tmp_path / "x", shape="s")
    assert imported.dataset["latency"].values.ravel().tolist() == times
    assert re.search(f"{said} counted", imported.notes[1])


@pytest.mark.parametrize("labels", [["avx2", "scalar"], ["avx2", None]])
def test_repeats_have_one_label(tmp_path: Path, labels: list[str | None]) -> None:
    """One name with two labels is two things, as a benchmark labels what it ran; the same label is fine."""
    path = tmp_path / "x.json"
    entry = {"name": "f/8", "run_name": "f/8", "run_type": "iteration", "time_unit": "us", "real_time": 1}
    entries = [entry | ({"label": label} if label else {}) for label in labels]
    path.write_text(json.dumps({"context": {}, "benchmarks": entries}), encoding="utf-8")
    with pytest.raises(
        AbtuneError, match=r"benchmarks.1.: f/8 has the label .*, but 'avx2' in benchmarks.0."
    ):
        read(runs=[f"a={path}"])
    path.write_text(json.dumps({"context": {}, "benchmarks": [entries[0]] * 2}), encoding="utf-8")
    assert read(runs=[f"a={path}"]).dataset.sizes["repeat"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"results": [{"command": "x", "times": [1', "the JSON is cut short"),
        ('{"results": [{"command": "x", "times": [1,, 2]}]}', "not JSON at line 1, character"),
        ('{"results": [1]}', "has no column of times among results"),
        ('{"results": [{"times": 1, "configuration": {}}]}', "has no column of times among times"),
        ('{"results": [{"command": "x", "times": [1], "times": [9]}]}', "has 'times' twice in one object"),
        (hyperfine(times=[1], command="a\0b"), r"results.0.: has no name that a dataset can hold"),
        ('{"a": 1}', "has no column of times among a"),
        ("[1, 2]", "has no column of times among"),
        ("{}", "JSON without records"),
        ('{"a": [{"b": 1}], "c": [{"b": 2}]}', "has records in a and c; keep one of them: jq"),
        ('[{"a": 1}]\n[{"a": 1}]', "line 1: more than one JSON document"),
        ('[{"a": 1}, {"a"', "the JSON is cut short"),
        ('{"a": 1}\n[2]\n', "line 2: is no record, which is an object of names and values"),
        (hyperfine(), r"results.0.: x has no times"),
        (hyperfine(times=[]), r"results.0..times: is not a list of times"),
        (hyperfine(times=[1, "fast"]), r"results.0..times.1.: 'fast' is not a number"),
        (hyperfine(times=[1, None]), r"results.0..times.1.: None is not a number"),
        (hyperfine(times=[1, 0]), r"results.0..times.1.: a time must be positive, not 0"),
        (hyperfine(times=[1], command=""), r"results.0.: has no name that a dataset"),
        (google(time_unit="h"), r"benchmarks.0.: time_unit is 'h'"),
        (google(time_unit=[]), r"benchmarks.0.: time_unit is .., none of s, ms, us, ns"),
        (google(real_time=-1), r"benchmarks.0..real_time: a time must be positive, not -1"),
        (google(run_type="aggregate"), "has aggregates only"),
        (google(error_occurred=True), "has no timings"),
        (pytest_json(), "an entry of the list of results is damaged; there is no 'stats'"),
        (
            pytest_json(stats={"mean": 1}),
            r"benchmarks.0.: x has no stats.data; write it with --benchmark-json",
        ),
        (pytest_json(stats={"data": [math.nan]}), r"stats.data.0.: a time must be positive, not nan"),
    ],
)
def test_bad_json_says_where(tmp_path: Path, text: str, said: str) -> None:
    """Every fault of a file is one line with the field and what to do."""
    with pytest.raises(AbtuneError, match=said):
        read_text(tmp_path, text, shape="s")


def test_one_name_needs_to_be_told_what_it_is() -> None:
    """A command may be a shape or a configuration, and nothing but the user knows."""
    path = SAMPLES / "hyperfine-1.json"
    with pytest.raises(AbtuneError, match=r"has the names 'sleep 0.01', 'sleep 0.02'; if configurations are"):
        read(path)
    with pytest.raises(AbtuneError, match="both shape and configuration are given"):
        read(runs=[f"old={path}"], shape="sleep")


@pytest.mark.parametrize("name", ["pytest-1.json", "google-1.json", "printed.txt"])
def test_timings_of_one_process_are_not_seeds(name: str) -> None:
    """Only hyperfine starts a process for each timing."""
    with pytest.raises(AbtuneError, match="repeats within one process, not seeds"):
        read(SAMPLES / name, shape="x", seed_is="timing")


# --- what TVM prints ------------------------------------------------------------------------------------


def profile(*results: str, mean: float) -> str:
    return f"ProfileResult(mean={mean!r}, results=({', '.join(results)}))"


def benchmark(*results: str, **printed: float) -> str:
    beside = ", ".join(f"{name}={value!r}" for name, value in printed.items())
    return f"BenchmarkResult({beside}, std=0.5, results=[{', '.join(results)}])"


def test_results_that_tvm_printed() -> None:
    """Each result stands under its title, as it was printed."""
    dataset = read(SAMPLES / "printed.txt", shape="softmax").dataset
    assert dataset["config"].values.tolist() == ["before", "after the rewrite"]
    assert float(dataset["latency"].values[0, 0, 0, 0, 0]) == 0.012015097115360664
    assert dict(dataset.sizes) == {"shape": 1, "config": 2, "seed": 1, "round": 1, "repeat": 5}


def test_wrapped_numbers_are_joined(tmp_path: Path) -> None:
    """A line may break within a number; the printed mean shows that it was joined rightly."""
    text = "old\nProfileResult(mean=0.15, results=(0.1\n0, 0.2\n))\n\nnew\n" + profile("0.1", "0.3", mean=0.2)
    dataset = read_text(tmp_path, text, shape="net")
    assert dataset["latency"].values.squeeze().tolist() == [[0.1, 0.2], [0.1, 0.3]]


def test_a_printed_list_of_results_has_the_title_above_it(tmp_path: Path) -> None:
    """Brackets and commas between results say nothing, and the results are rounds."""
    results = [f"ProfileResult(mean={mean}, results=({mean},))" for mean in (0.1, 0.2)]
    dataset = read_text(tmp_path, f"old:\n[{', '.join(results)}]\n", shape="x")
    assert dataset["config"].item() == "old"
    assert dataset["latency"].values.ravel().tolist() == [0.1, 0.2]


def test_results_under_one_title_are_rounds(tmp_path: Path) -> None:
    """Two calls of one process are no seeds; what stands between results and is none is said."""
    old, more, new = profile("1", "3", mean=2), profile("5", mean=5), profile("7", mean=7)
    text = f"old\n{old}\n\n{more}\na remark\nnew\n{new}\nend\n"
    path = tmp_path / "dump.txt"
    path.write_text(text, encoding="utf-8")
    imported = read(path, shape="net")
    np.testing.assert_array_equal(
        imported.dataset["latency"].values[0, :, 0],
        [[[1, 3], [5, math.nan]], [[7, math.nan], [math.nan, math.nan]]],
    )
    assert imported.notes[1:] == (
        f"{path}: line 5 left out: 'a remark'",
        f"{path}: line 8 left out: 'end'",
        f"{path}: 2 results under 'old' are rounds of one seed",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (profile("1", mean=1), "line 1: nothing above the result says what was timed"),
        (f"a\n{profile('1', mean=2)}", "line 2: the mean is printed as 2, but the 1 timings give 1"),
        (f"a\n{benchmark('1', '3', min=2)}", "line 2: the min is printed as 2, but the 2 timings give 1"),
        (f"a\n{benchmark('1', '3', max=2)}", "line 2: the max is printed as 2, but the 2 timings give 3"),
        (f"a\n{benchmark('1', '4', median=1)}", "line 2: the median is printed as 1, but the 2 timings give"),
        ("a\nProfileResult(mean=1, results=", "line 2: the result is cut short"),
        ("a\nProfileResult(mean=1)", "line 2: the result is cut short"),
        (f"a\nProfileResult(mean=1\n{profile('1', mean=1)}", "line 2: the result is cut short"),
        (f"a\n{profile('1', mean=1)[:-5]}", "line 2: the result is cut short"),
        (f"a\n{profile('1', 'x', mean=1)}", "line 2: results: 'x' is not a number"),
        (f"a\n{profile('0', mean=1)}", "line 2: results: a time must be positive"),
        (f"a\n{profile(mean=1)}", "line 2: the result has no timings"),
        (
            f"a\n{profile('1', mean=1)}\nb\n{profile('1', mean=1)}\na\n{profile('1', mean=1)}",
            "line 6: 'a' was in line 2 already",
        ),
        ("Execution time summary:\n mean (ms)", "line 1: a summary has no single timings; print repr"),
    ],
)
def test_bad_results_say_where(tmp_path: Path, text: str, said: str) -> None:
    """Every fault of printed results is one line with the place and what to do."""
    with pytest.raises(AbtuneError, match=said):
        read_text(tmp_path, text, shape="s")


def test_empty_columns_behind_a_table_are_left_out(tmp_path: Path) -> None:
    """Excel writes them; a number below none of the headings is an error all the same."""
    dataset = read_text(tmp_path, "shape,old (ms),new (ms),,\nx,3,2,,\nx,3,1,,\n,,,,\n")
    assert dataset["latency"].values.ravel().tolist() == [3e-3, 3e-3, 2e-3, 1e-3]
    with pytest.raises(DatasetError, match="line 2: 4 cells under a heading of 3"):
        read_text(tmp_path, "shape,old (ms),new (ms),\nx,3,2,1\n")


@pytest.mark.parametrize("first", [0, 1])
def test_the_index_of_a_table_is_left_out(tmp_path: Path, first: int) -> None:
    """A first column without a name that numbers the rows is how pandas and R write a table."""
    rows = ["x,a,1", "x,b,2", "y,a,3"]
    numbered = "".join(f"{number},{row}\n" for number, row in enumerate(rows, first))
    text = f",shape,config,time_us\n{numbered}"
    dataset = read_text(tmp_path, text)
    assert dataset["shape"].values.tolist() == ["x", "y"]
    assert dataset["latency"].values[0, :, 0, 0, 0].tolist() == [1e-6, 2e-6]
    with pytest.raises(AbtuneError, match=r"line 3: the first column has no name; .* without its index"):
        read_text(tmp_path, text.replace(f"{first + 1},x,b", "x,x,b"))


@pytest.mark.parametrize(
    ("heading", "joined", "label"),
    [
        ("kernel,M,N,dtype,config,time_us", "kernel+M+N+dtype", "gemm_M=512_N=256_dtype=fp16"),
        ("kernel,M,N,dtype,config,time_us", "m+N", "M=512_N=256"),
        ("shape,M,N,dtype,config,time_us", "dtype+M", "fp16_M=512"),
        ("kernel,M,N,dtype,config,time_us", "N+dtype", "N=256_dtype=fp16"),
        ("kernel+M,M,N,dtype,config,time_us", "kernel+M", "gemm"),
    ],
)
def test_several_columns_make_the_label_of_a_shape(
    tmp_path: Path, heading: str, joined: str, label: str
) -> None:
    """Sizes in columns of their own need no editing, and a line that sums up others is left out."""
    text = f"{heading}\ngemm,512.0,256,fp16,old,2\ngemm,512.0,256,fp16,new,1\nTotal,,,,old,9\n"
    text = text if joined.startswith("kernel") else text.rpartition("Total")[0]
    dataset = read_text(tmp_path, text.replace("shape", "kernel"), columns={"shape": joined})
    assert dataset["shape"].values.tolist() == [label]


def test_columns_that_cannot_be_joined_are_named(tmp_path: Path) -> None:
    """A remedy names all columns that the label needs, those that were joined before included."""
    text = "kernel,M,N,config,time_us\ngemm,1,1,old,2\ngemm,1,2,old,2\n"
    for joined, said in (
        ("kernel+K", "has no column 'K'; there are kernel, M, N, config, time_us"),
        ("kernel+M", r"join columns: --columns shape=kernel\+M\+N"),
        ("kernel", r"join columns: --columns shape=kernel\+M\+N"),
    ):
        with pytest.raises(AbtuneError, match=said):
            read_text(tmp_path, text, columns={"shape": joined})
    with pytest.raises(DatasetError, match="line 2: 3 cells under a heading of 4"):
        read_text(tmp_path, "config,time_us,kernel,M,N\nold,2,gemm,1\n", columns={"shape": "M+N"})


def test_thousands_of_configurations_without_settings_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have millions of pairs, between which no setting can differ; a table of them took minutes."""
    monkeypatch.setattr("abtune.ingest.timings.timing_cells.between_each_two", None)
    path = tmp_path / "t.csv"
    path.write_text("shape,a_ms,b_ms\nx,2,1\n", encoding="utf-8")
    assert "caveats" not in read(path).dataset.attrs
