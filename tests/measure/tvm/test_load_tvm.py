"""TVM is imported without what a search does not need."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs


def test_pytorch_is_not_imported_with_tvm(tmp_path: Path) -> None:
    """PyTorch stays out: TVM's FFI would have it initialize CUDA, which then works in no fork."""
    (tmp_path / "torch.py").write_text("print('torch')", encoding="utf-8")
    code = "import abtune.measure.tvm.metaschedule; print('tvm'); import torch"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert ended.stdout.split() == [b"tvm", b"torch"]


def test_intrinsics_are_loaded_where_they_are_missing(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The empty stand-in for TVM's intrinsics gives way to the real module, once."""
    monkeypatch.setitem(sys.modules, room.load_tvm.INTRINSICS, types.ModuleType(room.load_tvm.INTRINSICS))
    imported: list[str] = []

    def note(name: str, *_: Any, **__: Any) -> types.ModuleType:
        imported.append(name)
        module = types.ModuleType(name)
        module.__file__ = "there"
        sys.modules[name] = module
        return module

    monkeypatch.setattr("builtins.__import__", note)
    room.load_tvm.load_tensor_intrinsics()
    room.load_tvm.load_tensor_intrinsics()
    monkeypatch.undo()
    assert imported == [room.load_tvm.INTRINSICS]


def test_frames_are_those_of_the_stack(room: Any) -> None:
    """The stack without source has the same frames, files and names as Python's."""
    expected = inspect.stack()
    frames = room.load_tvm._stack_without_source(context=1)
    assert [(one.frame, one.filename, one.function) for one in frames] == [
        (one.frame, one.filename, one.function) for one in expected
    ]
    assert {one.code_context for one in frames} == {None}
