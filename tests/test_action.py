"""The action and the workflow of docs/ci.md: their form is GitHub's, and their steps work.

Steps are run as GitHub runs them, with a gh that only keeps what it is asked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_sweep import swept

import abtune

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW_TEXT = (
    (ROOT / "docs/ci.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
)
JOB_STEPS = yaml.safe_load(WORKFLOW_TEXT)["jobs"]["judge"]["steps"]
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
# A sweep is planned only. gh keeps its arguments and its file, and says which comment there is.
PROGRAMS = {
    "abtune": f"""#!/bin/sh
test "$1" = sweep && set -- "$@" --target cpu --dry-run --out new.nc
PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m abtune "$@"
""",
    "gh": """#!/bin/sh
echo "$@" >> calls.txt
case "$*" in *--paginate*) printf "$OLD" ;; *) cp abtune-report/comment.md sent.md ;; esac
""",
}
EVENT = {"github.token": "t", "github.repository": "me/it", "github.event.number": "7"}
EVENT["steps.report.outputs.sentence"] = "new is faster."


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


def perform(
    step: dict[str, Any], programs: Path, inputs: dict[str, str] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner of GitHub does, with inputs of the action or their defaults."""
    defaults = {name: str(about["default"]) for name, about in ACTION["inputs"].items()}
    given = {f"inputs.{name}": value for name, value in {**defaults, **(inputs or {})}.items()} | EVENT
    environment |= {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: given[match[1]], str(value))
        for name, value in step.get("env", {}).items()
    }
    assert "${{" not in step["run"], "an input inside of a command could be a command"
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "outputs.txt"}
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(ROOT)}
    command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command,
        env={**os.environ, **path, **files, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", "docs/ci.md"),
        ("github-workflows", ".github/workflows/tests.yml"),
        ("github-workflows", ".github/workflows/site.yml"),
        ("github-workflows", ".github/workflows/release.yml"),
    ],
    ids=lambda value: value,
)
def test_the_form_is_that_of_github(schema: str, file: str, tmp_path: Path) -> None:
    """GitHub's own schemas accept the action and the workflows."""
    pytest.importorskip("check_jsonschema", reason="pip install 'abtune[dev]'")
    path = ROOT / file
    if path.suffix == ".md":
        path = tmp_path / "tuning.yml"
        path.write_text(WORKFLOW_TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_site_that_is_built_is_published() -> None:
    """The folder that is uploaded is the one of mkdocs, and the build is strict."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))["jobs"]
    *_, build, upload = jobs["build"]["steps"]
    config = ROOT / build["run"].partition("mkdocs build --strict -f ")[2]
    written = re.search("^site_dir: (.*)", config.read_text("utf-8"), re.M)
    assert written is not None
    assert (config.parent / written[1]).resolve() == ROOT / upload["with"]["path"]
    assert upload["uses"].startswith("actions/upload-pages-artifact@")
    (deploy,) = jobs["publish"]["steps"]
    assert deploy["uses"].startswith("actions/deploy-pages@")
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_a_release_has_the_urls_of_its_repository(empty_folder: Path) -> None:
    """A step of the release writes them, so nobody has to know them before; a tag must be the version."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    steps = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    tag = f"v{abtune.__version__}"
    given = {"GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "me/it", "GITHUB_REF_NAME": tag}
    Path("abtune").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "abtune/version.py"):
        shutil.copy(ROOT / name, name)
    assert [perform({"run": step}, empty_folder, **given).returncode for step in steps[:2]] == [0, 0]
    assert perform({"run": steps[0]}, empty_folder, **given | {"GITHUB_REF_NAME": f"{tag}.1"}).returncode == 1
    home = "https://git.example/me/it"
    urls = {"Repository": home, "Issues": f"{home}/issues", "Changelog": f"{home}/blob/{tag}/CHANGELOG.md"}
    assert tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["urls"] == urls
    backend = pytest.importorskip("hatchling.build", reason="pip install 'abtune[dev]'")
    metadata = Path(backend.prepare_metadata_for_build_wheel("."), "METADATA").read_text("utf-8")
    assert re.findall("^Project-URL: (.*), (.*)$", metadata, re.M) == list(urls.items())


def test_the_workflow_uses_the_action() -> None:
    """Its inputs exist, it may write comments, and the document lists every input with its default."""
    (judge,) = [step for step in JOB_STEPS if step.get("uses", "").startswith("OWNER/abtune@")]
    assert judge["with"].keys() <= ACTION["inputs"].keys()
    assert yaml.safe_load(WORKFLOW_TEXT)["permissions"]["pull-requests"] == "write"
    rows = re.findall(r"^\| `(\S+)` \| (.*?) \|", (ROOT / "docs/ci.md").read_text("utf-8"), re.M)
    shown = {"": "none", "${{ github.token }}": "the job's"}
    assert dict(rows) == {
        name: shown.get(about["default"], f"`{about['default']}`") for name, about in ACTION["inputs"].items()
    }


def test_the_sweep_of_the_workflow_can_be_planned(programs: Path) -> None:
    """The step that sweeps takes the arguments it has."""
    (sweep,) = [step for step in JOB_STEPS if "run" in step]
    done = perform(sweep, programs)
    assert done.returncode == 0, done.stderr


def test_reports_and_a_closed_gate(programs: Path) -> None:
    """Reports, summary and sentence are written, and the gate closes on a regression with an annotation."""
    installed, reported = (perform(STEPS[name], programs) for name in ("install", "report"))
    assert installed.stdout == f"{programs / 'abtune'}\n"
    assert reported.returncode == 0, reported.stderr
    report = Path("abtune-report/report.md").read_text(encoding="utf-8")
    assert report.startswith("## async against mainline\n")
    assert Path("summary.md").read_text(encoding="utf-8") == report
    assert Path("abtune-report/report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "<testsuite " in Path("abtune-report/junit.xml").read_text(encoding="utf-8")
    start, sentence, end = Path("outputs.txt").read_text(encoding="utf-8").splitlines()
    assert (start, end) == ("sentence<<end-of-sentence", "end-of-sentence")
    assert sentence.startswith("async is faster than mainline on average over these 5 shapes")
    gate = perform(STEPS["gate"], programs)
    assert gate.returncode == 1
    assert "::error title=M=256_N=256_K=256::regressed" in gate.stdout


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, 0),
        ({"fail-on": "regressed"}, 0),
        ({"dataset": "tvm14009-rtx3080"}, 1),
        ({"fail-on": ""}, 0),
        ({"fail-on": "regressed slower-than:5%"}, 1),
        ({"fail-on": "slower-than:15%", "arguments": "--shapes M=896_* --tolerance 10"}, 0),
        ({"fail-on": "never"}, 2),
        ({"arguments": "--format; touch harm"}, 2),
    ],
    ids=str,
)
def test_gates_on_bundled_data(programs: Path, inputs: dict[str, str], code: int) -> None:
    """Gates and arguments arrive as words, also several; what is a command in them is none."""
    done = perform(STEPS["gate"], programs, {"dataset": "h200-pilot", **inputs})
    assert done.returncode == code, done.stderr
    assert not Path("harm").exists()


@pytest.mark.parametrize(
    ("old", "call"),
    [
        ("", "--method POST repos/me/it/issues/7/comments"),
        ("42\n", "--method PATCH repos/me/it/issues/comments/42"),
        ("42\n43\n", "--method PATCH repos/me/it/issues/comments/42"),
    ],
)
def test_there_is_one_comment(programs: Path, old: str, call: str) -> None:
    """The first report makes a comment, later ones replace it."""
    Path("abtune-report").mkdir()
    Path("abtune-report/report.md").write_text("## Report\n")
    done = perform(STEPS["comment"], programs, OLD=old)
    assert done.returncode == 0, done.stderr
    asked, sent = Path("calls.txt").read_text().splitlines()
    assert asked.startswith("api --paginate repos/me/it/issues/7/comments --jq ")
    assert sent == f"api --silent {call} --field body=@abtune-report/comment.md"
    assert Path("sent.md").read_text() == "<!-- abtune -->\n## Report\n"


def test_a_long_report_is_not_refused_as_a_comment(programs: Path) -> None:
    """GitHub takes 65,536 characters; of more, the comment has the sentence alone."""
    Path("abtune-report").mkdir()
    Path("abtune-report/report.md").write_text("| row |\n" * 10_000)
    done = perform(STEPS["comment"], programs, OLD="")
    assert done.returncode == 0, done.stderr
    sent = Path("sent.md").read_text()
    assert sent == "<!-- abtune -->\nnew is faster.\n\nThe summary of the run has the whole report.\n"
