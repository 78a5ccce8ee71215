"""Defaults from abtune.toml: the command line wins, and mistakes are one line."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from running import Run

from abtune.commands.common.config_file import defaults_of
from abtune.commands.sweep import sweep

pytestmark = pytest.mark.usefixtures("empty_folder", "plain_environment")


def settings_of(run: Run, *words: str) -> dict[str, object]:
    report: dict[str, object] = json.loads(run("analyze", "h200-pilot", *words, "--format", "json").out)
    return report


def test_a_file_sets_defaults_and_the_command_line_wins(run: Run) -> None:
    text = '[analyze]\ntolerance = 10\nci = 90\nshapes = ["M=*"]\n'
    Path("abtune.toml").write_text(text, encoding="utf-8")
    report = settings_of(run)
    assert (report["tolerance"], report["level"]) == (0.1, 0.9)
    assert len(report["comparisons"]) == 2  # type: ignore[arg-type]
    assert settings_of(run, "--ci", "95")["level"] == 0.95
    assert run("analyze", "h200-pilot").err == "abtune: defaults from abtune.toml\n"


def test_flags_lists_and_options_of_sections_are_set(run: Run) -> None:
    text = '[analyze]\nsection = "summary"\nfail-on = ["inconclusive", "slower-than:50%"]\n'
    Path("abtune.toml").write_text(text, encoding="utf-8")
    outcome = run("analyze", "h200-pilot")
    assert outcome.code == 1
    assert "--fail-on inconclusive" in outcome.err
    assert "verdict" not in outcome.out
    Path("abtune.toml").write_text('[analyze]\nsection = ["report", "noise"]\n', encoding="utf-8")
    assert "noise" in settings_of(run)
    Path("abtune.toml").write_text("[analyze]\nfail-on = []\n", encoding="utf-8")  # a list may be empty
    assert run("analyze", "h200-pilot").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[analyze]\ntolerence = 1", "unknown option of analyze in abtune.toml 'tolerence'; did you mean"),
        ("[analyze]\nhelp = true", "unknown option of analyze in abtune.toml 'help'"),
        ('[analyze]\nwhy = "yes"', "abtune.toml: why of analyze is true or false"),
        ("[analyze]\nci = true", "abtune.toml: ci of analyze is a text, a number or a list of them"),
        ("[analyze]\nci = [90]", "abtune.toml: ci of analyze is one value, not a list"),
        ("[analyze]\nci = 195", "Invalid value for '--ci': 195 is not above 50 and below 100"),
        ("[analyze]\nshapes = [{}]", "abtune.toml: shapes of analyze is a text, a number or a list of them"),
        ('[measure]\nconfig = "mine:wide"', "abtune.toml: [measure] is no command with defaults"),
        ("analyze = 3", "abtune.toml: analyze is a table, such as [analyze]"),
        ("[analyze", "abtune.toml cannot be read: "),
        (f"a = {'[' * 100_000}", "abtune.toml cannot be read: "),
        ("#" * 2**20 + "\n", "abtune.toml cannot be read: it has more than 1 MiB"),
        ('[analyze]\noutput = "victim"', "abtune.toml: output of analyze has to be typed"),
    ],
)
def test_a_mistake_is_one_line(run: Run, text: str, said: str) -> None:
    Path("abtune.toml").write_text(text, encoding="utf-8")
    outcome = run("analyze", "h200-pilot")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('candidate = "mine:wide"', "candidate of sweep would import a module, so it has to be typed"),
        ('baseline = "mine:wide"', "baseline of sweep would import a module, so it has to be typed"),
        ('scheduler = "tcp://203.0.113.1:8786"', "scheduler of sweep has to be typed"),
        ('out = "/somewhere/else.nc"', "out of sweep has to be typed"),
    ],
)
def test_a_stranger_s_folder_runs_and_overwrites_nothing(run: Run, line: str, said: str) -> None:
    """What imports, connects or writes has to be on the command line."""
    Path("mine.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    Path("abtune.toml").write_text(f"[sweep]\n{line}\n", encoding="utf-8")
    outcome = run("sweep", "--dry-run", "--target", "cpu")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_commands_without_defaults_do_not_read_it(run: Run) -> None:
    Path("abtune.toml").write_text("[analyze", encoding="utf-8")
    assert run("datasets").code == 0


EVERY_OPTION = (
    *("--seeds", "7", "--until-settled", "--shapes", "quick,M=16_N=16_K=16", "--shapes", "M=512_*"),
    *("--baseline", "mainline", "--candidate", "async", "--target", 'llvm -mcpu="x\\y"', "--trials", "64"),
    *("--trials-per-iter", "8", "--rounds", "3", "--repeats", "2", "--cache", "cold"),
    *("--transfer", "--share", "--time-limit", "1.5h", "--rng-seed", "4", "--cores", "2"),
)


EVERY_LINE = """
[sweep]
seeds = 7
until-settled = true
shapes = ["quick,M=16_N=16_K=16", "M=512_*"]
baseline = "mainline"
candidate = "async"
target = 'llvm -mcpu="x\\y"'
trials = 64
trials-per-iter = 8
rounds = 3
repeats = 2
cache = "cold"
transfer = true
share = true
time-limit = "1.5h"
rng-seed = 4
cores = 2
"""


def test_a_file_says_what_a_command_line_says() -> None:
    """Every option that a file may set has the value that the command line would give it."""
    Path("abtune.toml").write_text(EVERY_LINE, encoding="utf-8")
    values = defaults_of(sweep, click.Context(sweep))
    written = sweep.make_context("sweep", [], default_map=values).params
    assert written == sweep.make_context("sweep", list(EVERY_OPTION)).params
