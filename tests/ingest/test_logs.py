"""Tuning logs: tables and trials of real ones come through, and what does not fit together is named."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from import_samples import TUNED

import abtune
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError, InputError
from abtune.ingest.searches.databases import DATABASES
from abtune.ingest.searches.logs import LOGS
from abtune.ingest.sources import find_files, find_matching
from abtune.samples import count_trials
from abtune.sections.curve.curve import best_so_far

TASK_LOG = "tvm.s_tir.meta_schedule.logging.task_0_main.log"
CONSOLE = "tvm.s_tir.meta_schedule.logging.task_scheduler.log"


def read(*specs: str, shape: str = "") -> xr.Dataset:
    return LOGS.read(find_files((), specs), {"shape": shape}).dataset


def test_a_work_dir_gives_what_its_database_does() -> None:
    """Logs and database of the same runs agree to the digits that logs print."""
    specs = [f"mainline={TUNED}/mainline-0", f"async={TUNED}/async-0"]
    logged, stored = read(*specs), DATABASES.read(find_files((), specs), {}).dataset
    for name in ("latency", "search_latency", "trial_latency"):
        np.testing.assert_allclose(logged[name].values, stored[name].values, atol=0.51e-10, rtol=0)
    for name in ("trial_status", "run_status", "flop"):
        np.testing.assert_array_equal(logged[name].values, stored[name].values)
    assert logged["shape"].values.tolist() == ["main(16x64,64x32,16x32)"]
    assert logged.attrs["latency_source"] == "search"


def test_a_console_log_gives_the_winner() -> None:
    """The tables alone have the latency of the winner, and the best time after each batch."""
    dataset = read(f"a={TUNED}/mainline-0/logs/{CONSOLE}", f"b={TUNED}/async-0/logs/{CONSOLE}")
    assert dataset["shape"].values.tolist() == ["main"]
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([17.3331e-6, 15.5658e-6])
    assert dataset["trial_status"].values.squeeze().tolist() == [[TrialStatus.UNKNOWN] * 3 + [0]] * 2
    assert dataset["trial_latency"].values[..., -1].ravel().tolist() == pytest.approx(
        [17.3331e-6, 15.5658e-6]
    )


def batches(*rows: tuple[int, str], done: str = "Y") -> str:
    """Return the tables of a search, by trials and latency; the last one says that it is done."""
    tables = [state(f"0 main 65536 {latency} {trials}") for trials, latency in rows]
    return "".join(tables) + state(f"0 main 65536 {rows[-1][1]} {rows[-1][0]} {done}")


def test_tables_give_the_curve_as_far_as_they_know(tmp_path: Path) -> None:
    """The best time stands at the end of the batch that improved it; what became of the others is unknown."""
    text = batches((0, "N/A"), (2, "N/A"), (4, "10"), (6, "10"), (8, "7.5"))
    dataset = read(write(tmp_path, text)).squeeze()
    unknown = TrialStatus.UNKNOWN
    assert dataset["trial_status"].values.tolist() == [*[unknown] * 3, 0, *[unknown] * 3, 0]
    best = best_so_far(read(write(tmp_path, text))).squeeze()
    np.testing.assert_allclose(best, [*[math.nan] * 3, *[10e-6] * 4, 7.5e-6])


def test_unknown_trials_are_not_counted_as_good(tmp_path: Path) -> None:
    """Nothing is said about failures where the log has none of them."""
    (tmp_path / "b").mkdir()
    first = write(tmp_path, batches((4, "10"), (8, "9")))
    second = write(tmp_path / "b", batches((4, "10"), (8, "7"))).replace("a=", "b=")
    dataset = read(first, second)
    assert count_trials(dataset, "a") is None
    assert not [note for note in abtune.analyze(dataset).caveats if "lost" in note]


def test_the_history_of_tables_ends_somewhere(tmp_path: Path) -> None:
    """A number of trials that no search makes is damage, and takes no memory."""
    for trials in ("99999999999", "6.5", "\u0664", "-1"):
        with pytest.raises(DatasetError, match=f"'{re.escape(trials)}' is not a number of trials"):
            read(write(tmp_path, state(f"0 main 65536 10 {trials} Y")))


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


def test_trials_may_be_numbered_from_zero(tmp_path: Path) -> None:
    """So TVM did in 2022; a number that is missing is still said."""
    events = [f"{number}: GFLOPs: 1. Time: {time} us. Best" for number, time in enumerate((3, 2, 4))]
    trials = read(write(tmp_path, task_log(*events)))["trial_latency"]
    assert trials.values.ravel().tolist() == pytest.approx([3e-6, 2e-6, 4e-6])
    with pytest.raises(DatasetError, match="line 2: trial 2 of main follows trial 1"):
        read(write(tmp_path, task_log(events[0], events[2])))


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
    with pytest.raises(DatasetError, match="main takes 99999 operations here and 65536 before; if two"):
        read(f"b={TUNED}/mainline-0/logs/{CONSOLE}", write(tmp_path, text))


def test_a_log_that_was_cut_is_refused(tmp_path: Path) -> None:
    """MetaSchedule ends with a line for each task that has finished."""
    text = (TUNED / "async-0" / "logs" / CONSOLE).read_text(encoding="utf-8")
    with pytest.raises(DatasetError, match="main was not done; the log was cut short"):
        read(write(tmp_path, text[: text.rindex("has finished")]))


def test_colours_are_left_out(tmp_path: Path) -> None:
    """A terminal's colours may stand anywhere in a line."""
    text = (TUNED / "async-0" / "logs" / TASK_LOG).read_text(encoding="utf-8")
    plain, coloured = tmp_path / "plain", tmp_path / "coloured"
    plain.mkdir()
    coloured.mkdir()
    bold = text.replace("Trial #", "\x1b[1mTrial\x1b[0m #")
    expected = read(write(plain, text))
    actual = read(write(coloured, bold)).assign_attrs(sources=expected.attrs["sources"])
    xr.testing.assert_identical(actual, expected)


def test_codes_of_a_terminal_are_left_out(tmp_path: Path) -> None:
    """TVM clears the screen before each table, and these codes stay in what a console kept."""
    clear = "\x1bc\x1b[3J\x1b[2J\x1b[0m\x1b[H"
    assert read(write(tmp_path, clear + state("0 main 65536 10 4 Y")))["latency"].item() == pytest.approx(
        10e-6
    )


def test_lines_between_the_rows_of_a_table_drop_none(tmp_path: Path) -> None:
    """Where the standard error runs into the log, the rows below a warning are still of the table."""
    lines = state("0 dense 100 10 4 Y", "1 relu 10 7 4 Y").splitlines()
    dataset = read(write(tmp_path, "\nx.py:3: UserWarning: slow\n50%|###  | 1/2\n".join(lines)))
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([10e-6, 7e-6])


@pytest.mark.parametrize("change", [("  1 |", "WARNING  1 |"), ("| 4 | Y", "| 4 | Y WARNING | x")])
def test_a_row_that_other_output_broke_is_not_dropped(tmp_path: Path, change: tuple[str, str]) -> None:
    """A shape whose rows cannot be read would else be missing without a word."""
    text = state("0 dense 100 10 4 Y", "1 relu 10 7 4 Y").replace(*change)
    with pytest.raises(
        DatasetError, match=r"line \d: is no row of the table above it; the log has other output"
    ):
        read(write(tmp_path, text))


def test_a_table_below_the_log_is_none_of_its_rows(tmp_path: Path) -> None:
    """A script may print its own results, or nvidia-smi, after the last table of tasks."""
    other = "| model | base | tuned | loss | note |\n|   0  N/A  N/A | 1234 | C | python | 1MiB |\n"
    dataset = read(write(tmp_path, state("0 main 65536 10 4 Y") + other))
    assert dataset["latency"].item() == pytest.approx(10e-6)


def test_a_line_may_say_that_a_search_ended(tmp_path: Path) -> None:
    """TVM 0.9 prints no table after this line, and other dates than later versions."""
    tables = state("0 main 65536 N/A 0", last="Terminated") + state("0 main 65536 10 4", last="Terminated")
    log = f'2022-08-27 13:29:42.021 INFO Initializing Task #0: "main"\n{tables}'
    end = "2022-08-27 13:30:13.579 INFO Task #0 has finished. Remaining task(s): 0\n"
    dataset = read(write(tmp_path, log + end))
    assert dataset["latency"].item() == pytest.approx(10e-6)
    with pytest.raises(DatasetError, match="main was not done"):
        read(write(tmp_path, log + end.replace("#0", "#1")))


def test_paths_may_name_the_shape(tmp_path: Path) -> None:
    """A pattern gives shape and configuration of many runs at once."""
    for config, latency in (("main", 10), ("async", 8)):
        for size in (16, 32):
            folder = tmp_path / f"{config}_outputs" / f"M={size}_N=1_K=1_t=8"
            folder.mkdir(parents=True)
            operations = 2 * size
            text = state(f"0 main {operations} {latency * size} 8 Y")
            (folder / "log.txt").write_text(text, encoding="utf-8")
    sources = find_matching(f"{tmp_path}/{{config}}_outputs/{{shape}}_t=8/*.txt")
    dataset = LOGS.read(sources, {"shape": ""}).dataset
    assert dataset["shape"].values.tolist() == ["M=16_N=1_K=1", "M=32_N=1_K=1"]
    assert dataset["config"].values.tolist() == ["main", "async"]
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([160e-6, 128e-6, 320e-6, 256e-6])
    with pytest.raises(InputError, match="both name the shape; keep one"):
        LOGS.read(sources, {"shape": "M=1_N=1_K=1"})


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
    with pytest.raises(DatasetError, match=r"has 2 tasks \(dense, relu\); a label can name only one"):
        read(spec, shape="M=1_N=1_K=1")


def state(*rows: str, last: str = "Done") -> str:
    """Return a table of tasks, of a number, a name, operations, latency, trials, and whether it was done."""
    columns = (
        "ID",
        "Name",
        "FLOP",
        "Weight",
        "Speed (GFLOPS)",
        "Latency (us)",
        "Weighted Latency (us)",
        "Trials",
    )
    heading = " " + " | ".join((*columns, last))
    cells = (row.split() for row in rows)
    lines = (
        f"  {number} | {name} | {flop} | 1 | 1.0 | {latency} | {latency} | {trials} | {' '.join(done)} "
        for number, name, flop, latency, trials, *done in cells
    )
    return "\n".join([heading, "-" * 20, *lines, "-" * 20, "Total trials: 8\n\n"])


def module(number: int, name: str, size: int) -> str:
    """Return the beginning of the log of a task."""
    return (
        f'[INFO] Initializing Task #{number}: "{name}"\n'
        f'    def {name}(A: T.Buffer(({size}, {size}), "float32"), B: T.Buffer(({size},), "float32")):\n'
    )


TWO_CALLED_MAIN = state("0 main 65536 10 4 Y", "1 main 8192 77 4 Y")


def test_two_tasks_of_one_name_are_not_one(tmp_path: Path) -> None:
    """A table alone does not tell the shapes of two tasks called main, and none of them may be lost."""
    with pytest.raises(DatasetError, match=r"a second search of main, .*, or import databases"):
        read(write(tmp_path, TWO_CALLED_MAIN))


def task_trial(number: int, microseconds: int) -> str:
    return f"[Task #{number}: main] Trial #1: GFLOPs: 1. Time: {microseconds} us. Best GFLOPs: 1\n"


def test_tasks_of_two_networks_are_told_by_the_sizes_of_main(tmp_path: Path) -> None:
    """Relax calls the function of each task main, and the tasks of all networks alike."""
    for network, size in (("small", 16), ("large", 64)):
        (tmp_path / network).mkdir()
        text = module(0, "main", size).replace(f"{size}", f"T.int64({size})")
        text = text.replace('"main"', '"fused_matmul"')
        text += task_trial(0, size).replace(" main]", " fused_matmul]")
        (tmp_path / network / "task_0_fused_matmul.log").write_text(text, encoding="utf-8")
    dataset = read(f"a={tmp_path}/large", f"a={tmp_path}/small")
    assert dataset["shape"].values.tolist() == ["fused_matmul(64x64,64)", "fused_matmul(16x16,16)"]
    assert np.nanmax(dataset["latency"].values, axis=2).ravel().tolist() == pytest.approx([64e-6, 16e-6])


@pytest.mark.parametrize("sizes", [(64, 16), (64, 64), (64, None)])
def test_tasks_of_one_name_are_told_by_their_sizes(tmp_path: Path, sizes: tuple[int, int | None]) -> None:
    """The logs of the tasks themselves have sizes, by which tasks of one name are labelled apart."""
    (tmp_path / "task_scheduler.log").write_text(TWO_CALLED_MAIN, encoding="utf-8")
    for number, (size, microseconds) in enumerate(zip(sizes, (10, 77), strict=True)):
        text = (module(number, "main", size) if size else "") + task_trial(number, microseconds)
        (tmp_path / f"task_{number}_main.log").write_text(text, encoding="utf-8")
    if sizes == (64, 16):
        dataset = read(f"a={tmp_path}")
        assert dataset["shape"].values.tolist() == ["main(64x64,64)", "main(16x16,16)"]
        assert dataset["latency"].values.ravel().tolist() == pytest.approx([10e-6, 77e-6])
        with pytest.raises(DatasetError, match=r"2 tasks \(main\(64x64,64\), main\(16x16,16\)\); a label"):
            read(f"a={tmp_path}", shape="M=1_N=1_K=1")
    else:
        both = "main, " if None in sizes else r"main\(64x64,64\), "
        with pytest.raises(DatasetError, match=f"a second search of {both}"):
            read(f"a={tmp_path}")


def test_one_number_is_one_task(tmp_path: Path) -> None:
    """Where a number comes with another name, a second search has begun."""
    text = state("0 main 65536 10 4 Y") + state("0 dense 8192 77 4 Y")
    with pytest.raises(
        DatasetError, match="line 9: task 0 is dense here and main above; one log holds one run"
    ):
        read(write(tmp_path, text))


@pytest.mark.parametrize(
    ("last", "said"),
    [("Terminated", "main was not done; the log was cut"), ("Ended", "line 3: .* and Done; give the")],
)
def test_what_says_that_a_search_ended_is_not_assumed(tmp_path: Path, last: str, said: str) -> None:
    """Older versions call it Terminated; without either, nothing tells a search that was interrupted."""
    with pytest.raises(DatasetError, match=said):
        read(write(tmp_path, state("0 main 10 9.5 64", last=last)))
    assert read(write(tmp_path, state("0 main 10 9.5 64 Y", last="Terminated"))).sizes["shape"] == 1


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            "0 main 10 9.5 64 Y",
            "0 main 10 9.4 32 Y",
            "line 9: task main: 32 trials, latency 9.4 and 10 operations cannot follow the row above it",
        ),
        ("0 main 10 9.5 64 Y", "0 main 10 N/A 0", "0 trials, latency N/A"),
        ("0 main 10 9.5 64 Y", "0 main 10 9.4 64", "cannot follow"),
        ("0 main 10 9.5 64 Y", "0 main 10 N/A 64 Y", "latency N/A"),
        ("0 main 10 9.5 64 Y", "0 main 10 9.6 64 Y", "latency 9.6"),
        ("0 main 10 N/A 0", "0 main 11 9.6 64 Y", "11 operations cannot follow"),
    ],
)
def test_a_second_search_in_one_log_is_refused(tmp_path: Path, first: str, second: str, said: str) -> None:
    """Trials only grow and the best time only falls; where they do not, another search has begun."""
    with pytest.raises(DatasetError, match=said):
        read(write(tmp_path, state(first) + state(second)))
    grown = state("0 main 10 N/A 0") + state("0 main 10 9.5 32") + state("0 main 10 9.5 64 Y") * 2
    assert float(read(write(tmp_path, grown))["latency"].squeeze()) == pytest.approx(9.5e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "no table of tasks and no trial in it$"),
        ("", "is empty"),
        (
            " ID | Name | FLOP | Weight | Trials\n---\n  0 | x | 1 | 1 | 1\n",
            "lacks one of the columns FLOP, Latency",
        ),
    ],
)
def test_other_texts_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """A text that is no log is refused, with the importer that reads it."""
    with pytest.raises(DatasetError, match=said):
        read(write(tmp_path, text))


def test_unreadable_logs_are_refused(tmp_path: Path) -> None:
    """A missing log, a folder without any, another encoding."""
    (tmp_path / "utf16.log").write_text("Trial #1", encoding="utf-16-le")
    (tmp_path / "folder").mkdir()
    for name, said in (("absent.log", "cannot read"), ("utf16.log", "UTF-8"), ("folder", r"has no \*\.log")):
        with pytest.raises(DatasetError, match=said):
            read(f"a={tmp_path / name}")
