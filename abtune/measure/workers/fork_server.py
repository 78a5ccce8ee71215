"""A fork server: a process that has imported one module and done nothing else; children are its copies.

So neither a thread nor a CUDA context is forked. The fork server of the standard library imports the main
module in every child. Every script that sweeps would then need a guard.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from abtune.measure.workers import fork_main

# Importing TVM takes a second, or ten on a machine whose cores are all busy.
START_TIMEOUT = 300.0
_ABTUNE = Path(__file__).parents[2] / "__init__.py"
# The process finds the modules that its parent finds, and always the parent's own abtune: another one may
# be installed. But the working directory does not come first (-P), because a user's queue.py there would
# hide the one of the standard library.
_START = f"""
import importlib.util, sys
descriptor, module, abtune, *folders = sys.argv[1:]
sys.path += [folder for folder in folders if folder not in sys.path]
spec = importlib.util.spec_from_file_location("abtune", abtune)
sys.modules["abtune"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["abtune"])
from {fork_main.__name__} import main
main(int(descriptor), module)
"""
# Where the system lists its libraries, each with a NUL behind it, and the one that makes searches faster.
_INSTALLED = Path("/etc/ld.so.cache")
_TCMALLOC = re.compile(rb"\blibtcmalloc_minimal\.so\.\d+(?=\0)")


def allocator() -> dict[str, str]:
    """Return the environment that loads tcmalloc, with which searches are faster; empty if it is missing."""
    # Not by ctypes.util.find_library, which asks gcc: that may hang.
    with contextlib.suppress(OSError):  # not every system has a list
        if library := _TCMALLOC.search(_INSTALLED.read_bytes()):
            return {"LD_PRELOAD": library[0].decode()}
    return {}


class ChildError(Exception):
    """A call did not return; the message is one line."""


class CallFailed(ChildError):  # noqa: N818 - says what happened
    """The function raised; the process lives on."""


class ChildDied(ChildError):  # noqa: N818 - says what happened
    """The process ended during the call."""


class CallTimedOut(ChildError):  # noqa: N818 - says what happened
    """The call took too long; the process was killed."""


def how_it_ended(code: int, output: IO[bytes]) -> str:
    """Return how a process ended, with the last line that it printed."""
    names = {-number: number.name for number in signal.Signals}  # without most real-time signals
    end = f"killed by {names.get(code, f'signal {-code}')}" if code < 0 else f"exit code {code}"
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    last = f": {lines[-1][:200]}" if lines else ""
    return f"process {end}{last}"


# What helps a process that lacks something of the system, by words of the reason that it gives. The first
# that fits counts: a process that was killed may have said why.
_REMEDIES = {
    os.strerror(errno.ENFILE): "close other programs, or raise fs.file-max",  # it begins as the next one
    os.strerror(errno.EMFILE): "raise ulimit -n",
    **dict.fromkeys((os.strerror(errno.EAGAIN), "start new thread"), "raise ulimit -u, or use fewer cores"),
    os.strerror(errno.EFBIG): "raise ulimit -f",
    os.strerror(errno.ENOSPC): "make room for temporary files, or set TMPDIR",
    "temporary directory": "make room there, or set TMPDIR",
    "kernel.so'": "the C compiler wrote no file: check gcc or clang",
    # Of a kernel, and of a package: the system says no more where a folder is mounted with noexec.
    "load dynamic shared library": "set TMPDIR to a folder without noexec, or free memory",
    "failed to map segment": "free memory, raise ulimit -v, or install abtune in a folder without noexec",
    **dict.fromkeys((os.strerror(errno.ENOMEM), "SIGKILL"), "free memory, or use fewer cores"),
    "build: no answer": "see whether the C compiler hangs, or the machine is busy",
    **dict.fromkeys(
        ("AttributeError:", "TypeError:"),
        "mend your own configuration, or ask abtune doctor whether this TVM fits",
    ),
}


def remedy_for(reason: str) -> str:
    """Return what helps against the reason why a process failed; empty where nothing is known to."""
    return next((remedy for words, remedy in _REMEDIES.items() if words in reason), "")


def with_remedy(reason: str) -> str:
    """Return why a process failed, and what helps."""
    return "; ".join(filter(None, (reason, remedy_for(reason))))


class ForkServer:
    """A process that has imported a module; children are its copies, and die with it.

    Importing TVM takes a second and 100 MB. A fork takes milliseconds and shares the memory. The first fork
    starts the process, and so does the next one after its death. Several threads may use it.
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

    def fork(self, connection: int, output: int, environment: Mapping[str, str], niceness: int) -> Fork:
        """Return a new child."""
        answer = self.ask({"environment": dict(environment), "niceness": niceness}, [connection, output])
        if "pid" not in answer:
            raise ChildDied(f"a process cannot be started: {answer.get('error', 'closed')}")
        return Fork(self, pid=int(answer["pid"]), parent=int(answer["parent"]))

    def close(self) -> None:
        """End the process; its children end with it."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # before the lock: a thread that waits for an answer holds it
        with self._lock:
            self._discard()

    def ask(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Return the answer to a request; with the word ``error``, or none, if there is no process."""
        with self._lock:
            try:
                # Only a fork starts a server: a new one knows nothing of the children of the old one.
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
        # Packets keep their limits, so that each recv() gets one whole message.
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_TIMEOUT)
        with theirs:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is read when the process has died
            paths = [str(_ABTUNE), *(str(Path(folder).absolute()) for folder in sys.path)]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                # Unbuffered, so that the last line of a child is the last that it printed, as its end says.
                [sys.executable, "-P", "-u", "-c", _START, str(theirs.fileno()), self._module, *paths],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                # The user's own LD_PRELOAD comes later and wins; the limits on threads come last.
                env={**allocator(), **os.environ, **self._environment},
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
        # Of an error in Python, the line that it printed says all.
        how = how_it_ended(process.wait(), output).removeprefix("process exit code 1: ")
        self._discard()
        return f"importing {self._module}: {how}"

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
    """A process that was forked from a fork server, which tells its exit code."""

    def __init__(self, fork_server: ForkServer, *, pid: int, parent: int) -> None:
        self.pid = pid
        self._parent = parent
        self._fork_server = fork_server
        self._code: int | None = None
        self._lock = threading.Lock()

    def wait(self, timeout: float) -> int | None:
        """Wait for its end, at most `timeout` seconds; return the exit code, or None if it still runs."""
        end = time.monotonic() + timeout
        while True:
            with self._lock:
                if self._code is None:
                    # Told once. If the fork server has died, its children die too, and the code is lost.
                    answer = self._fork_server.ask({"pid": self.pid, "parent": self._parent}, [])
                    self._code = answer.get("code", -signal.SIGKILL)
            if self._code is not None or time.monotonic() >= end:
                return self._code
            # It is a child of the fork server, and a process can wait for its own children only.
            time.sleep(0.002)

    def kill(self) -> None:
        """Kill it and what it has started; safe from any thread."""
        if self._code is None:  # until its end is known, no other process can have its number
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
