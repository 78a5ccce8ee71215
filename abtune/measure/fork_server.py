"""A fork server: a process that imported a module and did nothing since, of which children are copies.

So neither a thread nor a CUDA context is forked. The standard library's fork server does not do: it imports
the caller's main module in every child, and whoever sweeps from a script would have to guard it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
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
from typing import IO, Any, NoReturn, Self

from abtune.measure.child import START_TIMEOUT, ChildDied, how_it_ended, one_line, serve

# Modules that are found here are found there. But the working directory does not come first (-P), where a
# user's queue.py would hide that of the standard library.
_START = f"""
import sys
sys.path += [place for place in sys.argv[3:] if place not in sys.path]
from {__name__} import main
main()
"""


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

    def fork(self, connection: int, output: int, environment: Mapping[str, str], niceness: int) -> Fork:
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
        return Fork(self, pid=int(answer["pid"]), parent=int(answer["parent"]))

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
            paths = [str(Path(place).absolute()) for place in sys.path]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-c", _START, str(theirs.fileno()), self._module, *paths],
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
        how = f"importing {self._module}: {how_it_ended(process.wait(), output)}"
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


class Fork:
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


def main() -> None:
    """Be a fork server, in a process that one was started as."""
    _offer_forks(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    os._exit(0)


def _offer_forks(channel: socket.socket, module_name: str) -> None:
    """Be a fork server: import the module, then fork or tell of forks until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own, error = os.getpid(), ""
    try:
        importlib.import_module(module_name)
    except Exception as failure:  # noqa: BLE001 - the parent turns it into its own error
        error = one_line(failure)
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
        serve(connection, sys.modules[module_name])
    os._exit(0)  # a poisoned CUDA context aborts an orderly exit


def _follow_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _volunteer_for_oom() -> None:
    """Have a system that runs out of memory kill this process, which is replaced, before any other."""
    with contextlib.suppress(OSError):  # only Linux can
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
