"""Who may import whom: read from the source, and from what a running process has loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "abtune"
MODULES = sorted(PACKAGE.rglob("*.py"))

GROUND = {
    "abtune",
    "abtune.errors",
    "abtune.files",
    "abtune.shapes",
    "abtune.configurations",
    "abtune.schema",
    "abtune.datasets",
}
# Each room, and the rooms of abtune that it may import beside itself.
MAY_IMPORT = {
    "abtune.stats": {"abtune.errors"},
    "abtune.analyse": {*GROUND, "abtune.stats"},
    "abtune.ingest": GROUND,
    "abtune.report": {*GROUND, "abtune.analyse"},
    "abtune.measure": {*GROUND, "abtune.stats"},
    "abtune.commands": {
        *GROUND,
        "abtune.analyse",
        "abtune.ingest",
        "abtune.measure",
        "abtune.report",
        "abtune.stats",
    },
    "abtune.cli": {*GROUND, "abtune.commands"},
}
STATS_NEEDS = {"numpy", "scipy", "statsmodels"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(name: str) -> str:
    """Return the room of a module: the package or module directly below abtune."""
    return ".".join(name.split(".")[:2])


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            if node.module == "abtune":
                yield from (f"abtune.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_layers_are_one_way(path: Path) -> None:
    """A module imports only rooms below its own: measure and analyse never see each other."""
    home = room(module_name(path))
    if home not in MAY_IMPORT:
        allowed = GROUND | (
            {"abtune.analyse", "abtune.cli"} if home in {"abtune", "abtune.__main__"} else set()
        )
    else:
        allowed = MAY_IMPORT[home] | {home}
    used = {room(name) for name in imports(path) if name.split(".")[0] == "abtune"}
    public = {f"abtune.{name}" for name in ("__version__", "analyze", "open_dataset", "save_dataset")}
    assert used - public <= allowed


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_tvm_is_imported_in_one_module(path: Path) -> None:
    """Only abtune.measure.metaschedule imports TVM."""
    heavy = {name for name in imports(path) if name.split(".")[0] in {"tvm", "tvm_ffi"}}
    assert not heavy or module_name(path) == "abtune.measure.metaschedule"


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").rglob("*.py")), ids=module_name)
def test_statistics_know_arrays_only(path: Path) -> None:
    """The statistics import NumPy, SciPy, statsmodels and the standard library: no files, no labels."""
    outside = {name.split(".")[0] for name in imports(path)} - {"abtune"} - set(sys.stdlib_module_names)
    assert outside <= STATS_NEEDS


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import abtune", {"numpy", "xarray", "rich", "click", "tvm"}),
        ("from abtune.cli import main; main(['--help'])", {"numpy", "xarray", "rich", "distributed", "tvm"}),
        ("from abtune.cli import main; main(['datasets'])", {"rich", "scipy", "distributed", "tvm"}),
        (
            "from abtune.cli import main; main(['analyze', 'tvm14009-rtx3080'])",
            {"tvm", "tvm_ffi", "xgboost", "distributed", "abtune.measure", "matplotlib"},
        ),
    ],
)
def test_nothing_is_loaded_before_it_is_needed(code: str, unwanted: set[str]) -> None:
    """Help needs no numerics, and an analysis needs neither TVM nor the measuring half."""
    script = f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not unwanted & set(done.stderr.split())


def test_no_machine_paths_are_in_the_repository() -> None:
    """No file that is kept names a folder of the machine on which it was written."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 (whichever git there is)
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    roots = [f"/{name}/" for name in ("work", "home", "root", "Users")]
    for name in filter(None, listed.stdout.split("\0")):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert not [root for root in roots if root.encode() in content], name
