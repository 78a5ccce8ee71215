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

from abtune.measure.servant import (
    CallFailed,
    CallTimedOut,
    Post,
    Servant,
    ServantDied,
    ServantError,
    Template,
    _one_line,
)
from abtune.measure.target import ONE_THREAD, TVM_MODULE

LONG = 60.0


@pytest.fixture
def template() -> Iterator[Template]:
    with Template("faulty", {"IMPORTED": "with"}) as template:
        yield template


@pytest.fixture
def servant(template: Template) -> Iterator[Servant]:
    servant = Servant(template, {"FAULTY": "set"})
    yield servant
    servant.close()


@pytest.fixture
def post(template: Template) -> Iterator[Post]:
    post = Post(template, {})
    yield post
    post.close()


# Answers


def test_functions_answer(servant: Servant) -> None:
    """A call returns what the function returns, call after call, from one other process."""
    assert [servant.call("add", 1, number, timeout=LONG) for number in range(3)] == [1, 2, 3]
    first, second = (servant.call("who", timeout=LONG) for _ in range(2))
    assert first == second != os.getpid()


def test_it_is_known_how_long_a_start_took(servant: Servant, post: Post) -> None:
    """Counted is the start alone, not the wait for the first call."""
    assert math.isnan(servant.started_in)
    assert math.isnan(post.started_in)
    begun = time.monotonic()
    post.call("who", timeout=LONG)
    assert 0 < post.started_in < time.monotonic() - begun
    time.sleep(1.0)
    called = time.monotonic()
    servant.call("who", timeout=LONG)
    assert 0 < servant.started_in < called - servant._begun


def test_large_answers_arrive(servant: Servant) -> None:
    """A library of many megabytes comes through whole."""
    assert servant.call("big", 20_000_000, timeout=LONG) == bytes(20_000_000)


def test_the_environment_is_inherited_and_added_to(servant: Servant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child has the variables of the parent, and those that were given."""
    assert servant.call("variable", "FAULTY", timeout=LONG) == "set"
    assert servant.call("variable", "PATH", timeout=LONG) == os.environ["PATH"]


def test_niceness_is_added(template: Template) -> None:
    """A servant that is to give way has a lower priority than its parent."""
    nice = Servant(template, {}, niceness=3)
    try:
        assert nice.call("niceness", timeout=LONG) == os.nice(0) + 3
    finally:
        nice.close()


def test_printing_does_not_disturb(servant: Servant) -> None:
    """Whatever a library prints, on either stream, corrupts no answer."""
    assert servant.call("print_garbage", timeout=LONG) == "answer"
    assert servant.call("add", 1, 1, timeout=LONG) == 2


def test_what_is_printed_does_not_pile_up(servant: Servant) -> None:
    """However many calls print, only the words of the last are kept; and a death has its own."""
    for _ in range(5):
        servant.call("print_garbage", timeout=LONG)
        assert 100_000 < os.fstat(servant._output.fileno()).st_size < 300_000
    with pytest.raises(ServantDied) as caught:
        servant.call("say_and_die", "the end", timeout=LONG)
    assert str(caught.value) == "say_and_die: process exit code 7: the end"
    assert os.fstat(servant._output.fileno()).st_size < 100


def test_the_keyboard_is_for_the_parent(servant: Servant) -> None:
    """An interrupt that reaches the child does not end it: the parent decides."""
    pid = servant.call("who", timeout=LONG)
    assert os.getpgid(pid) != os.getpgid(0)
    os.kill(pid, signal.SIGINT)
    assert servant.call("who", timeout=LONG) == pid


# Faults


def test_an_exception_is_a_failed_call(servant: Servant) -> None:
    """What a function raises is one line with the last of what was said, and the process lives on."""
    pid = servant.call("who", timeout=LONG)
    with pytest.raises(CallFailed) as caught:
        servant.call("complain", "Stack trace:\n  frame 1\n\n  it is wrong  \n", timeout=LONG)
    assert str(caught.value) == "complain: ValueError: it is wrong"
    with pytest.raises(CallFailed, match=r"^complain: ValueError$"):
        servant.call("complain", "", timeout=LONG)
    with pytest.raises(CallFailed, match=r"AttributeError.*'absent'"):
        servant.call("absent", timeout=LONG)
    assert servant.call("who", timeout=LONG) == pid


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
def test_a_death_says_how(servant: Servant, function: str, arguments: tuple[object, ...], said: str) -> None:
    """A process that ends during a call is told by its exit code or signal, and its last words."""
    with pytest.raises(ServantDied) as caught:
        servant.call(function, *arguments, timeout=LONG)
    assert str(caught.value).startswith(said)


def test_an_answer_that_cannot_be_sent_is_an_error(servant: Servant) -> None:
    """A function whose result cannot be pickled is an error that says so, not a hang."""
    with pytest.raises(ServantError, match=r"[Pp]ickle"):
        servant.call("unsendable", timeout=LONG)


def test_a_dead_servant_stays_dead(servant: Servant) -> None:
    """Every call after a death is a death as well."""
    for _ in range(3):
        with pytest.raises(ServantDied):
            servant.call("leave", 3, timeout=LONG)


@pytest.mark.parametrize("function", ["hang", "hang_with_child"])
def test_a_hanging_call_is_killed(servant: Servant, function: str) -> None:
    """A call that takes too long fails, and its process is gone."""
    pid = servant.call("who", timeout=LONG)
    with pytest.raises(CallTimedOut, match=rf"^{function}: no answer within 0\.5 s$"):
        servant.call(function, timeout=0.5)
    wait_until(lambda: not is_running(pid), "the end of the process")


def test_a_process_that_hangs_up_is_killed(servant: Servant) -> None:
    """A child that closes the connection but lives on does not live long."""
    pid = servant.call("who", timeout=LONG)
    with pytest.raises(ServantDied, match="let_go: process killed by SIGKILL"):
        servant.call("let_go", timeout=LONG)
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("module", "said"),
    [("unimportable", "starting: RuntimeError: this cannot work here"), ("absent_module", "absent_module")],
)
def test_a_module_that_cannot_be_imported_is_an_error(module: str, said: str) -> None:
    """When the module fails to import, the first call says why."""
    with Template(module, {}) as template, closing(Servant(template, {})) as servant:
        with pytest.raises(ServantDied, match=said):
            servant.call("anything", timeout=LONG)
        with pytest.raises(ServantError):
            servant.call("anything", timeout=LONG)


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
    with Template("crashing", {}) as template, closing(Post(template, {})) as post:
        with pytest.raises(ServantDied, match=said):
            post.call("answer", timeout=LONG)
        (tmp_path / "mended").touch()
        assert post.call("answer", timeout=LONG) == 42


# Templates


def test_a_module_is_imported_once(template: Template) -> None:
    """All servants are copies of one process, each with its own variables; what one does no other sees."""
    servants = [Servant(template, {"FAULTY": str(number)}) for number in range(3)]
    try:
        assert len({servant.call("imported_by", timeout=LONG) for servant in servants}) == 1
        assert len({servant.call("who", timeout=LONG) for servant in servants}) == 3
        assert [servant.call("variable", "FAULTY", timeout=LONG) for servant in servants] == ["0", "1", "2"]
        assert {servant.call("variable", "IMPORTED", timeout=LONG) for servant in servants} == {"with"}
    finally:
        for servant in servants:
            servant.close()


def test_what_is_forked_has_one_thread(template: Template) -> None:
    """A fork copies the thread that forks and no other, so that there must be no other."""
    with closing(Servant(template, {})) as servant:
        servant.call("who", timeout=LONG)
        assert template._process is not None
        assert len(list(Path(f"/proc/{template._process.pid}/task").iterdir())) == 1


def test_tvm_is_forked_with_one_thread() -> None:
    """So it is with the module that everything is about, as it is imported for a sweep."""
    with Template(TVM_MODULE, ONE_THREAD) as template, closing(Servant(template, {})) as servant:
        with pytest.raises(CallFailed, match="nothing"):
            servant.call("nothing", timeout=LONG)
        assert template._process is not None
        assert len(list(Path(f"/proc/{template._process.pid}/task").iterdir())) == 1


def test_a_template_that_dies_is_replaced(template: Template, post: Post) -> None:
    """Its servants end with it, the call in progress is told, and the next one finds another."""
    pid = post.call("who", timeout=LONG)
    assert template._process is not None
    template._process.kill()
    wait_until(lambda: not is_running(pid), "the end of the servant")
    with contextlib.suppress(ServantDied):  # unless it has been noticed
        post.call("who", timeout=LONG)
    assert post.call("who", timeout=LONG) != pid


def test_a_closed_template_starts_nothing(template: Template) -> None:
    """Whoever asks is told so."""
    template.close()
    with pytest.raises(ServantDied, match="a process cannot be started: closed"):
        Servant(template, {})
    template.close()


def test_a_template_that_is_closed_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it imports: Ctrl-C in the first seconds of a sweep ends it at once."""
    (tmp_path / "endless.py").write_text(
        "import pathlib, time\npathlib.Path(__file__).with_name('begun').touch()\ntime.sleep(600)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    template = Template("endless", {})
    failures: list[ServantError] = []

    def start() -> None:
        try:
            Servant(template, {})
        except ServantError as error:
            failures.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    wait_until((tmp_path / "begun").exists, "the import")
    template.close()
    thread.join(LONG)
    assert len(failures) == 1


def test_closing_ends_the_process(servant: Servant) -> None:
    """A closed servant is gone at once, and closing or killing it again does no harm."""
    pid = servant.call("who", timeout=LONG)
    servant.close()
    assert not is_running(pid)
    servant.kill()
    servant.close()


@pytest.mark.slow
def test_children_follow_a_parent_that_is_killed() -> None:
    """When the parent is killed outright its servants end too, busy or idle."""
    script = (
        "import threading, time\n"
        "from abtune.measure.servant import Servant, Template\n"
        "template = Template('faulty', {})\n"
        "idle, busy = Servant(template, {}), Servant(template, {})\n"
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


# Posts


def test_a_post_replaces_what_died(post: Post) -> None:
    """After a crash and after a hang the next call finds a fresh process."""
    pids = [post.call("who", timeout=LONG)]
    for function, error in (("kill_self", ServantDied), ("hang", CallTimedOut)):
        with pytest.raises(error):
            post.call(function, *([signal.SIGSEGV] if function == "kill_self" else []), timeout=2.0)
        pids.append(post.call("who", timeout=LONG))
    assert len(set(pids)) == 3
    assert [is_running(pid) for pid in pids] == [False, False, True]


def test_a_post_notices_a_death_between_calls(post: Post) -> None:
    """A process that was killed while it had nothing to do costs no call."""
    pid = post.call("who", timeout=LONG)
    os.kill(pid, signal.SIGKILL)
    assert post._servant is not None
    wait_until(lambda: not post._servant.is_alive, "the end of the process")
    assert post.call("add", 1, 2, timeout=LONG) == 3


def test_a_post_keeps_what_raised(post: Post) -> None:
    """An exception is no reason to start anew."""
    pid = post.call("who", timeout=LONG)
    with pytest.raises(CallFailed):
        post.call("complain", "no", timeout=LONG)
    assert post.call("who", timeout=LONG) == pid


def test_a_post_recovers_from_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be imported fails every call, and each time says why."""
    with Template("unimportable", {}) as template, closing(Post(template, {})) as post:
        for _ in range(3):
            with pytest.raises(ServantError, match="this cannot work here"):
                post.call("anything", timeout=LONG)


def test_spares_stand_ready(template: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement comes from the spares, which were started before it was needed."""
    started: list[Servant] = []
    original = Servant.__init__

    def note(self: Servant, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)  # type: ignore[arg-type]
        started.append(self)

    monkeypatch.setattr(Servant, "__init__", note)
    post = Post(template, {}, spares=2)
    try:
        post.start()
        assert len(started) == 1  # spares would slow its start
        post.call("who", timeout=LONG)
        assert len(started) == 3
        spares = [servant._process.pid for servant in started[1:]]
        post.replace()
        assert len(started) == 4
        assert post.call("who", timeout=LONG) == spares[0]
        with pytest.raises(ServantDied):
            post.call("leave", 1, timeout=LONG)
        assert post.call("who", timeout=LONG) == spares[1]
        assert len(started) == 5
    finally:
        post.close()
    assert not [servant for servant in started if is_running(servant._process.pid)]


def test_replacing_an_empty_post_starts_nothing(post: Post) -> None:
    """Before the first call there is nothing to replace, to interrupt or to close."""
    post.replace()
    post.interrupt()
    post.close()
    assert post._servant is None


def test_an_interrupt_ends_the_call_in_progress(post: Post, tmp_path: Path) -> None:
    """Another thread can end a call that hangs; the post serves again afterwards."""
    pid = post.call("who", timeout=LONG)
    failures: list[ServantError] = []

    def hang() -> None:
        try:
            post.call("hang_at", str(tmp_path / "busy"), timeout=600.0)
        except ServantError as error:
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until((tmp_path / "busy").exists, "the call")
    post.interrupt()
    thread.join()
    (failure,) = failures
    assert isinstance(failure, ServantDied)
    assert not is_running(pid)
    post.resume()
    assert post.call("who", timeout=LONG) != pid


def test_an_interrupted_post_refuses_until_it_is_resumed(post: Post) -> None:
    """Whoever was interrupted gets no further call through, so that a loop over calls ends at once."""
    post.call("who", timeout=LONG)
    post.interrupt()
    for _ in range(3):
        with pytest.raises(ServantDied, match="interrupted"):
            post.call("who", timeout=LONG)
    post.resume()
    assert post.call("add", 1, 2, timeout=LONG) == 3


def test_a_closed_post_starts_nothing(template: Template) -> None:
    """After closing, calls fail and no process is started for them."""
    post = Post(template, {}, spares=1)
    pid = post.call("who", timeout=LONG)
    post.close()
    assert not is_running(pid)
    with pytest.raises(ServantDied, match="closed"):
        post.call("who", timeout=LONG)
    post.resume()
    with pytest.raises(ServantDied, match="closed"):
        post.call("who", timeout=LONG)
    post.replace()
    assert post._servant is None


@pytest.mark.parametrize(("meanwhile", "said"), [("close", "closed"), ("interrupt", "interrupted")])
def test_resuming_undoes_nothing_that_comes_meanwhile(
    post: Post, monkeypatch: pytest.MonkeyPatch, meanwhile: str, said: str
) -> None:
    """A post that is closed or interrupted again while it is resumed starts nothing afterwards."""
    replace = post.replace

    def overtaken() -> None:
        replace()
        monkeypatch.undo()
        getattr(post, meanwhile)()

    post.call("who", timeout=LONG)
    post.interrupt()
    monkeypatch.setattr(post, "replace", overtaken)
    post.resume()
    with pytest.raises(ServantDied, match=said):
        post.call("who", timeout=LONG)
    assert post._servant is None


@pytest.mark.parametrize("spares", [0, 1])
def test_closing_ends_a_call_in_another_thread(template: Template, tmp_path: Path, spares: int) -> None:
    """A call that is in progress when its post is closed fails as a death, and starts nothing."""
    post = Post(template, {}, spares=spares)
    post.call("who", timeout=LONG)
    failures: list[BaseException] = []

    def hang() -> None:
        try:
            post.call("hang_at", str(tmp_path / "busy"), timeout=600.0)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test looks at it
            failures.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until((tmp_path / "busy").exists, "the call")
    post.close()
    thread.join()
    assert [type(failure) for failure in failures] == [ServantDied]
    assert post._servant is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_servant_goes_first_where_memory_ends(servant: Servant) -> None:
    """The system is asked to kill a servant, which is replaced, rather than the sweep."""
    ours = int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))
    assert servant.call("oom_score", timeout=LONG) > ours


def test_what_cannot_be_started_is_said_by_the_first_call(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder for temporary files no process starts; nothing is raised but by calls."""

    def refuse() -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", refuse)
        post.start()
        with pytest.raises(ServantDied, match="a process cannot be started: No usable temporary directory"):
            post.call("who", timeout=LONG)
    assert post.call("who", timeout=LONG) > 0


def test_a_linker_is_quoted_not_its_command_line() -> None:
    """Of what TVM says of a linker that failed, the reason is the line before the command."""
    said = "Compilation error:\nld: No space left on device\n\nCommand line: g++ -shared -o kernel.so lib0.o"
    assert _one_line(RuntimeError(said)) == "RuntimeError: ld: No space left on device"
    assert _one_line(RuntimeError("Command line: g++")) == "RuntimeError: Command line: g++"
