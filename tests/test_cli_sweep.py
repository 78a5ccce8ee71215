"""The command line of the measuring half: what it plans, what it refuses, and its exit codes."""

from __future__ import annotations

import errno
import functools
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from golden_files import assert_golden
from installed_packages import pretend_installed
from running import Run, Terminal, refused
from sweeping import without_circumstances

import abtune
from abtune.commands.common.output import _Bar, progress_for
from abtune.errors import TargetError
from abtune.measure.plan.workplace import TargetFacts
from abtune.stats.testing.looks import Look

GPU = TargetFacts(
    kind="cuda",
    target='{"kind": "fake"}',
    arch=90,
    devices=("a GPU",) * 2,
    threads=1,
    versions={"tvm": "0.27"},
)
CPU = TargetFacts(
    kind="llvm",
    target='{"kind": "fake"}',
    arch=0,
    devices=("a CPU",),
    threads=1,
    versions={"tvm": "0.27"},
)
SMALL = "M=16_N=16_K=16"
QUICK = ("--shapes", SMALL, "--trials", "2", "--cores", "1", "--target", "cpu")
FAKES = ("--baseline", "fake_configurations:PLAIN", "--candidate", "fake_configurations:NEW")

pytestmark = pytest.mark.usefixtures("empty_folder")


SetTarget = Callable[[TargetFacts], None]


@pytest.fixture
def run(run: Run) -> Run:
    """Run a sweep's command line in this process."""
    return functools.partial(run, "sweep")


@pytest.fixture
def set_target(monkeypatch: pytest.MonkeyPatch) -> SetTarget:
    """Let the command find a target without TVM."""

    def find(facts: TargetFacts) -> None:
        monkeypatch.setattr("abtune.measure.workers.find_target.find_target", lambda *_: facts)

    return find


@pytest.fixture
def cpu(set_target: SetTarget) -> None:
    set_target(CPU)


def files() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


# What is planned


@pytest.mark.parametrize(
    ("name", "facts", "options"),
    [
        ("gpu", GPU, ["--seeds", "10"]),
        ("cpu", CPU, ["--seeds", "3"]),
        ("own", CPU, ["--seeds", "5", "--shapes", SMALL, "--trials", "7", "--trials-per-iter", "3"]),
    ],
)
def test_a_dry_run_says_what_would_be_done(
    run: Run, set_target: SetTarget, name: str, facts: TargetFacts, options: list[str]
) -> None:
    """A dry run prints plan, cost and what can be found, as its golden file shows; it writes nothing."""
    set_target(facts)
    outcome = run(*options, "--dry-run", "--cores", "4", "--target", facts.kind)
    assert (outcome.code, outcome.err) == (0, "")
    assert_golden(f"sweep-dry-run-{name}.txt", outcome.out)
    assert files() == []


def test_a_dry_run_fits_a_narrow_terminal(run: Run, cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 60 columns, what has no room in its line goes on below its column."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("--share", "--dry-run").out.splitlines()
    assert max(map(len, lines)) <= 60
    (start,) = [number for number, line in enumerate(lines) if line.startswith("share ")]
    assert lines[start + 1].startswith(" " * 10 + "is the search")


@pytest.mark.parametrize(
    ("options", "own"),
    [
        ((), 0),
        (FAKES, 0),
        (("--candidate", "fake_configurations:EVEN"), 1),
        (("--shapes", "json:loads"), 1),
    ],
)
def test_what_own_code_costs_is_not_known(run: Run, cpu: None, options: tuple[str, ...], own: int) -> None:
    """Design spaces and workloads of a user may take longer than the short trial of the machine says."""
    told = " ".join(run(*options, "--dry-run").out.split())
    assert told.count("less is known of code of your own") == own


@pytest.mark.parametrize(("load", "said"), [(0.4, 0), (1.6, 1)])
def test_a_busy_machine_is_said(
    run: Run, cpu: None, monkeypatch: pytest.MonkeyPatch, load: float, said: int
) -> None:
    """Other programs slow a sweep down and make timings of a CPU noisy; the cost counts them."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: load)
    text = " ".join(run(*QUICK, "--cores", "2", "--dry-run").out.split())
    wanted = "1.6 of 2 cores; searches give way to them; timings of this CPU will be noisy"
    assert (text.count("busy other programs use"), text.count(wanted)) == (said, said)


@pytest.mark.parametrize(("seeds", "can"), [(4, False), (5, True)])
def test_a_dry_run_says_whether_the_design_can_succeed(run: Run, cpu: None, seeds: int, can: bool) -> None:  # noqa: FBT001
    """With too few seeds for the correction the dry run names a number that is enough."""
    outcome = run(*QUICK, "--shapes", "quick", "--seeds", str(seeds), "--dry-run")
    assert ("This design can find a difference;" in outcome.out) is can
    assert ("use --seeds 5 or more" in outcome.out) is not can


@pytest.mark.parametrize(("seeds", "can"), [(5, False), (6, True)])
def test_a_dry_run_of_searches_that_share_counts_pairs(
    run: Run, set_target: SetTarget, seeds: int, *, can: bool
) -> None:
    """Five pairs cannot differ, and six can, however few shapes; the plan says what is shared."""
    set_target(GPU)
    outcome = run("--share", "--seeds", str(seeds), "--dry-run")
    assert "16 of 64 trials try schedules of the partner" in outcome.out
    assert f"With {seeds} pairs the exact test reaches" in outcome.out
    assert ("This design can find a difference;" in outcome.out) is can
    assert ("use --seeds 6 or more." in outcome.out) is not can


def test_looks_at_searches_that_share_are_at_pairs(run: Run, set_target: SetTarget) -> None:
    """The first look comes where so many pairs can differ at all."""
    set_target(GPU)
    outcome = run("--share", "--until-settled", "--dry-run")
    text = " ".join(outcome.out.split())
    assert "1% after 6, 1.5% after 11, 2.5% after 20 pairs." in text


def test_a_dry_run_until_settled_names_the_looks(run: Run, cpu: None) -> None:
    """The dry run shows the share of each look, and checks the design at the last look."""
    outcome = run(*QUICK, "--shapes", "quick", "--until-settled", "--dry-run")
    text = " ".join(outcome.out.split())
    assert "1% after 5, 1.5% after 10, 2.5% after 20 seeds per configuration." in text
    assert (
        "A shape whose p is above 0.33 at a look gets no more seeds, so 50 to 200 runs are made."
        in outcome.out
    )
    assert "over 5 shapes needs p = 0.005 or less at the last look." in outcome.out


def test_a_dry_run_of_one_seed_says_so(run: Run, cpu: None) -> None:
    """The dry run of one seed says 1 seed."""
    assert "With 1 seed per configuration the exact test" in run(*QUICK, "--seeds", "1", "--dry-run").out


@pytest.mark.parametrize(("seeds", "correction"), [(5, "max-t"), (12, "holm"), (20, "max-t"), (4, "")])
def test_a_dry_run_of_thousands_of_shapes_names_the_correction(
    run: Run, cpu: None, seeds: int, correction: str
) -> None:
    """For 5,001 shapes only exact tests suffice for Holm, of 11 to 15 seeds; max-T takes five."""
    shapes = ",".join(f"M={size}_N=16_K=16" for size in range(16, 5017))
    outcome = run("--shapes", shapes, "--target", "cpu", "--seeds", str(seeds), "--dry-run")
    assert outcome.code == 0
    hopeless = "cannot find any single difference: use --seeds 5 or more, or fewer shapes." in outcome.out
    assert hopeless == (not correction)
    assert ("This correction is max-T, because Holm's" in outcome.out) == (correction == "max-t")


def test_defaults_follow_the_target(run: Run, set_target: SetTarget) -> None:
    """A GPU gets the published shapes and mainline against async; a CPU small ones and sampling."""
    set_target(GPU)
    on_gpu = run("--dry-run").out
    assert "compare   async (candidate) with mainline (baseline)" in on_gpu
    assert "29 shapes x 2 configurations x 10 seeds = 580\n" in on_gpu
    set_target(CPU)
    on_cpu = run("--dry-run").out
    assert "compare   vector-tiles (candidate) with random (baseline)" in on_cpu
    assert "4 shapes x 2 configurations x 10 seeds = 80\n" in on_cpu
    assert "cost model" not in on_cpu  # sampling has none


def test_a_model_of_the_user_is_not_taken_for_that_of_metaschedule(run: Run, cpu: None) -> None:
    """Nobody knows from which trial on it guides; of the other configuration that is known."""
    random_too, own_too = (
        run("--baseline", "evolutionary", "--candidate", candidate, "--dry-run").out
        for candidate in ("random", "quick_configurations:UNGUIDED")
    )
    assert "; the cost model guides none of them (2 with" in random_too
    assert "; MetaSchedule's cost model guides none of them (2 with" in own_too


def test_a_dry_run_refuses_a_folder_that_may_not_be_written(
    run: Run, set_target: SetTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the sweep could not write is said before it, in one line; root may write anywhere."""
    set_target(CPU)
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path and asked(path, mode))
    outcome = run("--dry-run", "--out", str(tmp_path / "x.nc"))
    assert outcome.code == 2
    assert "its folder may not be written; give another place with --out" in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no container limits cores")
def test_a_container_limits_the_cores(run: Run, cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of searches follows the cores of the container, not of the machine."""
    monkeypatch.setattr("dask.system._try_extract_cgroup_cpu_quota", lambda: (50_000, 100_000))
    assert "searched by 1 core\n" in run("--dry-run").out


def test_without_a_gpu_the_cpu_is_said(run: Run, cpu: None) -> None:
    """Without a GPU and a chosen target the plan says that it is for the CPU, and why."""
    assert run("--dry-run").out.startswith("no CUDA device: ")
    assert run("--dry-run", "--target", "cpu").out.startswith("target    llvm: a CPU")


# What is done


def test_a_sweep_writes_its_dataset_and_names_the_next_command(run: Run, fake: None, cpu: None) -> None:
    """A sweep writes its dataset, names the next command, and records its own without circumstances."""
    outcome = run(*QUICK, *FAKES, "--seeds", "2", "--out", "-my own.nc")
    assert (outcome.code, outcome.err) == (0, "next: abtune analyze './-my own.nc'\n")
    assert outcome.out.endswith("-my own.nc: 4 of 4 runs done\n")
    assert "This design cannot find any single difference: use --seeds" in outcome.out
    dataset = abtune.open_dataset("-my own.nc")
    assert dataset["latency"].notnull().all()
    assert dataset.attrs["title"] == "new against plain"
    assert dataset.attrs["device"] == "a CPU"
    assert dataset.attrs["tvm_version"] == "0.27"
    command = shlex.split(dataset.attrs["command"])
    assert command[:2] == ["abtune", "sweep"]
    assert {"--seeds=2", f"--shapes={SMALL}", f"{FAKES[0]}={FAKES[1]}"} <= set(command)
    assert not [word for word in command if word.startswith(("--out", "--cores", "--dry-run", "--scheduler"))]


def test_a_finished_sweep_has_nothing_left(run: Run, fake: None, cpu: None) -> None:
    """The same command again does nothing and says so; a dry run counts what is left."""
    run(*QUICK, *FAKES, "--seeds", "2")
    assert "= 6, 2 left" in run(*QUICK, *FAKES, "--seeds", "3", "--dry-run").out
    again = run(*QUICK, *FAKES, "--seeds", "2")
    assert "= 4, 0 left" in again.out
    assert again.out.endswith("abtune.nc: 4 of 4 runs done\n")
    assert again.err == "next: abtune analyze\n"


def test_several_candidates_have_one_baseline(run: Run, fake: None, cpu: None) -> None:
    """The plan counts and names all; the level of the tests is divided by the number of candidates."""
    several = (*FAKES, "--candidate", "fake_configurations:EVEN")
    planned = run(*QUICK, *several, "--seeds", "5", "--dry-run").out
    assert "compare   new and even (candidates) with plain (baseline)\n" in planned
    assert "1 shape x 3 configurations x 5 seeds = 15\n" in planned
    assert "needs p = 0.025 or less at 97.5% confidence for each of 2 candidates." in " ".join(
        planned.split()
    )
    assert run(*QUICK, *several, "--seeds", "2").out.endswith("abtune.nc: 6 of 6 runs done\n")
    dataset = abtune.open_dataset("abtune.nc")
    assert dataset["config"].values.tolist() == ["plain", "new", "even"]
    assert dataset.attrs["title"] == "new and even against plain"
    assert f"--candidate={FAKES[3]},fake_configurations:EVEN" in shlex.split(dataset.attrs["command"])


@pytest.mark.parametrize("files", ["kept", "gone"])
def test_a_sweep_that_goes_on_may_add_a_candidate(run: Run, fake: None, cpu: None, files: str) -> None:
    """Finished runs stay, and the dataset is that of a sweep which had both candidates from the start."""
    several = (*FAKES, "--candidate", "fake_configurations:EVEN")
    run(*QUICK, *FAKES, "--seeds", "2")
    if files == "gone":
        shutil.rmtree("abtune.nc.runs")
    before = abtune.open_dataset("abtune.nc")["tuning_time"]
    assert "= 6, 2 left" in run(*QUICK, *several, "--seeds", "2", "--dry-run").out
    run(*QUICK, *several, "--seeds", "2")
    run(*QUICK, *several, "--seeds", "2", "--out", "once.nc")
    longer, once = abtune.open_dataset("abtune.nc"), abtune.open_dataset("once.nc")
    xr.testing.assert_equal(without_circumstances(longer), without_circumstances(once))
    assert longer["tuning_time"].sel(config=["plain", "new"]).equals(before)
    fewer = refused(run(*QUICK, *FAKES, "--seeds", "2"))
    assert "(configurations plain, new and even, now plain and new)" in fewer


def test_iterations_that_were_searched_twice_are_counted(run: Run, fake: None, cpu: None) -> None:
    """A sweep says how often a schedule that cannot be lowered was not refused early."""
    twice = "fake_configurations:REPEATED"
    outcome = run(*QUICK, "--baseline", FAKES[1], "--candidate", twice, "--seeds", "2")
    assert "2 iterations searched twice, because a schedule was not refused early;" in outcome.out
    assert "searched twice" not in run(*QUICK, *FAKES, "--seeds", "2", "--out", "plain.nc").out


def test_failed_runs_are_counted(run: Run, fake: None, cpu: None) -> None:
    """A sweep with failed runs succeeds, and says how many failed and where the reasons are."""
    outcome = run(*QUICK, "--baseline", FAKES[1], "--candidate", "fake_configurations:WRONG", "--seeds", "2")
    assert outcome.code == 0
    assert "abtune.nc: 4 of 4 runs done, 2 failed (see variable 'failure')" in outcome.out
    assert "2 of the failures: the winner computes a wrong result" in outcome.out


def test_failures_of_other_runs_are_not_counted(run: Run, fake: None, cpu: None) -> None:
    """A session counts the failures among its own runs, not those of other shapes in the dataset."""
    words = ("--baseline", "fake_configurations:EVEN", "--candidate", "fake_configurations:HALF")
    failing = run("--shapes", "M=32_N=16_K=16", *QUICK[2:], *words, "--seeds", "2")
    assert "4 of 4 runs done, 2 failed" in failing.out
    outcome = run(*QUICK, *words, "--seeds", "2")
    assert outcome.out.endswith("abtune.nc: 4 of 4 runs done\n")


def test_a_time_limit_is_said(run: Run, fake: None, cpu: None) -> None:
    """A sweep that ran out of time says so, and is no failure."""
    stuck = ("--baseline", "fake_configurations:EMPTY", "--candidate", "fake_configurations:STUCK")
    outcome = run(*QUICK, *stuck, "--seeds", "1", "--time-limit", "3s")
    assert outcome.code == 0
    assert "stopped by the time limit; the same command goes on" in outcome.out


@pytest.mark.parametrize("looks", [[], ["--until-settled"]], ids=["at once", "look by look"])
def test_a_time_limit_that_is_too_short_is_said(run: Run, fake: None, cpu: None, looks: list[str]) -> None:
    """The same command would get no further, however often it is given; one that did something goes on."""
    for _ in range(2):
        outcome = run(*QUICK, *FAKES, *looks, "--seeds", "1", "--time-limit", "0.001s")
        assert outcome.code == 0
        remedy = "stopped by the time limit before anything new was kept; give a longer --time-limit"
        assert outcome.out.splitlines()[-2:] == ["abtune.nc: 0 of 2 runs done", remedy]


def test_an_unfit_machine_is_one_line(run: Run, fake: None, cpu: None) -> None:
    """If no small kernel can be built the sweep ends with the reason and without a dataset."""
    outcome = run(*QUICK, "--baseline", FAKES[1], "--candidate", "fake_configurations:BROKEN")
    assert outcome.code == 2
    assert outcome.err == (
        "abtune: this machine cannot build and time kernels of 'broken': "
        "build: RuntimeError: the fault that was asked for\n"
    )
    assert not Path("abtune.nc").exists()


KEPT = "what is done is kept in abtune.nc, and the same command goes on"


@pytest.mark.parametrize("said", ["", f"; {KEPT}"])
def test_an_interrupt_is_130(
    run: Run, fake: None, cpu: None, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """An interrupted sweep says that what is done is kept, if anything is, and exits with 130."""

    def interrupt(*_: object, **__: object) -> None:
        if said:
            Path("abtune.nc").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("abtune.measure.sweep.run_sweep.sweep", interrupt)
    outcome = run(*QUICK, *FAKES)
    assert outcome.code == 130
    assert outcome.err == f"abtune: interrupted{said}\n"


@pytest.mark.parametrize("module", ["abtune.cli", "click"])
def test_an_interrupt_while_it_is_loaded_is_130(module: str) -> None:
    """An interrupt before a command has begun gives the same line and code as later."""
    script = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from abtune.__main__ import run\n"
        "sys.exit(run())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "abtune: interrupted\n")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("module", ["click", "abtune.commands.sweep"])
def test_a_signal_before_a_sweep_has_begun_ends_it_alike(name: str, module: str, empty_folder: Path) -> None:
    """While commands are loaded, a signal gives the same line and code as later."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in background
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "class Signal:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        f"            exec('os.kill(os.getpid(), signal.{name})')\n"  # as dataclasses do
        "sys.meta_path.insert(0, Signal())\n"
        "sys.argv[1:] = ['sweep', '--dry-run']\n"
        "from abtune.__main__ import run\n"
        "sys.exit(run())\n"
    )
    Path("begin.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "begin"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "abtune: interrupted\n")


def test_a_second_signal_changes_nothing(empty_folder: Path) -> None:
    """Whoever presses Ctrl-C twice, or a job system that is in a hurry, gets the same exit code."""
    script = (
        "import atexit, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "for name in ('SIGINT', 'SIGTERM'):\n"
        "    atexit.register(os.kill, os.getpid(), getattr(signal, name))\n"
        "class Signal:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click':\n"
        "            try:\n"
        "                os.kill(os.getpid(), signal.SIGTERM)\n"
        "            finally:\n"  # a second exception here would be a second interruption
        "                os.kill(os.getpid(), signal.SIGINT)\n"
        "                print('at the end')\n"
        "sys.meta_path.insert(0, Signal())\n"
        "from abtune.__main__ import run\n"
        "sys.exit(run())\n"
    )
    Path("begin.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "begin"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "at the end\n", "abtune: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals end a process at once there")
def test_a_signal_ends_a_process_that_a_thread_keeps() -> None:
    """A thread that the module of a configuration started would keep a sweep that is done for ever."""
    script = (
        "import os, signal, sys, threading, time\n"
        "def hang():\n"
        "    while threading.main_thread().is_alive():\n"  # until the interpreter waits for this thread
        "        time.sleep(0.01)\n"
        "    for _ in range(100):\n"  # CPython may miss one that comes just before it waits
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(1)\n"
        "threading.Thread(target=hang).start()\n"
        "sys.argv[1:] = ['--version']\n"
        "from abtune.__main__ import run\n"
        "sys.exit(run())\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    """A command without standard streams does its work, and prints nothing."""
    command = f"{shlex.quote(sys.executable)} -m abtune datasets {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


# What is refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "0"], "'--seeds': 0 is not in the range 1<=x<=10000"),
        (["--trials", "0"], "'--trials': 0 is not in the range x>=1"),
        (["--trials-per-iter", "0"], "'--trials-per-iter': 0 is not in the range"),
        (["--rounds", "0"], "'--rounds': 0 is not in the range"),
        (["--repeats", "-1"], "'--repeats': -1 is not in the range"),
        (["--cores", "0"], "'--cores': 0 is not in the range"),
        (["--rng-seed", "-1"], "'--rng-seed': -1 is not in the range"),
        (["--seeds", "many"], "'--seeds': 'many' is not a whole number."),
        (["--time-limit", "0s"], "'0s' is no time span; give one such as 90s, 15m or 2h"),
        (["--time-limit", "15"], "'15' is no time span; give one such as 90s, 15m or 2h"),
        (["--time-limit", "soon"], "'soon' is no time span"),
        (["--time-limit", "-5m"], "'-5m' is no time span"),
        (["--time-limit", "inf"], "'inf' is no time span"),
        (["--time-limit", "5d"], "'5d' is no time span"),
        (["--shapes", "M=512_N=256"], "unknown shape 'M=512_N=256'; did you mean: M=512_N="),
        (["--shapes", "tvm1409"], "unknown shape or preset 'tvm1409'; did you mean: tvm14009"),
        (["--shapes", "Q=*"], "no shape of a preset matches 'Q=*'; presets: tvm14009, quick"),
        (["--shapes", "M=0_N=1_K=1"], "m must be positive, not 0"),
        (["--shapes", "M=1000000000000_N=1_K=1"], "m must be at most 2147483647, not 1000000000000"),
        (["--shapes", "quick,,quick"], "there is an empty name in the list"),
        (["--baseline", "mainlin"], "unknown configuration 'mainlin'; did you mean: mainline"),
        (["--candidate", "asink"], "unknown configuration 'asink'; did you mean: async"),
        (["--candidate", "absent:NEW"], "cannot import 'absent:NEW'"),
        (["--candidate", "json:NEW"], "module 'json' has no attribute 'NEW'"),
        (
            ["--candidate", "json:dumps"],
            "json:dumps is of type function, not abtune.configurations.Configuration",
        ),
        (
            ["--baseline", "random", "--candidate", "random"],
            "the configuration 'random' is given twice; baseline and candidates must differ",
        ),
        (["--candidate", "random", "--candidate", "async", "--share"], "--share takes one candidate, not 2"),
        (["--candidate", "random,async", "--until-settled"], "--until-settled takes one candidate, not 2"),
        (
            ["--baseline", "mainline"],
            "configuration 'mainline' needs a cuda target; use random and",
        ),
        (["--out", "absent/abtune.nc"], "cannot write absent/abtune.nc: there is no folder absent"),
        (["--out", "."], "cannot write .: it is not a regular file"),
        (["--out", ".."], "cannot write ..: it is not a regular file"),
        (["--out", "mine.txt"], "cannot write mine.txt: a dataset is netCDF, not TXT; call it mine.nc"),
        (["--out", "mine.dat"], "mine.dat is no sweep to go on with: not a netCDF file; give another --out"),
        (["--out", "mine.dat/abtune.nc"], "cannot write mine.dat/abtune.nc: there is no folder mine.dat"),
        (["--out", "a" * 300], "File name too long"),
        (["--sedes", "3"], "--sedes"),
        (["extra"], "unexpected extra argument"),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_bad_arguments_are_one_line(
    run: Run, cpu: None, arguments: list[str], said: str, dry: list[str]
) -> None:
    """A wrong argument is refused in one line, and nothing is written."""
    Path("mine.dat").write_text("mine", encoding="utf-8")
    assert said in refused(run(*arguments, *dry))
    assert files() == ["mine.dat"]
    assert Path("mine.dat").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links take a privilege there")
def test_a_link_into_nowhere_is_one_line(run: Run, cpu: None) -> None:
    """The error names the missing folder that the link leads to."""
    Path("link.nc").symlink_to(Path("absent/abtune.nc").absolute())
    said = refused(run(*QUICK, "--out", "link.nc"))
    assert f"abtune: cannot write link.nc: there is no folder {Path('absent').absolute()};" in said


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_no_dataset_can_have_is_refused_at_once(run: Run, cpu: None) -> None:
    """A netCDF file has a name in Unicode; a sweep found that out after its last search."""
    for name in ("caf\udce9.nc", "caf\udce9/mine.nc"):
        Path(name).parent.mkdir(exist_ok=True)
        said = refused(run(*QUICK, "--out", name))
        assert "its name, or that of its folder, is not valid Unicode; give another place" in said


def test_runs_whose_settings_are_lost_are_one_line(run: Run, fake: None, cpu: None) -> None:
    """Runs without description and dataset are refused, because their settings are unknown."""
    run(*QUICK, *FAKES, "--seeds", "1")
    Path("abtune.nc").unlink()
    Path("abtune.nc.runs/sweep.json").unlink()
    for dry in ([], ["--dry-run"]):
        said = refused(run(*QUICK, *FAKES, "--seeds", "1", "--trials", "3", *dry))
        assert "holds runs, but no sweep.json with their settings" in said


def test_other_settings_are_one_line(run: Run, fake: None, cpu: None) -> None:
    """A sweep or dry run over files with other settings is refused with the difference; the files stay."""
    run(*QUICK, *FAKES, "--seeds", "1")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for dry in ([], ["--dry-run"]):
        said = refused(run(*QUICK, *FAKES, "--seeds", "1", "--trials", "3", *dry))
        assert "abtune.nc was begun with other settings (trials: 2, now 3)" in said
    swapped = ("--baseline", FAKES[3], "--candidate", FAKES[1])
    assert "(configurations plain and new, now new and plain)" in refused(run(*QUICK, *swapped))
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_damaged_file_is_one_line(run: Run, fake: None, cpu: None) -> None:
    """A damaged file of an earlier session is named, with what to do, unless the dataset has its run."""
    run(*QUICK, *FAKES, "--seeds", "1")
    damaged = next(Path("abtune.nc.runs/runs").iterdir())
    damaged.write_text("{", encoding="utf-8")
    assert run(*QUICK, *FAKES, "--seeds", "1", "--dry-run").code == 0
    Path("abtune.nc").unlink()
    assert f"{damaged} cannot be read (" in refused(run(*QUICK, *FAKES, "--seeds", "1"))


def test_no_scheduler_is_one_line(run: Run, fake: None, cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address without a scheduler is refused by name and leaves no dataset."""
    monkeypatch.setattr("abtune.measure.workers.cluster.CONNECT_TIMEOUT", 0.2)
    outcome = run(*QUICK, *FAKES, "--scheduler", "tcp://127.0.0.1:9")
    assert outcome.code == 2
    assert outcome.err.startswith("abtune: no dask scheduler answers at 'tcp://127.0.0.1:9': ")
    assert outcome.err.endswith("; give the address of one that runs\n")
    assert outcome.err.count("\n") == 1
    assert not Path("abtune.nc").exists()


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({}, "apache-tvm is not installed; run: pip install 'abtune[sweep]'"),
        (
            {"apache-tvm": "0.27.0", "apache-tvm-ffi": "0.1.15.post2"},
            "apache-tvm-ffi 0.1.15.post2 crashes MetaSchedule; run: pip install 'apache-tvm-ffi<0.1.15'",
        ),
    ],
)
def test_an_unusable_tvm_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], said: str
) -> None:
    """A missing TVM, or one whose FFI crashes, is refused with the command that mends it."""
    pretend_installed(monkeypatch, installed)
    assert said in refused(run("--target", "cpu"))
    assert files() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("cuda", "no usable CUDA device"),
        ("bogus", "string failed: bogus; give cuda or cpu, or a target of TVM"),
        ('{"kind": "bogus"}', "TVM does not understand target"),
        ("{broken", "TVM does not understand target"),
        (
            "llvm -mcpu=haswell",
            'give cuda or cpu, or a target of TVM such as {"kind": "llvm", "mcpu": "haswell"}',
        ),
        ("c", "target 'c' is not supported; use cuda or llvm"),
    ],
)
def test_unusable_targets_are_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    """A GPU that is not there and a target that TVM does not know are refused in one line."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert said in refused(run("--dry-run", "--target", target))
    assert files() == []


def test_what_find_target_says_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error about the target is the line, as it is."""

    def fail(spec: str, *_: str) -> TargetFacts:
        raise TargetError(f"nothing is known of {spec}")

    monkeypatch.setattr("abtune.measure.workers.find_target.find_target", fail)
    assert refused(run("--target", "this")) == "abtune: nothing is known of this\n"


def test_old_gpus_are_refused(run: Run, set_target: SetTarget) -> None:
    """A GPU without asynchronous copies is told which configurations it can run."""
    set_target(replace(GPU, arch=75))
    said = refused(run())
    assert "needs compute capability sm_80 or newer; use random and evolutionary" in said
    assert run("--baseline", "random", "--candidate", "evolutionary", "--dry-run").code == 0


# How far it is


def test_a_terminal_gets_a_bar() -> None:
    """On a terminal the phase, the count and the time left are shown, and gone when all is done."""
    stream = Terminal()
    with progress_for(stream) as progress:
        assert isinstance(progress, _Bar)
        assert progress._progress is not None
        progress.advance(1)
        progress.begin("trials", 4, 1)
        progress.advance(2)
        progress.begin("winners re-measured", 2, 0)
        progress._progress.refresh()
    shown = stream.getvalue()
    assert "trials" in shown
    assert "winners re-measured" in shown
    assert "0/2" in shown
    assert "left" in shown


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_a_warning_is_shown_at_once_and_stays(kind: type[io.StringIO]) -> None:
    """It has a line of its own, without markup."""
    stream = kind()
    with progress_for(stream) as progress:
        progress.begin("trials", 4, 1)
        progress.warn("no worker with [device] slots")
    assert "no worker with [device] slots\n" in stream.getvalue()


def test_the_time_left_of_slow_searches_is_known() -> None:
    """The time left is known although a minute passes between two steps."""
    now = 0.0
    with progress_for(Terminal()) as progress:
        assert isinstance(progress, _Bar)
        assert progress._progress is not None
        progress._progress.get_time = lambda: now
        progress.begin("trials", 640, 64)
        for _ in range(4):
            now += 60.0
            progress.advance(64)
        assert progress._progress.tasks[0].time_remaining == 5 * 60.0


def test_a_log_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a pipe gets what is done, the time left at the speed so far if there is any, and the news."""
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    stream = io.StringIO()
    with progress_for(stream) as progress:
        progress.begin("trials", 4_000, 1_000)
        now = 30.0
        progress.advance(500)
        assert stream.getvalue() == ""
        now = 60.0
        progress.tell("1 run failed")
        progress.advance(300)
        progress.advance(1)
        now = 120.0
        progress.tell("")
        progress.advance(599)
        now = 180.0
        progress.advance(1_600)
    assert stream.getvalue().splitlines() == [
        "trials: 1,800 of 4,000; 1 run failed",  # half a minute of trials tells no speed
        "trials: 2,400 of 4,000; about 3 min left",
        "trials: 4,000 of 4,000",
    ]


def test_a_reader_of_the_log_may_leave(capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep of hours goes on without it, and discards what it would have said."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream, progress_for(stream) as progress:
        progress.begin("trials", 2, 0)
        progress.warn("one run failed")
        progress.warn("another, too")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_may_be_closed() -> None:
    """A sweep in the background goes on where the terminal of its bar is gone."""
    here, there = os.openpty()
    with os.fdopen(there, "w", encoding="utf-8") as stream, progress_for(stream) as progress:
        assert isinstance(progress, _Bar)
        os.close(here)
        progress.begin("trials", 2, 0)
        progress.warn("one run failed")


def test_looks_that_nobody_reads_end_no_sweep(run: Run, cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A standard output that is gone or full is told at the end, and not at the first look."""

    def settle(*_: object, report: Callable[[Look, int], None], **__: object) -> None:
        monkeypatch.setattr("abtune.commands.sweep.emit", fail)
        report(Look(seeds=2, alpha=0.01), 1)
        raise KeyboardInterrupt

    def fail(text: str) -> None:
        raise OSError(errno.EIO, text)

    monkeypatch.setattr("abtune.measure.sweep.run_sweep.settle", settle)
    assert run(*QUICK, "--until-settled").code == 130


def test_the_recorded_command_can_be_repeated(
    run: Run, set_target: SetTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell splits the recorded command into the original words."""
    set_target(CPU)
    recorded: list[str] = []

    def note(*_: object, about: dict[str, str], **__: object) -> None:
        recorded.append(about["command"])
        raise KeyboardInterrupt

    monkeypatch.setattr("abtune.measure.sweep.run_sweep.sweep", note)
    target = json.dumps({"kind": "llvm", "num-cores": 1})
    run("--shapes", "M=512_*,quick", "--target", target)
    words = shlex.split(recorded[0])
    assert f"--target={target}" in words
    assert "--shapes=M=512_*,quick" in words
