"""What a shell completes when the tabulator is pressed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

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
        ("abtune analyze --section report,no", ["plain,report,noise"]),
        ("abtune analyze h200-d", ["plain,h200-deep", "plain,h200-deep-winners"]),
        ("abtune merge a.nc h200-p", ["plain,h200-pilot"]),
        ("abtune analyze mine", ["file,mine"]),
        ("abtune analyze ", ["file,"]),
    ],
)
def test_commands_options_values_and_datasets_are_completed(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


@pytest.mark.skipif(sys.platform != "linux", reason="takes bash 4.4")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    """After the command of the README, bash knows how to complete abtune, with what the program offers."""
    program = tmp_path / "abtune"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m abtune "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(_ABTUNE_COMPLETE=bash_source abtune)" && complete -p abtune
        COMP_WORDS=(abtune ana) COMP_CWORD=1
        _abtune_completion abtune && echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}:{os.environ['PATH']}"
    bash = str(shutil.which("bash"))
    done = subprocess.run(
        [bash, "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    registered, offered = done.stdout.splitlines()
    assert registered.endswith("-F _abtune_completion abtune")
    assert offered == "analyze"
