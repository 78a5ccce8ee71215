"""Imports TVM, once and without what a search does not need; every other module takes TVM from here."""

from __future__ import annotations

import sys
import types
from typing import Any

from abtune.errors import TargetError
from abtune.measure.tvm.cuda import nvrtc
from abtune.text import one_line, shortened

__all__ = ["load_tensor_intrinsics", "ms", "shash2hex", "te", "topi", "tvm"]

INTRINSICS = "tvm.s_tir.tensor_intrin"


def _import_tvm() -> Any:
    """Import TVM without its tensor-core intrinsics and without PyTorch.

    Float32 schedules never use the intrinsics. Parsing them takes 15 s in each process, and ``TuneContext``
    imports them for every workload. TVM's FFI imports PyTorch where it is installed and asks it for a GPU.
    That takes seconds and initializes CUDA, which then works in no fork of this process.
    """
    nvrtc.load_libraries()
    sys.modules.setdefault(INTRINSICS, types.ModuleType(INTRINSICS))
    is_hidden = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        import tvm
    except Exception as error:
        why = shortened(one_line(str(error)), 300)
        raise TargetError(
            f"TVM cannot be imported ({why}); run: pip install --force-reinstall 'abtune[sweep]'"
        ) from error
    finally:
        if is_hidden:
            del sys.modules["torch"]
    return tvm


tvm = _import_tvm()

from tvm import te, topi  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.utils import shash2hex  # noqa: E402


def load_tensor_intrinsics() -> None:
    """Load the real intrinsics in place of the empty module, for a design space that may need them."""
    if not hasattr(sys.modules[INTRINSICS], "__file__"):
        del sys.modules[INTRINSICS]
        import tvm.s_tir.tensor_intrin  # noqa: F401
