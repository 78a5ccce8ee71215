"""An analysis for programs: the fields that JSON and CSV have, with all digits."""

from __future__ import annotations

from typing import Any

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.schema import SeedDesign

# The fields of a comparison that keep their names, in the order of the columns of CSV.
_FIELDS = (
    *("boost", "boost_low", "boost_high", "p", "p_adjusted", "verdict", "reason"),
    *("p_equivalence", "p_equivalence_adjusted", "p_welch", "p_welch_adjusted", "p_rank", "p_rank_adjusted"),
    *("boost_low_simultaneous", "boost_high_simultaneous", "boost_at_least"),
)


def analysis_record(analysis: Analysis) -> dict[str, Any]:
    """Return the fields of an analysis; ``docs/analyze.md`` explains them."""
    settings = analysis.settings
    return {
        "baseline": analysis.baseline,
        "candidate": analysis.candidate,
        "level": analysis.level,
        "margin": analysis.margin,
        "tolerance": settings.tolerance,
        "require_margin": settings.require_margin,
        "rng_seed": analysis.rng_seed,
        "design": SeedDesign.SHARED.value if settings.paired else SeedDesign.INDEPENDENT.value,
        "estimand": settings.estimand,
        "method": settings.method,
        "test": settings.test,
        "correction_method": settings.correction,
        "interval_method": analysis.interval_method,
        "test_method": analysis.test_method,
        "correction": analysis.correction,
        "definition": analysis.definition,
        "sentence": analysis.sentence,
        "shapes_in_dataset": analysis.shapes_in_dataset,
        "caveats": analysis.caveats,
        "overall": analysis.overall,
        "claims": analysis.claims,
        "worst": analysis.worst,
        "comparisons": tuple(map(comparison_record, analysis.comparisons)),
    }


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """Return the fields of a comparison, flat: those of a side have its name behind them."""
    sides = {"baseline": comparison.baseline, "candidate": comparison.candidate}
    return {
        "shape": comparison.shape,
        "workload": comparison.workload,
        **{name: side.config for name, side in sides.items()},
        **{f"n_{name}": side.n for name, side in sides.items()},
        **{field: getattr(comparison, field) for field in _FIELDS},
        **{
            f"{field}_{name}": getattr(side, field)
            for field in ("latency", "noise", "failed")
            for name, side in sides.items()
        },
        "caveats": comparison.caveats,
    }
