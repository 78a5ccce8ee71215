"""Patterns over paths: what the names of folders and files say of shapes, configurations and seeds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from abtune.errors import InputError
from abtune.ingest.sources import about_baseline, baseline_first, find_matching, recorded_path


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")


def found(pattern: str) -> list[tuple[str, str, int]]:
    return [(source.config, source.shape, source.seed) for source in find_matching(pattern)]


def test_fields_come_from_the_path(empty_folder: Path) -> None:
    """As in the logs of apache/tvm#14009: many shapes and configurations in one command."""
    label = "M=512_N=256_K=640"
    make(
        empty_folder,
        *(
            f"{config}_outputs/{label}_t=5000/{log}"
            for config in ("mainline", "async")
            for log in ("a.txt", "b.md")
        ),
        "async_outputs/N=1_t=5000/a.txt",
        "async_outputs/N=1_t=64/a.txt",
    )
    assert found("{config}_outputs/{shape}_t=5000/*.txt") == [
        ("mainline", label, 0),
        ("async", label, 0),
        ("async", "N=1", 0),
    ]


NO_BASELINE = "no name says which is the baseline, so it is the first; analyze --baseline takes another"


@pytest.mark.parametrize(
    ("names", "baseline"),
    [
        (["async", "mainline"], "mainline"),
        (["fast", "new_OLD"], "new_OLD"),
        (["main-async", "main2", "x"], "main2"),
        (["gcc-14", "clang", "maintenance"], "clang"),
    ],
)
def test_the_baseline_is_what_a_name_calls_so(empty_folder: Path, names: list[str], baseline: str) -> None:
    """The word may be a part of the name; without any, the first by name is the baseline."""
    make(empty_folder, *(f"{name}.csv" for name in names))
    first, *others = [config for config, _, _ in found("{config}.csv")]
    assert [first, *others] == [baseline, *sorted(set(names) - {baseline})]


@pytest.mark.parametrize(
    ("configs", "baseline"),
    [
        *(("optimized original", "original"), ("patched stock", "stock"), ("refactor orig", "orig")),
        *(("feature upstream", "upstream"), ("feature trunk", "trunk"), ("PR-123 HEAD~1", "HEAD~1")),
        *(("patched unpatched", "unpatched"), ("optimised unoptimised", "unoptimised")),
        *(("fast main-1a2b3c4", "main-1a2b3c4"), ("opt_O3_gcc13 main_O3_gcc13", "main_O3_gcc13")),
        *(("a b-upstream-llvm", ""), ("new base-ptr-removed", ""), ("fast_main_kernel slow", "")),
        *(("control-flow-opt plain", ""), ("old", "old"), ("x main-async main-loop", "main-async")),
    ],
)
def test_a_word_for_baseline_begins_or_ends_a_name(configs: str, baseline: str) -> None:
    """Within a longer name, and as a short word that begins one, it may be of a feature."""
    names = configs.split()
    assert baseline_first(names)[0] == (baseline or names[0])
    assert list(about_baseline(names)) == [NO_BASELINE] * (not baseline)
    transposed = list(about_baseline(names, ["bert-base", "Baseline"]))[1:]
    said = "shape Baseline is called like a configuration; if it is one, transpose the table"
    assert transposed == [said] * (not baseline)
    for shapes, is_said in ((["main", "branch"], True), (["main"], False), (["main(4x4)", "x"], False)):
        transposed = list(about_baseline(["gemm", "conv"], shapes))[1:]
        assert transposed == [said.replace("Baseline", "main")] * is_said


def test_seeds_are_numbers_or_counted(empty_folder: Path) -> None:
    """A number in the path is the seed; without one, the files of a configuration and shape count up."""
    make(empty_folder, "a-10.csv", "a-2.csv", "b-7.csv", "b-x.csv")
    assert found("{config}-{seed}.csv") == [("a", "", 2), ("a", "", 10), ("b", "", 7)]
    assert found("{config}-*.csv") == [("a", "", 0), ("a", "", 1), ("b", "", 0), ("b", "", 1)]
    assert [source.path.name for source in find_matching("{config}-??.csv")] == ["a-10.csv"]
    assert all(source.seed_in_path for source in find_matching("{config}-{seed}.csv"))


def test_other_marks_are_themselves(empty_folder: Path) -> None:
    """Brackets and dots are no patterns here, and nothing crosses a folder."""
    make(empty_folder, "[x].log/a", "x.log/a", "xylog/a", "[x].log/deep/a")
    assert [source.path.as_posix() for source in find_matching("[x].log/{config}")] == [
        *("[x].log/a", "[x].log/deep")
    ]


def test_paths_are_recorded_with_their_folders(empty_folder: Path) -> None:
    """As they are from the working folder, also where the pattern is absolute."""
    make(empty_folder, "runs/a/1.csv")
    (source,) = find_matching(f"{empty_folder}/runs/{{config}}/*.csv")
    assert recorded_path(source.path) == recorded_path(Path("./runs/a/1.csv")) == "runs/a/1.csv"


@pytest.mark.skipif(sys.platform == "win32", reason="a working folder cannot be removed there")
def test_a_path_is_recorded_whole_where_the_working_folder_was_removed(empty_folder: Path) -> None:
    """Nothing is relative to a folder that is gone."""
    gone = empty_folder / "gone"
    gone.mkdir()
    os.chdir(gone)  # empty_folder goes back
    gone.rmdir()
    assert recorded_path(Path("/data/a.csv")) == "/data/a.csv"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("*.csv", "needs a field where paths differ; fields are {config}, {shape}"),
        ("{confg}-{seed}.csv", "has no use for {confg}; fields are"),
        ("{config}/{config}.csv", "each at most once"),
        ("{config}.json", "no file or folder matches --pattern"),
        ("{config}{shape}.csv", "matches --pattern in two ways, config aaa, shape a and config a, shape aaa"),
    ],
)
def test_patterns_that_tell_nothing_are_refused(empty_folder: Path, pattern: str, said: str) -> None:
    """No field, an unknown one, no file, or more than one reading."""
    make(empty_folder, "aaaa.csv")
    with pytest.raises(InputError) as raised:
        find_matching(pattern)
    assert said in str(raised.value)


def test_one_file_under_two_names_is_refused(empty_folder: Path) -> None:
    """A link is not another run."""
    make(empty_folder, "a.csv")
    (empty_folder / "b.csv").symlink_to("a.csv")
    with pytest.raises(InputError, match=r"b.csv is given twice"):
        find_matching("{config}.csv")
