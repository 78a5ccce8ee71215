"""Numbers inside the sentences that an analysis gives as reasons and caveats."""

from __future__ import annotations


def percent(fraction: float) -> str:
    """Write a fraction in percent with two significant digits, or more where it has more than two."""
    value = 100 * fraction
    return f"{value:.0f}%" if value >= 99.5 else f"{value:.2g}%"


def p_value(p: float) -> str:
    """Write a p-value with two significant digits; never 0."""
    return "below 0.0001" if p < 0.0001 else f"{p:.2g}"


def about_seeds(seeds: int) -> str:
    """Write a planned number of seeds, which is never exact."""
    return f"about {seeds}" if seeds <= 1000 else "more than 1,000"


def count(number: int, noun: str) -> str:
    """Write ``1 shape``, ``2 shapes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
