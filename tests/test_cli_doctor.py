"""``abtune doctor`` on the command line: its table, its exit code, and that nothing else is printed."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from running import Run

from abtune.cli import main
from abtune.errors import TargetError
from abtune.measure.diagnose import Finding, Level

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine look idle and have memory."""
    monkeypatch.setattr("abtune.measure.plan.workplace.busy_cores", lambda: 0.0)
    monkeypatch.setattr("abtune.measure.diagnose._available_memory", lambda: 64e9)
    monkeypatch.setattr("abtune.measure.diagnose.allocator", lambda: {"LD_PRELOAD": "fast"})


@pytest.mark.usefixtures("quiet")
def test_a_real_trial_prints_one_table(capfd: pytest.CaptureFixture[str]) -> None:
    """The CPU of this machine can sweep: kernels are built and timed, and TVM prints nothing."""
    code = main(["doctor", "--target", "cpu"])
    captured = capfd.readouterr()
    assert (code, captured.err) == (0, "")
    lines = captured.out.splitlines()
    assert [line.split("  ")[0] for line in lines[4:] if line and line[0] != " "] == [
        "Python",
        "packages",
        "TVM",
        "C compiler",
        "target",
        "cores",
        "allocator",
        "load",
        "output",
        "trial",
    ]
    assert "kernels of random and vector-tiles were built and timed in" in " ".join(captured.out.split())
    assert lines[:2] == ["this machine", "ready: a sweep can run here"]


@pytest.mark.usefixtures("quiet")
def test_problems_end_with_two(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem says what to do in a line of its own, nothing is tried, and the exit code is 2."""

    def find_target(spec: str) -> None:
        raise TargetError("no usable CUDA device (no NVIDIA driver here); use --target cpu")

    monkeypatch.setattr("abtune.measure.diagnose.find_target", find_target)
    done = run("doctor")
    assert (done.code, done.err) == (2, "")
    assert re.search(
        r"target +problem +no usable CUDA device \(no NVIDIA driver here\) +use --target cpu\n", done.out
    )
    assert done.out.startswith("this machine\nnot ready: 1 problem\n")
    assert "\ntrial " not in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="a working folder cannot be removed there")
def test_a_working_folder_that_was_removed_is_one_line(run: Run, empty_folder: Path) -> None:
    """The system names no file then, so the line says what is gone."""
    gone = empty_folder / "gone"
    gone.mkdir()
    os.chdir(gone)  # empty_folder goes back
    gone.rmdir()
    done = run("doctor", "--no-trial", "--target", "cpu")
    assert (done.code, done.out) == (2, "")
    assert done.err == "abtune: the folder in which this runs is gone; change to another one\n"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A sweep with many cores opens many files, and only the user can raise the limit."""

    def diagnose(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("abtune.measure.diagnose.diagnose", diagnose)
    done = run("doctor")
    assert done.code == 2
    assert done.err == "abtune: too many files are open; raise the limit: ulimit -n 4096\n"


NO_MEMORY = "failed to map segment from shared object"  # the words of the system's loader
DRY_RUN = ["sweep", "--dry-run", "--target", "cpu", "--shapes", "quick"]


@pytest.mark.parametrize("package", ["numpy", "packaging", "rich", "xarray"])
def test_a_package_that_looking_takes_is_a_line(package: str) -> None:
    """A missing package without which no check can begin is named in one line."""
    without = f"import sys; sys.modules[{package!r}] = None"
    script = f"{without}; from abtune.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"abtune: {package} is missing; run: pip install --upgrade abtune\n"


@pytest.mark.parametrize("module", ["numpy", "random"])
def test_a_file_of_the_user_hides_no_module(tmp_path: Path, module: str) -> None:
    """The working directory is no place where the command looks for what it imports."""
    (tmp_path / f"{module}.py").write_text("raise ValueError('mine')", encoding="utf-8")
    command = [sys.executable, "-m", "abtune", "analyze", "h200-pilot", "--section", "summary"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("words", "package", "code", "said"),
    [
        (
            ["analyze", "h200-pilot"],
            "xarray",
            "raise ImportError('libhdf5.so: \\x1b[31m\\nno such file')",
            "a package cannot be imported (libhdf",
        ),
        (
            DRY_RUN,
            "tvm",
            "raise ImportError('first line\\nlast')",
            "TVM or XGBoost cannot be imported (ImportError: last)",
        ),
        (
            ["analyze", "h200-pilot"],
            "xarray",
            f"raise ImportError('x.so: {NO_MEMORY}')",
            "a package cannot be",
        ),
        (
            DRY_RUN,
            "tvm",
            f"raise ImportError('x.so: {NO_MEMORY}')",
            "TVM or XGBoost cannot be imported (ImportError: x.so",
        ),
        # Its first use is in the second iteration of a search, when much has been tried.
        (
            DRY_RUN,
            "xgboost",
            "raise OSError('libgomp.so')",
            "TVM or XGBoost cannot be imported (OSError: lib",
        ),
        (
            DRY_RUN,
            "tvm",
            "import os; os.abort()",
            "TVM or XGBoost cannot be imported (process killed by SIGABRT)",
        ),
    ],
)
def test_a_package_that_is_broken_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], package: str, code: str, said: str
) -> None:
    """What fails or dies while it is imported is named whole in one line, with what to do about it."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    command = [sys.executable, "-m", "abtune", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"abtune: {said}")
    assert ("; free memory" if NO_MEMORY in code else "; run: pip install --force-reinstall") in done.stderr
    assert "\x1b" not in done.stderr


def test_a_trial_that_fails_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem of the trial makes the machine not ready."""
    failed = Finding(name="trial", level=Level.PROBLEM, state="it failed", advice="mend it")
    monkeypatch.setattr("abtune.measure.diagnose.check_trial", lambda *arguments: failed)
    done = run("doctor", "--target", "cpu")
    assert done.code == 2
    assert done.out.startswith("this machine\nnot ready: 1 problem\n")
    assert done.out.endswith("mend it\n")


def test_findings_for_scripts(run: Run) -> None:
    """JSON has every finding by its fields, and whether a sweep can run."""
    done = run("doctor", "--target", "cpu", "--no-trial", "--format", "json")
    document = json.loads(done.out)
    assert document["ready"] is (done.code == 0)
    assert set(document["findings"][0]) == {"name", "level", "state", "advice"}


@pytest.mark.usefixtures("quiet")
def test_no_trial_only_looks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --no-trial nothing is started but the process that describes the target."""
    monkeypatch.setattr("abtune.measure.diagnose.check_trial", None)
    done = run("doctor", "--target", "cpu", "--no-trial")
    assert done.code == 0
    assert "\ntrial " not in done.out


@pytest.mark.parametrize("columns", ["60", "100"])
@pytest.mark.usefixtures("quiet")
def test_lines_are_as_wide_as_those_of_a_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """Findings and advice are wrapped at the width that COLUMNS gives, and no word of them is lost."""
    monkeypatch.setenv("COLUMNS", columns)
    state = "one word after the other, " * 9 + "the last"
    advice = "do this and then that and then " * 9 + "rest"
    finding = Finding(name="output", level=Level.WARNING, state=state, advice=advice)
    monkeypatch.setattr("abtune.measure.diagnose.check_output", lambda _: finding)
    lines = run("doctor", "--target", "cpu", "--no-trial").out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    words = " ".join(" ".join(lines).split())
    assert [words.count(word) for word in ("after", "then", "rest")] == [9, 18, 1]
    assert sum(line.startswith("                     ") for line in lines) >= 5
