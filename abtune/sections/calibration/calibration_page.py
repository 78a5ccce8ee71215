"""The page about calibration: what the method does on data like these."""

from __future__ import annotations

from collections.abc import Iterator

from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column
from abtune.sections.calibration.calibration import Calibration
from abtune.text import plain_percent

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
        f"{found.settings.candidate} against {found.settings.baseline}; "
        f"{plain_percent(found.settings.level)} confidence, margin "
        f"{plain_percent(found.settings.margin)}; {found.replications:,} simulated sweeps for each column, "
        f"resampling seed {found.settings.rng_seed}. {judged}"
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
    shapes = list(dict.fromkeys(row.shape for row in found.resplits))
    rows = sorted(found.resplits, key=lambda row: shapes.index(row.shape))
    confirming = found.settings.difference_test.confirmed_by.split("'")[0]
    return Grid(
        stub=SHAPE,
        labels=tuple(row.shape for row in rows),
        columns=(
            column("configuration", [row.config for row in rows], kind="word"),
            column("halves", [f"{row.seeds}+{row.seeds}" for row in rows], gives_way=3),
            column("splits", [str(row.splits) for row in rows], gives_way=5),
            column("interval", [_share(row.interval) for row in rows], gives_way=1),
            column("permutation", [_share(row.permutation) for row in rows], gives_way=2),
            column(confirming, [_share(row.welch) for row in rows], gives_way=4),
            column("called", [_share(row.called) for row in rows]),
        ),
    )


def _notes(found: Calibration) -> Iterator[str]:
    settings = found.settings
    promise = settings.procedure.promise.format(alpha=plain_percent(settings.alpha))
    yield (
        f"Where nothing differs, {_share(found.any_false_alarm)}% of simulated reports have a false alarm "
        f"(promised: {promise}). All shapes share one form of noise there. With the form of each shape's own "
        f"seeds it is {_share(found.any_false_alarm_own)}%. Over many shapes that figure is too high: so few "
        "seeds make equal configurations look different."
    )
    yield (
        f"With {found.replications} simulated sweeps, a share of 5% has a standard error of "
        f"{100 * found.error:.1f} points."
    )
    yield "A failure that no seed here has shown is in none of these numbers."


def _share(share: float) -> str:
    return f"{100 * share:.1f}"
