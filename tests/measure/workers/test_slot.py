"""Slots: a dead child is replaced, and other threads can interrupt and close."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from measure_builders import make_facts
from processes import is_running, wait_until

from abtune.measure.workers.child import Slot
from abtune.measure.workers.fork_server import CallFailed, CallTimedOut, ChildDied, ChildError, ForkServer
from abtune.measure.workers.pool import ProcessPool

LONG = 60.0


@contextlib.contextmanager
def hanging(slot: Slot, busy: Path) -> Iterator[list[BaseException]]:
    """Make a call that hangs in another thread; yield a list of the errors that it raised."""
    failures: list[BaseException] = []

    def hang() -> None:
        try:
            slot.call("hang_at", str(busy), timeout=600.0)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test looks at it
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until(busy.exists, "the call")
    yield failures
    thread.join()


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
    """A child whose function raised is kept."""
    pid = slot.call("who", timeout=LONG)
    with pytest.raises(CallFailed):
        slot.call("complain", "no", timeout=LONG)
    assert slot.call("who", timeout=LONG) == pid


def test_a_slot_recovers_from_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be imported fails every call, and each time says why."""
    with closing(ForkServer("unimportable", {})) as fork_server, closing(Slot(fork_server, {})) as slot:
        for _ in range(3):
            with pytest.raises(ChildError, match="this cannot work here"):
                slot.call("anything", timeout=LONG)


def test_replacing_an_empty_slot_starts_nothing(slot: Slot) -> None:
    """Before the first call there is nothing to replace, to interrupt or to close."""
    slot.replace()
    slot.interrupt()
    slot.close()
    assert slot._child is None


def test_an_interrupt_ends_the_call_in_progress(slot: Slot, tmp_path: Path) -> None:
    """Another thread can end a call that hangs; the slot serves again afterwards."""
    pid = slot.call("who", timeout=LONG)
    with hanging(slot, tmp_path / "busy") as failures:
        slot.interrupt()
    assert [type(failure) for failure in failures] == [ChildDied]
    assert not is_running(pid)
    slot.resume()
    assert slot.call("who", timeout=LONG) != pid


def test_an_interrupted_slot_refuses_until_it_is_resumed(slot: Slot) -> None:
    """Calls fail after an interrupt until the slot is resumed, so that a loop over calls ends at once."""
    slot.call("who", timeout=LONG)
    slot.interrupt()
    for _ in range(3):
        with pytest.raises(ChildDied, match="interrupted"):
            slot.call("who", timeout=LONG)
    slot.resume()
    assert slot.call("add", 1, 2, timeout=LONG) == 3


def test_a_closed_slot_starts_nothing(fork_server: ForkServer) -> None:
    """After closing, calls fail and no process is started for them."""
    slot = Slot(fork_server, {})
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


def test_closing_ends_a_call_in_another_thread(fork_server: ForkServer, tmp_path: Path) -> None:
    """Closing a slot fails its call in progress, and starts no other child."""
    slot = Slot(fork_server, {})
    slot.call("who", timeout=LONG)
    with hanging(slot, tmp_path / "busy") as failures:
        slot.close()
    assert [type(failure) for failure in failures] == [ChildDied]
    assert slot._child is None


def test_what_cannot_be_started_is_said_by_the_first_call(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no process can start, the call raises an error, and the next one tries again."""

    def refuse() -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", refuse)
        with pytest.raises(ChildDied, match="a process cannot be started: No usable temporary directory"):
            slot.call("who", timeout=LONG)
    assert slot.call("who", timeout=LONG) > 0


def test_processes_leave_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process, or a compiler that it runs, has not removed when it is killed goes with the pool."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("abtune.measure.workers.pool.TVM_MODULE", "tempfile")
    pool = ProcessPool(make_facts(), searchers=1, devices=0)
    pool.setup(None)  # type: ignore[arg-type]
    with pool.slot("search") as slot:
        left = Path(slot.call("mkdtemp", timeout=LONG))
    assert left.is_dir()
    assert left.is_relative_to(tmp_path)
    pool.teardown(None)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
