"""Refuse schedules that ask for too much of a GPU before they are lowered.

For CUDA, MetaSchedule's last postprocessor is ``VerifyGPUCode``. It lowers each schedule, and refuses most of
them for the number of threads or for shared memory. A tiled schedule shows both numbers itself. So
:class:`RefuseEarly` reads them first, and ``VerifyGPUCode`` need only check the candidates that are picked.

A few schedules cannot be lowered: a software pipeline on a loop of one iteration. ``RewriteReductionBlock``
moves the initialization of the sum before the first loop that sums. That is a loop inside the pipeline then,
so the pipeline has one statement more than its annotation names, and ``InjectSoftwarePipeline`` fails.

Two reasons are not known here, and then ``VerifyGPUCode`` stays. A tile may take more shared memory than was
copied into it, where a sum reads it at positions such as ``i // 32``. And ``VerifyGPUCode`` refuses vectors
of more than 16 bytes, also of the indices that a wide copy of short types is read at.

This changes no random number: ``ThreadedTraceApply`` in MetaSchedule's ``utils.h`` draws one seed for each
schedule, whatever happens to it. So a search proposes the same candidates with either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from abtune.measure.plan.problem import Problem
from abtune.measure.tvm.load_tvm import ms, tvm
from abtune.measure.tvm.tvm_devices import is_cuda

# Set to 1 to search with MetaSchedule's own postprocessors only.
STOCK = "ABTUNE_STOCK_SEARCH"
LIMITS = ("max_threads_per_block", "max_shared_memory_per_block")
THREADS = tuple(f"meta_schedule.thread_extent_{end}_inclusive" for end in ("low", "high"))
STAGES = "software_pipeline_stage"
# The bytes of a vector, of items or indices. A copy has as many indices as items, and an index has 4 bytes.
_VECTOR = 16
_MOST_LANES = _VECTOR // 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """What the loops around a block of statements mean for a GPU."""

    threads: int = 1  # number of threads in a thread block
    versions: int = 1  # number of versions of a buffer that the software pipeline keeps
    innermost: int = 1  # number of iterations of the innermost loop
    lanes: int = 1  # number of them that a vector does at once
    can_lower: bool = True  # whether no software pipeline has one iteration only

    def with_loop(self, loop: Any) -> Loops:
        """Return these loops with another one inside them."""
        threads, versions, can_lower = self.threads, self.versions, self.can_lower
        is_known = isinstance(loop.extent, tvm.tirx.IntImm)  # else it depends on the loops around it
        extent = int(loop.extent) if is_known else 1
        if loop.thread_binding is not None and loop.thread_binding.thread_tag.startswith("threadIdx."):
            threads *= extent
        if STAGES in loop.annotations:
            stages = [int(stage) for stage in loop.annotations[STAGES]]
            # The pipeline keeps what is copied at the first stage until the last one computes with it.
            versions = stages[-1] - stages[0] + 1
            can_lower = can_lower and not (is_known and extent == 1)
        return Loops(
            threads=threads,
            versions=versions,
            innermost=extent,
            lanes=extent if loop.kind == tvm.tirx.ForKind.VECTORIZED else 1,
            can_lower=can_lower,
        )


def is_enabled(problem: Problem) -> bool:
    """Return whether the search of a problem may refuse early: for CUDA, with a design space of abtune."""
    return is_cuda(problem.target) and not problem.config.space and os.environ.get(STOCK) != "1"


def is_tiled(module: Any) -> bool:
    """Return whether one block limits its threads and others copy into shared memory, which is known here."""
    blocks = [block for block, _ in _blocks(module)]
    return sum(map(_has_limits, blocks)) == 1 and any(map(_shared_item, blocks))


def is_refused(module: Any, max_threads: int, max_shared_memory: int) -> bool:
    """Return whether ``VerifyGPUCode`` would refuse a tiled schedule, before any postprocessor."""
    shared_memory = 0
    for block, loops in _blocks(module):
        if _has_limits(block):
            low, high = (int(block.annotations[key]) for key in THREADS)
            if not (loops.can_lower and low <= loops.threads <= min(high, max_threads)):
                return True
        # A copy fuses its loops, so the innermost extent is the number of items in the tile.
        shared_memory += _shared_item(block) * loops.innermost * loops.versions
    return shared_memory > max_shared_memory


def has_wide_copy(module: Any) -> bool:
    """Return whether a block copies more than four items at once, after all other postprocessors."""
    return any(loops.lanes > _MOST_LANES for _, loops in _blocks(module))


def _blocks(module: Any) -> Iterator[tuple[Any, Loops]]:
    left = [(function.body, Loops()) for function in module.functions.values()]
    while left:
        statement, loops = left.pop()
        if isinstance(statement, tvm.tirx.For):
            left.append((statement.body, loops.with_loop(statement)))
        elif isinstance(statement, tvm.tirx.SeqStmt):
            left += [(inner, loops) for inner in statement.seq]
        elif isinstance(statement, tvm.s_tir.SBlockRealize):
            yield statement.block, loops
            left.append((statement.block.body, loops))


def _has_limits(block: Any) -> bool:
    return all(key in block.annotations for key in THREADS)


def _shared_item(block: Any) -> int:
    """Return the bytes of one item if a block copies into shared memory; zero if it does not."""
    store = block.body
    is_copy = isinstance(store, tvm.tirx.BufferStore) and store.buffer.scope() == "shared"
    return int(store.buffer.dtype.itemsize) if is_copy else 0


@tvm.ir.utils.derived_object
class RefuseEarly(ms.postproc.PyPostproc):  # type: ignore[misc]
    """A postprocessor that refuses the tiled schedules that ``VerifyGPUCode`` would refuse."""

    def _initialize_with_tune_context(self, context: Any) -> None:
        self._limits = [int(context.target.attrs[name]) for name in LIMITS]

    def apply(self, schedule: Any) -> bool:
        """Return whether a schedule may go on to the next postprocessor."""
        return not is_refused(schedule.mod, *self._limits)

    def clone(self) -> RefuseEarly:
        """Return a postprocessor that is not initialized."""
        return RefuseEarly()


@tvm.ir.utils.derived_object
class VerifyWideCopies(ms.postproc.PyPostproc):  # type: ignore[misc]
    """``VerifyGPUCode`` for the schedules with a copy of more than four items at once."""

    def _initialize_with_tune_context(self, context: Any) -> None:
        self._verify = ms.postproc.VerifyGPUCode()
        self._verify._initialize_with_tune_context(context)

    def apply(self, schedule: Any) -> bool:
        """Return whether a schedule has no such copy, or passes."""
        return not has_wide_copy(schedule.mod) or self._verify.apply(schedule)

    def clone(self) -> VerifyWideCopies:
        """Return a postprocessor that is not initialized."""
        return VerifyWideCopies()


def early_postprocessors(spaces: Sequence[Any]) -> list[Any] | None:
    """Return postprocessors that refuse what MetaSchedule's do for CUDA; None if these spaces are not tiled.

    :class:`RefuseEarly` comes first. ``VerifyGPUCode`` comes last only where it may refuse more.
    """
    modules = [space.mod for space in spaces]
    if not all(map(is_tiled, modules)):
        return None
    stock = ms.postproc.Postproc.create("cuda")
    others = [one for one in stock if not _verifies(one)]
    blocks = [block for module in modules for block, _ in _blocks(module)]
    if not all(_reads_linearly(block) for block in blocks if _has_limits(block)):
        last = [verifier(stock)]
    elif any(0 < _shared_item(block) < _VECTOR // _MOST_LANES for block in blocks):  # more fit into a vector
        last = [VerifyWideCopies()]
    else:
        last = []
    return [RefuseEarly(), *others, *last]


def _reads_linearly(block: Any) -> bool:
    """Return whether a block reads single items, at positions that are linear in its loops."""
    variables = [axis.var for axis in block.iter_vars]
    ranges = [one for read in block.reads for one in read.region]
    return all(
        getattr(one.extent, "value", None) == 1 and len(tvm.sym.detect_linear_equation(one.min, variables))
        for one in ranges
    )


def verifier(postprocessors: Iterable[Any]) -> Any:
    """Return the ``VerifyGPUCode`` among postprocessors."""
    (postprocessor,) = filter(_verifies, postprocessors)
    return postprocessor


def _verifies(postprocessor: Any) -> bool:
    return isinstance(postprocessor, ms.postproc.VerifyGPUCode)
