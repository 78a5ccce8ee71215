"""What a trace may contain before it is applied: a dataset is data, not a program.

A trace can link code into a kernel (``pragma_import_llvm``) or call intrinsics that do. Only the instructions
and annotations that MetaSchedule's own design spaces write are applied, seen in TVM 0.27; everything else is
refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from abtune.errors import DatasetError
from abtune.traces.trace import Trace

INSTRUCTIONS = frozenset(
    {
        "Annotate",
        "Bind",
        "CacheRead",
        "CacheWrite",
        "ComputeAt",
        "ComputeInline",
        "DecomposeReduction",
        "EnterPostproc",
        "Fuse",
        "GetChildBlocks",
        "GetConsumers",
        "GetLoops",
        "GetProducers",
        "GetSBlock",
        "Parallel",
        "RFactor",
        "Reorder",
        "ReverseComputeAt",
        "ReverseComputeInline",
        "SampleCategorical",
        "SampleComputeLocation",
        "SamplePerfectTile",
        "Split",
        "Unannotate",
        "Unroll",
        "Vectorize",
    }
)
ANNOTATIONS = frozenset({"pragma_auto_unroll_max_step", "pragma_unroll_explicit"})
PREFIXES = ("meta_schedule.", "software_pipeline_")


def require_allowed(trace: Trace) -> None:
    """Check that a trace does nothing but what MetaSchedule's own design spaces do."""
    for refused in _refused(trace):
        raise DatasetError(
            f"the winner's trace has {refused}, which no design space of MetaSchedule writes; it is not "
            "applied"
        )


def _refused(trace: Trace) -> Iterator[str]:
    for step in trace.instructions:
        if step.name not in INSTRUCTIONS:
            yield f"the instruction {step.name!r}"
        key = step.annotation
        if key and key not in ANNOTATIONS and not key.startswith(PREFIXES):
            yield f"the annotation {key!r}"
