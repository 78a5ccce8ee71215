"""Command lines run in this process, for tests of what they print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one command line did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
