"""Processes that do the dangerous work: they may crash, hang or poison their device.

A child is a process that calls the functions of one module on request, one at a time. The caller always
gets an answer: the result, or one of three errors that say whether the function raised, the process died,
or time ran out. Nothing here knows what the functions do. Both ends talk over a socket of their own, so that
whatever a library prints cannot corrupt an answer.
"""

from __future__ import annotations

import contextlib
import math
import signal
import socket
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abtune.measure.fork_server import ForkServer

# Importing TVM takes a second, or ten on a machine whose cores are all busy.
START_TIMEOUT = 300.0
# A process that was killed ends at once, unless it is in the middle of what the system does not interrupt.
LAST_WAIT = 60.0


class ChildError(Exception):
    """A call did not return; the message is one line."""


class CallFailed(ChildError):  # noqa: N818 - says what happened
    """The function raised; the process lives on."""


class ChildDied(ChildError):  # noqa: N818 - says what happened
    """The process ended during the call."""


class CallTimedOut(ChildError):  # noqa: N818 - says what happened
    """The call took too long; the process was killed."""


class ChildProcess:
    """A process that serves the functions of one module.

    Parameters
    ----------
    fork_server : ForkServer
        What it is forked from.
    environment : mapping of str to str
        Variables to set in it beside the inherited ones.
    niceness : int
        Added to its scheduling priority; higher gives way to others.

    Notes
    -----
    Starting waits until the fork server has imported the module, the first time. Where the system has no room
    for a process, it raises :class:`ChildDied`. Not for use by several threads at a time.
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
        """Whether it still answers; of one that was never called this is not known yet."""
        return not self._ready or not self._connection.poll()  # between calls only its end can arrive

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call a function in the child and return what it returns.

        Raises
        ------
        CallFailed, ChildDied, CallTimedOut
            See each. After the last two the child is of no further use.
        """
        if not self._ready:
            try:
                self.started_in = self._receive(START_TIMEOUT, "starting") - self._begun
            except CallFailed as error:  # without its module the process serves nothing
                raise ChildDied(str(error)) from None
            self._ready = True
        # Only the last words count; those of thousands of calls would fill a disk, or memory.
        self._output.seek(0)
        self._output.truncate()
        try:
            self._connection.send((function, args))
        except OSError:
            raise self._death(function) from None
        return self._receive(timeout, function)

    def kill(self) -> None:
        """Kill the process, whatever it is doing; safe from any thread."""
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
        code = self._process.wait(5.0)
        if code is None:  # it let go of the connection but goes on
            self.kill()
            code = self._process.wait(LAST_WAIT) or 0
        return ChildDied(f"{what}: {how_it_ended(code, self._output)}")


def serve(connection: Connection, module: ModuleType) -> None:
    """Be the child: answer calls until the other end hangs up."""
    connection.send(("result", time.monotonic()))  # a clock that all processes share
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            return
        try:
            answer = ("result", getattr(module, function)(*args))
        except Exception as error:  # noqa: BLE001 - any failure of a candidate is a result
            answer = ("error", one_line(error))
        connection.send(answer)


def how_it_ended(code: int, output: IO[bytes]) -> str:
    """Say how a process ended, and its last words."""
    how = f"killed by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    last = f": {lines[-1][:200]}" if lines else ""
    return f"process {how}{last}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def one_line(error: BaseException) -> str:
    """Return the kind of an error and the line of it that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TVM puts the native stack first and what happened last; of a linker that fails, its command line.
    lines = [line for line in lines if not line.startswith("Command line:")] or lines
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__
