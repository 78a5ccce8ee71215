"""Processes that do the dangerous work: they may crash, hang or poison their device.

A child is a process that calls the functions of one module on request, one at a time. The caller always
gets an answer: the result, or an error that says whether the function raised, the process died, or time ran
out. Nothing here knows what the functions do. Both ends talk over a socket of their own, so that nothing
that a library prints can corrupt an answer. When a child dies, hangs or loses its device, another takes over.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from abtune.measure.workers.fork_server import CallFailed, CallTimedOut, ChildDied, ForkServer, how_it_ended

# Seconds for a child that has closed its connection to end by itself.
HANG_UP_WAIT = 5.0
# Waits for an answer, which share the time limit of a call.
WAITS = 10
# Searches run at lower priority, so that other processes go on: those that measure, and those of others.
NICENESS = 10
# A killed process ends at once, unless it is in the middle of something that the system does not interrupt.
LAST_WAIT = 60.0


class ChildProcess:
    """A process that serves the functions of one module; one thread at a time may use it."""

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

    @property
    def is_alive(self) -> bool:
        """Whether it still answers."""
        return not self._connection.poll()  # between calls only its end can arrive

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call a function in the child and return what it returns."""
        # Only the last call's output counts; thousands of calls would fill a disk, or memory.
        # The child shares the position in this file, so it goes back there, too.
        self._output.seek(0)
        self._output.truncate()
        try:
            self._connection.send((function, args))
            # If everything is paused, as a suspended job is, that uses up one of these waits at most.
            if not any(self._connection.poll(timeout / WAITS) for _ in range(WAITS)):
                self.kill()
                raise CallTimedOut(f"{function}: no answer within {timeout:g} s")
            kind, value = self._connection.recv()
        except (EOFError, OSError):
            raise self._death(function) from None
        if kind == "error":
            raise CallFailed(f"{function}: {value}")
        return value

    def kill(self) -> None:
        """Kill the process at once; safe from any thread."""
        self._process.kill()

    def close(self) -> None:
        """End the process and free what belongs to it."""
        self.kill()
        self._process.wait(LAST_WAIT)
        self._connection.close()
        self._output.close()

    def _death(self, what: str) -> ChildDied:
        code = self._process.wait(HANG_UP_WAIT)
        if code is None:  # it closed the connection but goes on
            self.kill()
            code = self._process.wait(LAST_WAIT) or 0
        return ChildDied(f"{what}: {how_it_ended(code, self._output)}")


class Slot:
    """A slot for one child, which is replaced when it dies. One thread calls; any may interrupt or close."""

    def __init__(self, fork_server: ForkServer, environment: Mapping[str, str], *, niceness: int = 0) -> None:
        self._start = functools.partial(ChildProcess, fork_server, dict(environment), niceness=niceness)
        self._child: ChildProcess | None = None
        self._lock = threading.RLock()  # held during calls
        self._closed = False
        self._interruptions = 0
        self._resumed_after = 0  # interruptions; one that comes while a slot is resumed still counts

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call as :meth:`ChildProcess.call` does; a child that died or hung is replaced."""
        with self._lock:
            if self._child is not None and not self._child.is_alive:  # it died between two calls
                self.replace()
            child = None
            if not self._refusal:
                child = self._child = self._child or self._start()
            # Checked again: another thread sets the refusal first, and then kills the child that it sees.
            if child is None or self._refusal:
                raise ChildDied(f"{function}: {self._refusal}")
            try:
                return child.call(function, *args, timeout=timeout)
            except (ChildDied, CallTimedOut):
                self.replace()
                raise

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

    def interrupt(self) -> None:
        """Kill the process that serves now, from any thread; calls fail until the slot is resumed."""
        # So a loop over calls ends at once, and not after one failure per call.
        self._interruptions += 1
        if (child := self._child) is not None:
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
        if (child := self._child) is not None:
            # Before the lock is taken: a call in progress holds it until its process is gone.
            child.kill()
        self.replace()
