"""The report for programs: JSON with everything, CSV with one row a comparison.

Boosts, noise and levels are fractions, latencies are seconds, and numbers keep all their digits. What does
not exist is ``null`` in JSON and empty in CSV.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import abtune
from abtune.analyse.comparison import Aggregate, Analysis, Comparison
from abtune.report.labels import printable
from abtune.report.page import Section

_SEPARATOR = "; "


def render_json(analysis: Analysis, sections: Sequence[Section] = ()) -> str:
    """Write an analysis as a JSON object, sections by name; ``docs/analyze.md`` explains its fields."""
    document = {
        "abtune_version": abtune.__version__,
        "baseline": analysis.baseline,
        "candidate": analysis.candidate,
        "level": analysis.level,
        "margin": analysis.margin,
        "require_margin": analysis.choices.require_margin,
        "rng_seed": analysis.rng_seed,
        "estimand": analysis.choices.estimand,
        "method": analysis.choices.method,
        "test": analysis.choices.test,
        "correction_method": analysis.choices.correction,
        "interval_method": analysis.interval_method,
        "test_method": analysis.test_method,
        "correction": analysis.correction,
        "definition": analysis.definition,
        "caveats": list(analysis.caveats),
        "overall": {
            "these_shapes": _aggregate(analysis.overall.these_shapes),
            "shapes_like_these": _aggregate(analysis.overall.shapes_like_these),
            "unmatched": list(analysis.overall.unmatched),
            "leave_one_out": plain(analysis.overall.leave_one_out),
            "improvement": plain(analysis.overall.improvement),
            "heterogeneity": plain(analysis.overall.heterogeneity),
            "weighted": plain(analysis.overall.weighted),
        },
        "comparisons": [
            {**comparison_record(comparison), "caveats": list(comparison.caveats)}
            for comparison in analysis.comparisons
        ],
        **{section.name: plain(section.result) for section in sections if section.result is not None},
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_result(result: object) -> str:
    """Write any other result as a JSON object with the names of its fields."""
    document = {"abtune_version": abtune.__version__, **plain(result)}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(analysis: Analysis) -> str:
    """Write the comparisons as CSV: a header and one line a comparison, caveats joined by semicolons.

    Control characters in names become question marks, so that a line of the file is a row of the table.
    """
    stream = io.StringIO()
    records = [
        {
            name: printable(value) if isinstance(value, str) else value
            for name, value in comparison_record(comparison).items()
        }
        for comparison in analysis.comparisons
    ]
    writer = csv.DictWriter(stream, fieldnames=list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue()


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """Lay one comparison out flat, by the names that JSON and CSV use."""
    baseline, candidate = comparison.baseline, comparison.candidate
    return {
        "shape": comparison.shape,
        "workload": comparison.workload,
        "baseline": baseline.config,
        "candidate": candidate.config,
        "n_baseline": baseline.n,
        "n_candidate": candidate.n,
        "boost": _finite(comparison.boost),
        "boost_low": _finite(comparison.boost_low),
        "boost_high": _finite(comparison.boost_high),
        "p": _finite(comparison.p),
        "p_adjusted": _finite(comparison.p_adjusted),
        "verdict": comparison.verdict.value,
        "reason": comparison.reason,
        "p_equivalence": _finite(comparison.p_equivalence),
        "p_equivalence_adjusted": _finite(comparison.p_equivalence_adjusted),
        "p_welch": _finite(comparison.p_welch),
        "p_welch_adjusted": _finite(comparison.p_welch_adjusted),
        "p_rank": _finite(comparison.p_rank),
        "p_rank_adjusted": _finite(comparison.p_rank_adjusted),
        "boost_low_simultaneous": _finite(comparison.boost_low_simultaneous),
        "boost_high_simultaneous": _finite(comparison.boost_high_simultaneous),
        "latency_baseline": _finite(baseline.latency),
        "latency_candidate": _finite(candidate.latency),
        "noise_baseline": _finite(baseline.noise),
        "noise_candidate": _finite(candidate.noise),
        "failed_baseline": baseline.failed,
        "failed_candidate": candidate.failed,
        "caveats": _SEPARATOR.join(comparison.caveats),
    }


def _aggregate(aggregate: Aggregate) -> dict[str, Any]:
    return {
        "boost": _finite(aggregate.boost),
        "boost_low": _finite(aggregate.boost_low),
        "boost_high": _finite(aggregate.boost_high),
        "shapes": aggregate.shapes,
        "meaning": aggregate.meaning,
    }


def plain(value: object) -> Any:
    """Turn a result into what JSON has: objects by the names of fields, ``null`` for what is unknown."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    return _finite(value) if isinstance(value, float) else value


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
