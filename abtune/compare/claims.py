"""What can be said of many shapes at once: how many are faster or not slower, how bad the worst can be.

Each claim is true with the level's probability by itself. It says how many shapes, not which.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from abtune.compare.gates import is_valid
from abtune.compare.results import Claim, Comparison, Evidence, Verdict, Worst
from abtune.compare.settings import Settings
from abtune.stats.across_shapes import at_least
from abtune.stats.estimates import from_log
from abtune.stats.testing.significance import OneSided
from abtune.stats.two_sample import Booleans, Floats, TwoSample
from abtune.stats.variance import shared_so_far

FASTER, NOT_SLOWER, SLOWER = "faster", "not slower", "slower"
# Slowdowns that are looked at beside the tolerance.
TOLERANCES = (0.02, 0.05, 0.1)
# A shape with fewer pairs is counted by its verdict alone: too few seeds show what shapes share.
FEWEST_PAIRS = 5


def make_claims(
    samples: TwoSample,
    one_sided: OneSided,
    rows: Sequence[Comparison],
    worst: Worst | None,
    settings: Settings,
) -> tuple[Claim, ...]:
    """Return what the data show of all shapes and each workload; an invalid shape counts against claims."""
    # A shape most of whose runs failed has seeds, but only those that survived: it counts as not shown.
    valid = np.array([row.verdict is not Verdict.INVALID for row in rows])
    kinds = Counter(row.workload for row in rows if row.workload)
    chosen: dict[str | None, Booleans] = {None: np.ones(len(rows), dtype=bool)}
    if len(kinds) > 1:
        # A count of one shape would name it, without the correction that its verdict has.
        several = [kind for kind, shapes in kinds.items() if shapes > 1]
        chosen |= {kind: np.array([row.workload == kind for row in rows]) for kind in several}
    claims = (_of_kind(kind, which, samples, one_sided, valid, settings) for kind, which in chosen.items())
    return with_verdicts(chain.from_iterable(claims), rows, worst, settings)


def with_verdicts(
    claims: Iterable[Claim], rows: Sequence[Comparison], worst: Worst | None, settings: Settings
) -> tuple[Claim, ...]:
    """Return claims that count no fewer shapes than the rows, the worst shape, or a stronger claim show.

    The claims on all shapes come first. A kind counts no more than they do.
    """
    raised: list[Claim] = []
    of_all: dict[tuple[str, float], int] = {}
    for claim in claims:
        # Each procedure holds with the level's probability.
        least = max(claim.at_least, _by_rows(claim, rows, worst, settings.margin))
        # The claims before: a shape that is faster, or that loses at most 2 %, loses at most 5 %.
        if claim.claim == NOT_SLOWER:
            least = max(least, raised[-1].at_least)
        least = min(least, of_all.setdefault((claim.claim, claim.beyond), least))
        raised.append(replace(claim, at_least=least))
    return tuple(raised)


def of_all(claims: Iterable[Claim]) -> dict[tuple[str, float], Claim]:
    """Return the claims on all shapes, by what they say and beyond which loss."""
    return {(claim.claim, claim.beyond): claim for claim in claims if claim.workload is None}


def _by_rows(claim: Claim, rows: Sequence[Comparison], worst: Worst | None, margin: float) -> int:
    judged = [row for row in rows if claim.workload in {None, row.workload}]
    if claim.claim == NOT_SLOWER:
        if worst is not None and worst.boost_low >= -claim.beyond:
            return len(judged)
        kept = {Verdict.IMPROVED} | ({Verdict.EQUIVALENT} if margin / (1 + margin) <= claim.beyond else set())
        shown = [row for row in judged if row.verdict in kept or row.boost_at_least >= -claim.beyond]
        return sum(row.verdict is not Verdict.INVALID for row in shown)
    verdict = Verdict.IMPROVED if claim.claim == FASTER else Verdict.REGRESSED
    return sum(row.verdict is verdict for row in judged)


def _of_kind(
    kind: str | None,
    which: Booleans,
    samples: TwoSample,
    one_sided: OneSided,
    valid: Booleans,
    settings: Settings,
) -> Iterator[Claim]:
    """Yield what the tests show of all shapes, or of those of one kind."""
    enough = samples.sizes[:, 0] >= FEWEST_PAIRS if samples.paired else valid
    usable = valid & enough  # others count against claims
    error, of = one_sided.estimate.error, int(np.count_nonzero(which))
    used = usable & (error > 0)
    # What the runs of a seed share correlates the tests of two shapes. In units of their errors, the
    # covariance of two differences is the correlation of their t.
    scale = np.where(used, error, 1.0)[:, np.newaxis]
    standard = TwoSample.without_floor(samples.first / scale, samples.second / scale)

    def correlation(p: Floats) -> Floats:
        """Return the correlation of the k shapes with the largest p; at least that of all shapes."""
        # Where some shapes share more than others, the mean over all is too low for those.
        rows = np.flatnonzero(which)[np.argsort(-np.nan_to_num(p[which], nan=1.0), kind="stable")]
        known = used[rows]
        so_far = np.concatenate([[0.0], shared_so_far(standard.rows(rows[known]))])
        return np.clip(np.maximum(so_far, so_far[-1]), 0.0, 1.0)[np.cumsum(known)]

    def claim(name: str, beyond: float, tests: OneSided) -> Claim:
        p = np.where(valid, tests.p_above(math.log1p(-beyond)), np.nan)
        counted = np.where(enough, p, np.nan)
        shown = at_least(counted[which], correlation=correlation(counted), alpha=settings.alpha)
        # That all are shown takes no correction, whatever they share (Berger 1982).
        if (p[which] <= settings.alpha).all():
            shown = of
        return Claim(claim=name, beyond=beyond, at_least=shown, of=of, workload=kind)

    yield claim(FASTER, 0.0, one_sided)
    for loss in sorted({*TOLERANCES, settings.tolerance}):
        yield claim(NOT_SLOWER, loss, one_sided)
    yield claim(SLOWER, 0.0, one_sided.swapped())


def find_worst(one_sided: OneSided, rows: Sequence[Evidence], settings: Settings) -> Worst | None:
    """Return how slow any shape can be; None unless every shape can have a verdict, and has a bound."""
    if not all(is_valid(row, settings) for row in rows):
        return None
    # Not divided by the number of shapes: the claim needs every bound, and fails with one (Berger 1982).
    low: Floats = one_sided.lower(settings.alpha)
    if not np.isfinite(low).all():
        return None
    lowest = int(np.argmin(low))
    return Worst(shape=rows[lowest].shape, boost_low=from_log(float(low[lowest])))
