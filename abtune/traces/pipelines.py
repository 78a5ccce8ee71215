"""Software pipelines in a schedule: taken out, or put in.

MetaSchedule's rule for CUDA marks a loop around the copies into shared memory as a pipeline of several stages
(``software_pipeline_*``). With asynchronous copies, tiles of later iterations are then fetched while earlier
ones are computed, at the price of shared memory: more stages hold more tiles.
"""

from __future__ import annotations

from collections.abc import Iterator

from abtune.traces.trace import Instruction, Trace, fresh_loop

PREFIX = "software_pipeline_"
COPY = "meta_schedule.cooperative_fetch"
# The stage of the computation, by which MetaSchedule's two pipelines differ: 4 and 5 stages in flight.
STAGES = (2, 3)


def pipeline_stage(trace: Trace) -> int | None:
    """Return the stage of the computation in the pipeline of a schedule; None if it has no pipeline."""
    for step in trace.annotated(f"{PREFIX}stage"):
        return int(step.inputs[1][-1])
    return None


def without_pipeline(trace: Trace) -> Trace:
    """Return the schedule without its pipeline, the same if it has none."""
    marked = {step.inputs[0] for step in trace.instructions if step.annotation.startswith(PREFIX)}
    kept = tuple(
        step
        for step in trace.instructions
        if not step.annotation.startswith(PREFIX) and not _only_makes(step, marked)
    )
    return Trace(instructions=kept)


def with_pipeline(trace: Trace, stage: int) -> Trace | None:
    """Return the schedule with a pipeline whose computation is at a stage, in place of any it has."""
    plain = without_pipeline(trace)
    steps = plain.instructions
    copies = [number for number, step in enumerate(steps) if step.annotation == COPY]
    place = copies[-1] + 1 if copies else 0
    # Splits behind the copies are those of postprocessors.
    reductions = [step.outputs[0] for step in steps[:place] if _splits_reduction(step)]
    if not reductions:
        return None
    pipeline = tuple(_pipeline(reductions, fresh_loop(steps), stage))
    return Trace(instructions=(*steps[:place], *pipeline, *steps[place:]))


def _only_makes(step: Instruction, loops: set[str]) -> bool:
    """Return whether an instruction fuses loops for nothing but a pipeline."""
    return step.name == "Fuse" and set(step.outputs) <= loops


def _splits_reduction(step: Instruction) -> bool:
    """Return whether an instruction tiles a reduction, which MetaSchedule splits in three."""
    return step.name == "Split" and len(step.outputs) == 3


def _pipeline(reductions: list[str], loop: str, stage: int) -> Iterator[Instruction]:
    """Yield what MetaSchedule's own rule writes: two copies at stage 0, the computation at a later one."""
    yield Instruction(name="Fuse", inputs=tuple(reductions), attributes=(1,), outputs=(loop,))
    for key, value in (("stage", [0, 0, stage]), ("order", [0, 1, 2]), ("async_stages", [0])):
        yield Instruction(name="Annotate", inputs=(loop, value), attributes=(f"{PREFIX}{key}",), outputs=())
