"""What tests of several rooms need."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest
import xarray as xr
from running import Outcome, Run

import abtune
from abtune.cli import main

ROOT = Path(__file__).parent.parent
# pytest-xdist gives its workers a width, and tests expect that of a process without a terminal.
os.environ.pop("COLUMNS", None)
# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores: tests of sweeps often wait for their processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests of sweeps first: they wait for processes, and at the end other cores would be idle."""
    items.sort(key=lambda item: "tests/measure/" not in item.nodeid)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a compressed file holds the time, and all workers need the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide what else runs here: it changes what a sweep says."""
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 0.0)


@pytest.fixture(autouse=True)
def fewer_resamples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resample a quarter as often where nothing is compared with a document: that saves minutes."""
    if {"compare", "sections", "stats"} & {*request.path.parts}:
        monkeypatch.setattr("abtune.stats.intervals.bootstrap_t.RESAMPLES", 9_999)


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small() -> xr.Dataset:
    """Two shapes, two configurations, two seeds."""
    latency = [[[1.0, 1.1], [0.8, 0.9]], [[2.0, 2.2], [2.1, 2.1]]]
    return abtune.make_dataset(
        [[[1e-3 * value for value in seeds] for seeds in configs] for configs in latency],
        shapes=["M=64_N=64_K=64", "mine"],
        configs=["mainline", "async"],
    )


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no variable of the environment say how wide or colourful output is."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps search with the fake in place of TVM."""
    monkeypatch.setattr("abtune.measure.workers.pool.TVM_MODULE", "fake_metaschedule")


@pytest.fixture
def helpers_for_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that are not children of abtune import this abtune and the helpers of tests."""
    folders = [ROOT, ROOT / "tests" / "helpers", ROOT / "tests" / "helpers" / "measuring"]
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*map(str, folders), *inherited]))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run_one(*argv: str) -> Outcome:
        code = main(argv)
        captured = capsys.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    return run_one
