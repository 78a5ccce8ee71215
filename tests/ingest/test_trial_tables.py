"""Tables in which each line is a trial of a search: the least time is the winner's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, run_importer
from abtune.ingest.sources import find_files

CSV = "block_size,tile,time_ms\n32,1,3.5\n64,1,oom\n64,2,1.5\n32,2,2\n"
# As Kernel Tuner writes its cache, and KTT its results.
CACHE = """{"device_name": "A100", "kernel_name": "add", "tune_params": {"x": [32, 64]}, "cache": {
"32": {"x": 32, "time": 3.5, "times": [3, 4]}, "64": {"x": 64, "time": "RuntimeFailedConfig"},
"96": {"x": 96, "time": 1.5}, "128": {"x": 128, "time": 2.0}}}"""
KTT = """{"Metadata": {"TimeUnit": "Microseconds"}, "Results": [
{"KernelName": "add", "TotalDuration": 3500.0, "Configuration": [{"Name": "x", "Value": 1}]},
{"KernelName": "add", "TotalDuration": null}, {"KernelName": "add", "TotalDuration": 1500},
{"KernelName": "add", "TotalDuration": 2000}]}"""


def read(folder: Path, text: str, *, shape: str = "", unit: str = "", columns: str = "") -> Imported:
    """Return what the importer makes of one search of the configuration ``a``."""
    (folder / "t").write_text(text, encoding="utf-8")
    values = {"shape": shape, "unit": unit, "columns": columns}
    return run_importer(importer_named("trials"), find_files([], [f"a={folder / 't'}"]), values)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (CSV, {"shape": "add"}),
        (CSV.replace("time_ms", "cost"), {"shape": "add", "unit": "ms", "columns": "time=cost"}),
        (CACHE, {"shape": "add", "unit": "ms"}),
        (KTT, {"unit": "us", "columns": "shape=KernelName,time=TotalDuration"}),
    ],
)
def test_lines_are_trials_in_order(tmp_path: Path, text: str, options: dict[str, str]) -> None:
    """Sizes are parameters here, and a line without a time is a trial that failed."""
    imported = read(tmp_path, text, **options)
    dataset = imported.dataset
    assert dataset["shape"].item() == "add"
    assert dataset["latency"].item() == dataset["search_latency"].item() == 0.0015
    assert dataset["trial_latency"].values.ravel()[[0, 2, 3]].tolist() == [0.0035, 0.0015, 0.002]
    assert dataset["trial_status"].values.ravel()[1] == TrialStatus.RUN_FAILED
    assert dataset.attrs["latency_source"] == "search"
    assert not any("without a time" in note for note in imported.notes)  # as most searches have some


def test_a_run_fails_only_if_no_trial_has_a_time(tmp_path: Path) -> None:
    """What Kernel Tuner writes in place of a time is the outcome of that trial, as in its T4 files."""
    words = ["CompilationFailedConfig", "InvalidConfig", "timeout", "RuntimeFailedConfig", ""]
    text = "".join(f"{number},{word}\n" for number, word in enumerate(words))
    imported = read(tmp_path, f"tile,time_ms\n{text}9,1.5\n", shape="add")
    assert imported.dataset["run_status"].item() == RunStatus.COMPLETE
    assert imported.dataset["trial_status"].values.ravel().tolist() == [
        TrialStatus.BUILD_FAILED,
        TrialStatus.NOT_RUN,
        TrialStatus.TIMED_OUT,
        TrialStatus.RUN_FAILED,
        TrialStatus.RUN_FAILED,
        TrialStatus.OK,
    ]
    failed = read(tmp_path, f"tile,time_ms\n{text}", shape="add").dataset
    assert failed["run_status"].item() == RunStatus.FAILED


def test_a_status_without_error_is_no_failure(tmp_path: Path) -> None:
    """CUDA calls a success so."""
    for word in ("no error", "cudaNoError", "CL_NO_ERROR", "0 errors", "not failed", "without errors"):
        dataset = read(tmp_path, f"tile,time_ms,status\n1,2,{word}\n2,3,launch failure\n", shape="x").dataset
        assert dataset["latency"].item() == 0.002


def test_a_time_beside_a_failure_is_none(tmp_path: Path) -> None:
    """KTT keeps the time of a wrong answer, and writes a huge number for what it could not run."""
    results = [("Ok", 3.5), ("ValidationFailed", 1.0), ("CompilationFailed", 18446744073709552.0)]
    lines = [{"KernelName": "add", "Status": status, "TotalDuration": time} for status, time in results]
    text = json.dumps({"Metadata": {"TimeUnit": "Microseconds"}, "Results": lines})
    dataset = read(tmp_path, text, unit="us", columns="shape=KernelName,time=TotalDuration").dataset
    assert dataset["latency"].item() == 3.5e-6
    assert dataset["trial_status"].values.ravel().tolist() == [
        TrialStatus.OK,
        TrialStatus.RUN_FAILED,
        TrialStatus.BUILD_FAILED,
    ]


def test_a_failure_is_known_however_it_is_spelled(tmp_path: Path) -> None:
    """Case, blanks and marks between the words of a status do not matter."""
    rows = ["1.5,ok", "1,Timed Out", "1,time-out", ",TIMED_OUT", "timed out,OK", "1,Build failed", "2,OK"]
    dataset = read(tmp_path, "time_ms,status\n" + "\n".join(rows), shape="x").dataset
    assert dataset["latency"].item() == 0.0015
    assert dataset["trial_status"].values.ravel().tolist() == [
        TrialStatus.OK,
        *[TrialStatus.TIMED_OUT] * 4,
        TrialStatus.BUILD_FAILED,
        TrialStatus.OK,
    ]


def test_a_list_of_times_is_one_trial(tmp_path: Path) -> None:
    """Its time is the mean, as of AutoTVM; the least repeat of a slow trial would be the winner else."""
    text = '{"x": 1, "time_s": [5, 1, 6]}\n{"x": 2, "time_s": [3, 3]}\n'
    dataset = read(tmp_path, text, shape="add").dataset
    assert dataset["trial_latency"].values.ravel().tolist() == [4, 3]
    assert dataset["latency"].item() == 3


def test_several_shapes_are_several_searches(tmp_path: Path) -> None:
    """A column tells them apart; lines of means are left out with a note."""
    imported = read(tmp_path, "kernel,time_s\nx,3\ny,2\nx,1\nmean,2\n", columns="shape=kernel")
    assert imported.dataset["latency"].values.ravel().tolist() == [1, 2]
    assert any("'mean' sums up other lines" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (CSV, {}, "does not say what was tuned; give --shape LABEL"),
        (
            "config,time_ms\na,1\n",
            {"shape": "x"},
            "t: has a column config, seed or round, and a",
        ),
        ("shape,old_ms,new_ms\nx,1,2\nx,1,3\n", {}, "if its lines are repeats: abtune import timings"),
        ("tile,TFLOPS\n1,2\n", {"shape": "x", "columns": "time=TFLOPS"}, "holds throughputs; name the col"),
        ("shape,TFLOPS\nM=8_N=8_K=8,2\n", {"columns": "time=TFLOPS"}, "holds throughputs; name the column"),
        ("tile,cost\n1,2\n", {"shape": "x"}, "has no column of times among tile, cost"),
        (
            "| Shape | a (ms) | b (ms) |\n|-|-|-|\n| x | 1 | 2 |\n",
            {},
            "is not a table of trials but a pub",
        ),
    ],
)
def test_what_is_no_table_of_trials_is_said(
    tmp_path: Path, text: str, options: dict[str, str], said: str
) -> None:
    """One line names the file and what to do."""
    with pytest.raises(AbtuneError, match=said) as raised:
        read(tmp_path, text, **options)
    assert "\n" not in str(raised.value)
