"""Processes that do the dangerous work: they may crash, hang or poison their device.

A child is a process that calls the functions of one module on request, one at a time. The caller always
gets an answer: the result, or an error that says whether the function raised, the process died, or time ran
out. Nothing here knows what the functions do. Both ends talk over a socket of their own, so that nothing
that a library prints can corrupt an answer. When a child dies, hangs or loses its device, another takes over.
"""

from __future__ import annotations

import collections
import contextlib
import socket
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from abtune.measure.workers.fork_server import (
    START_TIMEOUT,
    CallFailed,
    CallTimedOut,
    ChildDied,
    ChildError,
    ForkServer,
    how_it_ended,
)

# Seconds for a child that has closed its connection to end by itself.
HANG_UP_WAIT = 5.0
# Searches run at lower priority, so that other processes go on: those that measure, and those of others.
NICENESS = 10
# A killed process ends at once, unless it is in the middle of something that the system does not interrupt.
LAST_WAIT = 60.0


class ChildProcess:
    """A process that serves the functions of one module.

    The first start waits until the fork server has imported the module. One thread at a time may use it.
    """

    def __init__(self, fork_server: ForkServer, environment: Mapping[str, str], *, niceness: int = 0) -> None:
        try:
            with contextlib.ExitStack() as undo:
                ours, theirs = map(undo.enter_context, socket.socketpair())
                self._output = undo.enter_context(tempfile.TemporaryFile())
                self._process = fork_server.fork(
                    theirs.fileno(), self._output.fileno(), environment, niceness
                )
                undo.pop_all()
        except OSError as error:  # no descriptors, no memory, no folder for temporary files
            raise ChildDied(f"a process cannot be started: {error.strerror or error}") from None
        # Only the child may hold this end: then its death closes the connection.
        theirs.close()
        self._connection = Connection(ours.detach())
        self._ready = False

    @property
    def is_alive(self) -> bool:
        """Whether it still answers; before the first call this is not known yet, and assumed."""
        return not self._ready or not self._connection.poll()  # between calls only its end can arrive

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call a function in the child and return what it returns."""
        if not self._ready:
            try:
                self._receive(START_TIMEOUT, "starting")
            except CallFailed as error:  # without its module the process serves nothing
                raise ChildDied(str(error)) from None
            self._ready = True
        # Only the last call's output counts; thousands of calls would fill a disk, or memory.
        # The child shares the position in this file, so it goes back there, too.
        self._output.seek(0)
        self._output.truncate()
        try:
            self._connection.send((function, args))
        except OSError:
            raise self._death(function) from None
        return self._receive(timeout, function)

    def kill(self) -> None:
        """Kill the process at once; safe from any thread."""
        self._process.kill()

    def close(self) -> None:
        """End the process and free what belongs to it."""
        self.kill()
        self._process.wait(LAST_WAIT)
        self._connection.close()
        self._output.close()

    def _receive(self, timeout: float, what: str) -> Any:
        try:
            if not self._connection.poll(timeout):
                self.kill()
                raise CallTimedOut(f"{what}: no answer within {timeout:g} s")
            kind, value = self._connection.recv()
        except (EOFError, OSError):
            raise self._death(what) from None
        if kind == "error":
            raise CallFailed(f"{what}: {value}")
        return value

    def _death(self, what: str) -> ChildDied:
        code = self._process.wait(HANG_UP_WAIT)
        if code is None:  # it closed the connection but goes on
            self.kill()
            code = self._process.wait(LAST_WAIT) or 0
        return ChildDied(f"{what}: {how_it_ended(code, self._output)}")


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
        """Start a child now, so that the first call does not have to wait for all of its start."""
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
            # Before the lock is taken: a call in progress holds it until its process is gone.
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
