"""Options that say how shapes are judged, of the commands that judge or draw them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from abtune.commands.common.options import Option, Registered
from abtune.stats.estimand import Estimand, allowed_best_of
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


def _defaults(registry: Callable[..., Mapping[str, object]]) -> str:
    """Return the names of the defaults, for the help of an option."""
    names = [next(iter(registry(estimand, paired=False))) for estimand in Estimand]
    pairs = next(iter(registry(next(iter(Estimand)), paired=True)))
    medians = f"; of medians {names[1]}" if names[1] != names[0] else ""
    return f"[default: {names[0]}{medians}; of best-of {names[-1]}; of pairs {pairs}]"


_CHOICES: Mapping[str, Option] = {
    "estimand": click.option(
        "--estimand",
        type=Registered(lambda: [estimand.value for estimand in Estimand], allowed_best_of()),
        default=next(iter(Estimand)).value,
        show_default=True,
        help="Whose ratio the boost of a shape is. best-of:K is for who tunes K times and keeps the best; "
        f"{allowed_best_of()}.",
    ),
    "method": click.option(
        "--method",
        type=Registered(method_names),
        help=f"The interval. {_defaults(methods_for)}",
    ),
    "test": click.option(
        "--test",
        type=Registered(difference_test_names),
        help=f"Test of a difference; {_hints((test.name, test.hint) for test in TESTS.values())}. "
        f"{_defaults(tests_for)}",
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
