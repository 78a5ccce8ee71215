"""The fork server and its children, seen from inside: import one module, fork, and answer calls."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from abtune.errors import AbtuneError


def main(descriptor: int, module: str) -> None:
    """Run a fork server in this process, until its parent is gone."""
    # An interrupt that reaches this process or a child ends nothing: the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - the parent reads the last line that this process prints
        sys.exit(most_telling_line(error))
    gc.freeze()  # what is never collected is never written to, and stays shared
    _offer_forks(socket.socket(fileno=descriptor), module)
    os._exit(0)


def _offer_forks(channel: socket.socket, module: str) -> None:
    """Fork, and answer questions about forks, until the parent is gone."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        parent = os.getpid()
        answer = _exit_of(request) if "pid" in request else _fork()
        if os.getpid() != parent:
            channel.close()  # held open by a child, it would hide the death of the server from the parent
            _become_child(request, descriptors, parent, module)
        # The child has its own copies. One left open here would hide its death from the caller.
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(json.dumps(answer).encode())


def _exit_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the exit code of a child; nothing of a child of an earlier server, which is unknown here."""
    if request["parent"] != os.getpid():
        return {}
    ended, status = os.waitpid(request["pid"], os.WNOHANG)
    return {"code": os.waitstatus_to_exitcode(status) if ended else None}


def _fork() -> dict[str, Any]:
    """Fork a child, and return its number, in the child zero, or the error of the system."""
    try:
        pid = os.fork()
    except OSError as failure:
        return {"error": failure.strerror}
    # Its process group is its own. Both parent and child see to that, because either may come first.
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    return {"pid": pid, "parent": os.getpid()}


def _become_child(request: dict[str, Any], descriptors: Sequence[int], parent: int, module: str) -> NoReturn:
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - compilers that it starts must not keep it
    connection, output = Connection(descriptors[0]), descriptors[1]
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    os.environ.update(request["environment"])
    os.nice(request["niceness"])
    # A system that runs out of memory kills this process, which is replaced, before any other.
    with contextlib.suppress(OSError):  # only Linux can
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
    threading.Thread(target=_follow_parent, args=(parent,), daemon=True).start()
    serve(connection, sys.modules[module])
    os._exit(0)  # a poisoned CUDA context aborts an orderly exit


def _follow_parent(parent: int) -> None:
    """End this process when its parent has gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def serve(connection: Connection, module: ModuleType) -> None:
    """Answer calls in the child until the other end hangs up."""
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            return
        try:
            answer = ("result", getattr(module, function)(*args))
        except Exception as error:  # noqa: BLE001 - any failure of a candidate is a result
            answer = ("error", most_telling_line(error))
        connection.send(answer)


def most_telling_line(error: BaseException) -> str:
    """Return the kind of an error and the line of its message that says most."""
    # The compiler's messages end in NULs, or are nothing else.
    # A path in the message may be no Unicode, which no dataset can hold.
    texts = str(error).replace("\0", "").encode(errors="replace").decode().splitlines()
    lines = [line.strip() for line in texts if line.strip()]
    # TVM puts the native stack first. Behind the reason, compilers say that they end, and TVM its command.
    behind = ("compilation terminated", "collect2: error: ld", "clang: error: linker", "Command line:")
    lines = [line for line in lines if not line.startswith(behind)] or lines
    if lines and isinstance(error, AbtuneError):  # its line is for users
        return lines[-1]
    # A check of TVM that says no more ends in a colon.
    return f"{type(error).__name__}: {lines[-1][:300].rstrip(': ')}" if lines else type(error).__name__
