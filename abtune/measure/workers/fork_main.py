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
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """The state of this process as a fork server."""

    channel: socket.socket  # where requests come from
    module: str  # name of the module that children serve
    pid: int  # this process
    error: str  # why the module cannot be imported; empty if it was


def main(descriptor: int, module: str) -> None:
    """Run a fork server in this process, until its parent is gone."""
    # An interrupt that reaches this process or a child ends nothing: the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=descriptor)
    _offer_forks(_Server(channel=channel, module=module, pid=os.getpid(), error=_import(module)))
    os._exit(0)


def _import(module: str) -> str:
    """Import a module that children will share; return why it cannot be imported, or nothing."""
    try:
        importlib.import_module(module)
    except Exception as failure:  # noqa: BLE001 - the parent turns it into its own error
        return one_line(failure)
    finally:
        gc.freeze()  # what is never collected is never written to, and stays shared
    return ""


def _offer_forks(server: _Server) -> None:
    """Fork, and answer questions about forks, until the parent is gone."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(server.channel, 1 << 16, 2)
        if not message:
            return
        request = json.loads(message)
        answer = _exit_of(request, server) if "pid" in request else _fork(request, descriptors, server)
        # The child has its own copies. One left open here would hide its death from the caller.
        for descriptor in descriptors:
            os.close(descriptor)
        server.channel.send(json.dumps(answer).encode())
        if server.error:
            return  # another server imports the module anew for the next child


def _exit_of(request: dict[str, Any], server: _Server) -> dict[str, Any]:
    """Return the exit code of a child; nothing of a child of an earlier server, which is unknown here."""
    if request["parent"] != server.pid:
        return {}
    ended, status = os.waitpid(request["pid"], os.WNOHANG)
    return {"code": os.waitstatus_to_exitcode(status) if ended else None}


def _fork(request: dict[str, Any], descriptors: Sequence[int], server: _Server) -> dict[str, Any]:
    """Fork a child, and return its number or the error of the system."""
    try:
        pid = os.fork()
    except OSError as failure:
        return {"error": failure.strerror}
    if not pid:
        # Held open by a child, it would hide the death of the server from the parent.
        server.channel.close()
        _become_child(request, descriptors, server)
    _own_group(pid)
    return {"pid": pid, "parent": server.pid}


def _own_group(pid: int) -> None:
    """Give a fork a process group; both parent and child do, because either may come first."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)


def _become_child(request: dict[str, Any], descriptors: Sequence[int], server: _Server) -> NoReturn:
    _own_group(os.getpid())
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - compilers that it starts must not keep it
    connection, output = Connection(descriptors[0]), descriptors[1]
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    os.environ.update(request["environment"])
    os.nice(request["niceness"])
    _volunteer_for_oom()
    if server.error:
        connection.send(("error", server.error))
    else:
        threading.Thread(target=_follow_parent, args=(server.pid,), daemon=True).start()
        serve(connection, sys.modules[server.module])
    os._exit(0)  # a poisoned CUDA context aborts an orderly exit


def _follow_parent(parent: int) -> None:
    """End this process when its parent has gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _volunteer_for_oom() -> None:
    """Have a system that runs out of memory kill this process, which is replaced, before any other."""
    with contextlib.suppress(OSError):  # only Linux can
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")


def serve(connection: Connection, module: ModuleType) -> None:
    """Answer calls in the child until the other end hangs up."""
    connection.send(("result", None))  # it is ready
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


def one_line(error: BaseException) -> str:
    """Return the kind of an error and the line of its message that says most."""
    # The compiler's messages end in NULs, or are nothing else.
    # A path in the message may be no Unicode, which no dataset can hold.
    texts = str(error).replace("\0", "").encode(errors="replace").decode().splitlines()
    lines = [line.strip() for line in texts if line.strip()]
    # TVM puts the native stack first. A linker that failed is quoted with its command line last.
    lines = [line for line in lines if not line.startswith("Command line:")] or lines
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__
