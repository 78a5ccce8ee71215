"""Slots for children: when a child dies, hangs or loses its device, another takes over."""

from __future__ import annotations

import collections
import contextlib
import math
import threading
from collections.abc import Mapping
from typing import Any

from abtune.measure.workers.child import ChildProcess
from abtune.measure.workers.child_errors import CallTimedOut, ChildDied, ChildError
from abtune.measure.workers.fork_server import ForkServer


class Slot:
    """A slot for one child at a time: when the child dies, the next call finds another.

    One thread at a time calls; any other may interrupt or close.
    """

    def __init__(
        self, fork_server: ForkServer, environment: Mapping[str, str], *, spares: int = 0, niceness: int = 0
    ) -> None:
        self._fork_server = fork_server
        self._environment = dict(environment)
        self._niceness = niceness
        self._child: ChildProcess | None = None
        self._spares: collections.deque[ChildProcess] = collections.deque()
        self._spare_count = spares
        self._lock = threading.RLock()  # held during calls
        self._closed = False
        self._interruptions = 0
        self._resumed_after = 0  # interruptions; one that comes while a slot is resumed still counts

    def start(self) -> None:
        """Start a child now, so that the first call need not wait for all of its start."""
        with self._lock, contextlib.suppress(ChildError):  # the first call will say why it cannot start
            if not self._refusal and self._child is None:
                self._child = self._next()

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call as :meth:`ChildProcess.call` does; a child that died or hung is replaced."""
        with self._lock:
            if self._child is not None and not self._child.is_alive:  # it died between two calls
                self.replace()
            child = None
            if not self._refusal:
                child = self._child = self._child or self._next()
            # Checked again: another thread sets the refusal first, and then kills the child that it sees.
            if child is None or self._refusal:
                raise ChildDied(f"{function}: {self._refusal}")
            try:
                answer = child.call(function, *args, timeout=timeout)
            except (ChildDied, CallTimedOut):
                self.replace()
                raise
            self._prepare_spares()
            return answer

    @property
    def started_in(self) -> float:
        """Seconds that the child took to start; NaN if unknown."""
        child = self._child
        return math.nan if child is None else child.started_in

    @property
    def _refusal(self) -> str:
        """Why calls fail at once; empty if they do not."""
        if self._closed:
            return "closed"
        return "interrupted" if self._interruptions != self._resumed_after else ""

    def replace(self) -> None:
        """Discard the child, for instance because its device no longer answers."""
        with self._lock:
            if self._child is not None:
                self._child.close()
                self._child = None
            if self._spare_count:
                with contextlib.suppress(ChildError):  # the next call tries again, and says why
                    self._child = self._next()
            self._prepare_spares()

    def interrupt(self) -> None:
        """Kill the process that serves now, from any thread; calls fail until the slot is resumed."""
        # So a loop over calls ends at once, and not after one failure per call.
        self._interruptions += 1
        child = self._child
        if child is not None:
            child.kill()

    def resume(self) -> None:
        """Serve again after an interruption, with another child."""
        with self._lock:
            interruptions = self._interruptions
            if interruptions != self._resumed_after and not self._closed:
                self.replace()
                self._resumed_after = interruptions

    def close(self) -> None:
        """End all processes, from any thread; there will be no others."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()
        with self._lock:
            for process in (self._child, *self._spares):
                if process is not None:
                    process.close()
            self._child = None
            self._spares.clear()

    def _next(self) -> ChildProcess:
        return self._spares.popleft() if self._spares else self._new()

    def _prepare_spares(self) -> None:
        """Start the missing spares; not before the first call, because they would slow its child's start."""
        with contextlib.suppress(ChildError):  # there is one that serves
            while len(self._spares) < self._spare_count and not self._refusal:
                self._spares.append(self._new())

    def _new(self) -> ChildProcess:
        if self._closed:
            raise ChildDied("closed")
        return ChildProcess(self._fork_server, self._environment, niceness=self._niceness)
