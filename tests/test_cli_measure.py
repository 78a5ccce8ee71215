"""``abtune measure`` on the command line: new timings of stored winners, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from measure_builders import make_facts, small_plan
from running import Run
from sweeping import ABOUT, run_sweep

import abtune
from abtune.dataset.provenance import hardware
from abtune.measure.plan.workplace import TargetFacts
from abtune.measure.store.store import Store
from abtune.shapes import parse_shape

pytestmark = pytest.mark.usefixtures("empty_folder", "fake")


@pytest.fixture
def swept() -> Path:
    """Sweep with the fake, for a target of the kind that is found later."""
    store = Store(Path("abtune.nc"))
    run_sweep(small_plan(target=json.dumps({"kind": "llvm"})), store)
    return store.dataset


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command find a target without TVM."""

    def find_target(spec: str, *_: object) -> TargetFacts:
        kind = "cuda" if spec == "cuda" else "llvm"
        return make_facts(kind=kind, target=json.dumps({"kind": kind}), devices=("another device",))

    monkeypatch.setattr("abtune.measure.workers.find_target.find_target", find_target)


def test_winners_are_timed_again(run: Run, swept: Path) -> None:
    """The new dataset has the rounds that were asked for, the device of today, and the same winners."""
    done = run("measure", str(swept), "--out", "my own.nc", "--rounds", "3", "--repeats", "2", "--cores", "2")
    assert (done.code, done.err) == (0, ""), done.err
    assert (
        done.out == "my own.nc: the winners of abtune.nc, measured again\nnext: abtune analyze 'my own.nc'\n"
    )
    before, after = abtune.open_dataset(swept), abtune.open_dataset("my own.nc")
    assert (after.sizes["round"], after.sizes["repeat"]) == (3, 2)
    assert after["latency"].notnull().all()
    assert after["winner"].equals(before["winner"])
    assert after.attrs["device"] == "another device"
    assert after.attrs["searched_on"] == hardware(before)
    day, earlier = (after.attrs[name][:10] for name in ("measured_again", "created"))
    report = run("analyze", "my own.nc", "--section", "summary").out.replace("\n", " ")
    assert f"TVM 0.27, {day}, winners of {earlier}" in report
    assert abtune.compare_datasets(before, after).same_winners


def test_winners_that_fail_now_are_counted(run: Run, swept: Path) -> None:
    """The command says how many winners failed, and why the first one did."""
    dataset = abtune.open_dataset(swept)
    wrong = [json.loads(text) for text in dataset["winner"].sel(config="new").values.ravel()]
    for record in wrong:
        record[1]["faults"] = {"check_kernel": "wrong"}
    texts = np.reshape([json.dumps(record) for record in wrong], dataset["winner"].sel(config="new").shape)
    dataset["winner"].loc[{"config": "new"}] = texts
    abtune.save_dataset(dataset, "wrong.nc")
    done = run("measure", "wrong.nc", "--out", "later.nc", "--cores", "2")
    told = "4 winners failed; the first: the winner computes a wrong result: relative error 0.5"
    assert told in done.out.splitlines()


def test_workloads_of_a_user_are_trusted_by_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command refuses code that only the dataset names, or that makes another program by now."""
    shapes = parse_shape("mine:softmax"), parse_shape("mine:product:m=8")
    run_sweep(small_plan(*shapes, target=json.dumps({"kind": "llvm"})), Store(Path("own.nc")))
    command = "measure", "own.nc", "--out", "later.nc", "--cores", "1", "--trust", "mine:softmax"
    refused = run(*command)
    assert refused.code == 2
    assert refused.err.endswith("if you trust that code, add --trust mine:product\n")
    with monkeypatch.context() as patch:
        patch.setenv("FAKE_PROGRAM", "second")
        changed = run(*command, "--trust", "mine:product")
    assert changed.code == 2
    assert "mine:softmax is not what later.nc was begun with, because its code has changed" in changed.err
    assert run(*command, "--trust", "mine:product").code == 0
    assert abtune.open_dataset("later.nc")["latency"].notnull().all()


def test_rounds_are_those_of_the_sweep(run: Run, swept: Path) -> None:
    """Without options the new dataset has the sizes of the old one."""
    run("measure", str(swept), "--out", "later.nc", "--cores", "1")
    assert abtune.open_dataset("later.nc").sizes == abtune.open_dataset(swept).sizes


def test_caches_may_be_cold_after_a_search_with_warm_ones(run: Run, swept: Path) -> None:
    """The winners are timed so, and the report says it; the dataset still names the search as it was."""
    assert run("measure", str(swept), "--out", "cold.nc", "--cache", "cold", "--cores", "1").code == 0
    cold = abtune.open_dataset("cold.nc")
    assert json.loads(cold.attrs["settings"])["cache"] == "cold"
    assert cold["trial_latency"].equals(abtune.open_dataset(swept)["trial_latency"])
    assert abtune.analyze(cold).definition.endswith("measured again after its search, with cold caches.")


def test_winners_of_two_sweeps_are_timed_together(run: Run, swept: Path) -> None:
    """Sweeps with other random numbers, devices and rounds become one dataset that one device timed."""
    with_others = small_plan(target=json.dumps({"kind": "llvm"}), rng_seed=5, rounds=4, repeats=5)
    run_sweep(with_others, Store(Path("second.nc")))
    first, second = map(abtune.open_dataset, (swept, "second.nc"))
    elsewhere = second.assign_attrs(device="a third device", created="2026-02-02T00:00:00+00:00")
    elsewhere["device"] = elsewhere["device"].where(elsewhere["device"] == "", "a third device")
    abtune.save_dataset(elsewhere, "second.nc")
    done = run("measure", str(swept), "second.nc", "--out", "all.nc", "--cores", "2")
    assert (done.code, done.err) == (0, ""), done.err
    assert done.out.startswith("all.nc: the winners of abtune.nc and second.nc, measured again\n")
    both = abtune.open_dataset("all.nc")
    seeds = first.sizes["seed"]
    new = f"its seeds 0 to {seeds - 1} are now {seeds} to {2 * seeds - 1}, because another dataset has"
    assert f"second.nc: {new}" in done.out
    assert [both.sizes[dim] for dim in ("round", "repeat")] == [first.sizes["round"], first.sizes["repeat"]]
    assert np.isfinite(both["latency"].values).all()
    assert both["seed"].values.tolist() == [*range(2 * seeds)]
    assert set(both["device"].values.ravel()) == {"a device"}  # that the fake measures on
    assert both.attrs["searched_on"] == f"{hardware(first)}, a third device"
    for origin, timed in (
        (first, both.isel(seed=slice(seeds))),
        (second, both.isel(seed=slice(seeds, None))),
    ):
        np.testing.assert_array_equal(timed["winner"].values, origin["winner"].values)
        np.testing.assert_array_equal(timed["trial_latency"].values, origin["trial_latency"].values)
    report = run("analyze", "all.nc", "--section", "summary").out.replace("\n", " ")
    assert "winners of 2 datasets on a device and a third device" in report
    other = run("measure", str(swept), "--out", "all.nc")
    assert "all.nc has the winners of another dataset; give another --out" in other.err


def test_more_seeds_do_not_hide_where_the_runs_came_from(run: Run, swept: Path) -> None:
    """A sweep that adds seeds to merged runs keeps their sources, or they could be merged in twice."""
    target = json.dumps({"kind": "llvm"})
    about = {**ABOUT, "created": "2026-01-02T03:04:05+00:00"}
    run_sweep(small_plan(target=target, rng_seed=5), Store(Path("second.nc")), about=about)
    assert run("measure", str(swept), "second.nc", "--out", "all.nc", "--cores", "2").code == 0
    before = abtune.open_dataset("all.nc")
    assert "created" not in before.attrs  # nor may it be afterwards, or it would pass for another dataset
    more = replace(small_plan(target=target, seeds=5), machine="another device, TVM 0.27")
    after = run_sweep(more, Store(Path("all.nc"))).dataset
    assert after.sizes["seed"] == before.sizes["seed"] + 1
    names = ("sources", "measured_again", "searched_on")
    assert [after.attrs[name] for name in names] == [before.attrs[name] for name in names]
    assert "both have a run of" in run("merge", "all.nc", "second.nc", "--out", "twice.nc").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["abtune.nc", "--out", "later.nc"], "abtune.nc is given twice; each run counts once"),
        (["copy.nc", "--out", "later.nc"], "abtune.nc and copy.nc both have a run of"),
        (["copy.nc", "--out", "later.nc"], "give each sweep an --rng-seed of its own"),
        (["--out", "abtune.nc"], "abtune.nc is a dataset to measure; give another --out"),
        (["--out", "absent/x.nc"], "there is no folder absent"),
        (
            ["--out", "later.nc", "--target", "cuda"],
            "give --target llvm, on a machine with such a device",
        ),
        (["--out", "later.nc", "--rounds", "0"], "0 is not in the range"),
        ([], "Missing option '--out'"),
    ],
)
def test_bad_arguments_are_one_line(run: Run, swept: Path, words: list[str], said: str) -> None:
    """A wrong argument is refused in one line, and nothing is written."""
    before = swept.read_bytes()
    Path("copy.nc").write_bytes(before)
    done = run("measure", str(swept), *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not Path("later.nc").exists()
    assert swept.read_bytes() == before


def test_a_dataset_without_winners_is_one_line(run: Run) -> None:
    """A dataset that no sweep made has nothing to measure."""
    mine = abtune.make_dataset([[[1.0], [2.0]]], shapes=["a"], configs=["x", "y"])
    abtune.save_dataset(mine, "mine.nc")
    done = run("measure", "mine.nc", "--out", "later.nc")
    assert done.code == 2
    assert "has no winners to measure; give one that abtune sweep made" in done.err


def test_a_dataset_of_damaged_searches_is_one_line(run: Run, swept: Path) -> None:
    """A lost winner counts as no failed run, and configurations are those that the dataset has."""
    dataset = abtune.open_dataset(swept)
    lost = dataset.copy(deep=True)
    lost["winner"][0, 0, 0] = ""
    for number, (damaged, said) in enumerate(
        (
            (lost, "which runs it has (seed 0 of "),
            (
                dataset.assign_attrs(configurations="[]"),
                "what its configurations are (they have other names)",
            ),
        )
    ):
        abtune.save_dataset(damaged, f"{number}.nc")
        done = run("measure", f"{number}.nc", "--out", "later.nc")
        assert done.code == 2
        assert f"the dataset does not say {said}" in done.err
        assert not Path("later.nc.runs").exists()
