"""What of a report is shown: --section summary, --show, --sort; nothing of it changes a number."""

from __future__ import annotations

import json

import pytest
from running import Run

import abtune

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")
PILOT = "h200-pilot"


def labels(text: str) -> list[str]:
    """Return the shapes of the table in their order."""
    starts = ("M=512_N=3072", "M=896", "N=1_H=14", "N=1 H=14")
    return [line.split()[0] for line in text.splitlines() if line.startswith(starts) and " to " in line]


def test_brief_leaves_out_the_table(run: Run) -> None:
    whole, brief = run("analyze", PILOT).out, run("analyze", PILOT, "--section", "summary").out
    assert labels(whole)
    assert not labels(brief)
    assert brief.splitlines()[:5] == whole.splitlines()[:5]
    why = run("analyze", PILOT, "--section", "summary", "--why").out
    assert why.startswith(brief)
    assert "Too noisy to tell." in why


def test_brief_draws_on_a_scale_of_its_own(run: Run) -> None:
    """Intervals of shapes that are not shown take no room."""
    assert "-25%" in run("analyze", "h200-tvm14009").out
    assert "-25%" not in run("analyze", "h200-tvm14009", "--section", "summary").out


@pytest.mark.parametrize("options", [["--show", "M=896*"], ["--show", "inconclusive"]])
def test_what_is_shown_is_judged_with_all(run: Run, options: list[str]) -> None:
    """One row of three, whose adjusted p is that of all three shapes; JSON keeps every shape."""
    shown = run("analyze", PILOT, *options).out
    assert len(labels(shown)) == 1
    assert "1 of 3 shapes shown" in shown
    documents = [json.loads(run("analyze", PILOT, *given, "--format", "json").out) for given in ([], options)]
    assert documents[0] == documents[1]


def test_csv_has_what_is_shown_and_checks_have_all(run: Run) -> None:
    """CSV has the rows of the table, in its order; no choice hides a shape from a check."""
    rows = run("analyze", PILOT, "--sort", "name", "--show", "gemm_nn", "--format", "csv").out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["shape", "M=512_N=3072_K=768", "M=896_N=896_K=896"]
    none = run("analyze", PILOT, "--show", "improved", "--format", "csv").out
    assert (none.count("\n"), none.startswith("shape,")) == (1, True)
    for form in ("junit", "github"):
        few, all_shapes = (
            run("analyze", PILOT, *options, "--format", form).out for options in (("--show", "improved"), ())
        )
        assert few == all_shapes
    assert all_shapes.startswith("::notice")


def test_reasons_and_footnotes_are_those_of_shown_shapes(run: Run) -> None:
    text = run("analyze", PILOT, "--show", "M=896*", "--why").out
    why = text[text.index("Why, shape by shape") :]
    assert "M=896" in why
    assert "M=512" not in why
    assert "¹" not in text


def test_rows_are_sorted(run: Run) -> None:
    """The largest boost or the smallest p first; names by the alphabet."""
    rows = json.loads(run("analyze", PILOT, "--format", "json").out)["comparisons"]
    orders = {"boost": lambda row: -row["boost"], "name": lambda row: row["shape"], "p": lambda row: row["p"]}
    for order, key in orders.items():
        printed = labels(run("analyze", PILOT, "--sort", order).out)
        wanted = [row["shape"] for row in sorted(rows, key=key)]
        assert [label.replace(" ", "_") for label in printed] == wanted


@pytest.mark.parametrize("name", ["gemm_nn", "gemm*", "M=512 N=3072 K=768,M=896*"])
def test_names_that_are_shown_can_be_typed(run: Run, name: str) -> None:
    """Kinds, globs over kinds, and labels as a narrow table breaks them, mean their shapes."""
    rows = json.loads(run("analyze", PILOT, "--shapes", name, "--format", "json").out)["comparisons"]
    assert [row["shape"][:2] for row in rows] == ["M=", "M="]
    assert len(labels(run("analyze", PILOT, "--show", name).out)) == 2


def test_every_report_says_what_it_is_of(run: Run) -> None:
    """The dataset, its origin, and how many of its shapes these are, also where only the result is shown."""
    text = " ".join(run("analyze", PILOT, "--shapes", "gemm_nn", "--section", "summary").out.split())
    origin = "NVIDIA H200, TVM 0.27.0.post1, 2026-11-20, 192 trials a run"
    assert f"{PILOT}: {origin}. 2 of the dataset's 3 shapes, 10+10 seeds per shape" in text
    assert json.loads(run("analyze", PILOT, "--format", "json").out)["origin"] == origin
    analysis = abtune.analyze(abtune.open_dataset(PILOT))
    assert f"{origin}. 3 shapes, " in " ".join(analysis.report("markdown").split())


def test_unknown_names_are_one_line(run: Run) -> None:
    for options in (["--show", "better"], ["--show", "absent"], ["--sort", "size"]):
        refused = run("analyze", PILOT, *options)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith("abtune: ")
