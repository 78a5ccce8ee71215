"""abtune sweep --until-settled: seeds go where they are needed, and the looks are recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from measure_builders import make_facts

import abtune
from abtune.cli import main
from abtune.schema import RunStatus

SHAPES = ("M=16_N=16_K=16", "M=32_N=16_K=16")
WORDS = ("sweep", "--shapes", ",".join(SHAPES), "--trials", "2")
WORDS += ("--baseline", "fake_configurations:EVEN", "--candidate", "fake_configurations:FASTER")


@pytest.fixture
def sweep(
    fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[object]:
    """Run the command with the fake; one shape is nine times faster, the other as fast as before."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr("abtune.measure.target.find_target", lambda *_: make_facts())
    monkeypatch.chdir(tmp_path)

    def run(*more: str) -> str:
        assert main([*WORDS, "--until-settled", *more]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    yield run
    sys.modules.pop("fake_configurations", None)


def runs(dataset: object) -> list[int]:
    complete = (dataset["run_status"] == RunStatus.COMPLETE).sum(["config", "seed"])
    return [int(count) for count in complete]


def test_seeds_are_added_only_where_needed(sweep: object) -> None:
    """The shape with a large difference stops after six seeds a side; the other goes on to the last look."""
    said = sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert dataset["shape"].values.tolist() == list(SHAPES)
    assert runs(dataset) == [12, 16]
    looks = json.loads(dataset.attrs["looks"])
    assert [(look["seeds"], look["done"]) for look in looks] == [(6, True), (7, True), (8, True)]
    assert "6 seeds: 1 of 2 shapes settled" in said
    assert "8 seeds: 1 of 2 shapes settled" in said
    assert "abtune.nc: 28 of 32 runs done" in said
    assert [row.verdict.value for row in abtune.analyze(dataset).comparisons] == ["improved", "inconclusive"]


def test_the_same_command_does_nothing_twice(sweep: object) -> None:
    """It finds what is settled again."""
    sweep("--seeds", "8")
    looks = abtune.open_dataset("abtune.nc").attrs["looks"]
    sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert runs(dataset) == [12, 16]
    assert dataset.attrs["looks"] == looks


def test_a_sitting_that_stops_early_forgets_no_look(sweep: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at stays looked at, also if the next sitting ends before it gets there again."""
    sweep("--seeds", "8")
    looks = abtune.open_dataset("abtune.nc").attrs["looks"]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("abtune.measure.sweep.search_all", interrupted)
    with pytest.raises(AssertionError):
        sweep("--seeds", "8")
    assert abtune.open_dataset("abtune.nc").attrs["looks"] == looks


def test_a_design_whose_looks_are_spent_cannot_be_extended(
    sweep: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one has spent the whole error on the looks that it had; another schedule would spend more."""
    sweep("--seeds", "6")
    before = Path("abtune.nc").read_bytes()
    with pytest.raises(AssertionError, match="by a design with looks at 6 seeds; repeat its --seeds 6"):
        sweep("--seeds", "8")
    assert Path("abtune.nc").read_bytes() == before


@pytest.mark.parametrize("seeds", ["5", "9"])
def test_a_design_that_was_looked_at_gets_no_other_number_of_seeds_by_hand(
    sweep: object, capsys: pytest.CaptureFixture[str], seeds: str
) -> None:
    """Seeds that are added without looks would be left out of every analysis; fewer are no part of it."""
    sweep("--seeds", "6")
    before = Path("abtune.nc").read_bytes()
    for dry in ([], ["--dry-run"]):
        assert main([*WORDS, "--seeds", seeds, *dry]) == 2
        said = capsys.readouterr().err
        assert "by a design with looks at 6 seeds; repeat its --until-settled --seeds 6 and shapes" in said
    assert Path("abtune.nc").read_bytes() == before


def test_a_design_that_is_done_may_be_repeated_without_its_looks(sweep: object) -> None:
    """There is nothing left to do, and it stays the design that it was."""
    sweep("--seeds", "6")
    before = abtune.open_dataset("abtune.nc")
    assert main([*WORDS, "--seeds", "6"]) == 0
    after = abtune.open_dataset("abtune.nc")
    assert after.attrs["looks"] == before.attrs["looks"]
    assert runs(after) == runs(before)


def test_a_shape_that_was_settled_gets_no_seeds_by_hand(
    sweep: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of seeds of the design is not enough to go on: its looks said which shape gets them."""
    sweep("--seeds", "8")
    assert main([*WORDS, "--seeds", "8"]) == 2
    assert "repeat its --until-settled --seeds 8 and shapes" in capsys.readouterr().err
    assert runs(abtune.open_dataset("abtune.nc")) == [12, 16]


def test_looks_that_were_only_planned_bind_nobody(sweep: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that was stopped before its first look goes on without looks, and then has none."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.measure_all", interrupted)
        with pytest.raises(AssertionError):
            sweep("--seeds", "6")
    assert json.loads(abtune.open_dataset("abtune.nc").attrs["looks"])[0]["done"] is False
    assert main([*WORDS, "--seeds", "7"]) == 0
    dataset = abtune.open_dataset("abtune.nc")
    assert "looks" not in dataset.attrs
    assert runs(dataset) == [14, 14]
