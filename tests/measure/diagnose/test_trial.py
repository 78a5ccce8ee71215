"""The trial of a sweep: it says how long it took, or why a sweep could not run."""

from __future__ import annotations

import re

import pytest
from measure_builders import make_facts, small_plan
from sweeping import ABOUT

import abtune
from abtune.configurations import Configuration
from abtune.errors import StoreError
from abtune.measure.diagnose import Finding, Level, check_trial
from abtune.measure.store.store import Store


def trial(store: Store, **faults: str) -> Finding:
    # Without a design space of their own, so that they are tried.
    configs = (Configuration(name=name, pass_config=faults) for name in ("plain", "new"))
    return check_trial(small_plan(configs=(*configs,)), make_facts(), store)


@pytest.mark.usefixtures("fake")
def test_a_trial_says_how_long_it_took(store: Store) -> None:
    """The trial of both configurations is timed, and nothing is written."""
    finding = trial(store)
    assert finding.level is Level.OK
    assert re.fullmatch(r"kernels of plain and new were built and timed in \d+\.\d s", finding.state)
    assert not list(store.dataset.parent.iterdir())


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"build": "raise"}, "cannot build and time kernels of 'plain'.*the fault that was asked for"),
        ({"propose": "crash"}, "cannot tune 'plain': propose: process killed by SIGSEGV"),
        ({"propose": "nothing"}, "the search proposed nothing"),
    ],
)
def test_a_trial_that_fails_says_why(store: Store, faults: dict[str, str], said: str) -> None:
    """A fault that would end a sweep ends its trial, with one line."""
    finding = trial(store, **faults)
    assert finding.level is Level.PROBLEM
    assert re.search(said, finding.state)
    assert "\n" not in finding.state


@pytest.mark.parametrize("name", ["runs/x.json", "rounds/x.json", "searches/x.json.gz"])
def test_what_a_sweep_would_go_on_with_has_to_be_readable(store: Store, name: str) -> None:
    """A damaged file of a run, a search or timings is named before anything is tried."""
    damaged = store.folder / name
    with store.opened(small_plan(), ABOUT):
        damaged.write_text("{")
    finding = trial(store)
    assert finding.level is Level.PROBLEM
    assert finding.state.startswith(f"{damaged} cannot be read")


def test_a_dataset_of_another_origin_is_refused_as_a_sweep_does(store: Store) -> None:
    """The line is the one with which a sweep would end."""
    mine = abtune.make_dataset([[[1.0], [2.0]]], shapes=["a"], configs=["x", "y"])
    abtune.save_dataset(mine, store.dataset)
    with pytest.raises(StoreError) as refused:
        store.check(small_plan())
    assert trial(store).state == str(refused.value)


@pytest.mark.usefixtures("fake")
def test_a_trial_that_hangs_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that never returns is a problem after a while."""
    monkeypatch.setattr("abtune.measure.diagnose.TRIAL_LIMIT", 2.0)
    assert "no kernel was timed within 2 s" in trial(store, propose="hang").state
