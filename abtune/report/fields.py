"""An analysis for programs: the fields that JSON and CSV have, with all digits, and where each comes from."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.provenance import summary
from abtune.dataset.schema import SeedDesign

_SIDES = "baseline", "candidate"


def _same(names: str, path: str = "{}") -> dict[str, str]:
    """Return the attribute of each field whose name it has."""
    return {name: path.format(name) for name in names.split()}


def _of_sides(field: str, name: str) -> dict[str, str]:
    """Return the attribute of a field of each side."""
    return {field.format(side): f"{side}.{name}" for side in _SIDES}


# By field, the attribute of an analysis.
ANALYSIS = {
    **_same("baseline candidate level margin tolerance require_margin rng_seed", "settings.{}"),
    **_same("estimand method test", "settings.{}"),
    "correction_method": "settings.correction",
    **_same("interval_method test_method correction definition sentence shapes_in_dataset caveats overall"),
    **_same("claims worst"),
}
# By field, the attribute of a comparison; also the order of the columns of CSV.
COMPARISON = {
    **_same("shape workload"),
    **_of_sides("{}", "config"),
    **_of_sides("n_{}", "n"),
    **_same("boost boost_low boost_high p p_adjusted verdict reason p_equivalence p_equivalence_adjusted"),
    **_same("p_welch p_welch_adjusted p_resampled p_resampled_adjusted p_rank p_rank_adjusted"),
    **_same("boost_low_simultaneous boost_high_simultaneous boost_at_least"),
    **_of_sides("latency_{}", "latency"),
    **_of_sides("noise_{}", "noise"),
    **_of_sides("failed_{}", "failed"),
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
