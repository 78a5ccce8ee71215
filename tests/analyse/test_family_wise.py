"""How often an analysis says anything false."""

import math

import numpy as np
import pytest
from analyse_builders import make_sweep

import abtune
from abtune.analyse import Verdict

MARGIN = 0.02
ANALYSES = 150


def false_statements(boosts: np.ndarray, **fields) -> float:
    """Share of analyses with at least one false statement about a shape."""
    wrong = 0
    for seed in range(ANALYSES):
        rows = abtune.analyze(make_sweep(boosts, seed=seed, **fields), margin=MARGIN).comparisons
        for row, boost in zip(rows, boosts, strict=True):
            claims = {
                Verdict.IMPROVED: boost > 0,
                Verdict.REGRESSED: boost < 0,
                Verdict.EQUIVALENT: abs(math.log1p(boost)) < math.log1p(MARGIN) - 1e-12,
            }
            if not claims.get(row.verdict, True):
                wrong += 1
                break
    return wrong / ANALYSES


ALIKE = {"n": 10, "noise": 0.01}
UNEQUAL_NUMBERS = {"n": 8, "m": 12, "noise": 0.02}
UNEQUAL_SPREAD = {"n": 10, "noise": (0.05, 0.004)}
FEW = {"n": 7, "noise": (0.004, 0.05), "rounds": 2, "timing_noise": 0.003}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "fields"),
    [
        ("all equal", UNEQUAL_NUMBERS),
        ("all equal", FEW),
        ("all at the margin", ALIKE),
        ("mixed", ALIKE),
        ("mixed", UNEQUAL_SPREAD),
    ],
    ids=str,
)
def test_any_false_statement_is_rare(truth: str, fields: dict) -> None:
    """At most one analysis of twenty says something false of any of its 29 shapes."""
    boosts = {
        "all equal": np.zeros(29),
        "all at the margin": np.full(29, MARGIN),
        "mixed": np.repeat([0.0, MARGIN, -0.05], [10, 10, 9]),
    }[truth]
    assert false_statements(boosts, **fields) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / ANALYSES)
