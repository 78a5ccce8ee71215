"""Benchmark names that hold a configuration and a shape, split by ``--configs``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError
from abtune.ingest.importers import Imported, importer_named, run_importer
from abtune.ingest.sources import find_files


def write(path: Path, times: Mapping[str, float]) -> str:
    """Write JSON of Google Benchmark and return its path."""
    entries = [
        {"name": name, "run_name": name, "run_type": "iteration", "real_time": time, "time_unit": "us"}
        for name, time in times.items()
    ]
    path.write_text(json.dumps({"context": {}, "benchmarks": entries}), encoding="utf-8")
    return str(path)


def read(*files: str, configs: str, runs: tuple[str, ...] = (), shape: str = "") -> Imported:
    values = {"shape": shape, "unit": "", "columns": "", "seed-is": "", "configs": configs}
    return run_importer(importer_named("timings"), find_files(files, runs), values)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("sort/old/512", "sort/512"),
        ("old/512", "512"),
        ("sort:old:512", "sort:512"),
        ("std::sort:old", "std::sort"),
        ("sort_old", "sort"),
        ("test_old_sort", "test_sort"),
        ("b.py::test_sort[old-512]", "b.py::test_sort[512]"),
        ("b.py::test_sort[512-old]", "b.py::test_sort[512]"),
        ("org.B.sort(impl=old)", "org.B.sort"),
        ("org.B.sort(impl=old, n=512)", "org.B.sort(n=512)"),
        ("org.B.sort(n=512, impl=old)", "org.B.sort(n=512)"),
        ("Sort(Impl: old, N: 512)", "Sort(N: 512)"),
        ("BM_sort<float, old>/512", "BM_sort<float>/512"),
        ("BM_sort<old>/512", "BM_sort/512"),
        ("BenchmarkSort/impl=old-8", "BenchmarkSort-8"),
        ("old", "all"),
    ],
)
def test_the_rest_of_a_name_is_the_shape(tmp_path: Path, name: str, shape: str) -> None:
    """Of the separators around a configuration one stays, and empty brackets go."""
    path = write(tmp_path / "a.json", {name: 2.0, name.replace("old", "new"): 1.0})
    dataset = read(path, configs="old,new").dataset
    assert dataset["shape"].values.tolist() == [shape]
    assert dataset["config"].values.tolist() == ["old", "new"]
    assert dataset["latency"].values.ravel().tolist() == pytest.approx([2e-6, 1e-6])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("BM_OldSort/512", "BM_Sort/512"),
        ("SQLSortOld512", "SQLSort512"),
        ("SortOld", "Sort"),
        ("sort/Old/OldestMap", "sort/OldestMap"),
        ("sort/Old/OldMap", "sort/OldMap"),  # a word of its own comes first
    ],
)
def test_a_configuration_may_be_a_part_of_a_word(tmp_path: Path, name: str, shape: str) -> None:
    """Names of Go and Java are in camel case, and those of Rust may end in a number."""
    path = write(tmp_path / "a.json", {name: 2.0, "Sort/New": 1.0})
    dataset = read(path, configs="Old,New").dataset
    is_timed = dataset["latency"].sel(config="Old").notnull().values.ravel()
    assert dataset["shape"].values[is_timed].tolist() == [shape]


def test_the_first_configuration_is_the_baseline(tmp_path: Path) -> None:
    """The order in a file does not decide, nor does a word for baseline."""
    paths = [write(tmp_path / f"{run}.json", {"s/base": 1.0 + run, "s/fast": 2.0}) for run in range(3)]
    dataset = read(*paths, configs="fast,base").dataset
    assert dataset["config"].values.tolist() == ["fast", "base"]
    assert dataset.sizes["seed"] == 3
    assert (dataset["run_status"] == RunStatus.COMPLETE).all()


def test_a_longer_word_goes_first(tmp_path: Path) -> None:
    """A configuration may be called like another one with something behind it, or begin with a sign."""
    path = write(tmp_path / "a.json", {"s/v2": 2.0, "s/v2-fast": 1.0, "t/v2-fast": 1.0, "t/v2": 2.0})
    assert read(path, configs="v2,v2-fast").dataset["shape"].values.tolist() == ["s", "t"]
    path = write(tmp_path / "b.json", {"s/-O2": 2.0, "s/-O3": 1.0})
    assert read(path, configs="-O2,-O3").dataset["shape"].values.tolist() == ["s"]


def test_other_benchmarks_are_left_out_with_a_note(tmp_path: Path) -> None:
    """A word within a word is none."""
    path = write(tmp_path / "a.json", {"s/old": 2.0, "s/new": 1.0, "golden/x": 3.0, "renewed": 4.0})
    imported = read(path, configs="old,new")
    assert imported.dataset["shape"].values.tolist() == ["s"]
    assert any("no name of --configs is in them: golden/x, renewed" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        ({"s/old": 1.0}, {"configs": "old,new"}, "no name has the word new; there are: s/old"),
        ({"s/old": 1.0}, {"configs": "old"}, "--configs 'old' is not two names or more, such as old,new"),
        ({"s/old": 1.0}, {"configs": "old,,new"}, "is not two names or more"),
        ({"s/old": 1.0}, {"configs": "old,old"}, "is not two names or more"),
        ({"old/new": 1.0}, {"configs": "old,new"}, "'old/new' has old and new; rename it"),
        ({"old/old": 1.0}, {"configs": "old,new"}, "'old/old' has old and old; rename it"),
        ({"s/old": 1.0, "s_old": 2.0, "s/new": 1.0}, {"configs": "old,new"}, "old has timings of s, seed 0"),
        ({"s/old": 1.0, "s/new": 1.0}, {"configs": "old,new", "shape": "s"}, "leave out --shape LABEL"),
    ],
)
def test_what_cannot_be_split_is_refused(
    tmp_path: Path, times: Mapping[str, float], options: dict[str, str], message: str
) -> None:
    """The line says what to change."""
    with pytest.raises(AbtuneError, match=r"^[^\n]*$") as error:
        read(write(tmp_path / "a.json", times), **options)
    assert message in str(error.value)


def test_tables_have_columns_instead(tmp_path: Path) -> None:
    """Their lines have no name."""
    path = tmp_path / "a.csv"
    path.write_text("shape,config,time_s\na,old,1\na,new,1\n", encoding="utf-8")
    with pytest.raises(AbtuneError, match="--configs is for files that name each benchmark"):
        read(str(path), configs="old,new")


def test_whoever_names_neither_reads_of_it(tmp_path: Path) -> None:
    """Without --run, --shape and --configs several names may be either or both."""
    path = write(tmp_path / "a.json", {"s/old": 1.0, "s/new": 1.0})
    with pytest.raises(
        AbtuneError, match=r"if each has a shape and one of two configurations: .*--configs OLD,NEW"
    ):
        read(path, configs="")


def test_failed_benchmarks_are_failed_runs(tmp_path: Path) -> None:
    """Also where all runs of a configuration failed; a shape that nothing has a time of is left out."""
    path = tmp_path / "a.json"
    entries = [
        {"name": name, "run_name": name, "run_type": "iteration", "real_time": 1.0, "time_unit": "us"}
        | ({"error_occurred": True} if name != "sort/old" else {})
        for name in ("sort/old", "sort/new", "find/old", "find/new")
    ]
    path.write_text(json.dumps({"context": {}, "benchmarks": entries}), encoding="utf-8")
    imported = read(str(path), configs="old,new")
    assert imported.dataset["shape"].values.tolist() == ["sort"]
    assert imported.dataset["run_status"].values.ravel().tolist() == [RunStatus.COMPLETE, RunStatus.FAILED]
    assert any(note.endswith("sort of new failed, which counts") for note in imported.notes)
    assert any("find of old failed and has no time, so it is left out" in note for note in imported.notes)
