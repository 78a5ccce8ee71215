"""The page about calibration: what the method does on data like these."""

from __future__ import annotations

from collections.abc import Iterator

from abtune.analyse.calibration import Calibration
from abtune.analyse.comparison import alpha_of
from abtune.analyse.wording import confirming_test
from abtune.report.numbers import plain_percent
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column

_SIMULATED = (
    "Simulated sweeps draw as many seeds as the dataset has from its own seeds around their mean, smoothed. "
    "coverage: the interval holds the true boost; false alarm: a difference is called where there is none, "
    "shape by shape; equivalent: called where there is no difference; then the chance that a true boost of "
    "that size in every shape is called, with the correction over the shapes."
)
_RESPLIT = (
    "The seeds of one configuration dealt to two sides, so that there is no difference: how often the "
    "interval leaves out zero, each test rejects, and all agree, so that a difference would be called. Over "
    "all splits the permutation test keeps its level by construction; the others need not."
)
_PROMISES = {
    "holm": "; promised is at most {}",
    "max-t": "; promised is at most {}",
    "bh": ", where a screen promises nothing",
    "none": ", where nothing is promised without a correction",
}


def calibration_page(found: Calibration) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(found))


def _parts(found: Calibration) -> Iterator[Part]:
    yield Heading(text="calibration", minor=False)
    yield Prose(text=_setting(found), remark=False)
    yield Heading(text="simulated with the noise of these data, % of sweeps", minor=True)
    yield _simulated(found)
    yield Prose(text=_SIMULATED, remark=True)
    if found.resplits:
        yield Heading(text="A/A: one configuration against itself, % of splits", minor=True)
        yield _resplits(found)
        yield Prose(text=_RESPLIT, remark=True)
    yield Bullets(items=tuple(_notes(found)))


def _setting(found: Calibration) -> str:
    judged = f"Interval: {found.interval_method}. Test: {found.test_method}. Adjusted p: {found.correction}."
    return (
        f"{found.candidate} against {found.baseline}; {plain_percent(found.level)} confidence, margin "
        f"{plain_percent(found.margin)}; {found.replications:,} simulated sweeps for each column, "
        f"resampling seed {found.rng_seed}. {judged}"
    )


def _simulated(found: Calibration) -> Grid:
    rows = found.simulated
    return Grid(
        stub=SHAPE,
        labels=tuple(row.shape for row in rows),
        columns=(
            column(
                "seeds",
                [f"{row.n_baseline}+{row.n_candidate}" for row in rows],
                gives_way=len(found.boosts) + 2,
            ),
            column("coverage", [_share(row.coverage) for row in rows]),
            column("false alarm", [_share(row.false_alarm) for row in rows]),
            column("equivalent", [_share(row.equivalent) for row in rows], gives_way=len(found.boosts) + 1),
            *(
                column(plain_percent(boost), [_share(row.power[at]) for row in rows], gives_way=at + 1)
                for at, boost in enumerate(found.boosts)
            ),
        ),
    )


def _resplits(found: Calibration) -> Grid:
    labels = list(dict.fromkeys(row.shape for row in found.resplits))
    rows = [[row for row in found.resplits if row.shape == label] for label in labels]
    confirming = confirming_test(found.choices).split("'")[0]
    columns = {
        "side": lambda row: row.config,
        "halves": lambda row: f"{row.seeds}+{row.seeds}",
        "splits": lambda row: str(row.splits),
        "interval": lambda row: _share(row.interval),
        "permutation": lambda row: _share(row.permutation),
        confirming: lambda row: _share(row.welch),
        "called": lambda row: _share(row.called),
    }
    gives_way = {"halves": 3, "splits": 5, "interval": 1, "permutation": 2, confirming: 4}
    return Grid(
        stub=SHAPE,
        labels=tuple(labels),
        columns=tuple(
            column(
                heading,
                ["\n".join(map(cell, group)) for group in rows],
                right=heading != "side",
                gives_way=gives_way.get(heading, 0),
            )
            for heading, cell in columns.items()
        ),
    )


def _notes(found: Calibration) -> Iterator[str]:
    alpha = plain_percent(alpha_of(found.level))
    yield (
        f"Any false alarm in a whole report without a difference: {_share(found.any_false_alarm)}% of "
        f"simulated sweeps{_PROMISES[found.choices.correction].format(alpha)}. This takes the form of a "
        "side's noise to be the same in all shapes. With the form that each shape's own seeds show it is "
        f"{_share(found.any_false_alarm_own)}%; over many shapes that figure is too high, because so few "
        "seeds make sides look different that are not."
    )
    yield (
        f"By the number of sweeps alone, a share of 5% has a standard error of "
        f"{100 * found.error:.1f} points."
    )
    yield "What goes wrong so rarely that no seed here has shown it is in none of these numbers."


def _share(share: float) -> str:
    return f"{100 * share:.1f}"
