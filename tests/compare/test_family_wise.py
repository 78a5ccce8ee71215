"""How often an analysis says anything false."""

import math

import numpy as np
import pytest
from compare_builders import make_sweep

import abtune
from abtune.compare.results import Verdict

MARGIN = 0.02
ANALYSES = 50


def false_statements(boosts: np.ndarray, options: dict | None = None, **fields) -> float:
    """Share of analyses with at least one false statement about a shape."""
    wrong = 0
    for seed in range(ANALYSES):
        dataset = make_sweep(boosts, seed=seed, **fields)
        rows = abtune.analyze(dataset, margin=MARGIN, **(options or {})).comparisons
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"correction": "max-t"}, {"n": 5}),
        ({"correction": "max-t"}, {"n": 9, "m": 6, "noise": (0.01, 0.03)}),
        ({"method": "welch"}, {"n": 9, "noise": 0.08}),
        ({}, {"n": 5, "m": 10, "noise": (0.08, 0.02)}),
    ],
    ids=str,
)
def test_any_false_statement_is_rare_under_every_choice(options: dict, fields: dict) -> None:
    """Choosing other methods does not give up the promise of the whole report."""
    rate = false_statements(np.zeros(29), options, **fields)
    assert rate <= 0.055 + 3 * math.sqrt(0.05 * 0.95 / ANALYSES)


def test_a_screen_keeps_its_share_of_false_claims() -> None:
    """With Benjamini-Hochberg about one claim in twenty is false, and more is found."""
    boosts = np.repeat([0.0, 0.05], [20, 9])
    shares, discoveries = [], {"bh": 0, "holm": 0}
    for seed in range(15):
        for correction in discoveries:
            rows = abtune.analyze(make_sweep(boosts, seed=seed, n=7), correction=correction).comparisons
            claims = [row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in rows]
            discoveries[correction] += sum(claims[20:])
            if correction == "bh":
                shares.append(sum(claims[:20]) / max(sum(claims), 1))
    assert np.mean(shares) <= 0.05 + 3 * np.std(shares) / math.sqrt(len(shares))
    assert discoveries["bh"] > discoveries["holm"]
