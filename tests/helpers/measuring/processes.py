"""Questions about processes, answered from the system's own tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

# Long enough for any machine: waiting ends as soon as what is waited for is there.
PATIENCE = 120.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition; fail, by name, if it never comes."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Tell whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def heeds(pid: int, number: int) -> bool:
    """Tell whether a process has its own handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)


def children(marker: str = "", *, command: bytes = b"abtune.measure.workers.fork_main") -> set[int]:
    """Return the processes with a text in their environment: fork servers and children, or others, too."""
    pids = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or not is_running(int(entry.name)):
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if command in words and os.fsencode(marker) in environment:
            pids.add(int(entry.name))
    return pids
