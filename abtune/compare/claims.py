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

from abtune.compare.gates import beyond_interval, is_valid
from abtune.compare.overall import FEWEST_OF_KIND
from abtune.compare.results import Aggregate, Claim, Comparison, Evidence, Overall, Verdict, Worst
from abtune.compare.settings import Settings, margin_ends
from abtune.dataset.provenance import CONFOUNDED
from abtune.stats.across_shapes import at_least
from abtune.stats.estimates import from_log
from abtune.stats.testing.significance import OneSided
from abtune.stats.two_sample import Booleans, Floats, TwoSample
from abtune.stats.variance import shared_so_far
from abtune.text import (
    count,
    limits,
    listed,
    percent_cell,
    plain_percent,
    sentence_decimals,
)

FASTER, NOT_SLOWER, SLOWER = "faster", "not slower", "slower"
# Slowdowns that are looked at beside the tolerance.
TOLERANCES = (0.02, 0.05, 0.1)
# A shape with fewer pairs is counted by its verdict alone: too few seeds show what shapes share.
FEWEST_PAIRS = 5
# The caveat that puts every number of a report in doubt begins so.
DEPENDENT = "Runs with neighbouring seed numbers are alike"


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


def make_sentence(
    overall: Overall,
    rows: Sequence[Comparison],
    claims: Sequence[Claim],
    settings: Settings,
    told: Sequence[str],
) -> str:
    """Return the result in one to three sentences, which say no more than verdicts, interval and claims.

    Some of the caveats that are ``told`` belong into the result.
    """
    judged = [row for row in rows if row.verdict is not Verdict.INVALID]
    if not judged:
        which = rows[0].shape if len(rows) == 1 else f"any of {count(len(rows), 'shape')}"
        return f"{_to_expect(overall, settings)}{_no_verdict(which, rows)}"
    mean = _over_all(overall.these_shapes, judged, settings)
    parts = [mean, *([_counts(rows, claims, settings)] if len(judged) > 1 else [])]
    parts += of_dependent(told)
    parts += (f"But {_lower(text.partition('. ')[0])}." for text in told if text.startswith(CONFOUNDED))
    # The candidate may be unable to run some shapes at all.
    if without := [row for row in rows if row.verdict is Verdict.INVALID]:
        some = f"{len(without)} of {len(rows)} shapes"
        parts.append(_no_verdict(some if len(without) > 1 else without[0].shape, without))
    return " ".join(parts)


def of_dependent(told: Iterable[str]) -> Iterator[str]:
    """Yield that runs depend on each other, if a caveat says so."""
    # Then most counts of shapes are false (docs/statistics.md, "neighbours alike").
    if any(DEPENDENT in caveat for caveat in told):
        yield f"But {_lower(DEPENDENT)}, so these intervals may be too narrow."


def _no_verdict(which: str, rows: Sequence[Comparison]) -> str:
    """Say that shapes have no verdict, and give their reason, or that of the first."""
    reason = rows[0].reason
    start = f"There is no verdict on {which}"
    if len({row.reason for row in rows}) > 1:
        return f"{start}. {rows[0].shape}: {reason}"
    # Behind a full stop, the reason of some shapes would read as one of all.
    return f"{start}, because {_lower(reason)}"


def _lower(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"


def _to_expect(overall: Overall, settings: Settings) -> str:
    """Return what shapes without verdicts say of others like them; empty if they say nothing."""
    kinds = {kind.words: kind.shapes_like_these for kind in overall.by_kind}
    known = kinds or {"": overall.shapes_like_these}
    means = [
        f"{name} {percent_cell(line.boost, 1)}% ({limits(line.boost_low, line.boost_high, 1)})".strip()
        for name, line in known.items()
        if line.shapes >= FEWEST_OF_KIND and not math.isnan(line.boost_low)
    ]
    if not means:
        return ""
    level = plain_percent(settings.level)
    return (
        f"Boost of {settings.candidate} to expect of other shapes, with {level} interval: {listed(means)}. "
    )


def _over_all(overall: Aggregate, judged: Sequence[Comparison], settings: Settings) -> str:
    """Return what the interval of the mean boost says; of a lone shape, what its verdict and interval say."""
    one, other = settings.candidate, settings.baseline
    lone = judged[0] if len(judged) == 1 else None
    mean = lone or overall
    low, high, only = mean.boost_low, mean.boost_high, lone and lone.verdict
    where = f"on {lone.shape}" if lone else f"over these {count(overall.shapes, 'shape')}"
    decimals, (slow, fast) = sentence_decimals(low, high), margin_ends(settings.margin)
    numbers = f"{percent_cell(mean.boost, decimals)}%"
    if not math.isnan(low):
        interval = limits(low, high, decimals)
        numbers += f" ({plain_percent(settings.level)} interval {interval})"
    start = f"{one} and {other} are not shown to differ {where}"
    if only is Verdict.IMPROVED or (only is None and low > 0):
        start = f"{one} is faster than {other} {where}"
    elif only is Verdict.REGRESSED or (only is None and high < 0):
        start = f"{one} is slower than {other} {where}"
    elif only is Verdict.EQUIVALENT or (only is None and slow < low <= high < fast):
        start = f"{one} is as fast as {other} {where}, within {plain_percent(settings.margin)}"
    elif only is Verdict.NOT_SLOWER:
        start += f", and {one} loses at most {plain_percent(settings.tolerance)}"
    kept = settings.estimand.searches
    what = f"With the best of {kept} searches, " if kept > 1 else ""
    told = f"{'At equal knowledge, ' if settings.paired else what}{start}: {numbers}."
    beyond = lone and beyond_interval(lone, settings, lone.verdict, lone.boost_at_least)
    return f"{told} {beyond}" if beyond else told


def _counts(rows: Sequence[Comparison], claims: Sequence[Claim], settings: Settings) -> str:
    """Return how many shapes are faster, not much slower, slower."""
    shown = Counter(row.verdict for row in rows)
    bounds = {(claim.claim, claim.beyond): claim.at_least for claim in claims if claim.workload is None}
    parts = [_shown(shown[Verdict.IMPROVED], bounds.get((FASTER, 0.0), 0), "faster", len(rows))]
    kept = bounds.get((NOT_SLOWER, settings.tolerance), 0)
    if kept:
        least = f"at least {kept:,} {'loses' if kept == 1 else 'lose'}"
        some = f"{_every(kept)} lose" if kept == len(rows) else least
        parts.append(f"{some} no more than {plain_percent(settings.tolerance)}")
    parts.append(_shown(shown[Verdict.REGRESSED], bounds.get((SLOWER, 0.0), 0), "slower", len(rows)))
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _shown(verdicts: int, bound: int, word: str, shapes: int) -> str:
    """Return how many shapes are faster or slower: those with the verdict, or a higher bound with them."""
    number = max(verdicts, bound)
    if not number:
        return f"none is shown {word}"
    verb = "is" if number == 1 else "are"
    if bound <= verdicts:
        return f"{_every(number) if number == shapes else format(number, ',')} {verb} shown {word}"
    if number == shapes:  # and so each is known by name
        return f"{_every(number)} {verb} {word} ({verdicts or 'none'} by their own verdicts)"
    return f"at least {number:,} {verb} {word} ({verdicts or 'none'} known by name)"


def _every(shapes: int) -> str:
    return "both" if shapes == 2 else f"all {shapes:,}"
