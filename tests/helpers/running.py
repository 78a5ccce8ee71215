"""Command lines run in this process, and a stream that is a terminal, for tests of what they print."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one command line did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def refused(outcome: Outcome) -> str:
    """Check that a command line was refused properly, and return what it said."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("abtune: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith("\n")
    return outcome.err
