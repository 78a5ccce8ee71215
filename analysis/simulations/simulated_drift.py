"""How often reports err, and warn, if runs depend on those before: for calibrate_methods.py."""

from __future__ import annotations

from collections.abc import Mapping

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array
from simulated_claims import _analysis, _claimed
from simulated_reports import SHAPES, table

from abtune.compare.results import Verdict
from abtune.compare.sentence import DEPENDENT

NOISE, CORRELATION = 0.05, 0.5
# Shapes; what drifts: the noise of each side, or a part as large that all shapes have; the sides that drift.
KINDS: Mapping[str, tuple[int, str, tuple[int, ...]]] = {
    "one shape, both sides": (1, "each", (0, 1)),
    "one shape, one side": (1, "each", (1,)),
    "29 shapes, both sides, each shape by itself": (SHAPES, "each", (0, 1)),
    "29 shapes, one side, all shapes alike": (SHAPES, "all", (1,)),
    "29 shapes, both sides and all shapes alike": (SHAPES, "all", (0, 1)),
}


def drift(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return normal noise of 5 % in which each seed is correlated by 0.5 with the one before."""
    noise = rng.normal(0, NOISE, shape)
    for seed in range(1, shape[-1]):
        noise[..., seed] = CORRELATION * noise[..., seed - 1] + np.sqrt(1 - CORRELATION**2) * noise[..., seed]
    return noise


def drift_table(reports: int) -> str:
    """Lay out false differences, false counts, overall intervals that miss, and reports that notice."""
    rows = []
    for name, kind in KINDS.items():
        row = [name]
        for n in (5, 10, 20):
            rng = np.random.default_rng([46, n])
            shares = np.mean([_report(*kind, n, rng) for _ in range(reports)], axis=0)
            row.append(" / ".join(f"{100 * share:.0f}" for share in shares))
        rows.append(row)
    return table(["what drifts", *(f"{n}+{n}" for n in (5, 10, 20))], rows)


def _report(
    shapes: int, what: str, sides: tuple[int, ...], n: int, rng: np.random.Generator
) -> tuple[bool, ...]:
    logs = rng.normal(0, NOISE, (shapes, 2, n))
    if what == "each":
        logs[:, sides] = drift(rng, (shapes, len(sides), n))
    else:  # sides that drift have the same drift
        logs[:, sides] += drift(rng, (n,))
    analysis = _analysis(logs, "independent")
    overall = analysis.overall.these_shapes
    return (
        any(row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in analysis.comparisons),
        any(_claimed(analysis, name, 0.0) for name in ("faster", "slower")),
        overall.boost_low > 0 or overall.boost_high < 0,
        any(DEPENDENT in caveat for caveat in analysis.caveats),
    )
