"""``abtune import`` on the command line, and the examples of docs/import.md with their files."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
from pathlib import Path

import pytest
import xarray as xr
from running import Run
from test_documentation import BLOCK, ROOT, matches, steps

import abtune
from abtune.ingest import importers
from abtune.ingest.importers import IMPORTERS

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
            assert code == 0 or step.may_fail, done.err
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
    assert "each log is one seed: 2 of a; 1 failed" in done.out


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


def test_errors_do_not_move_the_cursor(with_samples: Path, run: Run) -> None:
    """What a file or an argument holds is shown without escape sequences and invisible characters."""
    Path("odd.csv").write_text("sh\x1b]0;title\x07ape,\u202econfig,foo\na,b,1\n", encoding="utf-8")
    for words in (["import", "timings", "odd.csv", "--out", "x.nc"], ["analyze", "\x1b[31m", "--\x1b[31m"]):
        done = run(*words)
        assert done.code == 2
        assert [character for character in done.err if not character.isprintable()] == ["\n"]


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


def test_help_names_all_importers(run: Run) -> None:
    """Import alone prints its help, also for a file; an importer has its own."""
    done = run("import")
    assert done.code == 0
    for name in IMPORTERS:
        assert name in done.out
        own = run("import", name, "--help")
        assert own.out.startswith(f"Usage: abtune import {name} ")
    assert run("import", "--help").out == run("import", "x.csv", "--help").out == done.out


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["times.csv"], "timings"),
        (["hyperfine-1.json", "--shape", "sleep", "--seed-is", "timing"], "timings"),
        (["--seed-is=timing", "--shape", "sleep", "hyperfine-1.json"], "timings"),
        (["--columns", "seed=seed", "--columns", "time=time_us", "times.csv"], "timings"),
        (["--run", "old=pytest-1.json", "--run", "new=pytest-2.json"], "timings"),
        (["data/tvm14009-rtx3080.md", "--unit", "gflops"], "published"),
        (["--run", "a=tuned/mainline-1", "--run", "b=tuned/async-1"], "databases"),
        (["--pattern", "tuned/{config}-1"], "databases"),
        (["--pattern", "tuned/{config}-{seed}/logs/*scheduler.log", "--shape", "M=16_N=32_K=64"], "logs"),
    ],
)
def test_the_importer_is_found_by_content(
    with_samples: Path, run: Run, arguments: list[str], name: str
) -> None:
    """Without a name the same comes out as with it, and the importer is said."""
    named = run("import", name, *arguments, "--out", "named.nc")
    assert (named.code, named.err) == (0, "")
    recognised = run("import", *arguments, "--out", "found.nc")
    assert (recognised.code, recognised.err) == (0, "")
    first, second, *rest = recognised.out.replace("found.nc", "named.nc").splitlines()
    assert [first, *rest] == named.out.splitlines()
    assert second.startswith("read as ")
    assert second.endswith(f": abtune import {name}")
    xr.testing.assert_identical(abtune.open_dataset("found.nc"), abtune.open_dataset("named.nc"))


def test_columns_find_the_importer_of_unknown_content(empty_folder: Path, run: Run) -> None:
    """Only one kind of importer has --columns, so a file without a time column needs no name of it."""
    Path("serve.json").write_text('{"backend": "x", "mean_ttft_ms": 12.5, "duration": 30}', encoding="utf-8")
    files = ["--run", "old=serve.json", "--out", "x.nc", "--shape", "serve"]
    assert "no importer knows this content" in run("import", *files).err
    assert "time=NAME --unit UNIT" in run("import", *files).err, "two columns may have times"
    done = run("import", *files, "--columns", "time=mean_ttft_ms")
    assert (done.code, done.err) == (0, "")
    assert "abtune import timings" in done.out
    assert abtune.open_dataset("x.nc").latency.item() == pytest.approx(0.0125)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["absent.csv"],
            "cannot read absent.csv: there is no such file, and no importer of that name; abtune import",
        ),
        (
            ["old=times.csv"],
            "cannot read old=times.csv: for a file of a configuration, write --run old=times.csv",
        ),
        (
            ["publised", "times.csv"],
            "cannot read publised: there is no such file, and no importer",
        ),
        (["x" * 300], "cannot read xxx"),
        (["note.txt"], "note.txt: no importer knows this content; abtune import lists what it reads"),
        (
            ["--run", "a=tuned/mainline-0"],
            "databases (a MetaSchedule database) and logs (a tuning log) can read",
        ),
        (
            ["times.csv", "data/tvm14009-rtx3080.md"],
            "is a published table, unlike the files before (timings (a dump of timings)); import each kind",
        ),
        (
            ["log.txt"],
            "log.txt: a tuning log does not say its configuration: abtune import --run NAME=log",
        ),
        (
            ["databases", "tuned/mainline-0"],
            "does not say its configuration: abtune import databases --run NAME=tuned/mainline-0 --out",
        ),
        (
            ["logs", "--pattern", "log-{seed}.txt"],
            "a tuning log does not say its configuration; write {config} where --pattern has it, or give",
        ),
        (["data/tvm14009-rtx3080.md", "--columns", "time=x"], "No such option"),
        (["data/tvm14009-rtx3080.md", "--unit", "minutes"], "'minutes' is not one of 's', 'ms'"),
        (
            ["times.csv", "--pattern", "{config}.csv"],
            "--pattern names all files; leave out --run and the files",
        ),
        ([], "nothing to import; give files, --run NAME=PATH for each, or --pattern"),
    ],
)
def test_what_cannot_be_found_is_said(with_samples: Path, run: Run, arguments: list[str], said: str) -> None:
    """One line, and nothing is written."""
    Path("note.txt").write_text("just some words\n", encoding="utf-8")
    Path("log.txt").write_text(" ID | Name | FLOP | Weight |\n", encoding="utf-8")
    done = run("import", *arguments, "--out", "x.nc")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not Path("x.nc").exists()


def test_the_output_is_needed(with_samples: Path, run: Run) -> None:
    """With and without the name of an importer."""
    for words in (["times.csv"], ["timings", "times.csv"]):
        assert "Missing option '--out'" in run("import", *words).err
    assert "nothing to import; give files" in run("import", "published", "--out", "x.nc").err


@pytest.mark.usefixtures("empty_folder")
def test_tables_name_their_configurations(run: Run) -> None:
    """A name for the file would be another one."""
    Path("t.md").write_text("|Shape|a (s)|b (s)|\n|-|-|-|\n|x|1|2|\n", encoding="utf-8")
    said = run("import", "--run", "old=t.md", "--out", "x.nc").err
    assert "a published table names its configurations; give files without --run and --pattern" in said


def test_an_importer_is_one_line(with_samples: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a stranger writes is on the command line once the registry names it: help, options, content."""
    monkeypatch.setattr(importers, "IMPORTERS", {**IMPORTERS, "toy": "toy_importer:TOY"})
    Path("toys.txt").write_text("toy softmax old 3\ntoy softmax new 2\n", encoding="utf-8")
    assert " toy Read toys. " in " ".join(run("import").out.split())
    assert "--mood [happy|sad]" in run("import", "toy", "--help").out
    done = run("import", "toy", "toys.txt", "--mood", "sad", "--out", "toys.nc")
    assert done.out == "toys.nc: 1 shape, configurations old (baseline), new\nsad toys\n"
    assert abtune.analyze(abtune.open_dataset("toys.nc")).comparisons[0].boost == pytest.approx(0.5)
    output = run("import", "toys.txt", "--out", "toys.nc", "--overwrite").out
    assert output.splitlines()[1:] == ["read as a toy: abtune import toy", "happy toys"]
    assert (
        "is not a dump of timings but a toy: abtune import toy"
        in run(*("import", "timings", "toys.txt", "--out", "x.nc")).err
    )


def test_other_packages_add_importers(
    with_samples: Path, run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An entry point is an importer; a broken one is left out with one line, and refused by its name."""
    installed = Path("installed", "others-1.0.dist-info")
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: others\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = ("toy = toy_importer:TOY", "broken = no_such_module:X", "odd = math:pi", "logs = math:pi")
    text = "\n".join(("[abtune.importers]", *lines, ""))
    (installed / "entry_points.txt").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend("installed")
    importers.others.cache_clear()
    try:
        Path("toys.txt").write_text("toy softmax old 3\ntoy softmax new 2\n", encoding="utf-8")
        done = run("import", "toys.txt", "--out", "toys.nc")
        assert done.out.splitlines()[1:] == ["read as a toy: abtune import toy", "happy toys"]
        assert [record.getMessage() for record in caplog.records] == [
            "abtune: importer broken of others is left out: No module named 'no_such_module'",
            "abtune: importer odd of others is left out: math:pi is no Importer of a new name 'odd'",
            "abtune: importer logs of others is left out: math:pi is no Importer of a new name 'logs'",
        ]
        assert " toy Read toys. " in " ".join(run("import").out.split())
        assert "no importer of that name" in run("import", "broken", "toys.txt", "--out", "x.nc").err
        assert len(caplog.records) == 3
    finally:
        importers.others.cache_clear()


def test_many_files_are_one_command(with_samples: Path, run: Run) -> None:
    """Shapes, configurations and seeds from paths become one dataset, whose sources are whole paths."""
    for config, latency in (("mainline", 10), ("async", 8)):
        for size in (16, 32):
            for seed in (1, 2):
                folder = Path(f"{config}_outputs/M={size}_N=1_K=1_t=5000")
                folder.mkdir(parents=True, exist_ok=True)
                row = f"  0 | main | {2 * size} | 1 | 1 | {latency + seed} | 1 | 5000 | Y \n"
                heading = " ID | Name | FLOP | Weight | Speed | Latency (us) | Weighted | Trials | Done \n"
                (folder / f"{seed}.txt").write_text(heading + row, encoding="utf-8")
    done = run("import", "logs", "--pattern", "{config}_outputs/{shape}_t=5000/{seed}.txt", "--out", "x.nc")
    assert (done.code, done.err) == (0, "")
    dataset = abtune.open_dataset("x.nc")
    assert dict(dataset.sizes) == {
        "shape": 2,
        "config": 2,
        "seed": 2,
        "round": 1,
        "repeat": 1,
        "trial": 5000,
    }
    paths = json.loads(dataset.attrs["sources"])["async"]
    assert paths[0] == "async_outputs/M=16_N=1_K=1_t=5000/1.txt"
    rows = abtune.analyze(dataset, baseline="mainline", candidate="async").comparisons
    assert [row.boost for row in rows] == pytest.approx([math.sqrt(11 * 12 / (9 * 10)) - 1] * 2)


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize(
    "text",
    [
        *("shape,old,new\nx,1,2\ny,3,4\n", "kernel;old;new;ratio\nx;1;2;2.0\n"),
        *("shape,old,new\nx,1,2\nx,3,4\n", "|Shape|old|new|\n|-|-|-|\n|x|1|2|\n"),
    ],
)
def test_a_table_without_units_asks_for_one(run: Run, text: str) -> None:
    """No unit is guessed; with --unit the same command reads the table."""
    Path("t").write_text(text, encoding="utf-8")
    refusal = run("import", "t", "--out", "t.nc")
    assert refusal.code == 2
    assert "in which unit the numbers of old, new are; give --unit, one of s, ms" in refusal.err
    assert run("import", "t", "--unit", "ms", "--out", "t.nc", "--overwrite").code == 0
    assert abtune.open_dataset("t.nc").sizes["config"] == 2


@pytest.mark.parametrize(
    ("name", "text", "words", "sizes"),
    [
        ("own name.csv", "matmul size,old_ms,new_ms\nx,1,2\n", ["import", "own name.csv"], (1, 2, 1)),
        ("times.csv", "", ["analyze", "times.csv"], (2, 2, 5)),
        ("hyperfine-1.json", "", ["import", "hyperfine-1.json"], (1, 2, 4)),
        ("pytest-1.json", "", ["import", "pytest-1.json"], (1, 2, 1)),
        ("pyperf-1.json", "", ["import", "pyperf-1.json"], (1, 2, 3)),
        ("tuned/mainline-1", "", ["analyze", "tuned/mainline-1"], (1, 1, 1)),
        ("printed.txt", "", ["analyze", "printed.txt"], None),
        (
            "own.csv",
            "kernel,variant,elapsed\nx,a,1\n",
            ["import", "own.csv"],
            None,
        ),
    ],
)
def test_a_refusal_says_the_command(
    with_samples: Path, run: Run, name: str, text: str, words: list[str], sizes: tuple[int, ...] | None
) -> None:
    """What was not read at the first try is read by the command in the message, or the one after it."""
    if text:
        Path(name).write_text(text, encoding="utf-8")
    out = [] if words[0] == "analyze" else ["--out", "x.nc"]
    said = run(*words, *out).err
    for _ in range(2):
        command = re.search(r": abtune (import .*?)(;.*|, where .*)?\n$", said)
        assert command, said
        typed = shlex.split(command[1].split("; if shapes")[0])
        own = "shape=kernel,config=variant,time=elapsed"
        typed = [word.replace("shape=NAME,config=NAME,time=elapsed", own) for word in typed]
        typed = ["ms" if word == "UNIT" else word for word in typed]
        done = run(*typed)
        if not done.code:
            break
        said = done.err
    assert done.code == 0, done.err
    dataset = abtune.open_dataset(typed[-1])
    if sizes:
        assert (dataset.sizes["shape"], dataset.sizes["config"], dataset.sizes["seed"]) == sizes


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("shape,old (ms),new (ms),speedup", "x,1,2,0.50x"),
        ("layer,old_us,new_us,ratio", "x,1,2,2.0"),
        ("shape\told (s)\tnew (s)\tboost (%)", "x\t1\t2\t-50"),
        ("name;old_ns;new_ns;Speed-up (\u00d7)", "x;3;2;1.5"),
        ("kernel,old_ns,new_ns,speedup", "x,3,2,+50%"),
        ("kernel,old_ns,new_ns,new/old", "x,3,2,0.67"),
        ("kernel,old_ns,new_ns,Speedup (old/new)", "x,3,2,1.5"),
    ],
)
def test_wide_tables_are_read_at_the_first_try(
    with_samples: Path, run: Run, heading: str, cells: str
) -> None:
    """A column for each configuration is enough where its heading has the unit; comparisons are checked."""
    Path("w.csv").write_text(f"{heading}\n{cells}\n", encoding="utf-8")
    done = run("import", "w.csv", "--out", "w.nc")
    assert (done.code, done.err) == (0, "")
    assert abtune.open_dataset("w.nc")["config"].values.tolist() == ["old", "new"]
    wrong = re.sub(r"[^,;\t]+$", "7", cells)
    Path("w.csv").write_text(f"{heading}\n{wrong}\n", encoding="utf-8")
    assert re.search(
        r"line 2: the (quotient|boost) is printed as 7, but the row gives",
        run("import", "w.csv", "--out", "w2.nc").err,
    )


@pytest.mark.parametrize(
    ("texts", "seeds", "repeats"),
    [
        (["shape,old (ms),new (ms)\nx,1,2\nx,3,4\ny,5,6\n"], [0], 2),
        (["layer,seed,old_ms,new_ms,ratio\nx,7,1,2,2\nx,9,3,4,1.3\ny,7,5,6,1.2\n"], [7, 9], 1),
        (["shape,old_ms,new_ms\nx,1,2\ny,5,6\n", "shape,old_ms,new_ms\nx,3,4\ny,-,n/a\n"], [0, 1], 1),
    ],
)
def test_wide_tables_may_have_several_timings_of_a_shape(
    empty_folder: Path, run: Run, texts: list[str], seeds: list[int], repeats: int
) -> None:
    """Lines of a shape are repeats of one seed; a column seed, or several files, tell seeds apart."""
    for number, text in enumerate(texts):
        Path(f"{number}.csv").write_text(text, encoding="utf-8")
    done = run("import", *(f"{number}.csv" for number in range(len(texts))), "--out", "w.nc")
    assert (done.code, done.err) == (0, "")
    latency = abtune.open_dataset("w.nc")["latency"]
    assert latency["seed"].values.tolist() == seeds
    assert latency.sizes["repeat"] == repeats
    known = latency.sel(shape="x").transpose("seed", "repeat", ...).values.reshape(2, 2)
    assert known.tolist() == [[1e-3, 2e-3], [3e-3, 4e-3]]
    assert latency.sel(shape="y").values.ravel().tolist()[0] == 5e-3


@pytest.mark.parametrize(
    "text", ["| Shape | old (ms) | speedup |\n|-|-|-|\n| x | 1 | 2 |", "shape,speedup\nx,2"]
)
def test_a_speedup_alone_is_no_time(empty_folder: Path, run: Run, text: str) -> None:
    """Nobody can tell how long a kernel took from a quotient."""
    Path("w").write_text(f"{text}\n", encoding="utf-8")
    said = run("import", "w", "--out", "w.nc").err
    assert "a speedup alone says no times; give both sides a column: | Shape | old (ms) | new (ms) |" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--", "-x.csv"], "abtune import timings ./-x.csv --columns"),
        (["."], "abtune import --run NAME='./*' --out imported.nc"),
        (["./t.csv"], "sed 's/^ *//; s/  */,/g' t.csv > t-commas.csv"),  # not > t.csv, which would empty it
    ],
)
def test_commands_in_errors_can_be_typed(
    empty_folder: Path, run: Run, arguments: list[str], said: str
) -> None:
    """A file whose name looks like an option stands as a path, and no command destroys its input."""
    Path("-x.csv").write_text("kernel,flavor,foo\na,b,1\n", encoding="utf-8")
    Path("times.csv").write_text("shape,config,time_ms\na,b,1\n", encoding="utf-8")
    Path("t.csv").write_text("shape old_ms new_ms\na 1 2\n", encoding="utf-8")
    told = run("import", "--out", "x.nc", *arguments).err
    assert said in told
    assert ".;" not in told


@pytest.mark.parametrize(("name", "said"), [("old", "old (baseline), new"), ("Baseline", "Baseline, new")])
def test_the_baseline_is_marked_unless_its_name_says_so(
    empty_folder: Path, run: Run, name: str, said: str
) -> None:
    (empty_folder / "t.csv").write_text(f"shape,{name}_ms,new_ms\nx,2,1\n", encoding="utf-8")
    line = f"t.nc: 1 shape, configurations {said}\n"
    assert run("import", "t.csv", "--out", "t.nc").out.startswith(line)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("wide.csv", 1),
        ("--pattern {config}-x.csv --shape x", 1),
        ("--run one=one-x.csv --run two=two-x.csv --shape x", 0),
        ("--run two=two-x.csv --shape x", 0),
    ],
)
def test_a_baseline_that_is_a_guess_is_said(empty_folder: Path, run: Run, arguments: str, lines: int) -> None:
    """Without a known name the first configuration is the baseline, unless the order of --run says so."""
    (empty_folder / "wide.csv").write_text("shape,one_ms,two_ms\nx,2,1\n", encoding="utf-8")
    for number, name in enumerate(("one", "two"), start=1):
        (empty_folder / f"{name}-x.csv").write_text(f"time_ms\n{number}\n", encoding="utf-8")
    done = run("import", *arguments.split(), "--out", "t.nc")
    assert done.out.count("no name says which is the baseline, so it is the first; analyze") == lines
