"""Processes that do the dangerous work: they may crash, hang or poison their device.

A child is a process that calls the functions of one module on request, one at a time. The caller always
gets an answer: the result, or an error that says whether the function raised, the process died, or time ran
out. Nothing here knows what the functions do. Both ends talk over a socket of their own, so that nothing
that a library prints can corrupt an answer.
"""

from __future__ import annotations

import contextlib
import math
import socket
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from abtune.measure.workers.child_errors import CallFailed, CallTimedOut, ChildDied, how_it_ended
from abtune.measure.workers.fork_server import START_TIMEOUT, ForkServer

# Seconds for a child that has closed its connection to end by itself.
HANG_UP_WAIT = 5.0
# A killed process ends at once, unless it is in the middle of something that the system does not interrupt.
LAST_WAIT = 60.0


class ChildProcess:
    """A process that serves the functions of one module.

    The first start waits until the fork server has imported the module. One thread at a time may use it.
    """

    def __init__(self, fork_server: ForkServer, environment: Mapping[str, str], *, niceness: int = 0) -> None:
        begun = time.monotonic()
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
        theirs.close()
        self._connection = Connection(ours.detach())
        self._begun = begun
        self._ready = False
        #: Seconds that starting took; NaN before the first call.
        self.started_in = math.nan

    @property
    def is_alive(self) -> bool:
        """Whether it still answers; before the first call this is not known yet, and assumed."""
        return not self._ready or not self._connection.poll()  # between calls only its end can arrive

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call a function in the child and return what it returns."""
        if not self._ready:
            try:
                self.started_in = self._receive(START_TIMEOUT, "starting") - self._begun
            except CallFailed as error:  # without its module the process serves nothing
                raise ChildDied(str(error)) from None
            self._ready = True
        # Only the last call's output counts; thousands of calls would fill a disk, or memory.
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
