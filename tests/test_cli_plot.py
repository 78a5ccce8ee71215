"""``abtune plot`` and the HTML report from the command line: what they write and what they refuse."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from example_sweep import swept
from running import Run, refused

import abtune

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")

PILOT, PUBLISHED = "h200-pilot", "tvm14009-rtx3080"
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


# Figures


@pytest.mark.parametrize("suffix", list(MAGIC))
@pytest.mark.parametrize("kind", ["forest", "seeds", "trials", "power"])
def test_figures_are_drawn(run: Run, kind: str, suffix: str) -> None:
    """Every kind goes into every format that the name of the file can say."""
    pytest.importorskip("matplotlib")
    name = f"figure.{suffix}"
    outcome = run("plot", PILOT, "--kind", kind, "--out", name)
    assert (outcome.code, outcome.out, outcome.err) == (0, f"{name}: 3 shapes\n", "")
    assert Path(name).read_bytes().startswith(MAGIC[suffix])


@pytest.mark.parametrize("kind", ["forest", "seeds", "trials", "same-schedule"])
def test_the_printed_line_counts_the_shapes_that_are_drawn(run: Run, kind: str) -> None:
    """Of 41 shapes, a figure draws 40."""
    pytest.importorskip("matplotlib")
    dataset = abtune.open_dataset("h200-tvm14009").isel(shape=[0] * 41)
    names = [f"s{number}" for number in range(dataset.sizes["shape"])]
    abtune.save_dataset(dataset.assign_coords(shape=names), "many.nc")
    said = "40 of 41 shapes: the largest and the least boosts"
    assert run("plot", "many.nc", "--kind", kind, "--out", "f.png").out == f"f.png: {said}\n"


def test_options_that_change_nothing_in_a_figure_are_refused(run: Run) -> None:
    """The message names the option and the figure; nothing is drawn."""
    pytest.importorskip("matplotlib")
    for kind, option in (("power", "--margin=3"), ("power", "--rng-seed=1"), ("seeds", f"--beside={PILOT}")):
        said = refused(run("plot", PILOT, "--kind", kind, option, "--out", "y.png"))
        assert f"{option.split('=')[0]} changes nothing in --kind {kind}; leave it out" in said
        assert not Path("y.png").exists()
    analysis = abtune.analyze(abtune.open_dataset(PILOT))
    with pytest.raises(abtune.AbtuneError, match="beside changes nothing in the figure seeds"):
        analysis.plot("seeds", beside=analysis.dataset)
    with pytest.raises(abtune.AbtuneError, match="an object of type int is not a dataset"):
        analysis.plot(beside=3)


def test_titles_of_trials_have_the_colours_of_verdicts(run: Run) -> None:
    """So a margin changes this figure, and is no mistake beside it."""
    pytest.importorskip("matplotlib")
    pictures = []
    for number, margin in enumerate(("2", "60")):
        out = Path(f"{number}.svg")
        assert run("plot", PILOT, "--kind", "trials", "--margin", margin, "--out", str(out)).code == 0
        pictures.append(out.read_bytes())
    assert pictures[0] != pictures[1]


def test_a_figure_replaces_no_dataset(run: Run) -> None:
    """A figure does not go where a link leads to the dataset that is drawn, or beside it, or to another."""
    pytest.importorskip("matplotlib")
    for name in ("abtune.nc", "beside.nc", "other.nc"):
        abtune.save_dataset(swept(), name)
        Path(f"{name}.png").symlink_to(name)
    before = Path("abtune.nc").read_bytes()
    for name in ("abtune.nc", "beside.nc", "other.nc"):
        said = refused(run("plot", "--out", f"{name}.png", "--beside", "beside.nc"))
        assert f"cannot write {name}.png: " in said
        assert Path(name).read_bytes() == before


def test_options_of_an_analysis_change_the_figure(run: Run) -> None:
    """Shapes, sides, level, margin and method are those of abtune analyze."""
    pytest.importorskip("matplotlib")
    abtune.save_dataset(swept(), "abtune.nc")
    options: list[list[str]] = [
        [],
        ["--shapes", "M=*"],
        ["--ci", "99"],
        ["--margin", "9"],
        ["--method", "welch"],
        ["--baseline", "async", "--candidate", "mainline"],
    ]
    drawn = set()
    for given in options:
        assert run("plot", "--out", "f.svg", *given).code == 0
        drawn.add(Path("f.svg").read_bytes())
    assert len(drawn) == len(options)


def test_another_dataset_stands_beside(run: Run) -> None:
    """The published boosts are drawn beside those of the pilot, which has three of their shapes."""
    pytest.importorskip("matplotlib")
    assert run("plot", PILOT, "--out", "one.svg").code == 0
    assert run("plot", PILOT, "--beside", PUBLISHED, "--out", "two.svg").code == 0
    assert Path("one.svg").read_bytes() != Path("two.svg").read_bytes()


def test_the_boosts_of_another_dataset_are_of_the_same_quantity() -> None:
    """Beside the best of two stands the best of two."""
    pytest.importorskip("matplotlib")
    pilot, other = abtune.open_dataset(PILOT), abtune.open_dataset("h200-deep")
    analysis = abtune.analyze(pilot, estimand="best-of:2")
    (axis,) = analysis.plot("forest", beside=other).axes
    crosses = [float(line.get_xdata()[0]) for line in axis.lines if line.get_marker() == "x"]
    boosts = {row.shape: 100 * row.boost for row in abtune.analyze(other, estimand="best-of:2").comparisons}
    assert sorted(crosses) == pytest.approx(sorted(boosts[row.shape] for row in analysis.comparisons))


def test_letters_that_no_font_has_are_a_remark(run: Run) -> None:
    """The figure is drawn, and one line says why it has boxes; Python's own warning names lines of code."""
    pytest.importorskip("matplotlib")
    dataset = abtune.open_dataset(PILOT).isel(shape=[0])
    abtune.save_dataset(dataset.assign_coords(shape=["\U00014400"]), "abtune.nc")  # a hieroglyph of Anatolia
    outcome = run("plot", "--out", "f.png")
    said = "no font here has some letters of the names; install one, such as Noto Sans CJK\n"
    assert (outcome.code, outcome.out, outcome.err) == (0, "f.png: 1 shape\n", said)


def test_poor_datasets_are_drawn(run: Run) -> None:
    """A table of single runs has a forest and seeds."""
    pytest.importorskip("matplotlib")
    for kind in ("forest", "seeds"):
        assert run("plot", PUBLISHED, "--shapes", "M=512_*", "--kind", kind, "--out", "f.png").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([PILOT], "Missing option '--out'. See abtune plot --help"),
        ([PILOT, "--out", "f.png", "--kind", "violin"], "'violin' is not one of 'forest', 'seeds', 'trials'"),
        ([PILOT, "--out", "f.jpg"], "for '--out': 'f.jpg' does not end in .png, .svg, .pdf"),
        ([PILOT, "--out", "figure"], "for '--out': 'figure' does not end in .png, .svg, .pdf"),
        ([PILOT, "--out", "absent/f.png"], "cannot write absent/f.png: there is no folder absent"),
        (["--out", "f.png"], "no dataset named and no abtune.nc here"),
        (["absent.nc", "--out", "f.png"], "absent.nc: no such file"),
        ([PILOT, "--out", "f.png", "--candidate", "asink"], "unknown configuration 'asink'; did you mean"),
        ([PILOT, "--out", "f.png", "--shapes", "K=*"], "unknown shape 'K=*'"),
        ([PILOT, "--out", "f.png", "--ci", "0.95"], "give a percentage, such as 95"),
        ([PUBLISHED, "--out", "f.png", "--kind", "trials"], "the dataset has no histories of trials"),
        ([PILOT, "--out", "f.png", "--beside", "absent.nc"], "absent.nc: no such file"),
        (
            [PILOT, "--out", "f.png", "--beside", "abtune.nc"],
            "abtune.nc has none of the shapes",
        ),
    ],
)
def test_bad_arguments_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What cannot be drawn is refused in one line, with exit code 2, and no file is left behind."""
    pytest.importorskip("matplotlib")
    if "abtune.nc" in arguments:
        abtune.save_dataset(swept(), "abtune.nc")
    assert said in refused(run("plot", *arguments))
    assert not list(Path().glob("f*"))


def test_figures_are_written_whole_or_not_at_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure that could not be written to its end leaves the one that was there before, and no other."""
    pytest.importorskip("matplotlib")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("f.svg").write_text("before", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", full)
    assert os.strerror(errno.ENOSPC) in refused(run("plot", PILOT, "--out", "f.svg"))
    assert [path.name for path in Path().iterdir()] == ["f.svg"]
    assert Path("f.svg").read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("kind", ["forest", "seeds", "trials"])
def test_without_matplotlib_there_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Where matplotlib is missing, the line says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run("plot", PILOT, "--kind", kind, "--out", "f.png")
    assert refused(outcome).endswith("missing, and this needs it; run: pip install 'abtune[plot]'\n")


def test_an_unknown_backend_is_one_line() -> None:
    """The environment may have one for another version of matplotlib."""
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "abtune", "plot", PILOT, "--out", "f.svg"]
    told = {**os.environ, "MPLBACKEND": "nix"}
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("abtune: matplotlib cannot be used: Key backend: 'nix' is not a valid")
    assert done.stderr.endswith("; set MPLBACKEND=agg\n")


def test_settings_of_the_user_change_no_figure(run: Run) -> None:
    """A matplotlibrc for papers sets text by TeX, which may be missing and refuses the labels of shapes."""
    mpl = pytest.importorskip("matplotlib")
    run("plot", PILOT, "--out", "f.svg")
    with mpl.rc_context({"text.usetex": True, "axes.facecolor": "black"}):
        assert run("plot", PILOT, "--out", "g.svg").code == 0
    assert Path("g.svg").read_bytes() == Path("f.svg").read_bytes()


# HTML


def test_html_is_chosen_by_name_or_format(run: Run) -> None:
    """A name that ends in .html and --format html give the same document, the same each time."""
    assert run("analyze", PILOT, "--out", "report.html").code == 0
    written = Path("report.html").read_text(encoding="utf-8")
    assert written == run("analyze", PILOT, "--format", "html").out
    assert written.startswith("<!DOCTYPE html>")
    assert written.count("</html>") == 1


def test_html_has_the_further_pages(run: Run) -> None:
    """One document holds the report and every page that was asked for."""
    outcome = run(
        "analyze",
        PILOT,
        "--format",
        "html",
        "--section",
        "report,noise,curve",
        "--weights",
        "resnet50",
        "--why",
    )
    for title in ("noise", "all shapes together", "boost by number of trials"):
        assert f">{title}</h2>" in outcome.out
    assert outcome.out.count("</html>") == 1
    assert "<details open>" in outcome.out
    assert "nan" not in outcome.out.split("</style>")[1]


def test_html_tells_the_story_of_one_shape(run: Run) -> None:
    """The story stands in place of the report."""
    outcome = run("analyze", PILOT, "--explain", "M=896*", "--format", "html", "--fail-on", "inconclusive")
    assert outcome.code == 1  # another shape is
    assert ">M=896_<wbr>N=896_<wbr>K=896 (gemm_<wbr>nn): not slower</h1>" in outcome.out
    assert outcome.out.count("<h1 ") == 1


def test_html_without_a_place_is_one_line(run: Run) -> None:
    """A file that cannot be written is refused in one line."""
    said = refused(run("analyze", PILOT, "--out", "absent/report.html"))
    assert "cannot write absent/report.html: there is no folder absent" in said


def test_a_home_without_room_for_a_cache_is_no_matter(empty_folder: Path) -> None:
    """Matplotlib warns in two lines where it cannot keep a cache, as in a container."""
    pytest.importorskip("matplotlib")
    told = {name: value for name, value in os.environ.items() if not name.startswith(("XDG", "MPL"))}
    told |= {"HOME": "/dev/null", "TMPDIR": str(empty_folder)}
    command = [sys.executable, "-m", "abtune", "plot", PILOT, "--out", "f.svg"]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "f.svg: 3 shapes\n", "")
