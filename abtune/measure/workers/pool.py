"""The child processes of one machine: some search and build, one for each device measures.

A dask worker has one pool. The worker's threads only wait for their slot, so one worker with many threads
drives all cores. A crash ends a child process and not the worker.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from abtune.measure.plan.workplace import BUS_ORDER, ONE_THREAD, TVM_MODULE, TargetFacts
from abtune.measure.workers.child import NICENESS, Slot
from abtune.measure.workers.fork_server import ForkServer

# The first letters of folders for temporary files.
_SCRATCH = "abtune-"
# A file in each folder, locked while its owner lives: the system frees a lock when a process ends.
_SCRATCH_LOCK = ".abtune-scratch"


class ProcessPool(WorkerPlugin):
    """The slots of one worker, for one sweep."""

    def __init__(self, facts: TargetFacts, *, searchers: int, devices: int) -> None:
        self.name = f"abtune-{uuid.uuid4().hex}"  # a worker may serve several sweeps
        self._facts = facts
        self._counts = (searchers, devices)
        self._slots: list[Slot] = []
        # Errors and memory of a GPU may outlive the call of a kernel.
        self.device_is_apart = not facts.shares_cores

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - called by dask
        """Set up the slots; their processes start with the first calls."""
        # Processes that are killed leave their temporary files; compilers do so in TMPDIR.
        self._scratch = contextlib.ExitStack()
        folder = self._scratch.enter_context(scratch_folder())
        self._fork_server = ForkServer(TVM_MODULE, {**ONE_THREAD, "TMPDIR": folder})
        searchers, devices = self._counts
        environments = {
            "search": [{"CUDA_VISIBLE_DEVICES": ""}] * searchers,
            "device": [_device_environment(self._facts, index) for index in range(devices)],
        }
        self._free: dict[str, queue.SimpleQueue[Slot]] = {kind: queue.SimpleQueue() for kind in environments}
        for kind, per_slot in environments.items():
            for environment in per_slot:
                slot = Slot(self._fork_server, environment, niceness=NICENESS if kind == "search" else 0)
                self._slots.append(slot)
                self._free[kind].put(slot)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - called by dask
        """End all processes."""
        if not self._fork_server.is_ready:  # no thread needs it any more
            self._fork_server.close()
        self.interrupt()
        for slot in self._slots:
            slot.close()
        self._fork_server.close()
        self._scratch.close()

    @contextlib.contextmanager
    def slot(self, kind: str) -> Iterator[Slot]:
        """Yield a slot that nobody else uses meanwhile: to ``search`` and build, or of a ``device``."""
        slot = self._free[kind].get()
        try:
            # An interruption also kills idle processes. Else the next call would fail, and blame its kernel.
            slot.resume()
            yield slot
        finally:
            self._free[kind].put(slot)

    def interrupt(self) -> None:
        """Kill all work; the calls in progress fail."""
        for slot in self._slots:
            slot.interrupt()


def _device_environment(facts: TargetFacts, index: int) -> dict[str, str]:
    if facts.kind != "cuda":
        # Here the variable limits the kernel that is timed, so it differs from ONE_THREAD.
        return {"TVM_NUM_THREADS": str(facts.threads), "CUDA_VISIBLE_DEVICES": ""}
    listed = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    visible = listed[index] if index < len(listed) else str(index)
    return {**BUS_ORDER, "CUDA_VISIBLE_DEVICES": visible}


def with_pool(name: str, task: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a task that is given the worker's pool of this name."""
    return task(get_worker().plugins[name], *args)


def interrupt_pool(name: str, dask_worker: Worker) -> None:
    """Kill all work of a pool; dask passes the worker to a function with this parameter."""
    pool: Any = dask_worker.plugins[name]  # of this class
    pool.interrupt()


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Yield a folder for temporary files, which goes at the end, and remove those of killed processes."""
    import fcntl  # sweeps run on Linux; everything else imports without it

    for lock in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*/{_SCRATCH_LOCK}"):
        # An error means that it is locked, or another user's.
        with contextlib.suppress(OSError), lock.open("rb+") as handle:
            if lock.parent.lstat().st_uid == lock.lstat().st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as held,
    ):
        with contextlib.suppress(OSError):  # a full disk, or a file system without locks
            fcntl.flock(held.enter_context(Path(folder, "new").open("xb")), fcntl.LOCK_EX)
            Path(folder, "new").rename(Path(folder, _SCRATCH_LOCK))  # nobody sees it before it is locked
        yield folder
