"""The result in one to three sentences, which say no more than verdicts, interval and claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from abtune.compare.claims import FASTER, NOT_SLOWER, SLOWER, of_all
from abtune.compare.gates import beyond_interval
from abtune.compare.overall import FEWEST_OF_KIND
from abtune.compare.results import Claim, Comparison, Overall, Rule, Verdict, first_failed
from abtune.compare.settings import Settings, margin_ends
from abtune.dataset.provenance import CONFOUNDED
from abtune.text import count, limits, listed, percent_cell, plain_percent, sentence_decimals

# The caveats that put every number of a report in doubt begin so. Neighbours may also be slightly alike.
NEIGHBOURS = "Runs with neighbouring seed numbers are"
DEPENDENT = f"{NEIGHBOURS} alike"
OTHER_UNIT = "One configuration is more than"


def make_sentence(
    overall: Overall,
    rows: Sequence[Comparison],
    claims: Sequence[Claim],
    settings: Settings,
    caveats: Sequence[str],
) -> str:
    """Return the result, with the few of the caveats that put it in doubt."""
    judged = [row for row in rows if row.verdict is not Verdict.INVALID]
    if not judged:
        which = rows[0].shape if len(rows) == 1 else f"any of {count(len(rows), 'shape')}"
        return f"{_to_expect(overall, settings)}{_no_verdict(which, rows)}"
    mean = _over_all(overall, judged, settings)
    parts = [mean, *([_counts(rows, claims, settings)] if len(judged) > 1 else [])]
    parts += [*of_dependent(caveats), *of_confounded(caveats)]
    # The candidate may be unable to run some shapes at all.
    if without := [row for row in rows if row.verdict is Verdict.INVALID]:
        some = f"{len(without)} of {len(rows)} shapes"
        parts.append(_no_verdict(some if len(without) > 1 else without[0].shape, without))
    return " ".join(parts)


def of_dependent(caveats: Iterable[str]) -> Iterator[str]:
    """Yield that runs depend on each other, if a caveat says so."""
    # Then most counts of shapes are false (docs/statistics-tables.md, "few seeds").
    if any(DEPENDENT in caveat for caveat in caveats):
        yield f"But {_lower(DEPENDENT)}, so these intervals may be too narrow."


def of_confounded(caveats: Iterable[str]) -> Iterator[str]:
    """Yield what else differs between the configurations, perhaps the unit, by the caveats that say so."""
    doubts = (text for text in caveats if text.startswith((CONFOUNDED, OTHER_UNIT)))
    yield from (f"But {_lower(text.partition('. ')[0])}." for text in doubts)


def _no_verdict(which: str, rows: Sequence[Comparison]) -> str:
    """Say that shapes have no verdict, and give the reason of the first."""
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
        f"Boost of {settings.candidate} expected for other shapes, with {level} interval: {listed(means)}. "
    )


def _over_all(overall: Overall, judged: Sequence[Comparison], settings: Settings) -> str:
    """Return what the interval of the mean boost says; of a lone shape, what its verdict and interval say."""
    one, other = settings.candidate, settings.baseline
    lone = judged[0] if len(judged) == 1 else None
    mean = lone or overall.these_shapes
    low, high, only = mean.boost_low, mean.boost_high, lone and lone.verdict
    # What is said of several candidates holds of all at once.
    said = lone or overall.of_all_candidates or mean
    least, most = said.boost_low, said.boost_high
    where = (
        f"on {lone.shape}" if lone else f"on average over these {count(overall.these_shapes.shapes, 'shape')}"
    )
    decimals, (slow, fast) = sentence_decimals(low, high), margin_ends(settings.margin)
    numbers = f"{percent_cell(mean.boost, decimals)}%"
    if not math.isnan(low):
        interval = limits(low, high, decimals)
        numbers += f" ({plain_percent(settings.level)} interval {interval})"
    start = f"{one} and {other} are not shown to differ {where}"
    if only is Verdict.IMPROVED or (only is None and least > 0):
        start = f"{one} is faster than {other} {where}"
    elif only is Verdict.REGRESSED or (only is None and most < 0):
        start = f"{one} is slower than {other} {where}"
    elif only is Verdict.EQUIVALENT or (only is None and slow < least <= most < fast):
        start = f"{one} is as fast as {other} {where}, within {plain_percent(settings.margin)}"
    elif only is Verdict.NOT_SLOWER:
        start += f", and {one} loses at most {plain_percent(settings.tolerance)}"
    kept = settings.estimand.searches
    what = f"With the best of {kept} searches, " if kept > 1 else ""
    result = f"{'At equal knowledge, ' if settings.equal_knowledge else what}{start}: {numbers}."
    beyond = ""
    if lone:
        beyond = beyond_interval(lone, settings, lone.verdict) or _although_beyond_zero(lone)
    elif least <= 0 < low or high < 0 <= most:
        level = plain_percent(settings.candidate_level, 3)
        beyond = f"The {level} interval, for all {settings.of_candidates} candidates at once, includes zero."
    return f"{result} {beyond}" if beyond else result


def _although_beyond_zero(row: Comparison) -> str:
    """Return why no difference is shown although the interval excludes zero; empty in any other case."""
    missed = first_failed(row.gates, Rule.DIFFERENCE)
    is_beyond = row.boost_low > 0 or row.boost_high < 0
    return missed.otherwise if missed and is_beyond and row.verdict.more_seeds_help else ""


def _counts(rows: Sequence[Comparison], claims: Sequence[Claim], settings: Settings) -> str:
    shown = Counter(row.verdict for row in rows)
    bounds = of_all(claims)
    parts = [_shown(shown[Verdict.IMPROVED], bounds[FASTER, 0.0].at_least, "faster", len(rows))]
    if kept := bounds[NOT_SLOWER, settings.tolerance].at_least:
        least = f"at least {kept:,} {'loses' if kept == 1 else 'lose'}"
        some = f"{_every(kept)} lose" if kept == len(rows) else least
        parts.append(f"{some} no more than {plain_percent(settings.tolerance)}")
    parts.append(_shown(shown[Verdict.REGRESSED], bounds[SLOWER, 0.0].at_least, "slower", len(rows)))
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
    if number == shapes:  # and so each is identified
        return f"{_every(number)} {verb} {word} ({verdicts or 'none'} by their own verdicts)"
    return f"at least {number:,} {verb} {word} ({verdicts or 'none'} identified)"


def _every(shapes: int) -> str:
    return "both" if shapes == 2 else f"all {shapes:,}"
