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


def children(marker: str = "") -> set[int]:
    """Return the fork servers and children that run with a text in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or not is_running(int(entry.name)):
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if b"abtune.measure.workers.fork_main" in command and os.fsencode(marker) in environment:
            found.add(int(entry.name))
    return found
