"""Findings: what a check of this machine returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from abtune.errors import AbtuneError


class Level(StrEnum):
    """The meaning of a finding for a sweep."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    name: str  # the subject, in a word or two
    level: Level  # whether a sweep can run like this
    state: str  # the state that the check saw
    advice: str  # what to do; empty if nothing is to be done


def ok(name: str, state: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(name=name, level=Level.OK, state=state, advice="")


def warning(name: str, state: str, advice: str) -> Finding:
    """Return a finding with which a sweep runs, but not as well as it could."""
    return Finding(name=name, level=Level.WARNING, state=state, advice=advice)


def problem(name: str, state: str, advice: str) -> Finding:
    """Return a finding with which no sweep can run."""
    return Finding(name=name, level=Level.PROBLEM, state=state, advice=advice)


def refused(name: str, error: AbtuneError) -> Finding:
    """Return an error's line as a problem; the words after its last semicolon are the advice."""
    state, _, advice = str(error).rpartition("; ")
    return problem(name, state or advice, advice if state else "see docs/sweep.md")
