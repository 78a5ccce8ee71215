"""``abtune compare``: what it prints and what it refuses."""

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

pytestmark = pytest.mark.usefixtures("two", "plain_environment")


@pytest.fixture
def two(empty_folder: Path) -> None:
    """Two sweeps of a shape that changed and of one that did not, and a sweep with one run a cell."""
    first, second = make_sweep([0.0, 0.1], seed=1), make_sweep([0.3, 0.1], seed=2)
    abtune.save_dataset(first.assign_attrs(device="H200"), "a.nc")
    abtune.save_dataset(second.assign_attrs(device="H100"), "b.nc")
    abtune.save_dataset(first.sel(config=["mainline"]), "one.nc")
    abtune.save_dataset(first.isel(seed=[0]), "single.nc")
    abtune.save_dataset(first.assign_attrs(title="another title"), "copy.nc")


@pytest.mark.parametrize("width", [60, 100])
def test_the_table_says_what_changed(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Sources, a row for each shape, counts of verdicts, and what differs besides, in whatever width."""
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = run("compare", "a.nc", "b.nc")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= width
    assert "A: a.nc (H200). B: b.nc (H100)." in " ".join(lines)
    assert [line.split()[0] for line in lines if line.startswith(("shape0", "shape1", "overall "))] == [
        "shape0",
        "shape1",
        "overall",
    ]
    assert "1 changed, 1 unchanged, 0 not settled" in lines
    assert "Not the same in A and B: device (H200 / H100)." in outcome.out


def test_json_and_csv_have_all_digits(run: Run) -> None:
    """JSON holds the result by the names of its fields; CSV has a row for each shape."""
    document = json.loads(run("compare", "a.nc", "b.nc", "--format", "json").out)
    assert document["datasets"] == ["a.nc", "b.nc"]
    assert document["mismatches"] == [{"what": "device", "a": "H200", "b": "H100"}]
    assert [row["verdict"] for row in document["shapes"]] == ["changed", "unchanged"]
    rows = list(csv.DictReader(io.StringIO(run("compare", "a.nc", "b.nc", "--format", "csv").out)))
    assert [float(row["change"]) for row in rows] == [row["change"] for row in document["shapes"]]
    assert rows[0]["seeds"] == "10+10+10+10"


@pytest.mark.parametrize("name", ["markdown", "html", "sentence"])
def test_other_formats(run: Run, name: str) -> None:
    """The verdicts are in every format for people, and a file gets what the output gets."""
    outcome = run("compare", "a.nc", "b.nc", "--format", name)
    assert (outcome.code, outcome.err) == (0, "")
    assert "1 changed" in outcome.out
    assert run("compare", "a.nc", "b.nc", "--format", name, "--out", "report").out == ""
    assert Path("report").read_text(encoding="utf-8") == outcome.out


def test_the_sentence_names_the_level_of_its_interval(run: Run) -> None:
    """A mean change has its interval with the level that was asked for."""
    for options, level in ((), "95%"), (["--ci", "90"], "90%"):
        sentence = run("compare", "a.nc", "b.nc", "--format", "sentence", *options).out
        assert re.search(rf"; mean change \+\d+\.\d% \({level} interval [+-]", sentence)


def test_files_of_one_name_are_told_apart_by_their_folders(run: Run) -> None:
    """Each night may have a folder with a file of the same name."""
    Path("later").mkdir()
    Path("b.nc").rename("later/a.nc")
    assert run("compare", "a.nc", "later/a.nc").out.startswith("changes from a.nc to later/a.nc\n")


def test_a_lone_shape_has_one_interval(run: Run) -> None:
    """The sentence has the numbers of its row, and no row or remark is about the mean."""
    for name in ("a.nc", "b.nc"):
        abtune.save_dataset(abtune.open_dataset(name).isel(shape=[0]), f"lone-{name}")
    text = run("compare", "lone-a.nc", "lone-b.nc").out
    (row,) = (line.split() for line in text.splitlines() if line.startswith("shape0"))
    assert f"; change {row[2]}% (95% interval {' '.join(row[3:6])})." in " ".join(text.split())
    assert "overall" not in text


def test_options_reach_the_result(run: Run) -> None:
    """A configuration gives latencies; level and tolerance decide."""
    options = ["--config", "async", "--ci", "99", "--tolerance", "1", "--format", "json"]
    document = json.loads(run("compare", "a.nc", "b.nc", *options).out)
    assert (document["quantity"], document["configs_a"]) == ("latency", ["async"])
    assert (document["level"], document["tolerance"]) == (0.99, 0.01)
    assert document["shapes"][1]["verdict"] == "not settled"
    assert document["shapes"][0]["change"] == pytest.approx(1 / 1.3 - 1, abs=0.05)
    swapped = ["--baseline", "async", "--candidate", "mainline", "--format", "json"]
    assert json.loads(run("compare", "a.nc", "b.nc", *swapped).out)["configs_b"] == ["async", "mainline"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'A B'"),
        (["a.nc"], "takes two datasets, not 1; name the other one, too"),
        (["a.nc", "b.nc", "./c 1.nc"], "not 3; for more of them: abtune history a.nc b.nc './c 1.nc'"),
        (["a.nc", "absent.nc"], "absent.nc"),
        (["a.nc", "./a.nc"], "abtune: a.nc is given twice; each run counts once"),
        (["a.nc", "copy.nc"], "both datasets have the same timings"),
        (["a.nc", "h200-pilot"], "the datasets have no shape in common"),
        (["b.nc", "single.nc"], "no common shape has two seeds of each configuration in both datasets"),
        (["b.nc", "single.nc"], "to see both: abtune plot A --beside B --out boosts.svg"),
        (["b.nc", "one.nc"], "they share mainline; --config compares the latencies of one"),
        (["a.nc", "b.nc", "--config", "asink"], "unknown configuration 'asink'; did you mean: async"),
        (["a.nc", "one.nc", "--config", "async"], "second dataset: unknown configuration 'async'"),
        (["a.nc", "b.nc", "--config", "async", "--baseline", "async"], "give one or the other"),
        (["a.nc", "b.nc", "--tolerance", "0"], "0 is not above 0 and below 100"),
        (["a.nc", "b.nc", "--out", "b.nc"], "b.nc"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: list[str], said: str) -> None:
    """What cannot be compared is refused in one line, with exit code 2."""
    outcome = run("compare", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err
