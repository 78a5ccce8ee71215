"""Which columns of a table are no configurations, by their names or because they follow from others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from abtune.errors import DatasetError
from abtune.text import shortened, to_number

# What numbers a run, sizes a shape or sums up a line, and nobody calls a configuration. The list is closed.
_NEVER = re.compile(
    r"seeds?|rounds?|runs?|reps?|repeats?|repetitions?|trials?|iterations?|batch([ _-]?size)?|weights?|"
    r"counts?|calls|sizes?|ids?|index|idx|#|rank|best|worst|p[ _-]?value|gains?|uplift|change"
)
_EXTENTS = {"m", "n", "k", "h", "w", "c"}  # two of these are sizes; one may be a configuration
_STATISTIC = re.compile(r"(.*\w)[ _.-](min|max|mean|avg|median|std|stddev|stdev|err|error|ci|low|high|p\d\d)")
# How a column may follow from two others. Of 3 = 2 + 1, the last in the table is said to follow.
_FORMULAS: Mapping[str, Callable[[float, float], float]] = {
    "the quotient": lambda a, b: a / b,
    "the change in %": lambda a, b: 100 * (a / b - 1),
    "the saving in %": lambda a, b: 100 * (1 - a / b),
    "the change": lambda a, b: a / b - 1,
    "the saving": lambda a, b: 1 - a / b,
    "the difference": lambda a, b: a - b,
}
# Fewer lines may fit by chance; more columns take too long, and nobody publishes them with a quotient.
_FEWEST_LINES, _MOST_COLUMNS = 3, 12


def check_names(configs: Iterable[str]) -> None:
    """Refuse columns whose names say that they are no configurations."""
    names = {name.casefold(): name for name in configs}
    extents = _EXTENTS.intersection(names)
    for folded, name in names.items():
        remedy = "take it out, write it into the labels of the shapes, or rename it if it is a configuration"
        if _NEVER.fullmatch(folded) or (len(extents) > 1 and folded in extents):
            raise DatasetError(f"column {shortened(name)!r} is no configuration by its name; {remedy}")
        if (match := _STATISTIC.fullmatch(folded)) and match[1] in names:
            of = f"a statistic of {shortened(names[match[1]])!r} by its name"
            raise DatasetError(f"column {shortened(name)!r} is {of}; take it out")


def check_columns(names: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Refuse a column that follows from two others in every line, to its printed digits.

    A line that lacks a number says nothing.
    """
    rows = [(cells, numbers) for cells in lines if (numbers := _numbers(cells))]
    if len(rows) < _FEWEST_LINES or len(names) > _MOST_COLUMNS:
        return
    triples = sorted(itertools.permutations(range(len(names)), 3), reverse=True)
    for (c, a, b), formula in itertools.product(triples, sorted(_FORMULAS, reverse=True)):
        follow = _FORMULAS[formula]
        if not all(fits(cells[c], follow(numbers[a], numbers[b])) for cells, numbers in rows):
            continue
        if len({tuple(numbers[index] for _, numbers in rows) for index in (c, a, b)}) == 3:
            name, one, other = (shortened(names[index]) for index in (c, a, b))
            follows = f"is {formula} of {one!r} and {other!r} in every line"
            raise DatasetError(f"column {name!r} {follows}; take it out, because it is no configuration")


def _numbers(cells: Sequence[str]) -> list[float]:
    """Return the numbers of a line; nothing if one is missing or none that a column can hold."""
    try:
        numbers = [to_number(cell) for cell in cells]
    except ValueError:
        return []
    return numbers if all(0 < number < 1e300 for number in numbers) else []


def fits(printed: str, value: float) -> bool:
    """Return whether a number is printed as a value rounded to the printed digits."""
    stated, exponent = to_number(printed), Decimal(printed.strip()).as_tuple().exponent
    half = 0.51 * 10.0 ** min(exponent, 9) if isinstance(exponent, int) else 0.0
    return abs(stated - value) <= half + 1e-12 * (100 + abs(value))  # NaN is not
