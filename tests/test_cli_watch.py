"""``abtune watch``: a look at a sweep from outside, which changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measure_builders import make_failed_record, make_record, make_rounds, make_times, small_plan
from running import Run
from sweeping import ABOUT

from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store
from abtune.stats.testing.design import Look, looks_to_json

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")


@pytest.fixture
def plan() -> Plan:
    return small_plan(seeds=2)


@pytest.fixture
def store(empty_folder: None, plan: Plan) -> Store:
    """Write the files of a sweep of which half of the runs are done."""
    made = Store(Path("abtune.nc"))
    with made.opened(plan, ABOUT):
        for run in plan.runs[: len(plan.runs) // 2]:
            made.save_record(make_record(run))
    return made


def files() -> dict[str, tuple[int, int]]:
    """Return time and size of every file below this folder."""
    found = [path for path in Path().rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


@pytest.mark.usefixtures("store")
def test_one_look_where_nobody_watches(run: Run, plan: Plan) -> None:
    """A pipe gets one look, and no file is touched."""
    before = files()
    outcome = run("watch")
    assert outcome.code == 0
    half, every = len(plan.runs) // 2, len(plan.runs)
    assert outcome.out.startswith(f"abtune.nc: {half} of {every} runs done\n")
    assert all(shape.label in outcome.out for shape in plan.shapes)
    assert files() == before
    state = json.loads(run("watch", "--format", "json").out)
    assert state["done"] is False
    assert (state["state"]["finished"], state["state"]["planned"]) == (half, every)


def test_a_terminal_is_refreshed_until_the_sweep_is_done(
    run: Run, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abtune.commands.watch._is_terminal", lambda: True)
    waits: list[float] = []

    def finish(seconds: float) -> None:
        waits.append(seconds)
        with store.opened(plan, ABOUT):
            for one in plan.runs:
                store.save_record(make_record(one))
            for shape in plan.shapes:
                winners = [make_times(one, plan) for one in plan.runs if one.shape == shape]
                store.save_rounds(make_rounds(shape, *winners))

    monkeypatch.setattr("time.sleep", finish)
    text = run("watch", "--every", "7").out
    assert waits == [7]
    assert text.count("runs done") == 2
    assert f"{len(plan.runs)} of {len(plan.runs)} runs done" in text
    assert "This is a look, not a result" in text


def test_a_sweep_is_done_although_a_shape_has_no_winner(run: Run, plan: Plan, store: Store) -> None:
    """Where all runs of a shape failed, nothing is left to measure."""
    with store.opened(plan, ABOUT):
        for one in plan.runs:
            failed = one.shape == plan.shapes[0]
            store.save_record(make_failed_record(one) if failed else make_record(one))
        winners = [make_times(one, plan) for one in plan.runs if one.shape == plan.shapes[1]]
        store.save_rounds(make_rounds(plan.shapes[1], *winners))
    assert json.loads(run("watch", "--format", "json").out)["done"] is True


def test_a_sweep_is_not_done_before_its_look(run: Run, plan: Plan, store: Store) -> None:
    """A design with looks may go on after each of them, so the runs of a look alone end nothing."""
    looks = (Look(seeds=2, alpha=0.02), Look(seeds=4, alpha=0.03))
    with store.opened(plan, {**ABOUT, "looks": looks_to_json(looks, done=0)}):
        for one in plan.runs:
            store.save_record(make_failed_record(one))
    assert json.loads(run("watch", "--format", "json").out)["done"] is False
    for is_last in (False, True):
        store.note_looks(looks_to_json(looks, done=1), is_last=is_last)
        assert json.loads(run("watch", "--format", "json").out)["done"] is is_last


def test_what_cannot_be_watched_is_one_line(run: Run) -> None:
    outcome = run("watch", "none.nc")
    assert outcome.code == 2
    assert outcome.err == ("abtune: no sweep is at work on none.nc: there is no none.nc.runs/sweep.json\n")
    Path("done.nc").touch()
    assert "abtune analyze done.nc reads what it has" in run("watch", "done.nc").err
