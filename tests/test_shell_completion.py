"""What a shell completes when the tabulator is pressed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def completed(words: str) -> list[str]:
    """Return what bash is offered for the last word."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "abtune"],
        env={**os.environ, **asked, "_ABTUNE_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("abtune an", ["plain,analyze"]),
        ("abtune analyze --tol", ["plain,--tolerance"]),
        ("abtune analyze --format j", ["plain,json", "plain,junit"]),
        ("abtune analyze h200-d", ["plain,h200-deep"]),
        ("abtune merge a.nc h200-p", ["plain,h200-pilot"]),
        ("abtune analyze mine", ["file,mine"]),
        ("abtune analyze ", ["file,"]),
    ],
)
def test_commands_options_values_and_datasets_are_completed(words: str, offered: list[str]) -> None:
    assert completed(words) == offered
