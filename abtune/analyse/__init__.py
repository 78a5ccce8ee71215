"""The analysing half: from a dataset to comparisons with verdicts."""

from abtune.analyse.comparison import Aggregate, Analysis, Comparison, Overall, Side, Verdict
from abtune.analyse.pipeline import analyze

__all__ = ["Aggregate", "Analysis", "Comparison", "Overall", "Side", "Verdict", "analyze"]
