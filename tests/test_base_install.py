"""The base package, without any extra, runs every command that analyses or imports.

Each command runs in a process of its own, in an empty folder, where no package of an extra can be imported.
``ABTUNE_PYTHON`` names the interpreter of another environment; ``.ci/wheel`` gives that of a fresh one, into
which only the wheel was installed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from abtune.errors import EXTRAS, missing_package
from abtune.report.formats.format_registry import FORMATS
from abtune.sections.section_registry import SECTIONS
from abtune.version import __version__

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "ingest" / "samples"
PILOT, TABLE = "h200-pilot", "tvm14009-rtx3080"
OTHER = os.environ.get("ABTUNE_PYTHON")
SCRIPT = f"""
import sys
for name in {sorted(EXTRAS)}:
    sys.modules[name] = None
from abtune.cli import main
sys.exit(main(sys.argv[1:]))
"""


def abtune(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command without the packages of the extras."""
    python = [OTHER, "-I"] if OTHER else [sys.executable]
    python += ["-X", "utf8"]  # which Windows may not write otherwise
    return subprocess.run(
        [*python, "-c", SCRIPT, *words], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )


WITHOUT_EXTRAS = {"noise", "overall", "curve"}
ANALYSING = [
    ("--help",),
    ("datasets",),
    ("sweep", "--help"),
    ("measure", "--help"),
    # One command writes all formats that a file name chooses, and another one prints one of the others.
    ("analyze", PILOT, *(f"--out=r{suffix}" for form in FORMATS.values() for suffix in form.suffixes[:1])),
    *(("analyze", PILOT, "--format", form.name) for form in FORMATS.values() if not form.suffixes),
    ("analyze", PILOT, "--section", ",".join(name for name in SECTIONS if name in WITHOUT_EXTRAS)),
    ("analyze", PILOT, "--explain", "M=512_*"),
    ("analyze", "h200-tvm14009", "--section", "report,same-schedule"),
    ("analyze", TABLE, "--section", "report,single-run"),
    ("power", PILOT, "--shapes", "29"),
    ("calibrate", PILOT, "--replications", "100"),
    ("compare", PILOT, "h200-deep"),
    ("import", str(SAMPLES / "times.csv"), "--out", "o.nc"),
    ("import", "--run", f"old={SAMPLES / 'pyperf-1.json'}", "--out", "o.nc"),
    ("import", "databases", "--run", f"old={SAMPLES / 'tuned' / 'mainline-0'}", "--out", "o.nc"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", ANALYSING, ids=lambda words: " ".join(Path(word).name for word in words))
def test_analysing_takes_no_extra(words: tuple[str, ...], tmp_path: Path) -> None:
    """A command that analyses or imports works where no package of an extra can be imported."""
    done = abtune(*words, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_what_was_imported_can_be_merged_and_judged(tmp_path: Path) -> None:
    """Two files become two datasets, one dataset, and a verdict."""
    for number, name in enumerate(["old", "new"], start=1):
        source = f"{name}={SAMPLES / f'pyperf-{number}.json'}"
        assert abtune("import", "--run", source, "--out", f"{name}.nc", folder=tmp_path).returncode == 0
    assert abtune("merge", "old.nc", "new.nc", "--out", "abtune.nc", folder=tmp_path).returncode == 0
    assert abtune("analyze", folder=tmp_path).stdout.startswith("new against old\n")
    timings = abtune("analyze", "--section", "report,timings", folder=tmp_path)
    assert (timings.returncode, timings.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("sweep", ("sweep", "--target", "cpu", "--shapes", "quick", "--dry-run")),
        ("sweep", ("sweep", "--target", "cpu", "--shapes", "quick")),
        ("sweep", ("measure", PILOT, "--out", "o.nc")),
        ("plot", ("plot", PILOT, "--out", "o.png")),
        ("plot", ("plot", PILOT, "--kind", "curve", "--out", "o.png")),
    ],
)
def test_a_missing_extra_is_one_line(extra: str, words: tuple[str, ...], tmp_path: Path) -> None:
    """A command that takes an extra names it, ends with 2 and leaves nothing behind."""
    done = abtune(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("abtune: ")
    assert done.stderr.endswith(f"; run: pip install 'abtune[{extra}]'\n")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not OTHER, reason="needs an environment with the wheel")
def test_an_index_shows_nothing_that_is_not_there() -> None:
    """The long description has no pictures, and links only to other sites."""
    code = "from importlib.metadata import metadata; print(metadata('abtune').get_payload())"
    command = [str(OTHER), "-I", "-X", "utf8", "-c", code]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert "Which of these speedups".casefold() in text.casefold()
    assert not re.findall(r"\]\((?!https?://)|!\[|Crosses", text)


def test_the_citation_is_of_this_version() -> None:
    """CITATION.cff has the version, the licence and the keywords of the package."""
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {f"version: {__version__}", f"license: {project['license']}"} <= set(lines)
    assert [line.removeprefix("  - ") for line in lines[lines.index("keywords:") + 1 :]] == project[
        "keywords"
    ]


@pytest.mark.skipif(not OTHER, reason="needs an environment without the extras")
def test_doctor_says_what_to_install(tmp_path: Path) -> None:
    """Where packages are missing, the checks that can be made are made."""
    done = abtune("doctor", "--format", "json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    advice = {finding["name"]: finding["advice"] for finding in json.loads(done.stdout)["findings"]}
    assert advice["packages"] == "pip install --upgrade 'abtune[sweep]'"
    assert advice["TVM"] == "run: pip install 'abtune[sweep]'"
    assert advice["output"] == ""


def test_every_package_of_an_extra_is_known() -> None:
    """The packages that pyproject.toml gives to extras are those of which errors name the extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {
        (_name(line), extra)
        for extra in ("sweep", "plot")
        for line in project["optional-dependencies"][extra]
    }
    installed = packages_distributions()
    if not set(installed) >= set(EXTRAS):
        pytest.skip("needs the packages of the extras")
    used = {
        (distribution.replace("-cpu", ""), extra)
        for module, extra in EXTRAS.items()
        for distribution in installed[module]
    }
    assert {(name.replace("-cpu", ""), extra) for name, extra in declared} == used
    assert not {name for name, _ in declared} & set(map(_name, project["dependencies"]))
    assert "pip install 'abtune[sweep]'" in str(missing_package("dask"))


def _name(requirement: str) -> str:
    """Return the name of the package that a requirement asks for."""
    return requirement.partition(">")[0].partition(";")[0].strip()
