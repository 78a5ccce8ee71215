"""From a dataset to comparisons with verdicts."""

from abtune.compare.compare import analyze, compare
from abtune.compare.results import Aggregate, Analysis, Comparison, Overall, Side, Verdict
from abtune.compare.settings import Settings

__all__ = [
    "Aggregate",
    "Analysis",
    "Comparison",
    "Overall",
    "Settings",
    "Side",
    "Verdict",
    "analyze",
    "compare",
]
