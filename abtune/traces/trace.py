"""A schedule trace: the instructions and decisions from which a kernel can be rebuilt.

MetaSchedule writes a trace as JSON: a list of instructions ``[name, inputs, attributes, outputs]`` and a list
of decisions ``[number of an instruction, decision]``. The number ties a decision to its place, so that an
edit has to renumber. Here a decision stays with its instruction, and the JSON is made anew from both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from abtune.errors import DatasetError

# Behind this instruction stand the marks of the postprocessors, which depend on the target.
POSTPROCESSING = "EnterPostproc"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The steps of one schedule, in order."""

    instructions: tuple[Instruction, ...]

    def annotated(self, key: str) -> Iterator[Instruction]:
        """Yield the instructions that annotate with a key."""
        return (step for step in self.instructions if step.annotation == key)

    def before_postprocessing(self) -> Trace:
        """Return the part that does not depend on the target."""
        names = [step.name for step in self.instructions]
        end = names.index(POSTPROCESSING) if POSTPROCESSING in names else len(names)
        return Trace(instructions=self.instructions[:end])

    def values(self) -> dict[str, Any]:
        """Return the sampled values by the names of their variables."""
        sampled: dict[str, Any] = {}
        for step in self.instructions:
            if step.name == "SamplePerfectTile":
                sampled.update(zip(step.outputs, step.decision, strict=True))
            elif step.name == "SampleCategorical":
                sampled[step.outputs[0]] = step.attributes[0][step.decision]
        return sampled


def read_trace(value: object) -> Trace:
    """Return the trace that a JSON value holds."""
    try:
        steps, decisions = json.loads(value) if isinstance(value, str) else value  # type: ignore[misc]
        decided = {int(number): decision for number, decision in decisions}
        instructions = tuple(
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
        raise DatasetError("a winner holds something that is no schedule trace") from None
    return Trace(instructions=instructions)


def write_trace(trace: Trace) -> list[Any]:
    """Return a trace as JSON value: the inverse of :func:`read_trace`."""
    steps = [
        [step.name, list(step.inputs), list(step.attributes), list(step.outputs)]
        for step in trace.instructions
    ]
    numbered = enumerate(trace.instructions)
    return [steps, [[number, step.decision] for number, step in numbered if step.decision is not None]]


def fresh_loop(instructions: Iterable[Instruction]) -> str:
    """Return a name for a loop that no instruction uses."""
    used = {name for step in instructions for name in step.outputs}
    return next(name for number in range(len(used) + 1) if (name := f"l_{number}") not in used)
