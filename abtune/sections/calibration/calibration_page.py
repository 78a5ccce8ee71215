"""The page about calibration: what the method does on data like these."""

from __future__ import annotations

from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column, table
from abtune.sections.calibration.calibration import Calibration
from abtune.text import plain_percent

_SIMULATED = (
    "Each simulated sweep draws as many seeds as the dataset has, from a smoothed distribution around zero. "
    "The shapes of a configuration share its form, and their spreads are drawn towards each other. coverage: "
    "the interval includes the true boost. false alarm: a difference is called where there is none, without "
    "a correction. equivalent: equivalence is called where there is no difference. Last columns: a true "
    "boost of that size in every shape is found, with the correction over the shapes."
)
_RESPLIT = (
    "The seeds of one configuration are dealt to two sides, so there is no difference. The columns say how "
    "often the interval excludes zero, how often each test rejects, and how often all agree, so that a "
    "difference is called. The permutation test keeps its level by construction; the others may not."
)


def calibration_page(found: Calibration) -> tuple[Part, ...]:
    """Return the page."""
    resplits: tuple[Part, ...] = ()
    if found.resplits:
        heading = Heading(text="A/A: one configuration against itself, % of splits", minor=True)
        resplits = heading, _resplits(found), Prose(text=_RESPLIT, remark=True)
    return (
        Heading(text="calibration", minor=False),
        Prose(text=_setting(found), remark=False),
        Heading(text="simulated with the noise of these data, % of sweeps", minor=True),
        _simulated(found),
        Prose(text=_SIMULATED, remark=True),
        *resplits,
        Bullets(items=_notes(found)),
    )


def _setting(found: Calibration) -> str:
    settings = found.settings
    return (
        f"{settings.candidate} against {settings.baseline}; {plain_percent(settings.level)} confidence, "
        f"margin {plain_percent(settings.margin)}; {found.replications:,} simulated sweeps for each column, "
        f"resampling seed {settings.rng_seed}. Interval: {found.interval_method}. Test: {found.test_method}. "
        f"Adjusted p: {found.correction}."
    )


def _simulated(found: Calibration) -> Grid:
    rows = found.simulated
    return table(
        SHAPE,
        [row.shape for row in rows],
        column(
            "pairs" if found.settings.paired else "seeds",
            [
                f"{row.n_baseline}" if found.settings.paired else f"{row.n_baseline}+{row.n_candidate}"
                for row in rows
            ],
            gives_way=len(found.boosts) + 2,
        ),
        column("coverage", [_share(row.coverage) for row in rows]),
        column("false alarm", [_share(row.false_alarm) for row in rows]),
        column("equivalent", [_share(row.equivalent) for row in rows], gives_way=len(found.boosts) + 1),
        *(
            column(plain_percent(boost), [_share(row.power[at]) for row in rows], gives_way=at + 1)
            for at, boost in enumerate(found.boosts)
        ),
    )


def _resplits(found: Calibration) -> Grid:
    shapes = list(dict.fromkeys(row.shape for row in found.resplits))
    rows = sorted(found.resplits, key=lambda row: shapes.index(row.shape))
    confirming = found.settings.difference_test.confirmed_by.split("'")[0]
    return table(
        SHAPE,
        [row.shape for row in rows],
        column("configuration", [row.config for row in rows], kind="word"),
        column("halves", [f"{row.seeds}+{row.seeds}" for row in rows], gives_way=3),
        column("splits", [str(row.splits) for row in rows], gives_way=5),
        column("interval", [_share(row.interval) for row in rows], gives_way=1),
        column("permutation", [_share(row.permutation) for row in rows], gives_way=2),
        column(confirming, [_share(row.welch) for row in rows], gives_way=4),
        column("called", [_share(row.called) for row in rows]),
    )


def _notes(found: Calibration) -> tuple[str, ...]:
    promise = found.settings.procedure.promise.format(alpha=plain_percent(found.settings.alpha))
    return (
        f"Where nothing differs, {_share(found.any_false_alarm)}% of simulated reports have a false alarm "
        f"(promised: {promise}).",
        f"With {found.replications} simulated sweeps, a share of 5% has a standard error of "
        f"{100 * found.error:.1f} points.",
        "No number here allows for a failure that no seed has shown.",
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f}"
