"""Processes that do the dangerous work: they may crash, hang or poison their device, and are replaced.

A child is a process that calls the functions of one module on request, one at a time. The caller always
gets an answer: the result, or one of three errors that say whether the function raised, the process died,
or time ran out. Nothing here knows what the functions do.

Children are forked from a fork server: a process that imported the module and did nothing since, so that
neither a thread nor a CUDA context is forked. They talk over sockets of their own, so that whatever a
library prints cannot corrupt an answer. The standard library's fork server does not do: it imports the
caller's main module in every child, and whoever sweeps from a script would have to guard it.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import json
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
from types import ModuleType
from typing import IO, Any, NoReturn, Self

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


class ForkServer:
    """A process that has imported a module, of which children are copies.

    Importing TVM takes a second and 100 MB, and longer where many processes do so at once; a fork takes
    milliseconds, and shares them. The process starts with the first fork, and anew after a death, with which
    its children die too. For use by several threads.

    Parameters
    ----------
    module : str
        Module whose functions are called by name.
    environment : mapping of str to str
        Variables to set before it is imported, beside the inherited ones. They have to keep its libraries
        from starting threads, which a fork would not copy.
    """

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._module = module
        self._environment = dict(environment)
        self._lock = threading.Lock()  # held from request to answer
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._output: IO[bytes] | None = None
        self._closed = False
        #: Whether it has imported its module and answers.
        self.is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fork(self, connection: int, output: int, environment: Mapping[str, str], niceness: int) -> _Fork:
        """Start a child.

        Parameters
        ----------
        connection, output : int
            Descriptors: of the socket over which it answers, and of the file for what it prints.
        environment : mapping of str to str
            Variables to set in it.
        niceness : int
            Added to its scheduling priority; higher gives way to others.

        Raises
        ------
        ChildDied
            If there is no room for a process.
        """
        answer = self._ask({"environment": dict(environment), "niceness": niceness}, [connection, output])
        if "pid" not in answer:
            raise ChildDied(f"a process cannot be started: {answer.get('error', 'closed')}")
        return _Fork(self, pid=int(answer["pid"]), parent=int(answer["parent"]))

    def exit_code(self, pid: int, parent: int) -> int | None:
        """Return how a child ended, as :mod:`subprocess` does; None while it runs. It is told once.

        Parameters
        ----------
        pid, parent : int
            The child, and the process that it was forked from. If that has died, so does the child, and
            nobody can tell how: as if it was killed.
        """
        answer = self._ask({"pid": pid, "parent": parent}, [])
        code: int | None = answer.get("code", -signal.SIGKILL)
        return code

    def close(self) -> None:
        """End the process; its children end with it."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # before waiting for whoever waits for it
        with self._lock:
            self._discard()

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        with self._lock:
            try:
                if descriptors and not self._closed:
                    self._start_if_dead()
                if self._channel is None:
                    return {}
                socket.send_fds(self._channel, [json.dumps(request).encode()], descriptors)
                answer: dict[str, Any] = json.loads(self._channel.recv(1 << 16))
            except TimeoutError:
                self._discard()
                return {"error": f"importing {self._module} takes longer than {START_TIMEOUT:g} s"}
            except (OSError, ValueError) as error:
                return {"error": self._why_it_is_dead(error)}
            self.is_ready = True
            return answer

    def _start_if_dead(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._discard()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_TIMEOUT)
        with theirs:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is read when the process has died
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", __name__, str(theirs.fileno()), self._module],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env={**os.environ, **self._environment},
                start_new_session=True,  # Ctrl-C in the terminal is for the parent to handle
            )
        if self._closed:  # meanwhile
            self._process.kill()

    def _why_it_is_dead(self, error: Exception) -> str:
        process, output = self._process, self._output
        if process is None or output is None:  # no descriptors, no memory, no folder for temporary files
            return str(getattr(error, "strerror", None) or error)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
        process.kill()
        how = f"importing {self._module}: {_how_it_ended(process.wait(), output)}"
        self._discard()
        return how

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for resource in (self._channel, self._output):
            if resource is not None:
                resource.close()
        self._process = self._channel = self._output = None
        self.is_ready = False


class _Fork:
    """A process forked from a fork server, through which its end is known."""

    def __init__(self, fork_server: ForkServer, *, pid: int, parent: int) -> None:
        self.pid = pid
        self._parent = parent
        self._fork_server = fork_server
        self._code: int | None = None
        self._lock = threading.Lock()

    def exit_code(self) -> int | None:
        """Return how it ended, as :mod:`subprocess` does; None while it runs."""
        with self._lock:
            if self._code is None:
                self._code = self._fork_server.exit_code(self.pid, self._parent)
            return self._code

    def wait(self, timeout: float) -> int | None:
        """Wait for its end, but not longer than so many seconds; return as :meth:`exit_code` does."""
        end = time.monotonic() + timeout
        while self.exit_code() is None and time.monotonic() < end:
            time.sleep(0.002)
        return self._code

    def kill(self) -> None:
        """Kill it and what it has started; safe from any thread."""
        if self._code is None:  # nobody else can have its number before its end is known
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


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
        return ChildDied(f"{what}: {_how_it_ended(code, self._output)}")


class Slot:
    """A place that a child fills: when one dies, the next call finds another.

    One thread at a time calls; any other may interrupt or close.

    Parameters
    ----------
    fork_server, environment
        As for :class:`ChildProcess`.
    spares : int
        Processes to keep started beside the one that serves, so that a replacement costs nothing.
    niceness : int
        Added to the scheduling priority of the processes; higher gives way to others.
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
            # Looked at again: whoever refuses does so first and then kills the child that it sees.
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
        """Kill the process that serves now, from any thread; calls fail until the slot is resumed.

        So a loop over calls ends at once, and not after a failure for each.
        """
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
            for each in (self._child, *self._spares):
                if each is not None:
                    each.close()
            self._child = None
            self._spares.clear()

    def _next(self) -> ChildProcess:
        return self._spares.popleft() if self._spares else self._new()

    def _prepare_spares(self) -> None:
        """Start what is missing; not before the first call, or spares would slow its child's start."""
        with contextlib.suppress(ChildError):  # there is one that serves
            while len(self._spares) < self._spare_count and not self._refusal:
                self._spares.append(self._new())

    def _new(self) -> ChildProcess:
        if self._closed:
            raise ChildDied("closed")
        return ChildProcess(self._fork_server, self._environment, niceness=self._niceness)


def _offer_forks(channel: socket.socket, module_name: str) -> None:
    """Be a fork server: import the module, then fork or tell of forks until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own, error = os.getpid(), ""
    try:
        importlib.import_module(module_name)
    except Exception as failure:  # noqa: BLE001 - the parent turns it into its own error
        error = _one_line(failure)
    gc.freeze()  # what is never collected is never written to, and stays shared
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        if "pid" in request:  # that of a child of an earlier server means nothing here
            is_ours = request["parent"] == own
            answer: dict[str, Any] = {"code": _exit_code(request["pid"])} if is_ours else {}
        else:
            try:
                pid = os.fork()
            except OSError as failure:
                answer = {"error": failure.strerror}
            else:
                if not pid:
                    channel.close()
                    _become_child(request, descriptors, module_name, own, error)
                _own_group(pid)
                answer = {"pid": pid, "parent": own}
            for descriptor in descriptors:
                os.close(descriptor)
        channel.send(json.dumps(answer).encode())
        if error:
            return  # to be imported anew for the next child


def _exit_code(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _own_group(pid: int) -> None:
    """Give a fork a process group; whichever of parent and child comes first does."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)


def _become_child(
    request: dict[str, Any], descriptors: list[int], module_name: str, parent: int, error: str
) -> NoReturn:
    _own_group(os.getpid())
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - not by the compilers that it starts
    connection, output = Connection(descriptors[0]), descriptors[1]
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    os.environ.update(request["environment"])
    os.nice(request["niceness"])
    _volunteer_for_oom()
    if error:
        connection.send(("error", error))
    else:
        threading.Thread(target=_follow_parent, args=(parent,), daemon=True).start()
        _serve(connection, sys.modules[module_name])
    os._exit(0)  # a poisoned CUDA context aborts an orderly exit


def _serve(connection: Connection, module: ModuleType) -> None:
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


def _how_it_ended(code: int, output: IO[bytes]) -> str:
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
    _offer_forks(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    os._exit(0)
