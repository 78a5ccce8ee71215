"""Processes that may crash, hang and print: the caller always gets an answer."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from processes import is_running, wait_until

from abtune.measure.workers.child import ChildProcess
from abtune.measure.workers.fork_main import most_telling_line
from abtune.measure.workers.fork_server import (
    CallFailed,
    CallTimedOut,
    ChildDied,
    ChildError,
    ForkServer,
)

LONG = 60.0


# Answers


def test_a_pause_of_everything_costs_no_call(child: ChildProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suspended job goes on: the time has passed for the caller, and the process had none of it."""
    wait, pauses = Connection.poll, iter([None])

    def poll(connection: Connection, timeout: float = 0.0) -> bool:
        paused = timeout and next(pauses, "not") is None
        return False if paused else wait(connection, timeout)

    monkeypatch.setattr(Connection, "poll", poll)
    assert child.call("add", 1, 2, timeout=LONG) == 3


def test_functions_answer(child: ChildProcess) -> None:
    """A call returns what the function returns, call after call, from one other process."""
    assert [child.call("add", 1, number, timeout=LONG) for number in range(3)] == [1, 2, 3]
    first, second = (child.call("who", timeout=LONG) for _ in range(2))
    assert first == second != os.getpid()


def test_large_answers_arrive(child: ChildProcess) -> None:
    """A library of many megabytes comes through whole."""
    assert child.call("big", 20_000_000, timeout=LONG) == bytes(20_000_000)


def test_the_environment_is_inherited_and_added_to(child: ChildProcess) -> None:
    """The child has the variables of the parent, and those that were given."""
    assert child.call("variable", "FAULTY", timeout=LONG) == "set"
    assert child.call("variable", "PATH", timeout=LONG) == os.environ["PATH"]


def test_niceness_is_added(fork_server: ForkServer) -> None:
    """A child with a niceness has a lower priority than its parent."""
    nice = ChildProcess(fork_server, {}, niceness=3)
    try:
        assert nice.call("niceness", timeout=LONG) == min(os.nice(0) + 3, 19)  # the lowest priority
    finally:
        nice.close()


def test_printing_does_not_disturb(child: ChildProcess) -> None:
    """Output of a library, on either stream, corrupts no answer."""
    assert child.call("print_garbage", timeout=LONG) == "answer"
    assert child.call("add", 1, 1, timeout=LONG) == 2


def test_what_is_printed_does_not_pile_up(child: ChildProcess) -> None:
    """Only the output of the last call is kept, and an error quotes its last line."""
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
    """An exception becomes one line with the last line of its message, and the process lives on."""
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
    """If a process ends during a call, the error has its exit code or signal and its last line."""
    with pytest.raises(ChildDied) as caught:
        child.call(function, *arguments, timeout=LONG)
    assert str(caught.value).startswith(said)


def test_an_answer_that_cannot_be_sent_is_an_error(child: ChildProcess) -> None:
    """A result that cannot be pickled is an error, and not a hang."""
    with pytest.raises(ChildError, match=r"[Pp]ickle|get local object"):
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


def test_a_process_that_hangs_up_is_killed(child: ChildProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that closes the connection and lives on is killed."""
    monkeypatch.setattr("abtune.measure.workers.child.HANG_UP_WAIT", 0.1)
    pid = child.call("who", timeout=LONG)
    with pytest.raises(ChildDied, match="let_go: process killed by SIGKILL"):
        child.call("let_go", timeout=LONG)
    assert not is_running(pid)


def test_closing_ends_the_process(child: ChildProcess) -> None:
    """A closed child is gone at once, and closing or killing it again does no harm."""
    pid = child.call("who", timeout=LONG)
    child.close()
    assert not is_running(pid)
    child.kill()
    child.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_goes_first_where_memory_ends(child: ChildProcess) -> None:
    """A system that runs out of memory kills a child before the sweep."""
    ours = int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))
    assert child.call("oom_score", timeout=LONG) > ours


def test_a_name_that_is_no_unicode_can_be_recorded() -> None:
    """The path of a file may be no Unicode, and no dataset could hold the failure that names it."""
    assert most_telling_line(OSError("no file caf\udce9.o")) == "OSError: no file caf?.o"


def test_a_linker_is_quoted_not_its_command_line() -> None:
    """The line of a failed linker is its reason, and not the command line below it."""
    said = "Compilation error:\nld: No space left on device\n\nCommand line: g++ -shared -o kernel.so lib0.o"
    assert most_telling_line(RuntimeError(said)) == "RuntimeError: ld: No space left on device"
    assert most_telling_line(RuntimeError("Command line: g++")) == "RuntimeError: Command line: g++"
