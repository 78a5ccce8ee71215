"""Tuning logs: tables and trials of real ones come through, and what does not fit together is named."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from import_samples import TUNED

import abtune
from abtune.errors import DatasetError
from abtune.ingest.databases import read_databases
from abtune.ingest.logs import read_logs
from abtune.ingest.reading import find_sources
from abtune.schema import RunStatus, TrialStatus

TASK_LOG = "tvm.s_tir.meta_schedule.logging.task_0_main.log"
CONSOLE = "tvm.s_tir.meta_schedule.logging.task_scheduler.log"


def read(*specs: str, shape: str = "") -> xr.Dataset:
    return read_logs(find_sources(specs), shape=shape)


def test_a_work_dir_gives_what_its_database_does() -> None:
    """Logs and database of the same runs agree to the digits that logs print."""
    specs = [f"mainline={TUNED}/mainline-0", f"async={TUNED}/async-0"]
    logged, stored = read(*specs), read_databases(find_sources(specs))
    for name in ("latency", "search_latency", "trial_latency"):
        np.testing.assert_allclose(logged[name].values, stored[name].values, atol=0.51e-10, rtol=0)
    for name in ("trial_status", "run_status", "flop"):
        np.testing.assert_array_equal(logged[name].values, stored[name].values)
    assert logged["shape"].values.tolist() == ["main(16x64,64x32,16x32)"]
    assert logged.attrs["latency_source"] == "search"


def test_a_console_log_gives_the_winner() -> None:
    """The table alone has the latency of the winner, and no trials."""
    dataset = read(f"a={TUNED}/mainline-0/logs/{CONSOLE}", f"b={TUNED}/async-0/logs/{CONSOLE}")
    assert dataset["shape"].values.tolist() == ["main"]
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([17.3331e-6, 15.5658e-6])
    assert "trial_latency" not in dataset


def test_a_shape_can_be_named() -> None:
    """A published label brings its kind of workload, and the analysis sees it."""
    label = "M=16_N=32_K=64"
    dataset = read(f"a={TUNED}/mainline-0", f"b={TUNED}/async-0", shape=label)
    (row,) = abtune.analyze(dataset).comparisons
    assert (row.shape, row.workload) == (label, "gemm_nn")
    assert 1 + row.boost == pytest.approx(17.3331 / 15.5658)


def test_failures_keep_their_kind() -> None:
    """Builds that ran out of time are told from others; a run without a winner is a failed run."""
    dataset = read(f"a={TUNED}/mainline-0", f"a={TUNED}/failed-0").squeeze()
    assert dataset["trial_status"].values.tolist() == [[0] * 4, [TrialStatus.TIMED_OUT] * 4]
    assert dataset["run_status"].values.tolist() == [RunStatus.COMPLETE, RunStatus.FAILED]


def task_log(*events: str) -> str:
    return "".join(
        f"2026-01-01 00:00:00 [INFO] [task_scheduler.cc:144] [Task #0: main] Trial #{event}\n"
        for event in events
    )


def write(folder: Path, text: str) -> str:
    path = folder / "a.log"
    path.write_text(text, encoding="utf-8")
    return f"a={path}"


def test_every_kind_of_trial_is_read(tmp_path: Path) -> None:
    """Timed, not built, not run, and killed; milliseconds as older versions wrote them."""
    spec = write(
        tmp_path,
        task_log(
            "1: GFLOPs: 1.0. Time: 2.5 ms. Best GFLOPs: 1.0",
            "2: Error in building:\nno such intrinsic",
            "3: Error in running:\nCUDA: misaligned address",
            "4: Error in running:\nLocalRunner: Timeout, killed after 30 seconds",
        ),
    )
    dataset = read(spec).squeeze()
    assert dataset["trial_status"].values.tolist() == [0, 1, 2, 3]
    assert float(dataset["latency"]) == pytest.approx(2.5e-3)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (["1: Error in building", "1: Error in building"], "line 2: trial 1 of main follows trial 1"),
        (["2: Error in building"], "line 1: trial 2 of main follows trial 0"),
        (["1: GFLOPs: 1. Time: fast us."], "line 1: 'fast' is not a number"),
        (["1: GFLOPs: 1. Time: -2 us."], "line 1: -2 is not a positive number"),
        (["1: GFLOPs: 1. Time: nan us."], "line 1: nan is not a positive number"),
    ],
)
def test_bad_trials_are_named(tmp_path: Path, events: list[str], said: str) -> None:
    """A second run in one log, a missing trial and a time that is none are said with their line."""
    with pytest.raises(DatasetError, match=said):
        read(write(tmp_path, task_log(*events)))


def test_logs_of_two_runs_do_not_fit(tmp_path: Path) -> None:
    """The best trial has to be the latency of the table."""
    (tmp_path / "x").mkdir()
    for run, name in (("mainline-0", TASK_LOG), ("async-0", CONSOLE)):
        (tmp_path / "x" / name).write_bytes((TUNED / run / "logs" / name).read_bytes())
    with pytest.raises(DatasetError, match=r"took 17.3331 us, but the table says 15.5658"):
        read(f"a={tmp_path / 'x'}")


def test_one_name_for_two_shapes_is_refused(tmp_path: Path) -> None:
    """Every tune_tir calls its task main; operations tell that two are not the same."""
    text = (TUNED / "async-0" / "logs" / CONSOLE).read_text(encoding="utf-8").replace(" 65536 ", " 99999 ")
    with pytest.raises(DatasetError, match="main takes 99999 operations here and 65536 in"):
        read(f"b={TUNED}/mainline-0/logs/{CONSOLE}", write(tmp_path, text))


def test_a_log_that_was_cut_is_refused(tmp_path: Path) -> None:
    """MetaSchedule ends with a table in which every task is done."""
    text = (TUNED / "async-0" / "logs" / CONSOLE).read_text(encoding="utf-8")
    with pytest.raises(DatasetError, match="main was not done; the log was cut short"):
        read(write(tmp_path, text[: text.rindex("ID | Name")]))


def test_colours_are_left_out(tmp_path: Path) -> None:
    """A terminal's colours may stand anywhere in a line."""
    text = (TUNED / "async-0" / "logs" / TASK_LOG).read_text(encoding="utf-8")
    plain, coloured = tmp_path / "plain", tmp_path / "coloured"
    plain.mkdir()
    coloured.mkdir()
    bold = text.replace("Trial #", "\x1b[1mTrial\x1b[0m #")
    assert read(write(coloured, bold)).identical(read(write(plain, text)))


def test_tasks_of_a_network_are_shapes(tmp_path: Path) -> None:
    """Every row of the table is a shape of its own, which --shape cannot name."""
    text = """
 ID |  Name | FLOP | Weight | Speed (GFLOPS) | Latency (us) | Weighted Latency (us) | Trials | Done
---------------------------------------------------------------------------------------------------
  0 | dense |  100 |      1 |         1.0000 |     100.0000 |              100.0000 |     64 |    Y
  1 |  relu |   10 |      3 |            N/A |          N/A |                   N/A |      8 |    Y
---------------------------------------------------------------------------------------------------
Total trials: 72
"""
    spec = write(tmp_path, text)
    dataset = read(spec)
    assert dataset["shape"].values.tolist() == ["dense", "relu"]
    assert dataset["run_status"].values.ravel().tolist() == [RunStatus.COMPLETE, RunStatus.FAILED]
    assert math.isnan(float(dataset["latency"][1].squeeze()))
    with pytest.raises(DatasetError, match=r"has 2 tasks \(dense, relu\); --shape names one"):
        read(spec, shape="M=1_N=1_K=1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "no table of tasks and no trial in it$"),
        ("", "is empty"),
        ("shape,config,time_us\nx,y,1\n", "abtune import timings"),
        ("|Shape|a|b|\n|-|-|-|\n", "abtune import published"),
        (" ID | Name | FLOP | Weight | Trials\n---\n  0 | x | 1 | 1 | 1\n", "has no column 'latency"),
    ],
)
def test_other_texts_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A text that is no log is refused, with the importer that reads it."""
    with pytest.raises(DatasetError, match=said):
        read(write(tmp_path, text))


def test_unreadable_logs_are_refused(tmp_path: Path) -> None:
    """A missing log, a folder without any, another encoding."""
    (tmp_path / "utf16.log").write_text("Trial #1", encoding="utf-16")
    (tmp_path / "folder").mkdir()
    for name, said in (("absent.log", "cannot read"), ("utf16.log", "UTF-8"), ("folder", r"has no \*\.log")):
        with pytest.raises(DatasetError, match=said):
            read(f"a={tmp_path / name}")
