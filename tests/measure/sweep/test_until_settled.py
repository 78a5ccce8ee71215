"""abtune sweep --until-settled: seeds go where they are needed, and the looks are recorded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from measure_builders import make_facts

import abtune
from abtune.cli import main
from abtune.dataset.schema import RunStatus
from abtune.measure.sweep.searching import search_all
from abtune.measure.sweep.session import Session

SHAPES = ("M=16_N=16_K=16", "M=32_N=16_K=16")
WORDS = ("sweep", "--shapes", ",".join(SHAPES), "--trials", "2")
WORDS += ("--baseline", "fake_configurations:EVEN", "--candidate", "fake_configurations:FASTER")


@pytest.fixture
def sweep(
    fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run the command with the fake; one shape is nine times faster, the other as fast as before."""
    monkeypatch.setattr("abtune.measure.workers.find_target.find_target", lambda *_: make_facts())
    monkeypatch.chdir(tmp_path)

    def run(*more: str, candidate: str = "FASTER") -> str:
        words = [word.replace("FASTER", candidate) for word in WORDS]
        assert main([*words, "--until-settled", *more]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def runs(dataset: object) -> list[int]:
    complete = (dataset["run_status"] == RunStatus.COMPLETE).sum(["config", "seed"])
    return [int(count) for count in complete]


def test_seeds_are_added_only_where_needed(sweep: object) -> None:
    """The shape with a large difference stops after six seeds per configuration, the other after five."""
    said = sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert dataset["shape"].values.tolist() == list(SHAPES)
    assert runs(dataset) == [12, 10]
    looks = json.loads(dataset.attrs["looks"])
    assert [(look["seeds"], look["done"]) for look in looks] == [(5, True), (6, True), (8, False)]
    assert [look["dropped"] for look in looks] == [[SHAPES[1]], [], []]
    assert f"5 seeds: 0 of 2 shapes settled, 1 dropped: {SHAPES[1]}\n" in said
    assert "6 seeds: 1 of 2 shapes settled\n" in said
    assert "abtune.nc: 22 of 32 runs done" in said
    large, none = abtune.analyze(dataset).comparisons
    assert [large.verdict.value, none.verdict.value] == ["improved", "inconclusive"]
    assert none.reason.startswith("After 5 seeds, at a level of 1%: Not promising")


def test_a_shape_is_dropped_once_and_the_best_of_the_others_goes_on(sweep: object) -> None:
    """Shapes that were dropped compete no more: the best of the others goes on to the end."""
    more = ("M=16_N=32_K=16", "M=32_N=32_K=16", "M=16_N=16_K=32")
    sweep("--shapes", ",".join(more), "--seeds", "12")
    dataset = abtune.open_dataset("abtune.nc")
    dropped = [label for look in json.loads(dataset.attrs["looks"]) for label in look["dropped"]]
    assert len(dropped) == len(set(dropped))
    assert runs(dataset) == [16, 10, 24, 16, 10]


def test_a_shape_whose_runs_fail_is_dropped_and_not_settled(sweep: object) -> None:
    """A shape that cannot be judged gets no more seeds, and does not pass for settled."""
    told = f"5 seeds: 1 of 2 shapes settled, 1 dropped: {SHAPES[1]}\n"
    assert told in sweep("--seeds", "8", candidate="HALF")
    dataset = abtune.open_dataset("abtune.nc")
    assert runs(dataset) == [10, 5]
    assert [row.verdict.value for row in abtune.analyze(dataset).comparisons] == ["improved", "invalid"]
    assert told in sweep("--seeds", "8", candidate="HALF")


def test_the_same_command_does_nothing_twice(sweep: object) -> None:
    """The same command finds the settled shapes, and changes nothing."""
    sweep("--seeds", "8")
    looks = abtune.open_dataset("abtune.nc").attrs["looks"]
    said = sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert runs(dataset) == [12, 10]
    assert dataset.attrs["looks"] == looks
    assert f"dropped   1 shape: {SHAPES[1]}\n" in said
    assert "= 32, 4 left" in said
    assert "6 seeds: 1 of 2 shapes settled\n" in said
    assert "5 seeds: " not in said


def test_a_run_whose_file_was_removed_is_made_again(sweep: object) -> None:
    """A run may be tried again after a look, as in any sweep."""
    sweep("--seeds", "8")
    looks = abtune.open_dataset("abtune.nc").attrs["looks"]
    Path(f"abtune.nc.runs/runs/{SHAPES[0]}--even--0000.json").unlink()
    assert "22 of 32 runs done" in sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert runs(dataset) == [12, 10]
    assert dataset.attrs["looks"] == looks


def test_a_session_that_stops_early_forgets_no_look(sweep: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that were made stay recorded, also if the next session ends before it reaches them."""
    sweep("--seeds", "8")
    looks = abtune.open_dataset("abtune.nc").attrs["looks"]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("abtune.measure.sweep.run_sweep.search_all", interrupted)
    with pytest.raises(AssertionError):
        sweep("--seeds", "8")
    assert abtune.open_dataset("abtune.nc").attrs["looks"] == looks


def test_a_design_whose_looks_are_spent_cannot_be_extended(
    sweep: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A design whose looks have spent the error cannot get another schedule, which would spend more."""
    sweep("--seeds", "5")
    before = Path("abtune.nc").read_bytes()
    with pytest.raises(AssertionError, match="by a design with looks at 5 seeds; repeat its --seeds 5"):
        sweep("--seeds", "8")
    assert Path("abtune.nc").read_bytes() == before


@pytest.mark.parametrize("seeds", ["4", "9"])
def test_a_design_that_was_looked_at_gets_no_other_number_of_seeds_by_hand(
    sweep: object, capsys: pytest.CaptureFixture[str], seeds: str
) -> None:
    """Seeds cannot be added or dropped without looks: an analysis would leave them out."""
    sweep("--seeds", "5")
    before = Path("abtune.nc").read_bytes()
    for dry in ([], ["--dry-run"]):
        assert main([*WORDS, "--seeds", seeds, *dry]) == 2
        said = capsys.readouterr().err
        assert "by a design with looks at 5 seeds; repeat its --until-settled --seeds 5 and shapes" in said
    assert Path("abtune.nc").read_bytes() == before


def test_a_design_that_is_done_may_be_repeated_without_its_looks(sweep: object) -> None:
    """A finished design may be repeated without its looks, and stays the same design."""
    sweep("--seeds", "5")
    before = abtune.open_dataset("abtune.nc")
    assert main([*WORDS, "--seeds", "5"]) == 0
    after = abtune.open_dataset("abtune.nc")
    assert after.attrs["looks"] == before.attrs["looks"]
    assert runs(after) == runs(before)


def test_a_shape_that_was_settled_gets_no_seeds_by_hand(
    sweep: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A settled shape gets no seeds without looks, also not the design's own number."""
    sweep("--seeds", "8")
    assert main([*WORDS, "--seeds", "8"]) == 2
    assert "repeat its --until-settled --seeds 8 and shapes" in capsys.readouterr().err
    assert runs(abtune.open_dataset("abtune.nc")) == [12, 10]


def test_a_design_that_was_looked_at_gets_no_more_shapes(
    sweep: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A further shape would be judged by a look that it was no part of."""
    sweep("--seeds", "8")
    before = Path("abtune.nc").read_bytes()
    more = ["--shapes", "M=16_N=32_K=16", "--until-settled", "--seeds", "8"]
    assert main([*WORDS, *more]) == 2
    assert (
        "by a design with looks at 5, 6, 8 seeds; repeat its --seeds 8 and shapes" in capsys.readouterr().err
    )
    assert Path("abtune.nc").read_bytes() == before


def test_shapes_that_were_searched_without_looks_are_no_part_of_them(sweep: object) -> None:
    """They are not counted and not dropped. They take no seeds from other shapes."""
    assert main([*WORDS, "--shapes", "M=16_N=32_K=16", "--seeds", "2"]) == 0
    said = sweep("--seeds", "8")
    dataset = abtune.open_dataset("abtune.nc")
    assert runs(dataset) == [12, 10, 4]
    assert [look["dropped"] for look in json.loads(dataset.attrs["looks"])] == [[SHAPES[1]], [], []]
    assert f"5 seeds: 0 of 2 shapes settled, 1 dropped: {SHAPES[1]}\n" in said
    assert "6 seeds: 1 of 2 shapes settled\n" in said


@pytest.mark.parametrize("files", [True, False])
def test_a_sweep_that_goes_on_drops_the_same_shapes(
    sweep: object,
    monkeypatch: pytest.MonkeyPatch,
    files: bool,  # noqa: FBT001
) -> None:
    """What was dropped is recorded, and not decided anew from winners that were timed again."""
    stages: list[int] = []

    async def interrupted(session: Session) -> None:
        stages.append(len(session.plan.shapes))
        if len(stages) > 1:
            raise KeyboardInterrupt
        await search_all(session)

    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.run_sweep.search_all", interrupted)
        with pytest.raises(AssertionError):
            sweep("--seeds", "8")
    assert stages == [2, 1]
    assert runs(abtune.open_dataset("abtune.nc")) == [10, 10]
    if not files:
        shutil.rmtree("abtune.nc.runs")
    with monkeypatch.context() as patch:
        patch.setattr(
            "abtune.compare.sequential.goes_on", lambda rows: dict.fromkeys((row.shape for row in rows), True)
        )
        said = sweep("--seeds", "8", "--time-limit", "60s")
    assert runs(abtune.open_dataset("abtune.nc")) == [16, 10]
    assert f"5 seeds: 0 of 2 shapes settled, 1 dropped: {SHAPES[1]}\n" in said


def test_a_sweep_that_stops_within_a_look_decides_nothing(sweep: object) -> None:
    """A time limit that ends the first look leaves the decision to the session that completes it."""
    sweep("--seeds", "8", "--time-limit", "0.01s")
    looks = json.loads(abtune.open_dataset("abtune.nc").attrs["looks"])
    assert [(look["done"], look["dropped"]) for look in looks] == [(False, [])] * 3
    sweep("--seeds", "8")
    assert runs(abtune.open_dataset("abtune.nc")) == [12, 10]


def test_looks_that_were_only_planned_bind_nobody(sweep: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that stopped before its first look may go on without looks, and then records none."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.run_sweep.measure_all", interrupted)
        with pytest.raises(AssertionError):
            sweep("--seeds", "5")
    assert json.loads(abtune.open_dataset("abtune.nc").attrs["looks"])[0]["done"] is False
    assert main([*WORDS, "--seeds", "7"]) == 0
    dataset = abtune.open_dataset("abtune.nc")
    assert "looks" not in dataset.attrs
    assert runs(dataset) == [14, 14]
