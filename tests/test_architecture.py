"""Who may import whom: read from the source, and from what a running process has loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "abtune"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The rooms from the ground up. A module imports its own room and the rooms that stand before it here.
ANALYSIS = (
    "abtune.version",
    "abtune.errors",
    "abtune.text",
    "abtune.files",
    "abtune.lazy",
    "abtune.shapes",
    "abtune.configurations",
    "abtune.traces",
    "abtune.dataset",
    "abtune.stats",
    "abtune.samples",
    "abtune.compare",
    "abtune.report",
    "abtune.sections",
)
GROUND = ANALYSIS[: ANALYSIS.index("abtune.stats")]
# Each half stands on the ground by itself; the measuring half takes nothing of an analysis but statistics.
MAY_IMPORT = {
    **{room: set(ANALYSIS[:number]) for number, room in enumerate(ANALYSIS)},
    "abtune.stats": {"abtune.errors", "abtune.lazy"},
    "abtune.ingest": {*GROUND},
    "abtune.measure": {*GROUND, "abtune.stats"},
    "abtune.commands": {*ANALYSIS, "abtune.ingest", "abtune.measure"},
    "abtune.cli": {*GROUND, "abtune.commands"},
    "abtune.__main__": {"abtune.cli"},
    "abtune": {*GROUND, "abtune.compare", "abtune.sections"},
}
STATS_NEEDS = {"numpy", "scipy", "statsmodels"}
MOST_FILES = 12


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
def test_imports_point_downwards(path: Path) -> None:
    """A module imports only rooms below its own: measure and analysis never see each other."""
    home = room(module_name(path))
    used = {room(name) for name in imports(path) if name.split(".")[0] == "abtune"}
    public = {
        f"abtune.{name}" for name in ("__version__", "analyze", "open_dataset", "save_dataset", "Verdict")
    }
    allowed = MAY_IMPORT[home] | {home} | ({"abtune"} if home in {"abtune.commands", "abtune.cli"} else set())
    assert used - public <= allowed


def import_graph() -> dict[str, set[str]]:
    """Return who imports whom within abtune, by module."""
    known = {module_name(path): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in known:
                parts = (f"{node.module}.{alias.name}" for alias in node.names)
                imported |= {target if target in known else node.module for target in parts}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names} & set(known)
        graph[name] = imported - {name}
    return graph


def folder(name: str) -> str:
    """Return where a module lies: its folder, or itself if it lies at the top."""
    path = next(path for path in MODULES if module_name(path) == name)
    below = path.parent.relative_to(ROOT).parts
    return ".".join(below) if len(below) > 1 else name


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the circles of a graph: peel off what imports nothing that is left."""
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        ends = {name for name, targets in left.items() if not targets & left.keys()}
        if not ends:
            return [sorted(left)] if left else []
        left = {name: targets for name, targets in left.items() if name not in ends}


def test_no_imports_go_in_circles() -> None:
    """No module and no folder imports, through others, itself."""
    graph = import_graph()
    assert not circles(graph)
    folders: dict[str, set[str]] = {}
    for name, targets in graph.items():
        home = folder(name)
        folders.setdefault(home, set()).update({folder(target) for target in targets} - {home})
    assert not circles(folders)


def test_every_module_has_a_name_of_its_own() -> None:
    """No two modules are called the same, so that a name says which file is meant."""
    names = Counter(path.stem for path in MODULES if path.stem != "__init__")
    assert not [name for name, number in names.items() if number > 1]


def test_every_class_has_a_name_of_its_own() -> None:
    """No two classes are called the same, so that a type says which idea is meant."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert not [name for name, number in names.items() if number > 1]


def test_no_folder_is_crowded() -> None:
    """A folder of abtune holds a dozen files at most."""
    sizes = Counter(path.parent for path in MODULES)
    assert not {str(parent.relative_to(ROOT)): size for parent, size in sizes.items() if size > MOST_FILES}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_tvm_is_imported_in_one_module(path: Path) -> None:
    """Only abtune.measure.tvm.metaschedule imports TVM."""
    heavy = {name for name in imports(path) if name.split(".")[0] in {"tvm", "tvm_ffi"}}
    assert not heavy or module_name(path).startswith("abtune.measure.tvm.")


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").rglob("*.py")), ids=module_name)
def test_statistics_know_arrays_only(path: Path) -> None:
    """The statistics import NumPy, SciPy, statsmodels and the standard library: no files, no labels."""
    outside = {name.split(".")[0] for name in imports(path)} - {"abtune"} - set(sys.stdlib_module_names)
    assert outside <= STATS_NEEDS


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_slow_imports_stand_where_they_are_used(path: Path) -> None:
    """scipy.stats and statsmodels take half a second each: no module loads them when it is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            top |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    slow = ("scipy.stats", "scipy.signal", "statsmodels")
    assert not [name for name in top if name.startswith(slow)]


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import abtune", {"numpy", "xarray", "rich", "click", "tvm"}),
        ("from abtune.cli import main; main(['--help'])", {"numpy", "xarray", "rich", "distributed", "tvm"}),
        (
            "from abtune.cli import main; main(['analyze', '--help'])",
            {"numpy", "xarray", "rich", "scipy", "tvm"},
        ),
        ("from abtune.cli import main; main(['datasets'])", {"rich", "scipy", "distributed", "tvm"}),
        (
            "from abtune.cli import main; main(['analyze', 'tvm14009-rtx3080'])",
            {
                "tvm",
                "tvm_ffi",
                "xgboost",
                "distributed",
                "abtune.measure",
                "matplotlib",
                "abtune.report.formats.html",
                "scipy.stats",
                "statsmodels",
            },
        ),
        (
            "from abtune.cli import main; main(['analyze', 'h200-tvm14009'])",
            {"dask.array", "scipy.stats", "statsmodels"},
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
