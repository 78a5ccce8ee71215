"""The trial of a sweep: it says how long it took, or why a sweep could not run."""

from __future__ import annotations

import asyncio
import re
import signal

import pytest
from measure_builders import make_facts, small_plan

from abtune.configurations import Configuration
from abtune.measure.diagnose import Finding, Level, check_trial
from abtune.measure.store.store import Store


def trial(**faults: str) -> Finding:
    # Without a design space of their own, so that they are tried.
    configs = (Configuration(name=name, pass_config=faults) for name in ("plain", "new"))
    return check_trial(small_plan(configs=(*configs,)), make_facts())


@pytest.mark.usefixtures("fake")
def test_a_trial_says_how_long_it_took(store: Store) -> None:
    """The trial of both configurations is timed, and nothing is written."""
    finding = trial()
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
def test_a_trial_that_fails_says_why(faults: dict[str, str], said: str) -> None:
    """A fault that would end a sweep ends its trial, with one line."""
    finding = trial(**faults)
    assert finding.level is Level.PROBLEM
    assert re.search(said, finding.state)
    assert "\n" not in finding.state


@pytest.mark.usefixtures("fake")
def test_a_trial_that_hangs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that never returns is a problem after a while."""
    monkeypatch.setattr("abtune.measure.diagnose.TRIAL_LIMIT", 2.0)
    assert "no kernel was timed within 2 s" in trial(propose="hang").state


@pytest.mark.usefixtures("fake")
def test_a_trial_ends_its_work_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal cancels the trial; raised in the middle of it, an interruption leaves dask to its timeouts."""
    cancelled = []

    async def wait(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    monkeypatch.setattr("abtune.measure.sweep.health_check.try_out", wait)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    try:
        with pytest.raises(KeyboardInterrupt):
            trial()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert cancelled
