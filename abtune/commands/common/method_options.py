"""Options that say how shapes are judged, of the commands that judge or draw them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from abtune.commands.common.options import Option, Registered
from abtune.stats.estimand import Estimand
from abtune.stats.intervals.interval_methods import method_names, methods_for
from abtune.stats.testing.corrections import CORRECTIONS
from abtune.stats.testing.difference_tests import TESTS, difference_test_names, tests_for


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of estimand, interval, test and correction, received as the mapping ``how``."""
    return _gathering(command, _CHOICES)


def method_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these, the Mann-Whitney test, and whether the margin has to be passed."""
    return _gathering(command, {**_CHOICES, "rank_test": _RANK_TEST, "require_margin": _REQUIRE_MARGIN})


def _gathering(command: Callable[..., Any], options: Mapping[str, Option]) -> Callable[..., Any]:
    @functools.wraps(command)  # options added so far travel along
    def gathered(*arguments: Any, **given: Any) -> Any:
        how = {name: given.pop(name) for name in options}
        return command(*arguments, how=how, **given)

    changed: Callable[..., Any] = gathered
    for option in reversed(list(options.values())):
        changed = option(changed)
    return changed


def _hints(hints: Iterable[tuple[str, str]]) -> str:
    """Return what distinguishes each record from the default, for the help of an option."""
    return ", ".join(f"{name} {hint}" for name, hint in hints if hint)


_DEFAULTS = [
    *(next(iter(methods_for(estimand))) for estimand in Estimand),
    next(iter(methods_for(next(iter(Estimand)), paired=True))),
]
_TESTS = [next(iter(tests_for(next(iter(Estimand)), paired=paired))) for paired in (False, True)]
_CHOICES: Mapping[str, Option] = {
    "estimand": click.option(
        "--estimand",
        type=Registered(lambda: [estimand.value for estimand in Estimand]),
        default=next(iter(Estimand)).value,
        show_default=True,
        help="Whose ratio the boost of a shape is.",
    ),
    "method": click.option(
        "--method",
        type=Registered(method_names),
        help=f"The interval. [default: {_DEFAULTS[0]}; of medians {_DEFAULTS[1]}; of pairs {_DEFAULTS[2]}]",
    ),
    "test": click.option(
        "--test",
        type=Registered(difference_test_names),
        help=f"Test of a difference; {_hints((test.name, test.hint) for test in TESTS.values())}. "
        f"[default: {_TESTS[0]}; of pairs {_TESTS[1]}]",
    ),
    "correction": click.option(
        "--correction",
        type=Registered(lambda: CORRECTIONS),
        default=next(iter(CORRECTIONS)),
        show_default=True,
        help=f"For the many shapes: {_hints((name, each.hint) for name, each in CORRECTIONS.items())}.",
    ),
}
_RANK_TEST = click.option(
    "--rank-test", is_flag=True, help="Add the Mann-Whitney test of whether the typical run is faster."
)
_REQUIRE_MARGIN = click.option(
    "--require-margin",
    is_flag=True,
    help="Call a difference one only if its interval lies beyond the margin.",
)
