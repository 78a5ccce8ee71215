"""What the pages of the H200 datasets share: numbers as they write them, tables, and lines of one length."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

import numpy as np
import xarray as xr

import abtune
from abtune.compare.results import Aggregate
from abtune.sections.curve.curve import best_so_far
from abtune.text import p_value

COLOURS = {"mainline": "#56657a", "async": "#d1601f"}


def page(text: str) -> str:
    """Return a page whose paragraphs and list items have lines of at most 120 characters."""
    text = re.sub(r"(?<=\d)%", " %", text)
    # These spaces are no place to break a line.
    text = re.sub(r"`[^`\n]*`| %", lambda kept: kept[0].replace(" ", "\0"), text)
    blocks = [
        block if block.startswith(("#", "|", "!")) else "\n".join(map(_filled, re.split(r"\n(?=- )", block)))
        for block in re.split(r"\n\n+", text.strip())
    ]
    return "\n\n".join(blocks).replace("\0", " ") + "\n"


def _filled(text: str) -> str:
    """Return a paragraph or a list item in lines of one length."""
    hanging = "  " * text.startswith("- ")
    return textwrap.fill(text, 120, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def table(heading: str, rows: Iterable[Iterable[object]]) -> str:
    """Return a table; the names of columns that are right-aligned end with a colon."""
    names = heading.split("|")
    rules = ["---:" if name.endswith(":") else "---" for name in names]
    lines = [[name.removesuffix(":") for name in names], rules, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def seed_values(dataset: xr.Dataset) -> xr.DataArray:
    """Microseconds a seed: geometric mean over rounds of the median of a round."""
    return np.exp(xr.ufuncs.log(dataset["latency"].median("repeat")).mean("round")) * 1e6


def seed_logs(dataset: xr.Dataset) -> xr.DataArray:
    """Return the logarithms of the values of the seeds."""
    return xr.ufuncs.log(seed_values(dataset))


def differences(dataset: xr.Dataset) -> xr.DataArray:
    """Return the logarithms of the boosts of single pairs, by shape and seed."""
    logs = seed_logs(dataset)
    return logs.isel(config=0) - logs.isel(config=1)


def spread(dataset: xr.Dataset) -> xr.DataArray:
    """Return the standard deviation of the difference of two searches, by shape."""
    if dataset.attrs.get("design") == "shared":
        return differences(dataset).std("seed", ddof=1)
    return xr.ufuncs.sqrt(seed_logs(dataset).var("seed", ddof=1).sum("config"))


def best_after(dataset: xr.Dataset, trials: int) -> np.ndarray:
    """Log of the best latency within the first trials; shape (shapes, configurations, seeds)."""
    return np.log(best_so_far(dataset)[..., trials - 1])


def noise(values: np.ndarray) -> tuple[float, int]:
    """Return the standard deviation between seeds, pooled over the cells, and its degrees of freedom."""
    return float(np.sqrt(values.var(axis=-1, ddof=1).mean())), values[..., 1:].size


def boost(values: np.ndarray) -> float:
    """Return the mean boost over the shapes."""
    means = values.mean(axis=(0, -1))
    return float(np.expm1(means[0] - means[1]))


def short(label: str) -> str:
    """Abbreviate a label to what tells the pilot's shapes apart."""
    kept = [
        field for field in label.split("_") if field.split("=")[0] in ("M", "N", "K", "H", "C", "R", "STR")
    ]
    return " ".join(field for field in kept if field != "N=1")


def published_boosts() -> dict[str, float]:
    """Return the boost that the published table claims for each shape."""
    published = abtune.analyze(abtune.open_dataset("tvm14009-rtx3080"))
    return {row.shape: row.boost for row in published.comparisons}


def percent(value: float, decimals: int = 1) -> str:
    """Write a boost as the reports do, without a negative zero."""
    return f"{100 * value:+z.{decimals}f} %"


def span(row: abtune.Comparison | Aggregate) -> str:
    """Write an interval, with the signs of limits that round to zero."""
    return f"{100 * row.boost_low:+.1f} to {100 * row.boost_high:+.1f} %"


def judged(row: abtune.Comparison) -> tuple[str, ...]:
    """Return cells: boost, interval, adjusted p and verdict."""
    return percent(row.boost), span(row), p_value(row.p_adjusted), row.verdict.words


def in_a_sentence(analysis: abtune.Analysis) -> str:
    """Return the result, with what it says first in bold."""
    return "**{}**:{}".format(*analysis.sentence.split(":", 1))


def measuring_noise(dataset: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Return standard deviations of the log latency by shape: between seeds, between rounds, and within."""
    logs = xr.ufuncs.log(dataset["latency"])
    rounds = logs.median("repeat")
    spreads = (
        rounds.mean("round").var("seed", ddof=1),
        rounds.var("round", ddof=1),
        logs.var("repeat", ddof=1),
    )
    search, between, within = (np.sqrt(variance.mean(set(variance.dims) - {"shape"})) for variance in spreads)
    return search, between, within


def noise_sentence(dataset: xr.Dataset) -> str:
    """Say how large the noise of the search is, and how small the noise of measuring."""
    search, between, within = (
        f"{100 * float(deviations.median()):.2g} % (at most {100 * float(deviations.max()):.2g} %)"
        for deviations in measuring_noise(dataset)
    )
    return (
        f"From the searches: the standard deviation of the log latency is {search} between seeds. "
        f"It is {between} between rounds of measuring a winner, and {within} within a round. "
        "Each is a median over the shapes, with the variances of both configurations averaged."
    )
