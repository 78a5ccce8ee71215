"""Options of ``abtune analyze`` that say how shapes are judged."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

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
_NAMES = ("estimand", "method", "test", "correction", "rank_test")


def method_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of methods to a command, which receives them as the mapping ``how``."""

    @functools.wraps(command)  # options added so far travel along
    def gathered(*arguments: Any, **options: Any) -> int:
        how = {name: options.pop(name) for name in _NAMES}
        return command(*arguments, how=how, **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


_OPTIONS = (
    click.option(
        "--estimand",
        type=click.Choice(ESTIMANDS),
        default=ESTIMANDS[0],
        show_default=True,
        help="Whose ratio the boost of a shape is.",
    ),
    click.option(
        "--method",
        type=click.Choice(METHODS),
        help="The interval. [default: expanded-percentile; of medians percentile]",
    ),
    click.option(
        "--test",
        type=click.Choice(TESTS),
        default=TESTS[0],
        show_default=True,
        help="Test of a difference; moderated lends variances between shapes, for 5 seeds or so.",
    ),
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default=CORRECTIONS[0],
        show_default=True,
        help="For the many shapes: max-t can show something below 7 seeds, bh is a screen.",
    ),
    click.option(
        "--rank-test",
        is_flag=True,
        help="Add the Mann-Whitney test of whether the typical run is faster.",
    ),
)
