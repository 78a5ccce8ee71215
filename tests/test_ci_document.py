"""The workflow in docs/ci.md works: its steps are run, with a gh that only keeps what it is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_sweep import swept

import abtune

ROOT = Path(__file__).parent.parent
# A sweep is planned only. gh keeps its arguments and its file, and says which comment there is.
PROGRAMS = {
    "abtune": f"""#!/bin/sh
test "$1" = sweep && set -- "$@" --target cpu --dry-run --out new.nc
PYTHONPATH={ROOT} exec {sys.executable} -m abtune "$@"
""",
    "gh": """#!/bin/sh
echo "$@" >> calls.txt
case "$*" in *--paginate*) printf "$OLD" ;; *) cp comment.md sent.md ;; esac
""",
}


@pytest.fixture
def steps() -> dict[str, dict[str, Any]]:
    """Return the steps of the workflow that run commands."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    assert workflow["permissions"]["pull-requests"] == "write"
    return {step["name"]: step for step in workflow["jobs"]["judge"]["steps"] if "run" in step}


@pytest.fixture
def programs(tmp_path: Path, empty_folder: Path) -> Path:
    """Put a dataset into the working folder, and return a folder of programs."""
    abtune.save_dataset(swept(), "abtune.nc")
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def perform(step: dict[str, Any], programs: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner of GitHub does."""
    values = {
        "${{ github.token }}": "t",
        "${{ github.repository }}": "me/it",
        "${{ github.event.number }}": "7",
    }
    given = {name: str(value) for name, value in step.get("env", {}).items()}
    for name, text in given.items():
        for word, value in values.items():
            given[name] = given[name].replace(word, value)
        assert "${{" not in given[name], text
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": "summary.md"}
    command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command,
        env={**os.environ, **given, **path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_step_works(steps: dict[str, dict[str, Any]], programs: Path) -> None:
    """The report is written, the summary and the comment have it, and the gate closes on a regression."""
    assert list(steps) == ["sweep", "report", "comment", "gate"]
    planned, reported = (perform(steps[name], programs) for name in ("sweep", "report"))
    assert planned.returncode == 0, planned.stderr
    assert reported.returncode == 0, reported.stderr
    report = Path("report.md").read_text(encoding="utf-8")
    assert report.startswith("## async against mainline\n")
    assert Path("summary.md").read_text(encoding="utf-8") == report
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "<testsuite " in Path("junit.xml").read_text(encoding="utf-8")
    gate = perform(steps["gate"], programs)
    assert gate.returncode == 1
    assert "::error title=M=256_N=256_K=256::regressed" in gate.stdout


@pytest.mark.parametrize(
    ("old", "call"),
    [
        ("", "api --silent --method POST repos/me/it/issues/7/comments --field body=@comment.md"),
        ("42\n", "api --silent --method PATCH repos/me/it/issues/comments/42 --field body=@comment.md"),
    ],
)
def test_there_is_one_comment(steps: dict[str, dict[str, Any]], programs: Path, old: str, call: str) -> None:
    """The first report makes a comment, later ones replace it."""
    Path("report.md").write_text("## Report\n")
    done = perform(steps["comment"], programs, OLD=old)
    assert done.returncode == 0, done.stderr
    asked, sent = Path("calls.txt").read_text().splitlines()
    assert asked.startswith("api --paginate repos/me/it/issues/7/comments --jq ")
    assert sent == call
    assert Path("sent.md").read_text() == "<!-- abtune -->\n## Report\n"
