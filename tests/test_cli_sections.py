"""Further pages of ``abtune analyze``: what they print and what they refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from golden_files import assert_golden
from running import Run

import abtune
from abtune.compare.results import Analysis
from abtune.compare.settings import built_in_weights
from abtune.report.page import Prose, Section
from abtune.sections.section_registry import FIGURES, SECTIONS, Entry

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")

PILOT = "h200-pilot"
PUBLISHED = "tvm14009-rtx3080"


def section(text: str, title: str) -> str:
    """Cut a section out of a report."""
    return text[text.index(f"\n{title}\n") + 1 :]


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize(
    ("name", "options", "title"),
    [
        ("noise", ["--section", "report,noise"], "noise"),
        ("overall", ["--weights", "resnet50"], "all shapes together"),
        ("curve", ["--section", "report,curve"], "boost by number of trials"),
    ],
)
def test_pages_look_as_their_golden_files_show(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, options: list[str], title: str, width: int
) -> None:
    """Each page of the pilot looks as its golden file shows, below the report."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("analyze", PILOT, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("async against mainline")
    assert_golden(f"{name}-{width}.txt", section(outcome.out, title))


@pytest.mark.parametrize("width", [60, 100])
def test_single_runs(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """The page about single runs looks as its golden file shows, below a report without verdicts."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("analyze", PUBLISHED, "--section", "report,single-run")
    assert (outcome.code, outcome.err) == (0, "")
    assert "No shape is judged here." in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= width
    assert_golden(f"single-run-{width}.txt", section(outcome.out, "one run per cell"))


def test_the_report_points_to_the_page_about_single_runs(run: Run) -> None:
    """A table with one run a cell is told of the option, until it is given; a sweep is not."""
    assert "--section single-run says what" in run("analyze", PUBLISHED).out
    assert "single-run says what" not in run("analyze", PUBLISHED, "--section", "report,single-run").out
    assert "single-run" not in run("analyze", PILOT).out


def test_single_runs_in_other_formats(run: Run) -> None:
    """Markdown and HTML have the page, JSON its numbers; no shape has a verdict or a p-value of its own."""
    options = ["--section", "report,single-run", "--format"]
    for form in ("markdown", "html"):
        text = run("analyze", PUBLISHED, *options, form).out
        assert "No shape is judged here." in text
        assert "nan" not in text
    document = json.loads(run("analyze", PUBLISHED, *options, "json").out)
    single = document["single_run"]
    assert [row["name"] for row in single["together"]] == ["conv2d_nhwc", "gemm_nn", "all shapes"]
    assert not [name for name in single["shapes"][0] if name.startswith("p_")]
    assert {row["verdict"] for row in document["comparisons"]} == {"invalid"}


@pytest.mark.parametrize(
    ("dataset", "options", "said"),
    [
        (
            PILOT,
            ["--section", "report,single-run"],
            "no shape has exactly one run of mainline and one of async",
        ),
        (PUBLISHED, ["--section", "report,single-run", "--format", "csv"], "CSV cannot show single-run"),
    ],
)
def test_what_has_no_single_runs_is_refused(run: Run, dataset: str, options: list[str], said: str) -> None:
    """Where the page would be empty, one line says why."""
    outcome = run("analyze", dataset, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


@pytest.mark.parametrize("width", [60, 100])
def test_the_story_of_one_shape(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """The story of one shape stands in place of the report and looks as its golden file shows."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("analyze", PILOT, "--explain", "N=*")
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= width
    assert_golden(f"explain-{width}.txt", outcome.out)


def test_the_story_in_markdown_and_json(run: Run) -> None:
    """Markdown has the story alone, JSON has it beside the report, and a gate still counts."""
    text = run("analyze", PILOT, "--explain", "M=896*", "--format", "markdown").out
    assert text.startswith("## M=896")
    outcome = run("analyze", PILOT, "--explain", "M=896*", "--format", "json", "--fail-on", "inconclusive")
    assert outcome.code == 1
    story = json.loads(outcome.out)["explain"]
    assert len(story["baseline"]["seeds"]) == 10
    assert [gate["passed"] for gate in story["comparison"]["gates"]] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
        False,
        True,
    ]
    assert story["comparison"]["verdict"] == "not-slower"


def test_several_shapes_are_explained_one_below_the_other(run: Run) -> None:
    """A glob or a kind tells the story of each shape that it matches."""
    outcome = run("analyze", PILOT, "--explain", "gemm_nn")
    stories = [run("analyze", PILOT, "--explain", shape).out for shape in ("M=512*", "M=896*")]
    assert outcome.out.split() == " ".join(stories).split()  # tables have the widths of all of them
    explained = json.loads(run("analyze", PILOT, "--explain", "M=*", "--format", "json").out)["explain"]
    assert [story["comparison"]["shape"][:5] for story in explained] == ["M=512", "M=896"]


def test_many_shapes_have_a_row_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve of 29 shapes takes a row a shape, and noise one for each configuration, with all columns."""
    monkeypatch.setenv("COLUMNS", "100")
    text = run("analyze", "h200-tvm14009", "--section", "noise", "--section", "curve").out
    assert len(text.splitlines()) < 3 * 29 + 60
    lines = [line.split() for line in text.splitlines() if line.startswith("M=4096_N=4096_K=4096")]
    noise, curve = lines
    assert noise[1:6] == ["mainline", "8.3", "4.8", "to", "18"]
    assert noise[-1] == "1.8%"  # the error as a share of the noise
    assert curve[1:] == ["-24.4", "+5.5", "+3.9", "+1.2"]
    assert text.count("HTML, or --shapes with at most 5 shapes") == 1
    page = run("analyze", "h200-tvm14009", "--section", "curve", "--format", "html").out
    assert page.count("<summary>Shape by shape, with intervals</summary>") == 1


def test_the_story_of_a_shape_without_timings(run: Run) -> None:
    """A shape that one run each has been made of has a story without holes."""
    outcome = run("analyze", "tvm14009-rtx3080", "--explain", "M=512_N=256_K=640")
    assert outcome.code == 0
    assert "nan" not in outcome.out


def test_pages_stand_in_markdown_too(run: Run) -> None:
    """Markdown has the same pages, whole."""
    outcome = run(
        "analyze",
        PILOT,
        "--section",
        "report,noise,overall,curve",
        "--format",
        "markdown",
    )
    for title in ("## noise", "## all shapes together", "## boost by number of trials"):
        assert f"\n{title}\n" in outcome.out
    assert "nan" not in outcome.out


def test_json_has_the_numbers(run: Run) -> None:
    """JSON has noise and curve under their names, and the whole time under overall."""
    outcome = run(
        "analyze",
        PILOT,
        "--section",
        "report,noise,curve",
        "--weights",
        "resnet50",
        "--format",
        "json",
    )
    document = json.loads(outcome.out)
    assert len(document["noise"]["by_shape"]) == 6
    assert document["noise"]["trials"][1]["by_status"]["run_failed"] == 87
    assert [point["trials"] for point in document["curve"]["overall"]] == [1, 2, 4, 8, 16, 32, 64, 128, 192]
    assert document["overall"]["weighted"]["total"] == 50
    without = json.loads(run("analyze", PILOT, "--format", "json").out)
    assert "noise" not in without
    assert without["overall"]["weighted"] is None


def test_the_published_table_has_the_time_of_resnet50(run: Run) -> None:
    """On the published table the convolutions of ResNet-50 are faster by the ratio of their summed times."""
    outcome = run("analyze", "tvm14009-rtx3080", "--weights", "resnet50", "--format", "json")
    weighted = json.loads(outcome.out)["overall"]["weighted"]
    dataset = abtune.open_dataset("tvm14009-rtx3080")
    latency = dataset["latency"].isel(seed=0, round=0, repeat=0)
    calls = built_in_weights("resnet50").calls
    times = sum(n * latency.sel(shape=label).values for label, n in calls.items())
    assert weighted["boost"] == pytest.approx(times[0] / times[1] - 1)
    assert (weighted["weight"], weighted["left_out"]) == (50, [])


@pytest.mark.parametrize("text", ["label,weight\nM=896_N=896_K=896,3\n", "M=896_N=896_K=896,3\n"])
def test_weights_come_from_a_file(run: Run, text: str) -> None:
    """A file of labels and weights gives the time of a program."""
    Path("w.csv").write_text(text, encoding="utf-8")
    outcome = run("analyze", PILOT, "--weights", "w.csv")
    assert outcome.code == 0
    assert "time of w.csv" in outcome.out


def test_a_file_wins_over_built_in_weights(run: Run) -> None:
    """A file that is called resnet50 is read, not the network."""
    Path("resnet50").write_text("M=896_N=896_K=896,3\n", encoding="utf-8")
    outcome = run("analyze", PILOT, "--weights", "resnet50", "--format", "json")
    assert json.loads(outcome.out)["overall"]["weighted"]["total"] == 3


def test_one_run_a_side_is_drawn_too(run: Run, tmp_path: Path) -> None:
    """Without intervals the boosts of the later half lie on the drawing, each at a place of its own."""
    pilot = abtune.open_dataset(PILOT)
    file = str(tmp_path / "t.nc")
    abtune.save_dataset(pilot.isel(shape=[0], seed=[0]), file)
    text = run("analyze", file, "--section", "report,curve", "--format", "markdown").out
    rows = [line.split("|") for line in text.partition("### ")[2].splitlines() if line.count("|") > 5]
    table = [row for row in rows if row[1].strip().isdecimal()]
    last = table[len(table) // 2 + 1 :]
    assert len({row[3 + 1] for row in last}) > 1
    assert all(row[-2].count("●") == 1 for row in last)
    assert "<" not in "".join(row[-2] for row in last)


def test_the_curve_is_drawn(run: Run) -> None:
    """With matplotlib the curve goes to a file whose bytes are the same each time."""
    pytest.importorskip("matplotlib")
    assert run("plot", PILOT, "--kind", "curve", "--out", "c.png").code == 0
    first = Path("c.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    run("plot", PILOT, "--kind", "curve", "--out", "c.png")
    assert Path("c.png").read_bytes() == first


def test_without_matplotlib_there_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is missing, the line says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run("plot", PILOT, "--kind", "curve", "--out", "c.png")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith("matplotlib is missing, and this needs it; run: pip install 'abtune[plot]'\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--weights", "absent.csv"], "cannot read absent.csv"),
        (["--weights", "bad.csv"], "bad.csv: line 2 is not label,weight"),
        (["--weights", "other.csv"], "other.csv: unknown shape 'M=896_N=896_K=89'; did you mean"),
        (["--weights", "resnet"], "unknown weights 'resnet'; did you mean: resnet50"),
        (["--weights", "resnet50", "--shapes", "M=*"], "resnet50: no shape with a weight has timings"),
        (
            ["--section", "noise", "--format", "sentence"],
            "these sections have no sentence; add --section report",
        ),
        (["--section", "report,nois"], "unknown section 'nois'; did you mean: noise"),
        (["--section", "noise,"], "there is an empty name in the list"),
        (["--weights", "w" * 300], "wwww"),
        (["--explain", "M=896_N=896_K=89"], "unknown shape 'M=896_N=896_K=89'; did you mean"),
        (["--explain", "N=*", "--format", "csv"], "CSV cannot show"),
        (["--section", "report,noise", "--format", "csv"], "CSV cannot show"),
        (["--section", "report,curve", "--out", "r.csv"], "CSV cannot show"),
    ],
)
def test_bad_arguments_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What cannot be shown is refused in one line, with exit code 2 and nothing on the standard output."""
    Path("bad.csv").write_text("label,weight\nM=896_N=896_K=896\n", encoding="utf-8")
    Path("other.csv").write_text("M=896_N=896_K=89,1\n", encoding="utf-8")
    outcome = run("analyze", PILOT, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("abtune: ")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


def test_datasets_without_histories_are_refused(run: Run) -> None:
    """A dataset that has no histories cannot be compared at equal trials."""
    outcome = run("analyze", "tvm14009-rtx3080", "--section", "report,curve")
    assert (outcome.code, outcome.out) == (2, "")
    assert "no histories of trials" in outcome.err


def test_pages_of_a_poor_dataset_have_no_holes(run: Run) -> None:
    """A table of single runs has pages without a number that does not exist showing as nan."""
    outcome = run(
        "analyze",
        "tvm14009-rtx3080",
        "--section",
        "report,noise",
        "--section",
        "report,overall",
        "--shapes",
        "M=*",
    )
    assert outcome.code == 0
    assert "nan" not in outcome.out
    assert "nothing is known of the noise" in outcome.out


@pytest.mark.parametrize(
    ("given", "drawn"),
    [
        (["16x64,64x32#1"], ["16x64,64x32#1"]),
        (["16x64,64x32#1,a,b"], ["16x64,64x32#1", "a,b"]),
        (["a, main(16x64,64x32)"], ["a", "main(16x64,64x32)"]),
        (["main(*"], ["main(16x64,64x32)"]),
        (["main(16x64,*,a"], ["main(16x64,64x32)", "a"]),
        (["a", "a,b"], ["a", "a,b"]),
    ],
)
def test_labels_may_hold_commas(run: Run, given: list[str], drawn: list[str]) -> None:
    """Labels of imported workloads, with commas in them, can be chosen, also within a list."""
    labels = ["16x64,64x32#1", "main(16x64,64x32)", "a,b", "a"]
    latency = [[[1.0, 1.1, 1.2], [0.9, 1.0, 1.1]]] * 4
    abtune.save_dataset(abtune.make_dataset(latency, shapes=labels, configs=["old", "new"]), "abtune.nc")
    options = [word for value in given for word in ("--shapes", value)]
    document = json.loads(run("analyze", *options, "--section", "report,timings", "--format", "json").out)
    assert sorted(row["shape"] for row in document["comparisons"]) == sorted(drawn)
    pytest.importorskip("matplotlib")
    outcome = run("plot", *options, "--out", "f.svg")
    assert outcome.out in {f"f.svg: {len(drawn)} shapes\n", f"f.svg: {len(drawn)} shape\n"}
    assert run("analyze", "--shapes", "a,,b").code == 2


@pytest.mark.parametrize("width", [60, 100])
def test_pages_fit_the_console(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """No line is too long: columns give way, and long names of configurations break, whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    pilot = abtune.open_dataset(PILOT)
    abtune.save_dataset(pilot.assign_coords(config=["c" * 200, "d e" * 70]), "long.nc")
    for name in (PILOT, "long.nc"):
        for options in (
            ["--section", "report,noise,overall", "--section", "curve"],
            ["--explain", "M=896_*"],
            ["--section", "report,timings"],
        ):
            text = run("analyze", name, *options).out
            assert max(map(len, text.splitlines())) <= width, (name, options)
    noise = section(run("analyze", "long.nc", "--section", "report,noise").out, "noise")
    assert noise.count("c") > 200 * (1 + 3)  # once for all shapes, and once for each


def toy_section(analysis: Analysis) -> Section:
    """Count shapes."""
    said = f"{len(analysis.comparisons)} shapes"
    return Section(name="toy", page=(Prose(text=said, remark=False),), result={"said": said}, sentence=said)


def test_one_entry_adds_a_section(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its help, its field in JSON, and its name for --section."""
    toy = Entry("Count the shapes.", toy_section)
    monkeypatch.setitem(SECTIONS, "toy", toy)
    report = run("analyze", PILOT, "--section", "report,toy").out
    assert report.startswith("async against mainline")
    assert report.endswith("3 shapes\n")
    assert run("analyze", PILOT, "--section", "toy", "--format", "sentence").out == "3 shapes\n"
    document = json.loads(run("analyze", PILOT, "--section", "toy", "--format", "json").out)
    assert document["toy"] == {"said": "3 shapes"}
    assert "Count the shapes." in run("analyze", "--help").out


def test_one_entry_adds_a_figure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, in the help, and from Python."""
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(FIGURES, "toy", FIGURES["forest"]._replace(words="a toy"))
    assert abtune.analyze(abtune.open_dataset(PILOT)).plot("toy").axes


def test_timings_of_one_process_point_to_their_section(run: Run, empty_folder: Path) -> None:
    """A report of raw timings says how each could be a seed, and which section has them."""
    (empty_folder / "t.csv").write_text("old_ms,new_ms\n1,2\n1,2\n", encoding="utf-8")
    run("import", "t.csv", "--shape", "f", "--out", "t.nc")
    text = run("analyze", "t.nc").out
    assert "import with --seed-is timing" in text
    assert "--section single-run" not in text
    assert "--seed-is" not in run("analyze", "t.nc", "--section", "report,timings").out
