"""``abtune import`` on the command line, and the examples of docs/import.md with their files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import xarray as xr
from running import Run
from test_documentation import BLOCK, ROOT, matches, steps

import abtune

SAMPLES = ROOT / "tests" / "ingest" / "samples"


@pytest.fixture
def with_samples(empty_folder: Path) -> Path:
    """Work in a folder that has the files of the examples."""
    for path in [*SAMPLES.iterdir(), ROOT / "data"]:
        (empty_folder / path.name).symlink_to(path)
    return empty_folder


def test_the_examples_of_the_document_work(with_samples: Path, run: Run) -> None:
    """Every command of docs/import.md prints what is shown below it."""
    text = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    commands = 0
    code = 0
    for block in BLOCK.finditer(text):
        for step in steps(block["body"]):
            if step.words[0] == "echo":
                assert step.shown.strip() == str(code)
                continue
            done = run(*step.words[1:])
            code = done.code
            assert matches(step.shown, done.out + done.err), done.out + done.err
            commands += 1
    assert commands >= 8


@pytest.mark.parametrize(
    "arguments",
    [
        ["databases", "--run", "a=tuned/mainline-0", "--run", "b=tuned/async-0"],
        ["logs", "--run", "a=tuned/mainline-0", "--run", "b=tuned/async-0"],
        ["timings", "times.csv"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_files_are_not_overwritten_unasked(with_samples: Path, run: Run, arguments: list[str]) -> None:
    """A dataset is replaced only with --overwrite, and what is written is what the library reads."""
    assert run("import", *arguments, "--out", "x.nc").code == 0
    first = abtune.open_dataset("x.nc")
    refused = run("import", *arguments, "--out", "x.nc")
    assert (refused.code, refused.err) == (2, "abtune: x.nc exists; give another name, or --overwrite\n")
    assert run("import", *arguments, "--out", "x.nc", "--overwrite").code == 0
    xr.testing.assert_identical(abtune.open_dataset("x.nc"), first)


@pytest.mark.parametrize("kind", ["databases", "logs", "timings"])
def test_nothing_given_is_said(with_samples: Path, run: Run, kind: str) -> None:
    """Without files there is one line that says how to give them."""
    done = run("import", kind, "--out", "x.nc")
    assert (done.code, done.out) == (2, "")
    assert "nothing to import; give" in done.err
    assert not Path("x.nc").exists()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("time", "'time' is not FIELD=NAME"),
        ("tim=x", "unknown field 'tim'; did you mean: time"),
        ("time=", "is not FIELD=NAME"),
        ("time=a,seed=run,time=b", "--columns has time twice, a and b; keep one of them"),
    ],
)
def test_columns_are_checked(with_samples: Path, run: Run, entry: str, said: str) -> None:
    """An entry of --columns names a field and a column."""
    done = run("import", "timings", "times.csv", "--columns", entry, "--out", "x.nc")
    assert done.code == 2
    assert said in done.err


def test_failed_runs_are_counted(with_samples: Path, run: Run) -> None:
    """The line about seeds says how many of them failed."""
    done = run("import", "logs", "--run", "a=tuned/mainline-0", "--run", "a=tuned/failed-0", "--out", "x.nc")
    assert "taken for a seed: each log; 2 of a; 1 failed" in done.out


def test_runs_that_are_not_alike_are_said(with_samples: Path, run: Run) -> None:
    """Runs of unequal numbers of trials, or for different targets, are compared only after a warning."""
    Path("short").mkdir()
    for name in ("database_workload.json", "database_tuning_record.json"):
        text = Path("tuned", "mainline-0", name).read_text(encoding="utf-8")
        kept = text.splitlines()[:3]
        Path("short", name).write_text("\n".join(kept).replace('"llvm"', '"c"'), encoding="utf-8")
    done = run("import", "databases", "--run", "a=short", "--run", "b=tuned/async-0", "--out", "x.nc")
    assert "runs have 3 to 4 trials; fewer trials find slower winners\n" in done.out
    assert "runs were tuned for different targets\n" in done.out


def test_a_name_that_no_terminal_shows(with_samples: Path, run: Run) -> None:
    """Names come from files and may hold anything."""
    Path("odd.csv").write_text("shape,config,time_us\nπ τ,\u202eb,1\n", encoding="utf-8")
    assert run("import", "timings", "odd.csv", "--out", "x.nc").code == 0
    assert abtune.open_dataset("x.nc")["shape"].values.tolist() == ["π τ"]


def test_names_do_not_colour_the_terminal(with_samples: Path, run: Run) -> None:
    """What is printed of a name cannot move the cursor."""
    Path("odd.json").write_text('{"results": [{"command": "a\\u001b[2J", "times": [1]}]}', encoding="utf-8")
    done = run("import", "timings", "odd.json", "--shape", "s", "--out", "x.nc")
    assert (done.code, "\x1b" in done.out) == (0, False)


def test_a_search_without_a_measurement_is_a_failed_run(with_samples: Path, run: Run) -> None:
    """Records may have no times at all."""
    shutil.copytree("tuned/mainline-0", "own")
    records = Path("own/database_tuning_record.json")
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line[1][1] = None
    records.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    done = run("import", "databases", "--run", "a=own", "--out", "x.nc")
    assert (done.code, "1 of a; 1 failed" in done.out) == (0, True)


def test_impossible_outputs_are_refused(with_samples: Path, run: Run) -> None:
    """A name that no file can have is no reason to crash."""
    done = run("import", "timings", "times.csv", "--out", "x" * 300)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_help_names_all_kinds(run: Run) -> None:
    """Import alone prints its help."""
    done = run("import")
    assert done.code == 0
    for kind in ("published", "databases", "logs", "timings"):
        assert kind in done.out
