"""Processes that do the dangerous work: they may crash, hang or poison their device, and are replaced.

A servant is a child process that imports one module and calls its functions on request, one at a time. The
caller always gets an answer: the result, or one of three errors that say whether the function raised, the
process died, or time ran out. Nothing here knows what the functions do.

The child is a fresh interpreter (never a fork: forking breaks CUDA once it was touched) and talks over a
socket of its own, so that whatever a library prints cannot corrupt an answer.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Importing TVM takes a second, or ten on a machine whose cores are all busy.
START_TIMEOUT = 300.0


class ServantError(Exception):
    """A call did not return; the message is one line."""


class CallFailed(ServantError):  # noqa: N818 - says what happened
    """The function raised; the process lives on."""


class ServantDied(ServantError):  # noqa: N818 - says what happened
    """The process ended during the call."""


class CallTimedOut(ServantError):  # noqa: N818 - says what happened
    """The call took too long; the process was killed."""


class Servant:
    """A child process that serves the functions of one module.

    Parameters
    ----------
    module : str
        Module whose functions are called by name.
    environment : mapping of str to str
        Variables to set in the child beside the inherited ones.
    niceness : int
        Added to the scheduling priority of the child; higher gives way to others.

    Notes
    -----
    Starting returns at once; the first call waits until the module is imported. Where the system has no
    room for a process, starting raises :class:`ServantDied`. Not for use by several threads at a time.
    """

    def __init__(self, module: str, environment: Mapping[str, str], *, niceness: int = 0) -> None:
        try:
            with contextlib.ExitStack() as undo:
                ours, theirs = map(undo.enter_context, socket.socketpair())
                self._output = undo.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", __name__, str(theirs.fileno()), module, str(niceness)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    env={**os.environ, **environment},
                    start_new_session=True,  # Ctrl-C in the terminal is for the parent to handle
                )
                undo.pop_all()
        except OSError as error:  # no descriptors, no memory, no folder for temporary files
            raise ServantDied(f"a process cannot be started: {error.strerror or error}") from None
        theirs.close()
        self._connection = Connection(ours.detach())
        self._begun = time.monotonic()
        self._ready = False
        #: Seconds that starting took; NaN before the first call.
        self.started_in = math.nan

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call a function in the child and return what it returns.

        Raises
        ------
        CallFailed, ServantDied, CallTimedOut
            See each. After the last two the servant is of no further use.
        """
        if not self._ready:
            try:
                self.started_in = self._receive(START_TIMEOUT, "starting") - self._begun
            except CallFailed as error:  # without its module the process serves nothing
                raise ServantDied(str(error)) from None
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
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and free what belongs to it."""
        self.kill()
        self._process.wait()
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

    def _death(self, what: str) -> ServantDied:
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:  # it let go of the connection but goes on
            self.kill()
            code = self._process.wait()
        how = f"killed by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:200]}" if lines else ""
        return ServantDied(f"{what}: process {how}{last}")


class Post:
    """A place that a servant fills: when one dies, the next call finds another.

    One thread at a time calls; any other may interrupt or close.

    Parameters
    ----------
    module, environment
        As for :class:`Servant`.
    spares : int
        Processes to keep started beside the one that serves, so that a replacement costs nothing.
    niceness : int
        Added to the scheduling priority of the processes; higher gives way to others.
    """

    def __init__(
        self, module: str, environment: Mapping[str, str], *, spares: int = 0, niceness: int = 0
    ) -> None:
        self._module = module
        self._environment = dict(environment)
        self._niceness = niceness
        self._servant: Servant | None = None
        self._spares: collections.deque[Servant] = collections.deque()
        self._spare_count = spares
        self._lock = threading.RLock()  # held during calls
        self._closed = False
        self._interruptions = 0
        self._resumed_after = 0  # interruptions; one that comes while a post is resumed still counts

    def start(self) -> None:
        """Start a servant now, so that the first call need not wait for all of its start."""
        with self._lock, contextlib.suppress(ServantError):  # the first call will say why it cannot start
            if not self._refusal and self._servant is None:
                self._servant = self._next()

    def call(self, function: str, *args: Any, timeout: float) -> Any:
        """Call as :meth:`Servant.call` does; a servant that died or hung is replaced."""
        with self._lock:
            if self._servant is not None and not self._servant.is_alive:  # it died between two calls
                self.replace()
            servant = None
            if not self._refusal:
                servant = self._servant = self._servant or self._next()
            # Looked at again: whoever refuses does so first and then kills the servant that it sees.
            if servant is None or self._refusal:
                raise ServantDied(f"{function}: {self._refusal}")
            try:
                answer = servant.call(function, *args, timeout=timeout)
            except (ServantDied, CallTimedOut):
                self.replace()
                raise
            self._prepare_spares()
            return answer

    @property
    def started_in(self) -> float:
        """Seconds that the servant took to start; NaN if unknown."""
        servant = self._servant
        return math.nan if servant is None else servant.started_in

    @property
    def _refusal(self) -> str:
        """Why calls fail at once; empty if they do not."""
        if self._closed:
            return "closed"
        return "interrupted" if self._interruptions != self._resumed_after else ""

    def replace(self) -> None:
        """Discard the servant, for instance because its device no longer answers."""
        with self._lock:
            if self._servant is not None:
                self._servant.close()
                self._servant = None
            if self._spare_count:
                with contextlib.suppress(ServantError):  # the next call tries again, and says why
                    self._servant = self._next()
            self._prepare_spares()

    def interrupt(self) -> None:
        """Kill the process that serves now, from any thread; calls fail until the post is resumed.

        So a loop over calls ends at once, and not after a failure for each.
        """
        self._interruptions += 1
        servant = self._servant
        if servant is not None:
            servant.kill()

    def resume(self) -> None:
        """Serve again after an interruption, with another servant."""
        with self._lock:
            interruptions = self._interruptions
            if interruptions != self._resumed_after and not self._closed:
                self.replace()
                self._resumed_after = interruptions

    def close(self) -> None:
        """End all processes, from any thread; there will be no others."""
        self._closed = True
        servant = self._servant
        if servant is not None:
            servant.kill()
        with self._lock:
            for each in (self._servant, *self._spares):
                if each is not None:
                    each.close()
            self._servant = None
            self._spares.clear()

    def _next(self) -> Servant:
        return self._spares.popleft() if self._spares else self._new()

    def _prepare_spares(self) -> None:
        """Start what is missing; not before the first call, or spares would slow its servant's start."""
        with contextlib.suppress(ServantError):  # there is one that serves
            while len(self._spares) < self._spare_count and not self._refusal:
                self._spares.append(self._new())

    def _new(self) -> Servant:
        if self._closed:
            raise ServantDied("closed")
        return Servant(self._module, self._environment, niceness=self._niceness)


def _serve(connection: Connection, module_name: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 - the parent turns it into its own error
        connection.send(("error", _one_line(error)))
        return
    connection.send(("result", time.monotonic()))  # a clock that all processes share
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            return
        try:
            answer = ("result", getattr(module, function)(*args))
        except Exception as error:  # noqa: BLE001 - any failure of a candidate is a result
            answer = ("error", _one_line(error))
        connection.send(answer)


def _follow_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TVM puts the native stack first and what happened last; of a linker that fails, its command line.
    lines = [line for line in lines if not line.startswith("Command line:")] or lines
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__


def _volunteer_for_oom() -> None:
    """Have a system that runs out of memory kill this process, which is replaced, before any other."""
    with contextlib.suppress(OSError):  # only Linux can
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")


if __name__ == "__main__":
    os.nice(int(sys.argv[3]))
    _volunteer_for_oom()
    _serve(Connection(int(sys.argv[1])), sys.argv[2])
    os._exit(0)  # a poisoned CUDA context aborts an orderly exit
