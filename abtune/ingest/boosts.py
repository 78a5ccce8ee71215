"""Printed boosts of tables: they are checked against the times beside them, and then left out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from abtune.errors import DatasetError
from abtune.ingest.sources import baseline_first
from abtune.ingest.units import MISSING, read_number
from abtune.text import shell_path, shortened, to_number

# What the boosts of a column can be over, as long as no row has told.
EITHER = frozenset({"baseline", "other"})


def check_boost(cell: str, latency: Sequence[tuple[float, float]], over: set[str]) -> None:
    """Check a printed boost or quotient against its row; any two columns may give its printed digits.

    ``latency`` has the seconds and the relative rounding of each column, because boosts are computed before
    times are rounded. ``over`` keeps what all boosts of a table can be over.
    """
    if cell.casefold() in MISSING:
        return
    pairs = [(old / new, a + b) for (old, a), (new, b) in itertools.combinations(latency, 2)]
    printed = cell.removesuffix("%").rstrip(" xX\u00d7").replace("\u2212", "-")
    values: dict[str, list[tuple[float, float]]] = {"baseline": [], "other": []}
    for ratio, slack in pairs:
        values["baseline"] += [(100 * (ratio - 1), 100 * ratio * slack)] * (cell[-1:] not in "xX\u00d7")
        values["baseline"] += [(ratio, ratio * slack)] * (cell[-1:] != "%")
        values["other"] += [(1 / ratio, slack / ratio)] * (cell[-1:] != "%")
    # Only for its error: fits() would raise one without the cell.
    read_number(printed, "; write the number alone, such as 1.25x, or take the column out")
    fitting = {side for side in over if any(fits(printed, *value) for value in values[side])}
    if not fitting:
        ratio = pairs[0][0]
        computed = f"{100 * (ratio - 1):.6g}% or {ratio:.6g}x"
        if over == {"other"}:
            computed = f"{1 / ratio:.6g}x, over the same side as above"
        differ = f"the boost is printed as {shortened(cell)}, but the row gives {computed}"
        raise DatasetError(f"{differ}; take the column out if it is something else, such as a saving of time")
    over &= fitting


def about_boosts(columns: Mapping[str, set[str]], configs: Sequence[str]) -> Iterator[str]:
    """Yield which columns of boosts are not over the baseline, by what each can be over."""
    for name, over in columns.items():
        if over == {"other"} and not re.search("ratio|/", name, re.IGNORECASE):
            baseline, *others = baseline_first(configs)
            other = shell_path(others[0]) if len(others) == 1 else "NAME"
            remedy = f"if another is the baseline: abtune analyze --baseline {other}"
            yield f"column {shortened(name)} is not over {baseline}, the baseline; {remedy}"


def fits(printed: str, value: float, slack: float = 0.0) -> bool:
    """Return whether a number is printed as a value, known to ``slack``, rounded to the printed digits."""
    # Half a unit of the last printed digit. The cap keeps the power a float, whatever exponent is printed.
    exponent = Decimal(printed.strip()).as_tuple().exponent
    half = 0.51 * 10.0 ** min(exponent, 9) if isinstance(exponent, int) else 0.0
    return abs(to_number(printed) - value) <= half + slack + 1e-12 * (100 + abs(value))  # NaN is not


def rounding_of(cell: str) -> float:
    """Return how much of a printed number its rounding may be; a number without a point counts as exact."""
    digits = re.match(r"[0-9]+\.([0-9]*)", cell)
    return 0.5 * 10.0 ** -len(digits[1]) / (float(digits[0]) or 1.0) if digits else 0.0
