"""Schedule traces as data: read, checked, rewritten and carried over to another configuration, without TVM.

MetaSchedule writes a trace as JSON: a list of instructions ``[name, inputs, attributes, outputs]`` and a list
of decisions ``[number of an instruction, decision]``. The number ties a decision to its place, so that an
edit has to renumber. Here a decision stays with its instruction, and the JSON is made anew from both.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from abtune.configurations import Configuration, import_attribute
from abtune.errors import DatasetError

# Behind this instruction stand the marks of the postprocessors, which depend on the target.
_POSTPROCESSING = "EnterPostproc"
# How annotations of software pipelines begin, and the annotation of a copy to shared memory.
PREFIX = "software_pipeline_"
COPY = "meta_schedule.cooperative_fetch"
# The stage of the computation, by which MetaSchedule's two pipelines differ: 4 and 5 stages in flight.
STAGES = (2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One step of a schedule."""

    name: str  # what it does, such as ``"Split"``
    # names of blocks, loops and variables (``"b0"``, ``"l3"``, ``"v7"``); inputs also plain values
    inputs: tuple[Any, ...]
    attributes: tuple[Any, ...]  # plain values
    outputs: tuple[str, ...]
    decision: Any = None  # the sampled value; None for an instruction that samples nothing

    @property
    def annotation(self) -> str:
        """The key that it annotates with; empty if it annotates nothing."""
        return str(self.attributes[0]) if self.name == "Annotate" else ""


# The steps of one schedule, in order.
Trace: TypeAlias = tuple[Instruction, ...]


def before_postprocessing(trace: Trace) -> Trace:
    """Return the part of a schedule that does not depend on the target."""
    return tuple(itertools.takewhile(lambda step: step.name != _POSTPROCESSING, trace))


def read_trace(value: object) -> Trace:
    """Return the trace that a JSON value holds."""
    try:
        steps, decisions = json.loads(value) if isinstance(value, str) else value  # type: ignore[misc]
        decided = {int(number): decision for number, decision in decisions}
        return tuple(
            Instruction(
                name=str(name),
                inputs=tuple(inputs),
                attributes=tuple(attributes),
                outputs=tuple(outputs),
                decision=decided.get(number),
            )
            for number, (name, inputs, attributes, outputs) in enumerate(steps)
        )
    except (TypeError, ValueError, RecursionError):
        raise DatasetError("a winner, or what a transfer returns, is no schedule trace") from None


def write_trace(trace: Trace) -> list[Any]:
    """Return the JSON value of a trace; the inverse of :func:`read_trace`."""
    steps = [[step.name, list(step.inputs), list(step.attributes), list(step.outputs)] for step in trace]
    decisions = [[number, step.decision] for number, step in enumerate(trace) if step.decision is not None]
    return [steps, decisions]


# A trace can link code into a kernel (``pragma_import_llvm``) or call intrinsics that do. So only what
# MetaSchedule's own design spaces write is applied, as seen in TVM 0.27.
_INSTRUCTIONS = {
    *("AddUnitLoop", "Annotate", "Bind", "CacheRead", "CacheWrite", "ComputeAt", "ComputeInline"),
    *("DecomposeReduction", "EnterPostproc", "Fuse", "GetChildBlocks", "GetConsumers", "GetLoops"),
    *("GetProducers", "GetSBlock", "Parallel", "RFactor", "Reorder", "ReverseComputeAt"),
    *("ReverseComputeInline", "SampleCategorical", "SampleComputeLocation", "SamplePerfectTile"),
    *("SetScope", "Split", "Unannotate", "Unroll", "Vectorize"),
}
# How a text begins that TVM takes for any object of its own, also for a module with machine code.
_OBJECT = '"{'
_ANNOTATIONS = {"pragma_auto_unroll_max_step", "pragma_unroll_explicit"}


def require_allowed(trace: Trace) -> None:
    """Check that a trace does nothing but what MetaSchedule's own design spaces do."""
    for step in trace:
        key = step.annotation
        if step.name not in _INSTRUCTIONS:
            refused = f"the instruction {step.name!r}"
        elif _OBJECT in json.dumps([step.inputs, step.attributes, step.decision]):
            refused = f"an object in the instruction {step.name!r}"
        elif key and key not in _ANNOTATIONS and not key.startswith(("meta_schedule.", PREFIX)):
            refused = f"the annotation {key!r}"
        else:
            continue
        raise DatasetError(f"the trace has {refused}, which no design space of MetaSchedule writes")


def without_pipeline(trace: Trace) -> Trace:
    """Return the schedule without its pipeline, the same if it has none."""
    marked = {step.inputs[0] for step in trace if step.annotation.startswith(PREFIX)}
    # A fusion that makes only such loops was for nothing but the pipeline.
    return tuple(
        step
        for step in trace
        if not step.annotation.startswith(PREFIX)
        and not (step.name == "Fuse" and marked.issuperset(step.outputs))
    )


def with_pipeline(trace: Trace, stage: int) -> Trace | None:
    """Return the schedule with a pipeline whose computation is at a stage, in place of any it has."""
    steps = without_pipeline(trace)
    copies = [number for number, step in enumerate(steps) if step.annotation == COPY]
    # Without copies to shared memory no split comes before, so there is nothing to pipeline.
    position = copies[-1] + 1 if copies else 0
    # MetaSchedule splits reductions in three. Splits behind the copies are those of postprocessors.
    splits = (step.outputs for step in steps[:position] if step.name == "Split")
    reductions = [loops[0] for loops in splits if len(loops) == 3]
    if not reductions:
        return None
    used = {name for step in steps for name in step.outputs}
    loop = next(name for number in itertools.count() if (name := f"l_{number}") not in used)
    # As MetaSchedule's own rule writes it: two copies at stage 0, the computation at a later one.
    pipeline = [Instruction(name="Fuse", inputs=tuple(reductions), attributes=(1,), outputs=(loop,))]
    for key, value in (("stage", [0, 0, stage]), ("order", [0, 1, 2]), ("async_stages", [0])):
        marks = (f"{PREFIX}{key}",)
        pipeline.append(Instruction(name="Annotate", inputs=(loop, value), attributes=marks, outputs=()))
    return (*steps[:position], *pipeline, *steps[position:])


def carry_over(config: Configuration, trace: Trace) -> list[Trace]:
    """Return the variants of a schedule that a configuration would build."""
    if not config.transfer:
        return [trace]
    function = import_attribute(config.transfer)
    return [read_trace(variant) for variant in function(write_trace(trace))]


def adopted(config: Configuration, trace: Trace) -> list[Trace]:
    """Return the variants of a schedule that a configuration could have found."""
    skipped = config.skipped_annotation
    # A design space of its own, with a transfer, does not hold the schedules of another one.
    is_skipped = bool(skipped) and any(step.annotation == skipped for step in trace)
    is_outside = is_skipped or (config.space and config.transfer)
    as_it_is = [] if is_outside else [trace]
    carried = carry_over(config, trace) if config.transfer else []
    return as_it_is + [variant for variant in carried if variant not in as_it_is]


def synchronous(trace: list[Any]) -> list[list[Any]]:
    """Return the schedule without its software pipeline."""
    return [write_trace(without_pipeline(read_trace(trace)))]


def asynchronous(trace: list[Any]) -> list[list[Any]]:
    """Return the schedule with each of MetaSchedule's software pipelines, if it can have one."""
    variants = (with_pipeline(read_trace(trace), stage) for stage in STAGES)
    return [write_trace(variant) for variant in variants if variant is not None]
