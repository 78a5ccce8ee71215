"""Runs that were timed side by side, in one file or in one line: ``--seed-is pair``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import abtune
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, run_importer
from abtune.ingest.sources import find_files, find_matching

NAMES = ("sort/old/512", "sort/new/512", "sum/old", "sum/new")


def imported(
    *files: Path, importer: str = "timings", runs: tuple[str, ...] = (), configs: str = "", pairs: bool = True
) -> Imported:
    seed_is = "pair" if pairs else "file"
    values = {"shape": "", "unit": "", "columns": "", "seed-is": seed_is, "configs": configs}
    return run_importer(importer_named(importer), find_files(tuple(map(str, files)), runs), values)


def run_file(path: Path, milliseconds: dict[str, float]) -> Path:
    """Write what pytest-benchmark writes of one process."""
    entries = [{"fullname": name, "stats": {"data": [time / 1e3] * 3}} for name, time in milliseconds.items()]
    path.write_text(json.dumps({"machine_info": {}, "benchmarks": entries}), encoding="utf-8")
    return path


def table(path: Path, *lines: str) -> Path:
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Ten processes on machines that differ by 15 %; new is 5 % faster in one shape."""
    rng, files = np.random.default_rng(3), []
    for number in range(10):
        machine, own = rng.normal(0, 0.15), rng.normal(0, 0.01, 4)
        times = np.exp(machine + own) / (1, 1.05, 1, 1)
        files.append(run_file(tmp_path / f"{number}.json", dict(zip(NAMES, times.tolist(), strict=True))))
    return files


def test_what_slows_both_runs_of_a_file_cancels(runs: list[Path]) -> None:
    """Pairs decide what ten files of separate seeds leave open. The import says that they may be pairs."""
    separate, together = (imported(*runs, configs="old,new", pairs=pairs) for pairs in (False, True))
    assert separate.notes[:2] == (
        "each file is one seed: 10 seeds per cell, 3 timings per seed",
        "each file has several configurations; if they ran side by side, --seed-is pair compares them there",
    )
    assert together.notes == ("each file is one pair: 10 pairs per cell, 3 timings per seed",)
    assert together.dataset.attrs["design"] == "paired"
    assert together.dataset["seed"].attrs["long_name"].endswith("; a pair between configurations")
    verdicts = [
        [row.verdict for row in abtune.analyze(dataset).comparisons]
        for dataset in (separate.dataset, together.dataset)
    ]
    unknown = abtune.Verdict.INCONCLUSIVE
    assert verdicts == [[unknown, unknown], [abtune.Verdict.IMPROVED, abtune.Verdict.NOT_SLOWER]]


def test_reports_of_timed_pairs_say_nothing_of_equal_knowledge(runs: list[Path], tmp_path: Path) -> None:
    """A file keeps the design, and the report says what a pair is."""
    abtune.save_dataset(imported(*runs, configs="old,new").dataset, tmp_path / "t.nc")
    analysis = abtune.analyze(abtune.open_dataset(tmp_path / "t.nc"))
    assert "Both runs of a pair were timed side by side." in analysis.definition
    for text in (analysis.sentence, analysis.definition, analysis.report("markdown")):
        assert "knowledge" not in text
    assert json.loads(analysis.report("json"))["design"] == "paired"


def test_a_line_of_one_table_is_a_pair(tmp_path: Path) -> None:
    """Of several tables each file is one: its lines are of one process. A failed run loses its pair."""
    lines = ["shape,old_ms,new_ms", "a,1,2", "a,3,FAILED", "a,5,4", "b,1,1"]
    one = imported(table(tmp_path / "1.csv", *lines))
    assert one.notes[0] == "each line is one pair: 1 to 3 pairs per cell, 1 timing per seed"
    times = 1e3 * one.dataset["latency"].sel(shape="a").squeeze(("round", "repeat"))
    np.testing.assert_allclose(times, [[1, 3, 5], [2, np.nan, 4]])
    row = abtune.analyze(one.dataset).comparisons[0]
    assert (row.baseline.n, row.baseline.failed_pairs) == (2, 1)
    several = imported(tmp_path / "1.csv", table(tmp_path / "2.csv", *lines[:-1], "b,2,2"))
    assert several.notes[0] == "each file is one pair: 2 pairs per cell, 1 to 3 timings per seed"


def test_a_number_tells_which_runs_are_a_pair(tmp_path: Path) -> None:
    """In a column, and in a path; a run without its partner is left out."""
    lines = ["shape,config,seed,ms", "a,old,7,1", "a,new,8,2", "a,new,7,3", "a,old,9,4"]
    numbered = imported(table(tmp_path / "1.csv", *lines))
    assert numbered.notes[0].startswith("each number in the column seed is one pair: 1 pair per cell, ")
    (row,) = abtune.analyze(numbered.dataset).comparisons
    assert (row.baseline.n, row.boost) == (1, pytest.approx(1 / 3 - 1))
    for config, time in (("old", 1.0), ("new", 2.0)):
        run_file(tmp_path / f"{config}-4.json", {"sort": time})
    sources = find_matching(str(tmp_path / "{config}-{seed}.json"))
    values = {"shape": "", "unit": "", "columns": "", "seed-is": "pair"}
    assert run_importer(importer_named("timings"), sources, values).dataset["seed"].values.tolist() == [4]


def test_files_of_other_runners_may_be_pairs(tmp_path: Path) -> None:
    """Where a file is a process, it can have both."""
    files = []
    for number in range(2):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(f"BenchmarkSort/old-8 10 2{number} ns/op\nBenchmarkSort/new-8 10 10 ns/op\n")
    pairs = imported(*files, importer="go-bench", configs="old,new")
    assert pairs.dataset.attrs["design"] == "paired"
    offering = {
        name
        for name in ("asv", "cargo-bench", "criterion", "go-bench", "jmh", "nvbench", "pyperf")
        if any(option.name == "seed-is" for option in importer_named(name).options)
    }
    assert offering == {"asv", "cargo-bench", "go-bench", "nvbench"}


@pytest.mark.parametrize("importer", ["timings", "go-bench"])
def test_a_run_that_a_file_lacks_moves_no_pair(tmp_path: Path, importer: str) -> None:
    """The new run of the third file is no partner of the old run of the second."""
    files = []
    for number in range(3):
        times = {"sort/old": 1.0 + number, "sort/new": 2.0 + number, "sum/old": 1.0, "sum/new": 1.0}
        if number == 1:
            del times["sort/new"]
        files.append(tmp_path / f"{number}.json")
        run_file(files[-1], times)
        if importer == "go-bench":
            lines = [f"Benchmark{name} 10 {1e6 * time:.0f} ns/op" for name, time in times.items()]
            table(files[-1], *lines)
    dataset = imported(*files, importer=importer, configs="old,new").dataset
    times = 1e3 * dataset["latency"].sel(shape="sort").isel(round=0, repeat=0)
    np.testing.assert_allclose(times, [[1, 2, 3], [2, np.nan, 4]])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["shape,old_ms,new_ms", "a,1,2", "a,2,"], "line 3: lacks a time of new; take the line out"),
        (["shape,old_ms,new_ms", 'a,1,"[2, 3]"'], "line 2: lacks a time of old"),
        (["shape,round,old_ms,new_ms", "a,0,1,2"], "has a column round; leave out --seed-is"),
        (["shape,config,ms", "a,old,1", "a,new,2"], "pairs take a column seed, or a column for"),
        (["shape,config,seed,ms", "a,old,1,1", "a,new,2,2"], "no run has the seed number of another"),
    ],
)  # fmt: skip
def test_what_makes_no_pair_is_refused(tmp_path: Path, lines: list[str], said: str) -> None:
    """Nothing is paired by its order alone."""
    with pytest.raises(AbtuneError) as refused:
        imported(table(tmp_path / "t.csv", *lines))
    assert said in str(refused.value)


def test_a_file_of_one_configuration_is_no_pair(runs: list[Path]) -> None:
    """The first file of old and the first of new share nothing."""
    with pytest.raises(AbtuneError) as refused:
        imported(runs=(f"old={runs[0]}", f"new={runs[1]}"))
    assert "has old alone, and no pair; time both in each file, or number the runs" in str(refused.value)
