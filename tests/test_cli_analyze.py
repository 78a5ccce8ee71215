"""The command line of the analysing half: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
import xarray as xr
from example_sweep import swept
from golden_files import assert_golden
from running import Outcome, Run, refused

import abtune
from abtune.cli import COMMANDS
from abtune.commands.analyze import analyze
from abtune.commands.common.options import FIGURE_SUFFIXES
from abtune.commands.common.section_options import HEADINGS, section_names
from abtune.dataset.netcdf import BUNDLED, bundled_path
from abtune.report.formats.format_registry import FORMATS

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")

TABLE = "|Shape|a (GFLOPS)|b (GFLOPS)|\n|-|-|-|\n|M=512_N=256_K=640|1|2|\n"
PUBLISHED = "tvm14009-rtx3080"
# Endings that choose a format of reports or figures.
SUFFIXES = (*FIGURE_SUFFIXES, *(end for form in FORMATS.values() for end in form.suffixes))


@pytest.fixture
def sweep() -> str:
    """Put the default dataset into the working folder, as a sweep would leave it."""
    abtune.save_dataset(swept(), "abtune.nc")
    return "abtune.nc"


# What is printed


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", [PUBLISHED, "abtune.nc"])
def test_reports_look_as_their_golden_files_show(
    run: Run, sweep: str, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    """The report of the published table and of a sweep look as their golden files show."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("analyze", name)
    assert (outcome.code, outcome.err) == (0, "")
    assert_golden(f"analyze-{Path(name).stem}-{width}.txt", outcome.out)


def test_a_piped_report_has_whole_labels_and_columns(run: Run, sweep: str) -> None:
    """What is not a terminal gets plain text with every label and column whole."""
    outcome = run("analyze", "--why")
    assert "\x1b" not in outcome.out
    assert_golden("analyze-abtune-piped.txt", outcome.out)


def test_markdown_report(run: Run, sweep: str) -> None:
    """The markdown report looks as its golden file shows."""
    assert_golden("analyze-abtune.md", run("analyze", "--format", "markdown").out)


def test_json_and_csv_agree_with_the_library(run: Run, sweep: str) -> None:
    """JSON and CSV hold the numbers that abtune.analyze returns, to the last digit."""
    analysis = abtune.analyze(swept())
    document = json.loads(run("analyze", "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(run("analyze", "--format", "csv").out)))
    assert len(document["comparisons"]) == len(rows) == len(analysis.comparisons)
    for comparison, record, row in zip(analysis.comparisons, document["comparisons"], rows, strict=True):
        for name in ("boost", "boost_low", "boost_high", "p", "p_adjusted"):
            number = getattr(comparison, name)
            assert record[name] == (None if np.isnan(number) else number)
            assert row[name] == ("" if np.isnan(number) else repr(number))
        assert record["verdict"] == row["verdict"] == comparison.verdict.value
    overall = document["overall"]["these_shapes"]
    assert overall["boost_low"] == analysis.overall.these_shapes.boost_low


def test_published_boosts_are_reproduced(run: Run) -> None:
    """Each of the 29 published boosts comes out of the analysis to the last digit that was printed."""
    table = bundled_path(PUBLISHED).with_suffix(".md").read_text(encoding="utf-8")
    lines = [
        line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith(("| N=", "| M="))
    ]
    records = json.loads(run("analyze", PUBLISHED, "--format", "json").out)["comparisons"]
    assert [line[0] for line in lines] == [record["shape"] for record in records]
    for line, record in zip(lines, records, strict=True):
        assert 1 + record["boost"] == pytest.approx(1 + float(line[3].rstrip("%")) / 100, rel=1e-14)


def test_the_same_command_prints_the_same_bytes(run: Run, sweep: str) -> None:
    """Two runs of one command line print the same; another seed gives the same verdicts."""
    first, again = (run("analyze", "--format", "json").out for _ in range(2))
    assert first == again
    other = json.loads(run("analyze", "--format", "json", "--rng-seed", "7").out)
    verdicts = [[row["verdict"] for row in rows["comparisons"]] for rows in (json.loads(first), other)]
    assert verdicts[0] == verdicts[1]


def test_trouble_in_one_shape_does_not_stop_the_others(run: Run, sweep: str) -> None:
    """A shape without timings, with one seed, or without scatter is reported beside the others."""
    rows = json.loads(run("analyze", "--format", "json").out)["comparisons"]
    verdicts = [row["verdict"] for row in rows]
    assert verdicts[:2] == ["improved", "regressed"]
    assert verdicts[4:6] == ["invalid", "invalid"]
    assert all(row["caveats"] for row in rows[4:])
    assert all(row["reason"] for row in rows)


def test_swapping_the_sides_swaps_the_verdicts(run: Run, sweep: str) -> None:
    """With baseline and candidate exchanged, what improved regressed and the reverse."""
    swapped = run("analyze", "--baseline", "async", "--candidate", "mainline", "--format", "json")
    rows = json.loads(swapped.out)["comparisons"]
    assert [row["verdict"] for row in rows[:2]] == ["regressed", "improved"]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--shapes", "M=*"], 5),
        (["--shapes", "M=128_N=128_K=128,M=256_N=256_K=256"], 2),
        (["--shapes", "M=128_N=128_K=128", "--shapes", "N=1_*"], 3),
    ],
)
def test_shapes_can_be_chosen(run: Run, sweep: str, arguments: list[str], count: int) -> None:
    """Labels and globs, with commas or repeated, restrict the report."""
    assert len(json.loads(run("analyze", *arguments, "--format", "json").out)["comparisons"]) == count


def test_percentages_reach_the_analysis_as_fractions(run: Run, sweep: str) -> None:
    """A level of 99.9 and a margin of 1.5 percent are 0.999 and 0.015."""
    document = json.loads(run("analyze", "--ci", "99.9", "--margin", "1.5%", "--format", "json").out)
    assert (document["level"], document["margin"]) == (0.999, 0.015)


# Files


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.md", "## async"), ("r.json", "{"), ("r.csv", "shape,"), ("r.txt", "async against"), ("r", "async")],
)
def test_the_name_of_the_file_says_the_format(run: Run, sweep: str, name: str, start: str) -> None:
    """Without a format, the suffix of the output file decides; the standard output stays empty."""
    outcome = run("analyze", "--out", name)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert Path(name).read_text(encoding="utf-8").startswith(start)


def test_the_format_wins_over_the_name(run: Run, sweep: str) -> None:
    """A format that is given is the one that is written."""
    run("analyze", "--out", "r.txt", "--format", "json")
    json.loads(Path("r.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ["absent/r.md", ".", "a" * 300, "abtune.nc/r.md"])
def test_output_that_cannot_be_written_is_refused(run: Run, sweep: str, path: str) -> None:
    """A missing folder, a folder, an impossible name: one line, and nothing is left behind."""
    assert re.search("cannot (write|use)", refused(run("analyze", "--out", path)))
    assert os.listdir() == ["abtune.nc"]  # noqa: PTH208 (names are wanted)


@pytest.mark.parametrize("path", ["absent/r.md", ".", "-"])
def test_an_impossible_output_is_refused_before_anything_is_computed(
    run: Run, sweep: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulation of an hour is not lost to a folder that is not there; `-` made a file of that name."""
    monkeypatch.delattr("abtune.compare.compare.compare")
    refused(run("analyze", "--out", path))


def test_a_full_disk_keeps_the_old_report(sweep: str) -> None:
    """A report that does not fit leaves the old one untouched and no fragment beside it."""
    Path("r.md").write_text("old", encoding="utf-8")
    script = (
        "import resource, signal, sys\n"
        "from abtune.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "sys.exit(main(['analyze', '--out', 'r.md']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"abtune: cannot write r.md: {os.strerror(errno.EFBIG)}\n"
    assert Path("r.md").read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == ["abtune.nc", "r.md"]  # noqa: PTH208


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_one_line(run: Run, sweep: str) -> None:
    """Output to a device that is full is refused, and the device is still one afterwards."""
    assert os.strerror(errno.ENOSPC) in refused(run("analyze", "--out", "/dev/full"))
    assert Path("/dev/full").is_char_device()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "abtune", "analyze"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == f"abtune: cannot write the standard output: {os.strerror(errno.ENOSPC)}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the system")
@pytest.mark.parametrize(("words", "unbuffered"), [("", ""), ("", "1"), ("--help", "")])
def test_a_disk_that_fills_up_is_one_line(sweep: str, words: str, unbuffered: str) -> None:
    """Half a report is no success, also where PYTHONUNBUFFERED makes Python overlook what did not fit."""
    script = (
        "import resource, sys\n"
        "from abtune.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "sys.exit(main(['analyze', *sys.argv[1:]]))\n"
    )
    with Path("report.txt").open("w") as report:
        done = subprocess.run(
            [sys.executable, "-c", script, *words.split()],
            stdout=report,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.stderr == f"abtune: cannot write the standard output: {os.strerror(errno.EFBIG)}\n"
    assert done.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("output", ["2>/dev/full", "2>&1 | true"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("analyze nope.nc", 2),
        ("analyze --fail-on regressed --out r.md", 1),
        ("--help", 0),
        ("sweep --shapes nope", 2),
        ("sweep --dry-run --target cpu --shapes quick --out z.nc", 0),
    ],
)
def test_unread_output_changes_no_exit_code(sweep: str, words: str, code: int, output: str) -> None:
    """Only a gate ends with 1, whoever reads what is said about it."""
    script = f"({shlex.quote(sys.executable)} -m abtune {words}; echo $? > code) {output}"
    subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.DEVNULL, check=True)
    assert Path("code").read_text(encoding="utf-8") == f"{code}\n"


def test_a_folder_without_permission_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system does not show is the user's to mend."""
    real = Path.exists

    def exists(path: Path) -> bool:
        if path != Path("d/w"):
            return real(path)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "exists", exists)
    said = refused(run("analyze", PUBLISHED, "--weights", "d/w"))
    assert said == f"abtune: cannot use d/w: {os.strerror(errno.EACCES)}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_closed_output_is_no_error(sweep: str) -> None:
    """Where there is no standard output at all, the report goes nowhere and the gate still counts."""
    script = f"exec {shlex.quote(sys.executable)} -m abtune analyze --fail-on regressed >&-"
    done = subprocess.run(["/bin/sh", "-c", script], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "abtune: --fail-on regressed: M=256_N=256_K=256\n")


def test_a_reader_that_leaves_is_no_error(sweep: str) -> None:
    """When the reader of a pipe is gone, nothing is said and the gate still counts."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "abtune", "analyze", "--format", "json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    command += ["--fail-on", "regressed"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 1


def test_streams_without_unicode_get_ascii(sweep: str) -> None:
    """A report for a stream that takes ASCII only is ASCII, whatever the names in the dataset."""
    dataset = swept().assign_coords(config=("config", np.array(["mainline", "größer"], dtype=object)))
    dataset["config"].attrs.update(units="1")
    abtune.save_dataset(dataset, "abtune.nc")
    done = subprocess.run(
        [sys.executable, "-m", "abtune", "analyze"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout.decode("ascii").startswith(r"gr\xf6\xdfer against mainline")


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_formats_of_files_are_utf_8_in_any_locale(sweep: str, form: str) -> None:
    """With > report.html on Windows, too: a page says of itself that it is UTF-8."""
    command = [sys.executable, "-m", "abtune", "analyze", "--format", form]
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    printed = subprocess.run(command, capture_output=True, env=env, check=True).stdout
    subprocess.run([*command, "--out", "report"], env=env, check=True)
    assert printed.replace(b"\r\n", b"\n") == Path("report").read_bytes().replace(b"\r\n", b"\n")


# Gates


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ([], 0),
        (["regressed"], 1),
        (["inconclusive"], 1),
        (["invalid", "regressed"], 1),
    ],
)
def test_a_gate_that_is_hit_gives_exit_code_1(run: Run, sweep: str, gates: list[str], code: int) -> None:
    """A gate that is hit gives exit code 1 and says on the standard error which shapes hit it."""
    words = (word for gate in gates for word in ("--fail-on", gate))
    outcome = run("analyze", "--tolerance", "1", *words)
    assert outcome.code == code
    assert outcome.out.startswith("async against mainline")
    assert outcome.err.count("\n") == len(gates)
    assert all(f"abtune: --fail-on {gate}: " in outcome.err for gate in gates)
    if gates:
        together = run("analyze", "--tolerance", "1", "--fail-on", ", ".join(gates))
        assert (together.code, together.err) == (outcome.code, outcome.err)


def test_a_gate_that_is_not_hit_is_silent(run: Run, sweep: str) -> None:
    """Without a regression the gate for it passes, although other shapes are in doubt."""
    outcome = run("analyze", "--shapes", "M=128_*,M=512_*", "--fail-on", "regressed")
    assert (outcome.code, outcome.err) == (0, "")


# What is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ci", "0"], "0 is not above 50 and below 100; give a percentage, such as 95"),
        (["--ci", "100"], "100 is not above 50 and below 100; give a percentage, such as 95"),
        (["--ci", "99.99999999999999"], "is not above 50 and below 100; give a percentage, such as 95"),
        (["--ci", "0.95"], "0.95 is not above 50 and below 100; give a percentage, such as 95"),
        (["--ci", "abc"], "'abc' is not a number; give a percentage, such as 95"),
        (["--ci", "nan"], "'nan' is not a finite number; give a percentage, such as 95"),
        (["--ci", ""], "'' is not a number"),
        (["--margin", "0"], "0 is not above 0 and below 100; give a percentage, such as 2"),
        (["--margin", "-1"], "-1 is not above 0 and below 100"),
        (["--margin", "0.02"], "0.02 would be 0.02%; give 2%, or 0.02% if meant"),
        (["--fail-on", "slower-than:0.05"], "0.05 would be 0.05%; give 5%, or 0.05% if meant"),
        (["--rng-seed", "-1"], "'--rng-seed'"),
        (["--format", "xml"], "'xml' is not one of 'table', 'markdown', 'html', 'json', 'csv'"),
        (["--fail-on", "regressed,slower"], "'slower' is none of regressed, inconclusive, invalid, "),
        (["--baseline", "mainlin"], "unknown configuration 'mainlin'; did you mean: mainline"),
        (["--candidate", "asink"], "unknown configuration 'asink'; did you mean: async"),
        (["--baseline", "async", "--candidate", "async"], "baseline and candidate are both 'async'"),
        (
            ["--shapes", "M=128_N=128_K=129"],
            "unknown shape 'M=128_N=128_K=129'; did you mean: M=128_N=128_K=128",
        ),
        (["--shapes", "resnet"], "unknown shape 'resnet'"),
        (
            ["--show", "regresed"],
            "verdicts are improved, regressed, equivalent, not-slower, inconclusive and",
        ),
        (["--shapes", "M=*,,N=*"], "there is an empty name in the list"),
        (["--show", ""], "abtune: there is an empty name in the list of shapes"),
        (["--frmat", "json"], "--frmat"),
        (["a.nc", "b.nc"], "abtune compare a.nc b.nc; to put their runs into one: abtune merge a.nc b.nc"),
        (["a.nc", "b", "c"], "for what changed between them: abtune history a.nc b c; to put their"),
        (["--out", "x.pdf"], "--out writes text; to draw: abtune plot --out x.pdf"),
        (["--out", "x.docx"], "x.docx: no format has this ending; give --format, or one of .txt, .md,"),
        (
            ["absent.nc"],
            "absent.nc: no such file; make one with abtune sweep or import, or see abtune datasets",
        ),
        (["./absent"], "absent: no such file; make one"),
        (["old"], "old: no such file; did you mean old.nc"),
        (["--fail-on", "regressed invalid"], "write commas between gates"),
        (["tvm14009"], "unknown dataset 'tvm14009'; did you mean: h200-tvm14009, tvm14009-rtx3080"),
    ],
)
def test_bad_arguments_are_one_line(run: Run, sweep: str, arguments: list[str], said: str) -> None:
    """Whatever is wrong with an argument is said in one line, with what to give instead."""
    Path("old.md").write_text("old", encoding="utf-8")
    Path("old.nc").touch()
    assert said in refused(run("analyze", "--out", "old.md", *arguments))
    assert Path("old.md").read_text(encoding="utf-8") == "old"


def test_a_tiny_percentage_needs_its_sign(run: Run, sweep: str) -> None:
    """A margin of 0.02% is possible, though 0.02 alone is refused."""
    assert json.loads(run("analyze", "--margin", "0.02%", "--format", "json").out)["margin"] == 0.0002
    assert run("analyze", "--margin", "0.1").code == 0


def test_no_dataset_says_what_to_run(run: Run) -> None:
    """With no dataset named and none here, the line says how to get one."""
    said = refused(run("analyze"))
    assert "no dataset named and no abtune.nc here" in said
    assert "abtune sweep" in said
    assert "abtune datasets" in said
    Path("abtune.nc.runs").mkdir()
    said = refused(run("analyze"))
    assert "no such file; give its abtune sweep again, which makes it from abtune.nc.runs" in said


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda whole: whole[:3000], "not a netCDF file, or damaged"),
        (lambda whole: whole[:-1], "not a netCDF file, or damaged"),
        (lambda _: b"", "not a netCDF file, or damaged"),
        (lambda _: b"shape,latency\n1,2\n", "not a netCDF file, or damaged"),
    ],
)
def test_damaged_datasets_are_one_line(make: Callable[[bytes], bytes], said: str) -> None:
    """A truncated, empty or foreign file gives one line and nothing else from the libraries below."""
    Path("abtune.nc").write_bytes(make(bundled_path(PUBLISHED).read_bytes()))
    command = [sys.executable, "-m", "abtune", "analyze"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    outcome = Outcome(code=done.returncode, out=done.stdout, err=done.stderr)
    assert f"abtune.nc: {said}" in refused(outcome)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.assign_attrs(schema_version=2), "schema version 2 is newer than this abtune"),
        (lambda data: data.drop_attrs(deep=False), "not an abtune dataset"),
        (lambda data: data.drop_vars("latency"), "the dataset has no variable 'latency'"),
        (lambda data: data.drop_vars("run_status"), "the dataset has no variable 'run_status'"),
        (lambda data: data.drop_vars("config"), "the dataset has no coordinate 'config'"),
        (lambda data: data.isel(config=[0]), "and the dataset has only 'mainline'; abtune merge"),
        (lambda data: data.isel(shape=[]), "dimension 'shape' is empty"),
    ],
)
def test_unfit_datasets_are_one_line(run: Run, change: Callable[[xr.Dataset], xr.Dataset], said: str) -> None:
    """A dataset of a newer schema, without a version, or lacking something is refused by name."""
    change(swept()).to_netcdf("abtune.nc", engine="netcdf4")
    assert said in refused(run("analyze"))


# What must not be replaced


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--out", "abtune.nc", "--format", "table"], "abtune.nc"),
        (["--out", "./link.txt"], "abtune.nc"),
        (["--out", "bystander.dat", "--format", "table"], "bystander.dat"),
        (["--out", "w.txt", "--weights", "w.txt"], "w.txt"),
        (["--out", "w.txt", "--weights", "sub/w.txt"], "w.txt"),
    ],
)
def test_a_report_replaces_no_input_and_no_dataset(
    run: Run, sweep: str, options: list[str], kept: str
) -> None:
    """A report or figure goes neither where something is read, also by a link, nor where a dataset is."""
    Path("w.txt").write_text("M=128_N=128_K=128,2\n", encoding="utf-8")
    for link, file in (("link.txt", sweep), ("link.png", sweep)):
        Path(link).symlink_to(file)
    Path("sub").mkdir()
    Path("sub/w.txt").symlink_to("../w.txt")
    for copy in ("other.dat", "bystander.dat"):
        Path(copy).write_bytes(Path(sweep).read_bytes())
    before = Path(kept).read_bytes()
    assert f"cannot write {Path(options[1] if options[0] == '--out' else options[2])}: " in refused(
        run("analyze", *options)
    )
    assert Path(kept).read_bytes() == before


def test_a_report_is_not_called_a_dataset(run: Run, sweep: str) -> None:
    """A name that ends in .nc is refused for a report, whether a file is there or not."""
    Path("damaged.nc").write_bytes(b"")
    for name in ("damaged.nc", "new.nc"):
        said = refused(run("analyze", sweep, "--out", name, "--format", "table"))
        assert said == f"abtune: cannot write {name}: that is a name for datasets; give another\n"


# The other commands


def test_bundled_datasets_are_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of bundled datasets has every name that analyze takes, and is as wide as the console."""
    monkeypatch.setenv("COLUMNS", "60")
    outcome = run("datasets")
    assert outcome.code == 0
    assert {line.split()[0] for line in outcome.out.splitlines() if line[0] != " "} == {*BUNDLED}
    assert max(map(len, outcome.out.splitlines())) <= 60


def test_a_published_table_is_imported(run: Run) -> None:
    """An imported table can be analyzed, and says what it holds."""
    Path("t.md").write_text(TABLE.replace(" (GFLOPS)", ""), encoding="utf-8")
    told = (
        "t.nc: 1 shape, configurations a (baseline), b\n"
        "each file is one seed: 1 seed per cell, 1 timing per seed; one seed per cell supports no verdict: "
        "timings of one process are not independent\n"
        "no name says which is the baseline, so it is the first; analyze --baseline takes another\n"
    )
    command = ("import", "published", "t.md", "--unit", "tflops", "--out", "t.nc")
    assert run(*command).out == told
    (row,) = json.loads(run("analyze", "t.nc", "--format", "json").out)["comparisons"]
    assert row["boost"] == pytest.approx(1, rel=1e-14)


def test_an_import_overwrites_only_when_told(run: Run) -> None:
    """A file that exists is kept unless the command line says otherwise."""
    Path("t.md").write_text(TABLE, encoding="utf-8")
    Path("t.nc").write_text("old", encoding="utf-8")
    assert "t.nc exists; give another name, or --overwrite" in refused(
        run("import", "published", "t.md", "--out", "t.nc")
    )
    assert Path("t.nc").read_text(encoding="utf-8") == "old"
    assert run("import", "published", "t.md", "--out", "t.nc", "--overwrite").code == 0
    assert abtune.open_dataset("t.nc").sizes["shape"] == 1


@pytest.mark.parametrize("name", ["t.JSON", *(f"t{end}" for end in SUFFIXES)])
def test_a_dataset_is_not_named_like_another_format(run: Run, name: str) -> None:
    """Whoever names a table or report would get netCDF; the error says what to type."""
    Path("in.dat").write_text("shape,config,seed,time_s\ns,a,0,1\ns,b,0,2\n", encoding="utf-8")
    said = refused(run("import", "timings", "in.dat", "--out", name))
    assert f"cannot write {name}: a dataset is netCDF, not {Path(name).suffix[1:].upper()}" in said
    assert said.endswith("; call it t.nc\n")
    assert not Path(name).exists()


def test_an_import_never_replaces_what_it_reads(run: Run) -> None:
    """With --overwrite too, only a dataset is replaced: not the source, by whatever name."""
    Path("in.dat").write_text("shape,config,seed,time_s\ns,a,0,1\ns,b,0,2\n", encoding="utf-8")
    Path("link.out").symlink_to("in.dat")
    before = Path("in.dat").read_bytes()
    for name in ("in.dat", "link.out"):
        said = refused(run("import", "timings", "in.dat", "--out", name, "--overwrite"))
        assert f"{name} is not a dataset, and --overwrite replaces nothing else" in said
    assert Path("in.dat").read_bytes() == before
    assert run("import", "timings", "in.dat", "--out", "t.dat").code == 0
    assert run("import", "timings", "in.dat", "--out", "t.dat", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["published", "absent.md", "--out", "t.nc"], "cannot read absent.md"),
        (["published", ".", "--out", "t.nc"], "cannot read ."),
        (
            ["published", "bad.md", "--out", "t.nc"],
            "line 3: column a (GFLOPS): 'fast' is not a number",
        ),
        (
            ["published", "t.md", "--out", "absent/t.nc"],
            "cannot write absent/t.nc: there is no folder absent",
        ),
        (["published", "t.md"], "Missing option '--out'"),
    ],
)
def test_bad_imports_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    """A table or place that cannot be used gives one line and no file."""
    Path("t.md").write_text(TABLE, encoding="utf-8")
    Path("bad.md").write_text(TABLE.replace("|1|", "|fast|"), encoding="utf-8")
    assert said in refused(run("import", *arguments))
    assert not Path("t.nc").exists()


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["import", "published"]])
def test_every_command_has_help(run: Run, command: list[str]) -> None:
    """Help goes to the standard output, is short of 100 columns, and succeeds."""
    outcome = run(*command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Usage: abtune")


@pytest.mark.parametrize("command", [[], ["import"]])
def test_help_cuts_no_summary(run: Run, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow terminal has the same words about each command as a wide one."""
    texts = []
    for columns in ("60", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        texts.append(run(*command, "--help").out.partition("Examples:")[0].split())
    assert texts[0] == texts[1]


def test_without_a_command_there_is_help(run: Run) -> None:
    """The bare name prints the help, with every command."""
    outcome = run()
    assert outcome.code == 0
    assert all(name in outcome.out for name in COMMANDS)
    assert run("import").out.startswith("Usage: abtune import")


def test_the_version_is_that_of_the_package(run: Run) -> None:
    """The version is that of the package."""
    assert run("--version").out == f"abtune {abtune.__version__}\n"


def test_unknown_commands_get_the_nearest(run: Run) -> None:
    """A misspelt command is answered with what was probably meant."""
    assert "unknown command 'analyse'; did you mean: analyze" in refused(run("analyse"))
    assert "unknown command 'frobnicate'; there are: sweep" in refused(run("frobnicate"))


def test_interruption_is_130(run: Run, sweep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt from the keyboard gives exit code 130 and a word, not a traceback."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("abtune.compare.compare.analyze", interrupt)
    outcome = run("analyze")
    assert outcome.code == 130
    assert outcome.err.strip() == "abtune: interrupted"


def test_a_defect_is_no_gate(run: Run, sweep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no mistake of the user's shows its traceback, and its exit code is not that of a gate."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("abtune.compare.compare.analyze", fail)
    outcome = run("analyze", "--fail-on", "regressed")
    assert (outcome.code, outcome.out) == (70, "")
    assert outcome.err.startswith("Traceback (most recent call last):")
    assert outcome.err.endswith(
        "ZeroDivisionError\nabtune: this is a defect of abtune; please report it with the lines above\n"
    )
    assert "70 a defect of abtune" in " ".join(run("--help").out.split())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "the memory is full; give less at once, or use a larger machine"),
        (
            RuntimeError("can't start new thread"),
            "no thread can be started; raise ulimit -u, or use fewer cores",
        ),
    ],
)
def test_a_machine_that_is_too_small_is_no_defect(
    run: Run, sweep: str, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    """Too little memory, or too few threads, is said in one line."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("abtune.compare.compare.analyze", fail)
    outcome = run("analyze")
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"abtune: {said}\n")


def test_the_help_groups_every_option_once(run: Run) -> None:
    """Each option stands in one of three groups; options of sections and methods follow their registries."""
    text = run("analyze", "--help").out
    places = [text.index(f"\n{heading}:\n") for heading in HEADINGS]
    assert places == sorted(places)
    groups = [text[start:end] for start, end in itertools.pairwise([*places, text.index("Examples:")])]
    listed = [re.findall(r"^  (?:--?[a-z]+, )?(--[a-z-]+)", group, flags=re.MULTILINE) for group in groups]
    context = click.Context(analyze, info_name="analyze", help_option_names=["-h", "--help"])
    options = [param.opts[-1] for param in analyze.get_params(context) if isinstance(param, click.Option)]
    assert sorted(itertools.chain(*listed)) == sorted(options)
    assert {"--ci", "--fail-on"} <= set(listed[0])
    assert {"--format", "--sort", "--explain", "--weights", "--section"} <= set(listed[1])
    assert {"--method", "--correction"} <= set(listed[2])
    sections = text[text.index("\nSections:\n") : places[2]]
    assert set(re.findall(r"^  ([a-z-]+) ", sections, flags=re.MULTILINE)) == {*section_names()} - {"explain"}
    assert text.count("[DATASET]") == 1  # the usage names it; it is no option


def test_a_subset_says_so_in_its_sentence(run: Run) -> None:
    """The sentence that is pasted alone says how many of the shapes were judged."""
    told = " Judged: 2 of the dataset's 3 shapes.\n"
    assert run("analyze", "h200-pilot", "--shapes", "M=*", "--format", "sentence").out.endswith(told)
    assert "Judged:" not in run("analyze", "h200-pilot", "--show", "M=*", "--format", "sentence").out


def test_explain_takes_kinds(run: Run) -> None:
    """A kind names its shapes."""
    assert run("analyze", "h200-pilot", "--explain", "conv2d*").out.startswith("N=1_H=14_W=14_C=1024")


def test_explain_takes_a_list(run: Run) -> None:
    """Names with commas between them are shapes, as in `--shapes`."""
    text = run("analyze", "h200-pilot", "--explain", "M=896*,M=512*").out
    assert [line for line in text.splitlines() if line.startswith("M=")] == [
        "M=512_N=3072_K=768 (gemm_nn): inconclusive",
        "M=896_N=896_K=896 (gemm_nn): not slower",
    ]


def test_a_table_of_single_runs_says_what_to_do(run: Run) -> None:
    """Whoever gets no verdict reads how many runs give one."""
    text = " ".join(run("analyze", PUBLISHED).out.split())
    assert "One run per configuration supports no verdict. • Make ten runs of each configuration." in text


@pytest.mark.parametrize("gate", ["regressed", "inconclusive"])
def test_no_gate_passes_where_nothing_has_a_verdict(run: Run, gate: str) -> None:
    """Runs that could not be judged speak for no shape, so a gate must not let them pass."""
    outcome = run("analyze", PUBLISHED, "--fail-on", gate)
    assert (outcome.code, outcome.err) == (1, f"abtune: --fail-on {gate}: no shape has a verdict\n")


def test_a_lone_shape_has_no_corrected_p(run: Run) -> None:
    """One test needs no correction, so the page has one p; the columns of CSV stay."""
    assert "adj. p" in run("analyze", "h200-pilot", "--format", "markdown").out
    lone = ["analyze", "h200-pilot", "--shapes", "M=896*", "--format"]
    assert "| adj. p |" not in run(*lone, "markdown").out
    assert "p_adjusted" in run(*lone, "csv").out
