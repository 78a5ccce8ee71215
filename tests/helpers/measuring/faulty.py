"""Functions for a child to call: some answer, the others show each way not to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

sys.stdout.write("noise while importing\n")
IMPORTED_BY = os.getpid()


def add(first: int, second: int) -> int:
    return first + second


def imported_by() -> int:
    return IMPORTED_BY


def who() -> int:
    return os.getpid()


def variable(name: str) -> str:
    return os.environ.get(name, "")


def file_of(module: str) -> str | None:
    return sys.modules[module].__file__


def niceness() -> int:
    return os.nice(0)


def oom_score() -> int:
    return int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))


def big(size: int) -> bytes:
    return bytes(size)


def complain(message: str) -> None:
    raise ValueError(message)


def leave(code: int) -> None:
    sys.exit(code)


def kill_self(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60.0)


def say_and_die(words: str) -> None:
    os.write(2, f"first line\n{words}\n".encode())
    os._exit(7)


def print_garbage() -> str:
    sys.stdout.write("\x00\xff not an answer\n" * 10_000)
    sys.stdout.flush()
    os.write(2, b"\x80\x04garbage")
    return "answer"


def unsendable() -> object:
    return lambda: None


def hang() -> None:
    time.sleep(600.0)


def hang_at(path: str) -> None:
    Path(path).touch()
    time.sleep(600.0)


def hang_with_child() -> None:
    """Wait for a child of our own, as a linker would be."""
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)


def let_go() -> None:
    """Close the connection but live on."""
    for number in range(3, 64):
        try:
            os.close(number)
        except OSError:
            continue
    time.sleep(600.0)
