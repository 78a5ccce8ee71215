"""The process that children are forked from: it imports once, has one thread, and is replaced."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from processes import is_running, wait_until

import abtune
from abtune.errors import TargetError
from abtune.measure.plan.workplace import ONE_THREAD, TVM_MODULE
from abtune.measure.workers.child import ChildProcess, Slot
from abtune.measure.workers.fork_main import most_telling_line
from abtune.measure.workers.fork_server import (
    CallFailed,
    ChildDied,
    ChildError,
    ForkServer,
    allocator,
    with_remedy,
)

LONG = 60.0


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        (os.strerror(errno.EMFILE), "; raise ulimit -n"),
        (os.strerror(errno.ENFILE), "; close other programs, or raise fs.file-max"),
        (
            f"process killed by SIGKILL: {os.strerror(errno.ENOSPC)}",
            "; make room for temporary files, or set TMPDIR",
        ),
        ("process killed by SIGKILL", "; free memory, or use fewer cores"),
        (
            "build: FileNotFoundError: [Errno 2] No such file or directory: '/tmp/x/kernel.so'",
            "; the C compiler wrote no file: check gcc or clang",
        ),
        (
            "ImportError: x.so: failed to map segment: Cannot allocate memory",
            "; free memory, raise ulimit -v, or install abtune in a folder without noexec",
        ),
        (
            "Failed to load dynamic shared library x.so: failed to map segment from shared object",
            "; set TMPDIR to a folder without noexec, or free memory",
        ),
        ("build: no answer within 30 s", "; see whether the C compiler hangs, or the machine is busy"),
        (
            "propose: AttributeError: no attribute 'x'",
            "; mend your own configuration, or ask abtune doctor whether this TVM fits",
        ),
        ("no C compiler found", ""),
    ],
)
def test_the_remedy_fits_the_reason(reason: str, remedy: str) -> None:
    """A limit of the system is not one of the process, and what a process said goes before how it ended."""
    assert with_remedy(reason) == f"{reason}{remedy}"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("unimportable", "importing unimportable: RuntimeError: this cannot work here"),
        ("absent_module", "absent_module"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(module: str, said: str) -> None:
    """When the module fails to import, each start says why."""
    with closing(ForkServer(module, {})) as fork_server:
        for _ in range(2):
            with pytest.raises(ChildDied, match=said):
                ChildProcess(fork_server, {})


def test_a_module_that_kills_its_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a library crashes while it is imported, the error has its last line; the next call tries again."""
    (tmp_path / "crashing.py").write_text(
        "import os, pathlib, sys\n"
        "mark = pathlib.Path(__file__).with_name('mended')\n"
        "mark.exists() or (sys.stderr.write('wrong library\\n'), sys.stderr.flush(), os.abort())\n"
        "def answer(): return 42\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    said = "importing crashing: process killed by SIGABRT: wrong library"
    with closing(ForkServer("crashing", {})) as fork_server, closing(Slot(fork_server, {})) as slot:
        with pytest.raises(ChildDied, match=said):
            slot.call("answer", timeout=LONG)
        (tmp_path / "mended").touch()
        assert slot.call("answer", timeout=LONG) == 42


@pytest.mark.parametrize(
    ("message", "said"),
    [("\0\0", "RuntimeError"), ("log\0\nno memory\0", "RuntimeError: no memory"), ("", "RuntimeError")],
)
def test_a_compiler_s_nul_is_not_said(message: str, said: str) -> None:
    """NVRTC ends its log with NULs, which are no message."""
    assert most_telling_line(RuntimeError(message)) == said


def test_an_error_of_abtune_s_own_is_its_line() -> None:
    """It is written for users, who need no name of a class."""
    assert most_telling_line(TargetError("give another target")) == "give another target"


def test_the_reason_of_a_linker_is_said() -> None:
    """GCC ends with a line that says nothing, and TVM with the command line."""
    message = "Failed:\nld: cannot find -lx\ncompilation terminated.\n\nCommand line: g++ -o x.so\n"
    assert most_telling_line(RuntimeError(message)) == "RuntimeError: ld: cannot find -lx"


def test_a_check_of_tvm_ends_without_a_colon() -> None:
    """TVM writes a colon behind a check that failed, also where it says no more."""
    message = "  at here\nCheck failed: (is_known) is false: "
    assert most_telling_line(RuntimeError(message)) == "RuntimeError: Check failed: (is_known) is false"


@pytest.mark.parametrize(
    "behind",
    ["collect2: error: ld returned 1 exit status", "clang: error: linker command failed with exit code 1"],
)
def test_the_end_of_a_linker_is_not_its_reason(behind: str) -> None:
    """GCC and clang say behind the reason that the linker failed."""
    message = f"ld: final link failed: No space left on device\n{behind}\n"
    said = "RuntimeError: ld: final link failed: No space left on device"
    assert most_telling_line(RuntimeError(message)) == said


def test_a_module_is_imported_once(fork_server: ForkServer) -> None:
    """All children are copies of one process, each with its own variables."""
    children = [ChildProcess(fork_server, {"FAULTY": str(number)}) for number in range(3)]
    try:
        assert len({child.call("imported_by", timeout=LONG) for child in children}) == 1
        assert len({child.call("who", timeout=LONG) for child in children}) == 3
        assert [child.call("variable", "FAULTY", timeout=LONG) for child in children] == ["0", "1", "2"]
        assert {child.call("variable", "IMPORTED", timeout=LONG) for child in children} == {"with"}
    finally:
        for child in children:
            child.close()


def test_files_of_the_working_directory_hide_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries do not import a user's queue.py from the working directory."""
    for name in ("queue", "statistics", "json"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('hidden')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with closing(ForkServer("faulty", {})) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        assert child.call("add", 1, 2, timeout=LONG) == 3


def test_what_is_found_here_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that only the caller's path leads to can be served."""
    (tmp_path / "elsewhere.py").write_text("def answer(): return 42", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with closing(ForkServer("elsewhere", {})) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        assert child.call("answer", timeout=LONG) == 42


def test_children_run_the_abtune_of_their_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children import the abtune of their parent, even if another one is first on the path."""
    (tmp_path / "abtune").mkdir()
    (tmp_path / "abtune" / "__init__.py").write_text("raise RuntimeError('another one')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with closing(ForkServer("faulty", {})) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        assert child.call("file_of", "abtune", timeout=LONG) == abtune.__file__


@pytest.mark.parametrize(("chosen", "loaded"), [("", "libm.so.6"), ("libdl.so.2", "libdl.so.2")])
def test_children_use_a_fast_allocator(monkeypatch: pytest.MonkeyPatch, chosen: str, loaded: str) -> None:
    """The allocator is loaded before all else where it is installed, unless the user has chosen another."""
    there = re.compile(rb"\blibm\.so\.\d+")
    monkeypatch.setattr("abtune.measure.workers.fork_server._TCMALLOC", there)
    monkeypatch.setenv("LD_PRELOAD", chosen)
    if not chosen:
        monkeypatch.delenv("LD_PRELOAD")
    with closing(ForkServer("faulty", {})) as fork_server, closing(Slot(fork_server, {})) as slot:
        assert slot.call("variable", "LD_PRELOAD", timeout=LONG) == loaded


def test_the_allocator_is_found_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's list of libraries says whether it is there; a compiler that is asked may hang."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    listed = tmp_path / "ld.so.cache"
    monkeypatch.setattr("abtune.measure.workers.fork_server._INSTALLED", listed)
    assert allocator() == {}
    listed.write_bytes(b"libtcmalloc_minimal_debug.so.4\0/lib/libtcmalloc_minimal.so.4.5.9\0")
    assert allocator() == {}
    listed.write_bytes(b"libz.so.1\0libtcmalloc_minimal.so.4\0/lib/libtcmalloc_minimal.so.4\0")
    assert allocator() == {"LD_PRELOAD": "libtcmalloc_minimal.so.4"}


def test_what_is_forked_has_one_thread(fork_server: ForkServer) -> None:
    """A fork server has one thread, because a fork copies only the thread that forks."""
    with closing(ChildProcess(fork_server, {})) as child:
        child.call("who", timeout=LONG)
        assert fork_server._process is not None
        assert len(list(Path(f"/proc/{fork_server._process.pid}/task").iterdir())) == 1


def test_tvm_is_forked_with_one_thread() -> None:
    """A fork server with TVM has one thread."""
    with (
        closing(ForkServer(TVM_MODULE, ONE_THREAD)) as fork_server,
        closing(ChildProcess(fork_server, {})) as child,
    ):
        with pytest.raises(CallFailed, match="nothing"):
            child.call("nothing", timeout=LONG)
        assert fork_server._process is not None
        assert len(list(Path(f"/proc/{fork_server._process.pid}/task").iterdir())) == 1


def test_a_fork_server_that_dies_is_replaced(fork_server: ForkServer, slot: Slot) -> None:
    """If a fork server dies its children end and the call fails; the next call starts another server."""
    pid = slot.call("who", timeout=LONG)
    assert fork_server._process is not None
    fork_server._process.kill()
    wait_until(lambda: not is_running(pid), "the end of the child")
    with contextlib.suppress(ChildDied):  # unless it has been noticed
        slot.call("who", timeout=LONG)
    assert slot.call("who", timeout=LONG) != pid


def test_what_a_dead_fork_server_left_does_not_harm_the_next(fork_server: ForkServer) -> None:
    """A new fork server is not asked about children of one that died."""
    slots = [Slot(fork_server, {}) for _ in range(3)]
    try:
        pids = [slot.call("who", timeout=LONG) for slot in slots]
        assert fork_server._process is not None
        fork_server._process.kill()
        wait_until(lambda: not any(is_running(pid) for pid in pids), "the end of the children")
        served_by = set()
        for slot in slots:
            slot.call("who", timeout=LONG)
            served_by.add(fork_server._process.pid)
        assert len(served_by) == 1
    finally:
        for slot in slots:
            slot.close()


def test_a_closed_fork_server_starts_nothing(fork_server: ForkServer) -> None:
    """A closed fork server starts no process, and says that it is closed."""
    fork_server.close()
    with pytest.raises(ChildDied, match="a process cannot be started: closed"):
        ChildProcess(fork_server, {})
    fork_server.close()


def test_a_fork_server_that_is_closed_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing a fork server while it imports fails the waiting call at once."""
    (tmp_path / "endless.py").write_text(
        "import pathlib, time\npathlib.Path(__file__).with_name('begun').touch()\ntime.sleep(600)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    fork_server = ForkServer("endless", {})
    failures: list[ChildError] = []

    def start() -> None:
        try:
            ChildProcess(fork_server, {})
        except ChildError as error:
            failures.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    wait_until((tmp_path / "begun").exists, "the import")
    fork_server.close()
    thread.join(LONG)
    assert len(failures) == 1


@pytest.mark.kills
@pytest.mark.slow
def test_children_follow_a_parent_that_is_killed() -> None:
    """Children end when their parent is killed, busy or idle."""
    script = (
        "import threading, time\n"
        "from abtune.measure.workers.child import ChildProcess\n"
        "from abtune.measure.workers.fork_server import ForkServer\n"
        "fork_server = ForkServer('faulty', {})\n"
        "idle, busy = ChildProcess(fork_server, {}), ChildProcess(fork_server, {})\n"
        "print(idle.call('who', timeout=60), busy.call('who', timeout=60), flush=True)\n"
        "busy.call('hang', timeout=600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(word) for word in parent.stdout.readline().split()]
        assert len(children) == 2
        assert all(is_running(pid) for pid in children)
        parent.kill()
    wait_until(lambda: not any(is_running(pid) for pid in children), "the end of the children")
