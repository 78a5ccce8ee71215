"""Refuse schedules that ask for too much of a GPU before they are lowered.

For CUDA, MetaSchedule's last postprocessor is ``VerifyGPUCode``. It lowers each schedule, and refuses most of
them for the number of threads or for shared memory. A tiled schedule shows both numbers itself. So
:class:`RefuseEarly` reads them first, and ``VerifyGPUCode`` need only check the candidates that are picked.

A few schedules cannot be lowered: a software pipeline on a loop of one iteration. ``RewriteReductionBlock``
moves the initialization of the sum before the first loop that sums. That is a loop inside the pipeline then,
so the pipeline has one statement more than its annotation names, and ``InjectSoftwarePipeline`` fails.

This changes no random number: ``ThreadedTraceApply`` in MetaSchedule's ``utils.h`` draws one seed for each
schedule, whatever happens to it. So a search proposes the same candidates with either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from abtune.measure.plan.problem import Problem
from abtune.measure.tvm.load_tvm import ms, tvm
from abtune.measure.tvm.tvm_devices import is_cuda
from abtune.shapes import OwnShape, Shape

# Set to 1 to search with MetaSchedule's own postprocessors only.
STOCK = "ABTUNE_STOCK_SEARCH"
LIMITS = ("max_threads_per_block", "max_shared_memory_per_block")
THREADS = tuple(f"meta_schedule.thread_extent_{end}_inclusive" for end in ("low", "high"))
STAGES = "software_pipeline_stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """What the loops around a block of statements mean for a GPU."""

    threads: int = 1  # number of threads in a thread block
    versions: int = 1  # number of versions of a buffer that the software pipeline keeps
    innermost: int = 1  # number of iterations of the innermost loop
    can_lower: bool = True  # whether no software pipeline has one iteration only

    def with_loop(self, loop: Any) -> Loops:
        """Return these loops with another one inside them."""
        extent, threads, versions, can_lower = int(loop.extent), self.threads, self.versions, self.can_lower
        if loop.thread_binding is not None and loop.thread_binding.thread_tag.startswith("threadIdx."):
            threads *= extent
        if STAGES in loop.annotations:
            stages = [int(stage) for stage in loop.annotations[STAGES]]
            # The pipeline keeps what is copied at the first stage until the last one computes with it.
            versions = stages[-1] - stages[0] + 1
            can_lower = can_lower and extent > 1
        return Loops(threads=threads, versions=versions, innermost=extent, can_lower=can_lower)


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


def early_postprocessors(shape: Shape) -> list[Any]:
    """Return MetaSchedule's postprocessors for CUDA with :class:`RefuseEarly` for ``VerifyGPUCode``.

    A workload of the user has both: of half floats or grouped convolutions, ``VerifyGPUCode`` refuses more.
    """
    stock = ms.postproc.Postproc.create("cuda")
    is_own = isinstance(shape, OwnShape)
    return [RefuseEarly(), *(one for one in stock if is_own or not _verifies(one))]


def verifier(postprocessors: Iterable[Any]) -> Any:
    """Return the ``VerifyGPUCode`` among postprocessors."""
    (postprocessor,) = filter(_verifies, postprocessors)
    return postprocessor


def _verifies(postprocessor: Any) -> bool:
    return isinstance(postprocessor, ms.postproc.VerifyGPUCode)
