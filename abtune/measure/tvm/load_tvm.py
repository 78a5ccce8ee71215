"""TVM as abtune uses it: loaded without what it never needs."""

from __future__ import annotations

import inspect
import json
import sys
import traceback
import types
from typing import Any
from unittest import mock

from abtune.measure.tvm import nvrtc

__all__ = ["load_tensor_intrinsics", "ms", "record_text", "shash2hex", "te", "topi", "tvm", "tvm_ffi"]

INTRINSICS = "tvm.s_tir.tensor_intrin"


def _import_tvm() -> Any:
    """Import TVM without its tensor-core intrinsics and without PyTorch.

    Float32 schedules never use the intrinsics. They take long to load, and ``TuneContext`` imports them for
    every workload. TVM's FFI imports PyTorch where it is installed and asks it for a GPU.
    That takes seconds and initializes CUDA, which then works in no fork of this process.
    """
    nvrtc.load_libraries()
    sys.modules.setdefault(INTRINSICS, types.ModuleType(INTRINSICS))
    # None makes ``import torch`` fail, until it is taken away below.
    is_hidden = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        import tvm
    finally:
        if is_hidden:
            del sys.modules["torch"]
    return tvm


tvm = _import_tvm()

import tvm_ffi  # noqa: E402
from tvm import te, topi  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.utils import shash2hex  # noqa: E402


def record_text(record: Any) -> str:
    """Return a tuning record as the JSON that MetaSchedule's own database writes.

    ``record.as_json`` refuses index maps, which schedules for tensor cores have.
    """
    return json.dumps(ms._ffi_api.TuningRecordAsJSON(record), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, tvm_ffi.Array):
        return list(value)
    if isinstance(value, tvm_ffi.Map):
        return dict(value.items())
    if isinstance(value, tvm.tirx.IntImm | tvm.tirx.FloatImm):
        return value.value
    return tvm.ir.save_json(value)


def load_tensor_intrinsics() -> None:
    """Load the real intrinsics in place of the empty module, for a design space that may need them."""
    # Only the stand-in has no file.
    if not hasattr(sys.modules[INTRINSICS], "__file__"):
        del sys.modules[INTRINSICS]
        # Before it parses a program, TVM has Python look up the source of all frames of the stack. It reads
        # this source only if the program stands in a class, which none of these does.
        with mock.patch.object(inspect, "stack", _stack_without_source):
            import tvm.s_tir.tensor_intrin  # noqa: F401


def _stack_without_source(*_: object, **__: object) -> list[inspect.FrameInfo]:
    """Return the frames of the caller, as ``inspect.stack`` does, but without their source."""
    own = inspect.currentframe()
    callers = traceback.walk_stack(own and own.f_back)
    return [
        inspect.FrameInfo(frame, frame.f_code.co_filename, line, frame.f_code.co_name, None, None)
        for frame, line in callers
    ]
