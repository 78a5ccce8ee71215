"""An analysis for programs: the fields that JSON and CSV have, with all digits, and where each comes from."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.provenance import summary
from abtune.dataset.schema import SeedDesign

# By field, the attribute of an analysis.
ANALYSIS = {
    **{
        name: f"settings.{name}"
        for name in (
            *("baseline", "candidate", "level", "margin", "tolerance", "require_margin", "rng_seed"),
            *("estimand", "method", "test"),
        )
    },
    "correction_method": "settings.correction",
    **{
        name: name
        for name in (
            *("interval_method", "test_method", "correction", "definition", "sentence", "shapes_in_dataset"),
            *("caveats", "overall", "claims", "worst"),
        )
    },
}
_SIDES = "baseline", "candidate"
# By field, the attribute of a comparison; also the order of the columns of CSV.
COMPARISON = {
    "shape": "shape",
    "workload": "workload",
    **{side: f"{side}.config" for side in _SIDES},
    **{f"n_{side}": f"{side}.n" for side in _SIDES},
    **{
        name: name
        for name in (
            *("boost", "boost_low", "boost_high", "p", "p_adjusted", "verdict", "reason"),
            *("p_equivalence", "p_equivalence_adjusted", "p_welch", "p_welch_adjusted"),
            *("p_resampled", "p_resampled_adjusted", "p_rank", "p_rank_adjusted"),
            *("boost_low_simultaneous", "boost_high_simultaneous", "boost_at_least"),
        )
    },
    **{f"{name}_{side}": f"{side}.{name}" for name in ("latency", "noise", "failed") for side in _SIDES},
    "caveats": "caveats",
}


def analysis_record(analysis: Analysis) -> dict[str, Any]:
    """Return the fields of an analysis; ``docs/analyze.md`` explains them."""
    fields = {name: attrgetter(path)(analysis) for name, path in ANALYSIS.items()}
    return {
        **fields,
        "origin": origin_of(analysis),
        "design": SeedDesign.SHARED.value if analysis.settings.paired else SeedDesign.INDEPENDENT.value,
        "comparisons": tuple(map(comparison_record, analysis.comparisons)),
    }


def origin_of(analysis: Analysis) -> str:
    """Return device, version of TVM, day and trials in words; empty for an analysis without its dataset."""
    return "" if analysis.dataset is None else summary(analysis.dataset)


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """Return the fields of a comparison, flat: those of a side have its name behind them."""
    return {name: attrgetter(path)(comparison) for name, path in COMPARISON.items()}
