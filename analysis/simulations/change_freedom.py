"""How often a change of a boost is reported where there is none, by degrees of freedom.

Four samples of normal noise, 29 shapes, at 5 % and at the first step of Holm's correction. Columns: plain
degrees of freedom of Welch and Satterthwaite; reduced within each dataset; and again between the datasets, as
``abtune compare`` does. Percent of tests at 5 %, then expected percent of reports of 29 shapes. The next
lines have the latency of one configuration, with exponential noise: percent of 60 reports with a false
change. Then one search in five of the candidate is 30 % slower in the second dataset alone: percent of 60
reports with a false change, and with a false *unchanged*, without the bootstrap-t test and with it. Then
neighbouring seeds are alike, with a correlation of 0.8: percent of reports with a false change, and with the
caveat that says so. Then half of all searches end at a slower speed: percent of reports with a false change
of boosts, and of latencies. Then 1 seed in 10 of the candidate is 10 % slower in all shapes of the second
dataset: percent of reports with a false change of a shape, and of the mean. The last lines are of
histories of ten equal datasets. Percent that mark a shape, that mark the mean, whose shapes changed from
first to last, whose mean did, and with any of these.
"""

from __future__ import annotations

from unittest import mock

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
import xarray as xr
from scipy import special
from simulated_claims import alike
from simulated_skew import failing

from abtune import compare_datasets, history, make_dataset
from abtune.compare.sentence import DEPENDENT
from abtune.report.columns import OVERALL
from abtune.sections.change import change_statistics
from abtune.sections.change.change_results import ChangeVerdict
from abtune.stats.estimates import conservative_freedom, conservative_welch, standard_error
from abtune.stats.skewness import more_skewed
from abtune.stats.two_sample import Floats, TwoSample
from abtune.stats.variance import welch_freedom

SHAPES, REPLICATIONS = 29, 100_000
REPORTS, TOLERANCE = 60, 0.08
HISTORIES, DATES = 200, 10
SIDES = failing(0.0), failing(1 / 5)  # of the candidate, before and after
DESIGNS = [(3, 3, 3, 3), (5, 5, 5, 5), (10, 10, 10, 10), (5, 5, 15, 15), (4, 10, 4, 10)]
SPREADS = [(1, 1, 1, 1), (3, 1, 1, 1), (10, 1, 1, 1), (3, 1, 3, 1), (1, 1, 4, 4)]


def rates(seeds: tuple[int, ...], spreads: tuple[int, ...], rng: np.random.Generator) -> list[str]:
    """Return the error rates of the three degrees of freedom."""
    samples = [rng.normal(0, s, (REPLICATIONS, n)) for s, n in zip(spreads, seeds, strict=True)]
    pairs = [TwoSample.without_floor(*samples[:2]), TwoSample.without_floor(*samples[2:])]
    freedoms: list[Floats] = []
    for estimates in (map(standard_error, pairs), map(conservative_welch, pairs)):
        a, b = estimates
        variances, own = (a.error**2, b.error**2), (a.freedom, b.freedom)
        freedoms.append(welch_freedom(*variances, own[0] + 1, own[1] + 1))
    freedoms.append(conservative_freedom(variances, own, np.zeros(REPLICATIONS, dtype=np.int64)))
    t = -np.abs(b.difference - a.difference) / np.sqrt(variances[0] + variances[1])
    p = [2 * special.stdtr(freedom, t) for freedom in freedoms]
    return [f"{100 * np.mean(q < 0.05):5.1f} {100 * SHAPES * np.mean(q < 0.05 / SHAPES):5.1f}" for q in p]


def of_latency(n: int, m: int, rng: np.random.Generator) -> str:
    """Return the share of reports with a false change of latency, where the noise is exponential."""
    false = 0
    for _ in range(REPORTS):
        both = (dataset(0.1 * rng.exponential(1, (SHAPES, 2, seeds))) for seeds in (n, m))
        rows = compare_datasets(*both, config="old").shapes
        false += any(row.verdict is ChangeVerdict.CHANGED for row in rows)
    return f"{100 * false / REPORTS:5.1f}"


def of_failures(n: int, rng: np.random.Generator) -> str:
    """Return the false changes and the false *unchanged* of reports, each without and with bootstrap-t."""
    counts, none = np.zeros(4), failing(0.0)
    for _ in range(REPORTS):
        logs = [np.stack([noise(rng, (SHAPES, n)) for noise in (none, other)], axis=1) for other in SIDES]
        slower = logs[1] + np.array([0.0, np.log1p(TOLERANCE)])[:, np.newaxis]
        before, after, moved = (dataset(values) for values in (*logs, slower))
        for index, gap in enumerate((lambda _: 0.0, more_skewed)):
            with mock.patch.object(change_statistics, "more_skewed", gap):
                same, other = (
                    compare_datasets(before, later, tolerance=TOLERANCE - 1e-6) for later in (after, moved)
                )
            counts[index] += any(row.verdict is ChangeVerdict.CHANGED for row in same.shapes)
            counts[2 + index] += any(row.verdict is ChangeVerdict.UNCHANGED for row in other.shapes)
    return " ".join(f"{100 * share:5.1f}" for share in counts / REPORTS)


def of_neighbours(n: int, rng: np.random.Generator) -> str:
    """Return the false changes and the caveats of reports whose neighbouring seeds are alike."""
    counts = np.zeros(2)
    for _ in range(REPORTS):
        report = compare_datasets(*(dataset(alike(rng, (SHAPES, 2, n))) for _ in range(2)))
        counts[0] += any(row.verdict is ChangeVerdict.CHANGED for row in report.shapes)
        counts[1] += any(DEPENDENT in caveat for caveat in report.caveats)
    return " ".join(f"{100 * share:5.1f}" for share in counts / REPORTS)


def of_two_speeds(n: int, m: int, rng: np.random.Generator) -> str:
    """Return the false changes of boosts and of latencies, where half of all searches are slower."""
    counts = np.zeros(2)
    for _ in range(REPORTS):
        shape = [(SHAPES, 2, seeds) for seeds in (n, m)]
        both = [dataset(0.2 * rng.integers(0, 2, size) + rng.normal(0, 0.003, size)) for size in shape]
        for index, config in enumerate((None, "old")):
            report = compare_datasets(*both, config=config)
            counts[index] += any(row.verdict is ChangeVerdict.CHANGED for row in report.shapes)
    return " ".join(f"{100 * share:5.1f}" for share in counts / REPORTS)


def of_slow_sessions(n: int, rng: np.random.Generator) -> str:
    """Return the false changes of shapes and of the mean, where a slow session has all shapes of a seed."""
    counts = np.zeros(2)
    for _ in range(HISTORIES):
        logs = rng.normal(0, 0.02, (2, SHAPES, 2, n))
        logs[1, :, 1] += np.log(1.1) * ((rng.random(n) < 0.1) - 0.1)
        report = compare_datasets(*map(dataset, logs))
        counts[0] += any(row.verdict is ChangeVerdict.CHANGED for row in report.shapes)
        counts[1] += not report.overall.low <= 0 <= report.overall.high
    return " ".join(f"{100 * share:5.1f}" for share in counts / HISTORIES)


def of_histories(n: int, rng: np.random.Generator) -> str:
    """Return how often a history says that something changed, by kind of statement, and by any."""
    counts = np.zeros(5)
    for _ in range(HISTORIES):
        report = history([dataset(rng.normal(0, 0.1, (SHAPES, 2, n))) for _ in range(DATES)])
        marked = {row.shape for row in report.moments if row.changed}
        shapes, mean = report.first_to_last.shapes, report.first_to_last.overall
        changed = any(row.verdict is ChangeVerdict.CHANGED for row in shapes)
        said = [bool(marked - {OVERALL}), OVERALL in marked, changed, not mean.low <= 0 <= mean.high]
        counts += [*said, any(said)]
    return " ".join(f"{100 * share:5.1f}" for share in counts / HISTORIES)


def dataset(logs: Floats) -> xr.Dataset:
    """Return a dataset of two configurations."""
    labels = [f"s{number}" for number in range(len(logs))]
    return make_dataset(np.exp(logs - 8), shapes=labels, configs=["old", "new"])


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    print(f"{'seeds':>16} {'spreads':>16}        plain  each dataset         twice")
    for seeds in DESIGNS:
        for spreads in SPREADS:
            print(f"{seeds!s:>16} {spreads!s:>16}", *(f"{r:>13}" for r in rates(seeds, spreads, rng)))
    for n, m in ((5, 5), (10, 10), (10, 20), (5, 10), (5, 20)):
        print(f"{(n, m)!s:>16}  latency, exponential {of_latency(n, m, rng):>13}")
    for n in (5, 10, 20):
        print(f"{(n, n, n, n)!s:>16}  new fails in 1 of 5 {of_failures(n, rng):>13}")
    for n in (5, 10, 20):
        print(f"{(n, n, n, n)!s:>16}  neighbours alike {of_neighbours(n, rng):>13}")
    for n, m in ((2, 2), (3, 3), (4, 4), (5, 5), (10, 10), (5, 10)):
        rates_of_both = of_two_speeds(n, m, np.random.default_rng([n, m]))
        print(f"{(n, n, m, m)!s:>16}  one of two speeds {rates_of_both:>13}")
    for n in (5, 10, 20):
        rates_of_both = of_slow_sessions(n, np.random.default_rng([11, n]))
        print(f"{(n, n, n, n)!s:>16}  slow sessions {rates_of_both:>13}")
    for n in (5, 10):
        print(f"{(n, n)!s:>16}  ten equal datasets {of_histories(n, np.random.default_rng([10, n])):>13}")
