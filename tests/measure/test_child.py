"""Processes that may crash, hang and print: the caller always gets an answer."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from processes import is_running, wait_until

from abtune.measure.child import (
    CallFailed,
    CallTimedOut,
    ChildDied,
    ChildError,
    ChildProcess,
    ForkServer,
    Slot,
    _one_line,
)
from abtune.measure.target import ONE_THREAD, TVM_MODULE

LONG = 60.0


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    with ForkServer("faulty", {"IMPORTED": "with"}) as fork_server:
        yield fork_server


@pytest.fixture
def child(fork_server: ForkServer) -> Iterator[ChildProcess]:
    child = ChildProcess(fork_server, {"FAULTY": "set"})
    yield child
    child.close()


@pytest.fixture
def slot(fork_server: ForkServer) -> Iterator[Slot]:
    slot = Slot(fork_server, {})
    yield slot
    slot.close()


# Answers


def test_functions_answer(child: ChildProcess) -> None:
    """A call returns what the function returns, call after call, from one other process."""
    assert [child.call("add", 1, number, timeout=LONG) for number in range(3)] == [1, 2, 3]
    first, second = (child.call("who", timeout=LONG) for _ in range(2))
    assert first == second != os.getpid()


def test_it_is_known_how_long_a_start_took(child: ChildProcess, slot: Slot) -> None:
    """Counted is the start alone, not the wait for the first call."""
    assert math.isnan(child.started_in)
    assert math.isnan(slot.started_in)
    begun = time.monotonic()
    slot.call("who", timeout=LONG)
    assert 0 < slot.started_in < time.monotonic() - begun
    time.sleep(1.0)
    called = time.monotonic()
    child.call("who", timeout=LONG)
    assert 0 < child.started_in < called - child._begun


def test_large_answers_arrive(child: ChildProcess) -> None:
    """A library of many megabytes comes through whole."""
    assert child.call("big", 20_000_000, timeout=LONG) == bytes(20_000_000)


def test_the_environment_is_inherited_and_added_to(child: ChildProcess) -> None:
    """The child has the variables of the parent, and those that were given."""
    assert child.call("variable", "FAULTY", timeout=LONG) == "set"
    assert child.call("variable", "PATH", timeout=LONG) == os.environ["PATH"]


def test_niceness_is_added(fork_server: ForkServer) -> None:
    """A child that is to give way has a lower priority than its parent."""
    nice = ChildProcess(fork_server, {}, niceness=3)
    try:
        assert nice.call("niceness", timeout=LONG) == os.nice(0) + 3
    finally:
        nice.close()


def test_printing_does_not_disturb(child: ChildProcess) -> None:
    """Whatever a library prints, on either stream, corrupts no answer."""
    assert child.call("print_garbage", timeout=LONG) == "answer"
    assert child.call("add", 1, 1, timeout=LONG) == 2


def test_what_is_printed_does_not_pile_up(child: ChildProcess) -> None:
    """However many calls print, only the words of the last are kept; and a death has its own."""
    for _ in range(5):
        child.call("print_garbage", timeout=LONG)
        assert 100_000 < os.fstat(child._output.fileno()).st_size < 300_000
    with pytest.raises(ChildDied) as caught:
        child.call("say_and_die", "the end", timeout=LONG)
    assert str(caught.value) == "say_and_die: process exit code 7: the end"
    assert os.fstat(child._output.fileno()).st_size < 100


def test_the_keyboard_is_for_the_parent(child: ChildProcess) -> None:
    """An interrupt that reaches the child does not end it: the parent decides."""
    pid = child.call("who", timeout=LONG)
    assert os.getpgid(pid) != os.getpgid(0)
    os.kill(pid, signal.SIGINT)
    assert child.call("who", timeout=LONG) == pid


# Faults


def test_an_exception_is_a_failed_call(child: ChildProcess) -> None:
    """What a function raises is one line with the last of what was said, and the process lives on."""
    pid = child.call("who", timeout=LONG)
    with pytest.raises(CallFailed) as caught:
        child.call("complain", "Stack trace:\n  frame 1\n\n  it is wrong  \n", timeout=LONG)
    assert str(caught.value) == "complain: ValueError: it is wrong"
    with pytest.raises(CallFailed, match=r"^complain: ValueError$"):
        child.call("complain", "", timeout=LONG)
    with pytest.raises(CallFailed, match=r"AttributeError.*'absent'"):
        child.call("absent", timeout=LONG)
    assert child.call("who", timeout=LONG) == pid


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        ("leave", (3,), "leave: process exit code 3"),
        ("leave", (0,), "leave: process exit code 0"),
        ("kill_self", (signal.SIGSEGV,), "kill_self: process killed by SIGSEGV"),
        ("kill_self", (signal.SIGKILL,), "kill_self: process killed by SIGKILL"),
        ("kill_self", (signal.SIGABRT,), "kill_self: process killed by SIGABRT"),
        ("kill_self", (signal.SIGRTMIN + 1,), f"kill_self: process killed by signal {signal.SIGRTMIN + 1}"),
        ("say_and_die", ("out of memory",), "say_and_die: process exit code 7: out of memory"),
    ],
)
def test_a_death_says_how(
    child: ChildProcess, function: str, arguments: tuple[object, ...], said: str
) -> None:
    """A process that ends during a call is told by its exit code or signal, and its last words."""
    with pytest.raises(ChildDied) as caught:
        child.call(function, *arguments, timeout=LONG)
    assert str(caught.value).startswith(said)


def test_an_answer_that_cannot_be_sent_is_an_error(child: ChildProcess) -> None:
    """A function whose result cannot be pickled is an error that says so, not a hang."""
    with pytest.raises(ChildError, match=r"[Pp]ickle"):
        child.call("unsendable", timeout=LONG)


def test_a_dead_child_stays_dead(child: ChildProcess) -> None:
    """Every call after a death is a death as well."""
    for _ in range(3):
        with pytest.raises(ChildDied):
            child.call("leave", 3, timeout=LONG)


@pytest.mark.parametrize("function", ["hang", "hang_with_child"])
def test_a_hanging_call_is_killed(child: ChildProcess, function: str) -> None:
    """A call that takes too long fails, and its process is gone."""
    pid = child.call("who", timeout=LONG)
    with pytest.raises(CallTimedOut, match=rf"^{function}: no answer within 0\.5 s$"):
        child.call(function, timeout=0.5)
    wait_until(lambda: not is_running(pid), "the end of the process")


def test_a_process_that_hangs_up_is_killed(child: ChildProcess) -> None:
    """A child that closes the connection but lives on does not live long."""
    pid = child.call("who", timeout=LONG)
    with pytest.raises(ChildDied, match="let_go: process killed by SIGKILL"):
        child.call("let_go", timeout=LONG)
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("module", "said"),
    [("unimportable", "starting: RuntimeError: this cannot work here"), ("absent_module", "absent_module")],
)
def test_a_module_that_cannot_be_imported_is_an_error(module: str, said: str) -> None:
    """When the module fails to import, the first call says why."""
    with ForkServer(module, {}) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        with pytest.raises(ChildDied, match=said):
            child.call("anything", timeout=LONG)
        with pytest.raises(ChildError):
            child.call("anything", timeout=LONG)


def test_a_module_that_kills_its_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that crashes while it is imported is told of with its last words, and tried again later."""
    (tmp_path / "crashing.py").write_text(
        "import os, pathlib, sys\n"
        "mark = pathlib.Path(__file__).with_name('mended')\n"
        "mark.exists() or (sys.stderr.write('wrong library\\n'), sys.stderr.flush(), os.abort())\n"
        "def answer(): return 42\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    said = "importing crashing: process killed by SIGABRT: wrong library"
    with ForkServer("crashing", {}) as fork_server, closing(Slot(fork_server, {})) as slot:
        with pytest.raises(ChildDied, match=said):
            slot.call("answer", timeout=LONG)
        (tmp_path / "mended").touch()
        assert slot.call("answer", timeout=LONG) == 42


# Fork servers


def test_a_module_is_imported_once(fork_server: ForkServer) -> None:
    """All children are copies of one process, each with its own variables; what one does no other sees."""
    children = [ChildProcess(fork_server, {"FAULTY": str(number)}) for number in range(3)]
    try:
        assert len({child.call("imported_by", timeout=LONG) for child in children}) == 1
        assert len({child.call("who", timeout=LONG) for child in children}) == 3
        assert [child.call("variable", "FAULTY", timeout=LONG) for child in children] == ["0", "1", "2"]
        assert {child.call("variable", "IMPORTED", timeout=LONG) for child in children} == {"with"}
    finally:
        for child in children:
            child.close()


def test_what_is_forked_has_one_thread(fork_server: ForkServer) -> None:
    """A fork copies the thread that forks and no other, so that there must be no other."""
    with closing(ChildProcess(fork_server, {})) as child:
        child.call("who", timeout=LONG)
        assert fork_server._process is not None
        assert len(list(Path(f"/proc/{fork_server._process.pid}/task").iterdir())) == 1


def test_tvm_is_forked_with_one_thread() -> None:
    """So it is with the module that everything is about, as it is imported for a sweep."""
    with ForkServer(TVM_MODULE, ONE_THREAD) as fork_server, closing(ChildProcess(fork_server, {})) as child:
        with pytest.raises(CallFailed, match="nothing"):
            child.call("nothing", timeout=LONG)
        assert fork_server._process is not None
        assert len(list(Path(f"/proc/{fork_server._process.pid}/task").iterdir())) == 1


def test_a_fork_server_that_dies_is_replaced(fork_server: ForkServer, slot: Slot) -> None:
    """Its children end with it, the call in progress is told, and the next one finds another."""
    pid = slot.call("who", timeout=LONG)
    assert fork_server._process is not None
    fork_server._process.kill()
    wait_until(lambda: not is_running(pid), "the end of the child")
    with contextlib.suppress(ChildDied):  # unless it has been noticed
        slot.call("who", timeout=LONG)
    assert slot.call("who", timeout=LONG) != pid


def test_what_a_dead_fork_server_left_does_not_harm_the_next(fork_server: ForkServer) -> None:
    """Children of the one that died are not asked after at its successor, which does not know them."""
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
    """Whoever asks is told so."""
    fork_server.close()
    with pytest.raises(ChildDied, match="a process cannot be started: closed"):
        ChildProcess(fork_server, {})
    fork_server.close()


def test_a_fork_server_that_is_closed_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it imports: Ctrl-C in the first seconds of a sweep ends it at once."""
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


def test_closing_ends_the_process(child: ChildProcess) -> None:
    """A closed child is gone at once, and closing or killing it again does no harm."""
    pid = child.call("who", timeout=LONG)
    child.close()
    assert not is_running(pid)
    child.kill()
    child.close()


@pytest.mark.slow
def test_children_follow_a_parent_that_is_killed() -> None:
    """When the parent is killed outright its children end too, busy or idle."""
    script = (
        "import threading, time\n"
        "from abtune.measure.child import ChildProcess, ForkServer\n"
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


# Slots


def test_a_slot_replaces_what_died(slot: Slot) -> None:
    """After a crash and after a hang the next call finds a fresh process."""
    pids = [slot.call("who", timeout=LONG)]
    for function, error in (("kill_self", ChildDied), ("hang", CallTimedOut)):
        with pytest.raises(error):
            slot.call(function, *([signal.SIGSEGV] if function == "kill_self" else []), timeout=2.0)
        pids.append(slot.call("who", timeout=LONG))
    assert len(set(pids)) == 3
    assert [is_running(pid) for pid in pids] == [False, False, True]


def test_a_slot_notices_a_death_between_calls(slot: Slot) -> None:
    """A process that was killed while it had nothing to do costs no call."""
    pid = slot.call("who", timeout=LONG)
    os.kill(pid, signal.SIGKILL)
    assert slot._child is not None
    wait_until(lambda: not slot._child.is_alive, "the end of the process")
    assert slot.call("add", 1, 2, timeout=LONG) == 3


def test_a_slot_keeps_what_raised(slot: Slot) -> None:
    """An exception is no reason to start anew."""
    pid = slot.call("who", timeout=LONG)
    with pytest.raises(CallFailed):
        slot.call("complain", "no", timeout=LONG)
    assert slot.call("who", timeout=LONG) == pid


def test_a_slot_recovers_from_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be imported fails every call, and each time says why."""
    with ForkServer("unimportable", {}) as fork_server, closing(Slot(fork_server, {})) as slot:
        for _ in range(3):
            with pytest.raises(ChildError, match="this cannot work here"):
                slot.call("anything", timeout=LONG)


def test_spares_stand_ready(fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement comes from the spares, which were started before it was needed."""
    started: list[ChildProcess] = []
    original = ChildProcess.__init__

    def note(self: ChildProcess, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)  # type: ignore[arg-type]
        started.append(self)

    monkeypatch.setattr(ChildProcess, "__init__", note)
    slot = Slot(fork_server, {}, spares=2)
    try:
        slot.start()
        assert len(started) == 1  # spares would slow its start
        slot.call("who", timeout=LONG)
        assert len(started) == 3
        spares = [child._process.pid for child in started[1:]]
        slot.replace()
        assert len(started) == 4
        assert slot.call("who", timeout=LONG) == spares[0]
        with pytest.raises(ChildDied):
            slot.call("leave", 1, timeout=LONG)
        assert slot.call("who", timeout=LONG) == spares[1]
        assert len(started) == 5
    finally:
        slot.close()
    assert not [child for child in started if is_running(child._process.pid)]


def test_replacing_an_empty_slot_starts_nothing(slot: Slot) -> None:
    """Before the first call there is nothing to replace, to interrupt or to close."""
    slot.replace()
    slot.interrupt()
    slot.close()
    assert slot._child is None


def test_an_interrupt_ends_the_call_in_progress(slot: Slot, tmp_path: Path) -> None:
    """Another thread can end a call that hangs; the slot serves again afterwards."""
    pid = slot.call("who", timeout=LONG)
    failures: list[ChildError] = []

    def hang() -> None:
        try:
            slot.call("hang_at", str(tmp_path / "busy"), timeout=600.0)
        except ChildError as error:
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until((tmp_path / "busy").exists, "the call")
    slot.interrupt()
    thread.join()
    (failure,) = failures
    assert isinstance(failure, ChildDied)
    assert not is_running(pid)
    slot.resume()
    assert slot.call("who", timeout=LONG) != pid


def test_an_interrupted_slot_refuses_until_it_is_resumed(slot: Slot) -> None:
    """Whoever was interrupted gets no further call through, so that a loop over calls ends at once."""
    slot.call("who", timeout=LONG)
    slot.interrupt()
    for _ in range(3):
        with pytest.raises(ChildDied, match="interrupted"):
            slot.call("who", timeout=LONG)
    slot.resume()
    assert slot.call("add", 1, 2, timeout=LONG) == 3


def test_a_closed_slot_starts_nothing(fork_server: ForkServer) -> None:
    """After closing, calls fail and no process is started for them."""
    slot = Slot(fork_server, {}, spares=1)
    pid = slot.call("who", timeout=LONG)
    slot.close()
    assert not is_running(pid)
    with pytest.raises(ChildDied, match="closed"):
        slot.call("who", timeout=LONG)
    slot.resume()
    with pytest.raises(ChildDied, match="closed"):
        slot.call("who", timeout=LONG)
    slot.replace()
    assert slot._child is None


@pytest.mark.parametrize(("meanwhile", "said"), [("close", "closed"), ("interrupt", "interrupted")])
def test_resuming_undoes_nothing_that_comes_meanwhile(
    slot: Slot, monkeypatch: pytest.MonkeyPatch, meanwhile: str, said: str
) -> None:
    """A slot that is closed or interrupted again while it is resumed starts nothing afterwards."""
    replace = slot.replace

    def overtaken() -> None:
        replace()
        monkeypatch.undo()
        getattr(slot, meanwhile)()

    slot.call("who", timeout=LONG)
    slot.interrupt()
    monkeypatch.setattr(slot, "replace", overtaken)
    slot.resume()
    with pytest.raises(ChildDied, match=said):
        slot.call("who", timeout=LONG)
    assert slot._child is None


@pytest.mark.parametrize("spares", [0, 1])
def test_closing_ends_a_call_in_another_thread(fork_server: ForkServer, tmp_path: Path, spares: int) -> None:
    """A call that is in progress when its slot is closed fails as a death, and starts nothing."""
    slot = Slot(fork_server, {}, spares=spares)
    slot.call("who", timeout=LONG)
    failures: list[BaseException] = []

    def hang() -> None:
        try:
            slot.call("hang_at", str(tmp_path / "busy"), timeout=600.0)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test looks at it
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until((tmp_path / "busy").exists, "the call")
    slot.close()
    thread.join()
    assert [type(failure) for failure in failures] == [ChildDied]
    assert slot._child is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_goes_first_where_memory_ends(child: ChildProcess) -> None:
    """The system is asked to kill a child, which is replaced, rather than the sweep."""
    ours = int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))
    assert child.call("oom_score", timeout=LONG) > ours


def test_what_cannot_be_started_is_said_by_the_first_call(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder for temporary files no process starts; nothing is raised but by calls."""

    def refuse() -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", refuse)
        slot.start()
        with pytest.raises(ChildDied, match="a process cannot be started: No usable temporary directory"):
            slot.call("who", timeout=LONG)
    assert slot.call("who", timeout=LONG) > 0


def test_a_linker_is_quoted_not_its_command_line() -> None:
    """Of what TVM says of a linker that failed, the reason is the line before the command."""
    said = "Compilation error:\nld: No space left on device\n\nCommand line: g++ -shared -o kernel.so lib0.o"
    assert _one_line(RuntimeError(said)) == "RuntimeError: ld: No space left on device"
    assert _one_line(RuntimeError("Command line: g++")) == "RuntimeError: Command line: g++"
