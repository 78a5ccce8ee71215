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


@pytest.fixture
def sweep(
    fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[object]:
    """Run the command with the fake; one shape is nine times faster, the other as fast as before."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr("abtune.measure.target.find_target", lambda *_: make_facts())
    monkeypatch.chdir(tmp_path)

    def run(*more: str) -> str:
        words = ["sweep", "--until-settled", "--shapes", ",".join(SHAPES), "--trials", "2"]
        words += [
            "--baseline",
            "fake_configurations:EVEN",
            "--candidate",
            "fake_configurations:FASTER",
            *more,
        ]
        assert main(words) == 0, capsys.readouterr().err
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


def test_a_stopped_sweep_goes_on_at_its_look(sweep: object) -> None:
    """The same command finds what is settled again and does nothing twice."""
    sweep("--seeds", "6")
    assert runs(abtune.open_dataset("abtune.nc")) == [12, 12]
    sweep("--seeds", "8")
    assert runs(abtune.open_dataset("abtune.nc")) == [12, 16]
