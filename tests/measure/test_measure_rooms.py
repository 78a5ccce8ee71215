"""The rooms of the measuring half: imports go one way, and no hop carries too many loose values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MEASURE = Path(__file__).parent.parent.parent / "abtune" / "measure"
# A room imports only rooms to its left.
ROOMS = ("plan", "tvm", "workers", "store", "sweep", "diagnose")
MODULES = sorted(MEASURE.rglob("*.py"))
MOST_PARAMETERS = 6


def named(path: Path) -> str:
    return path.relative_to(MEASURE).as_posix()


def rooms_used(path: Path) -> Iterator[str]:
    """Yield the rooms of the measuring half that a module imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("abtune.measure."):
                yield name.split(".")[2]


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_rooms_import_to_their_left(path: Path) -> None:
    """Plan knows nothing of the others, and nothing but commands knows the checks of a machine."""
    home = path.relative_to(MEASURE).with_suffix("").parts[0]
    if home == "__init__":
        assert not set(rooms_used(path))
        return
    assert set(rooms_used(path)) <= set(ROOMS[: ROOMS.index(home) + 1])


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_values_that_travel_together_are_types(path: Path) -> None:
    """No function has more than six parameters, itself aside."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            own = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
            assert len(own) <= MOST_PARAMETERS, f"{node.name} has {len(own)} parameters"
