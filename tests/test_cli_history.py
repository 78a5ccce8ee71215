"""``abtune history``: what it prints, skips and refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from compare_builders import make_sweep
from running import Run

import abtune

pytestmark = pytest.mark.usefixtures("runs", "plain_environment")


@pytest.fixture
def runs(empty_folder: Path) -> None:
    """Make a folder of three sweeps, whose first shape gains at the last, and of two files that are none."""
    Path("runs").mkdir()
    for number, gain in enumerate([0.0, 0.0, 0.4]):
        sweep = make_sweep([gain, 0.1], noise=0.01, seed=number)
        date = f"2026-05-0{3 - number}" if number else "2026-05-09"
        abtune.save_dataset(sweep.assign_attrs(created=date), f"runs/sweep{number}.nc")
    Path("runs/broken.nc").write_text("no dataset", encoding="utf-8")
    Path("runs/notes.txt").write_text("no dataset", encoding="utf-8")


@pytest.mark.parametrize("width", [60, 100, 140])
def test_a_folder_is_one_table(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Columns stand by date, overall comes first, and marks say what changed; other files are skipped."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("history", "runs")
    assert outcome.code == 0
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("skipped: runs/broken.nc: ")
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= width
    assert not re.search(
        r"^sweep2\.|\.\ssweep0\.", outcome.out, re.M
    )  # no line of names where no dataset says where it is from
    (heading,) = [number for number, line in enumerate(lines) if line.startswith("shape ")]
    assert [word for word in lines[heading].split() if "sweep" in word] == ["sweep2", "sweep1", "sweep0"]
    assert [line.split()[0] for line in lines[heading + 1 : heading + 4]] == ["overall", "shape0", "shape1"]
    assert "¹" in lines[heading + 2]
    assert lines[heading + 2].split()[:2] == ["shape0", "changed"]
    assert "¹ Changed since the previous dataset." in outcome.out


def test_the_remark_says_whose_interval_has_no_room(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All intervals have one heading, so the heading alone would not tell them apart."""
    monkeypatch.setenv("COLUMNS", "80")
    text = " ".join(run("history", "runs").out.split())
    assert "No room at this width for: 95% interval of sweep2, 95% interval of sweep1, 95% int" in text


def test_the_interval_of_the_change_matters_more_than_boosts_in_between(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where room is short, the oldest datasets in between go first; the first and the last stay."""
    monkeypatch.setenv("COLUMNS", "65")
    lines = run("history", "runs").out.splitlines()
    (heading,) = [line for line in lines if line.startswith("shape ")]
    assert heading.split()[1:] == ["verdict", "change", "%", "95%", "interval", "sweep2", "sweep0"]


def test_every_format_has_the_numbers_or_the_sentence(run: Run) -> None:
    """JSON and CSV have every number; the other formats for people have the sentence."""
    document = json.loads(run("history", "runs", "--format", "json").out)
    assert document["datasets"] == ["sweep2", "sweep1", "sweep0"]
    assert document["first_to_last"]["datasets"] == ["sweep2", "sweep0"]
    rows = list(csv.DictReader(io.StringIO(run("history", "runs", "--format", "csv").out)))
    assert [float(row["boost"]) for row in rows] == [row["boost"] for row in document["moments"]]
    sentence = run("history", "runs", "--format", "sentence").out
    for form in ("markdown", "html"):
        assert sentence.split(":")[0] in run("history", "runs", "--format", form).out
    marked = [
        sum(row["changed"] == "True" for row in rows if (row["shape"] == "overall") == of) for of in (0, 1)
    ]
    said = (
        f"Significant changes from one dataset to the next: {marked[0]} of shapes, {marked[1]} of the mean."
    )
    assert said in sentence
    assert "a change of -15.2% (95% interval -15.8 to -14.5)" in sentence


def test_what_does_not_fit_the_others_of_a_folder_is_skipped(run: Run) -> None:
    """A line for each says why; as many as fit are shown, and a file that is named itself is an error."""
    one, other = (make_sweep([0.1], noise=0.01, seed=seed) for seed in (8, 9))
    strange = {
        "a-shared.nc": (one.assign_attrs(design="shared"), "design shared instead of independent"),
        "b-shared.nc": (other.assign_attrs(design="shared"), "design shared instead of independent"),
        "c.nc": (
            one.assign_coords(config=["mainline", "x"]),
            "configurations mainline, x instead of async, mainline",
        ),
        "d.nc": (one.assign_coords(shape=["x"]), "shapes x instead of shape0, shape1"),
        "e.nc": (one.isel(seed=[0]), "no shape has two seeds of two configurations"),
        "z-copy.nc": (
            abtune.open_dataset("runs/sweep2.nc"),
            "the same runs as runs/sweep2.nc; a run counts once",
        ),
    }
    for name, (dataset, _) in strange.items():
        abtune.save_dataset(dataset, f"runs/{name}")
    outcome = run("history", "runs", "--format", "json")
    assert json.loads(outcome.out)["datasets"] == ["sweep2", "sweep1", "sweep0"]
    _, *lines = outcome.err.splitlines()
    assert lines == [f"skipped: runs/{name}: {said}" for name, (_, said) in strange.items()]
    assert "a-shared is shared and" in run("history", "runs/a-shared.nc", "runs/sweep0.nc").err


@pytest.mark.parametrize("what", ["seed", "shape"])
def test_a_merged_dataset_or_its_parts_are_skipped(run: Run, what: str) -> None:
    """A run counts once: the history has as many datasets as possible, and of those as many runs."""
    whole = make_sweep([0.1, 0.2], noise=0.01, seed=8)
    half = whole.sizes[what] // 2
    for name, selection in (("x", slice(half)), ("y", slice(half, None))):
        abtune.save_dataset(whole.isel({what: selection}), f"runs/{name}.nc")
    assert run("merge", "runs/x.nc", "runs/y.nc", "--out", "runs/all.nc").code == 0
    outcome = run("history", "runs", "--format", "json")
    shown = ["x", "y"] if what == "seed" else ["all"]
    assert {*json.loads(outcome.out)["datasets"]} == {"sweep0", "sweep1", "sweep2", *shown}
    parts = {
        "all": "the same runs as runs/x.nc, runs/y.nc",
        "x": "the same runs as runs/all.nc",
        "y": "the same runs as runs/all.nc",
    }
    for name in {"x", "y", "all"}.difference(shown):
        assert f"skipped: runs/{name}.nc: {parts[name]}; a run counts once\n" in outcome.err
    Path("runs/x.nc").unlink()
    Path("runs/y.nc").unlink()
    assert "all" in json.loads(run("history", "runs", "--format", "json").out)["datasets"]


def test_a_sweep_that_got_more_seeds_is_shown_once(run: Run) -> None:
    """An earlier copy of the same sweep has some of its runs, though nothing says so."""
    whole = make_sweep([0.1, 0.2], noise=0.01, seed=8)
    abtune.save_dataset(whole, "runs/later.nc")
    abtune.save_dataset(whole.isel(seed=slice(3)), "runs/earlier.nc")
    outcome = run("history", "runs", "--format", "json")
    assert json.loads(outcome.out)["datasets"] == ["later", "sweep0", "sweep1", "sweep2"]
    assert "skipped: runs/earlier.nc: the same runs as runs/later.nc; a run counts once\n" in outcome.err


def test_of_several_sweeps_with_earlier_copies_the_later_ones_are_shown(run: Run) -> None:
    """No sweep is dropped for an earlier copy of another, though all make groups of one size."""
    for seed in (8, 9):
        whole = make_sweep([0.1, 0.2], noise=0.01, seed=seed)
        abtune.save_dataset(whole, f"runs/later{seed}.nc")
        abtune.save_dataset(whole.isel(seed=slice(3)), f"runs/earlier{seed}.nc")
    datasets = json.loads(run("history", "runs", "--format", "json").out)["datasets"]
    assert datasets == ["later8", "later9", "sweep0", "sweep1", "sweep2"]


def test_timings_with_few_digits_are_no_copy(run: Run) -> None:
    """Another night has the same times in other shares, or in the other configuration."""
    for name, times in {
        "one": [[1.0, 1.0, 1.1], [1.1, 1.2, 1.2]],
        "two": [[1.0, 1.1, 1.1], [1.1, 1.1, 1.2]],
        "three": [[1.1, 1.2, 1.2], [1.0, 1.0, 1.1]],
    }.items():
        coarse = abtune.make_dataset([times], shapes=["shape0"], configs=["mainline", "async"])
        abtune.save_dataset(coarse, f"runs/{name}.nc")
    outcome = run("history", "runs", "--format", "json")
    assert {"one", "two", "three"} < {*json.loads(outcome.out)["datasets"]}


def test_a_dataset_of_single_runs_hides_no_others(run: Run) -> None:
    """However many runs it has, the message is about it, and not about those that make a history."""
    Path("other").mkdir()
    abtune.save_dataset(make_sweep([0.1], n=2), "other/good.nc")
    single = make_sweep([0.1] * 29, n=1)
    abtune.save_dataset(single.assign_coords(shape=[f"x{i}" for i in range(29)]), "other/single.nc")
    said = "skipped: other/single.nc: no shape has two seeds of two configurations\n"
    assert run("history", "other").err.startswith(said)


def test_a_merged_dataset_of_configurations_is_shown(run: Run) -> None:
    """Its parts have one configuration each, so none of them makes a history."""
    whole = make_sweep([0.1, 0.2], noise=0.01, seed=8)
    for name in ("mainline", "async"):
        abtune.save_dataset(whole.sel(config=[name]), f"runs/{name}.nc")
    assert run("merge", "runs/mainline.nc", "runs/async.nc", "--out", "runs/all.nc").code == 0
    outcome = run("history", "runs", "--format", "json")
    assert json.loads(outcome.out)["datasets"] == ["all", "sweep0", "sweep1", "sweep2"]
    assert "skipped: runs/async.nc: no shape has two seeds of two configurations\n" in outcome.err


def test_a_folder_without_dates_is_sorted_by_numbers(run: Run) -> None:
    """Imported datasets have no dates, and the tenth is no neighbour of the first."""
    Path("imports").mkdir()
    for number in (1, 2, 10):
        sweep = make_sweep([0.1], noise=0.01, seed=number)
        abtune.save_dataset(sweep, f"imports/week-{number}.nc")
    document = json.loads(run("history", "imports", "--format", "json").out)
    assert document["datasets"] == ["week-1", "week-2", "week-10"]


def test_files_of_one_name_are_told_by_their_paths(run: Run) -> None:
    """Where names agree, columns have paths; a bundled dataset keeps its name."""
    Path("more").mkdir()
    Path("runs/sweep1.nc").rename("more/sweep0.nc")
    document = json.loads(run("history", "more/sweep0.nc", "runs/sweep0.nc", "--format", "json").out)
    assert document["datasets"] == ["more/sweep0.nc", "runs/sweep0.nc"]
    bundled = json.loads(run("history", "h200-deep", "h200-tvm14009", "--format", "json").out)
    assert bundled["datasets"] == ["h200-tvm14009", "h200-deep"]


def test_a_folder_without_datasets_is_named(run: Run) -> None:
    """Who names the wrong folder sees which one it is."""
    Path("more").mkdir()
    outcome = run("history", "more", "runs/sweep1.nc")
    assert "skipped: more: no file in it ends with .nc\n" in outcome.err
    assert "a history takes two datasets or more" in outcome.err


def test_a_folder_without_permission_is_no_empty_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The superuser may read every folder, so the answer of the system is made up."""
    Path("more").mkdir()
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "skipped: more: no permission to read it\n" in run("history", "more", "runs/sweep1.nc").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["runs/sweep1.nc"], "a history takes two datasets or more"),
        (["runs/sweep1.nc", "./runs/sweep1.nc"], "runs/sweep1.nc is given twice"),
        (["runs/sweep1.nc", "runs/broken.nc"], "broken.nc"),
        (["runs/sweep1.nc", "absent.nc"], "absent.nc"),
        (["runs/sweep1.nc", "h200-deep"], "no shape in common"),
        (["h200-share", "h200-deep"], "h200-deep is independent and h200-share is shared"),
        (["runs/sweep1.nc", "runs/sweep2.nc", "--out", "runs/sweep1.nc"], "cannot write runs/sweep1.nc"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What makes no history is refused in one line, with exit code 2."""
    outcome = run("history", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err
