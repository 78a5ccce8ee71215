"""How a call of a child process can fail, and one line that says how."""

from __future__ import annotations

import signal
from typing import IO


class ChildError(Exception):
    """A call did not return; the message is one line."""


class CallFailed(ChildError):  # noqa: N818 - says what happened
    """The function raised; the process lives on."""


class ChildDied(ChildError):  # noqa: N818 - says what happened
    """The process ended during the call."""


class CallTimedOut(ChildError):  # noqa: N818 - says what happened
    """The call took too long; the process was killed."""


def how_it_ended(code: int, output: IO[bytes]) -> str:
    """Return how a process ended, with the last line that it printed."""
    end = f"killed by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    last = f": {lines[-1][:200]}" if lines else ""
    return f"process {end}{last}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def one_line(error: BaseException) -> str:
    """Return the kind of an error and the line of its message that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TVM puts the native stack first. A linker that failed is quoted with its command line last.
    lines = [line for line in lines if not line.startswith("Command line:")] or lines
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__
