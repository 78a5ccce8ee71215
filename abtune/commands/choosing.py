"""Options that say how shapes are judged, of the commands that judge or draw them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from abtune.commands.options import Option

ESTIMANDS = ("geometric-mean", "arithmetic-mean", "median")
METHODS = (
    "expanded-percentile",
    "bootstrap-t",
    "symmetric-bootstrap-t",
    "percentile",
    "bca",
    "welch",
    "permutation",
    "price-bonett",
)
TESTS = ("permutation", "moderated")
CORRECTIONS = ("holm", "max-t", "bh", "none")


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


_CHOICES: Mapping[str, Option] = {
    "estimand": click.option(
        "--estimand",
        type=click.Choice(ESTIMANDS),
        default=ESTIMANDS[0],
        show_default=True,
        help="Whose ratio the boost of a shape is.",
    ),
    "method": click.option(
        "--method",
        type=click.Choice(METHODS),
        help="The interval. [default: expanded-percentile; of medians percentile]",
    ),
    "test": click.option(
        "--test",
        type=click.Choice(TESTS),
        default=TESTS[0],
        show_default=True,
        help="Test of a difference; moderated lends variances between shapes, for 5 seeds or so.",
    ),
    "correction": click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default=CORRECTIONS[0],
        show_default=True,
        help="For the many shapes: max-t can show something below 7 seeds, bh is a screen.",
    ),
}
_RANK_TEST = click.option(
    "--rank-test",
    is_flag=True,
    help="Add the Mann-Whitney test of whether the typical run is faster.",
)
_REQUIRE_MARGIN = click.option(
    "--require-margin",
    is_flag=True,
    help="Call a difference one only if its interval lies beyond the margin.",
)
