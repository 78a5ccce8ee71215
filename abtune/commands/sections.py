"""Further pages of ``abtune analyze``: which were asked for, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.options import FigurePath
from abtune.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from abtune.analyse.comparison import Analysis
    from abtune.analyse.single_run import SingleRun
    from abtune.analyse.weights import Weights
    from abtune.report.page import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to show beside the report.

    Attributes
    ----------
    explain : str or None
        The shape whose story is told, in place of the report.
    noise, overall, timings, curve : bool
        Pages below it.
    weights : str or None
        File or name, for the time of a program.
    at_trials : int or None
        Judge the searches after so many trials.
    figure : Path or None
        Where to draw the curve.
    single_run : bool
        The page of tables with one run a cell.
    noise_from : str or None
        A dataset that lends its noise to that page.
    """

    explain: str | None
    noise: bool
    overall: bool
    timings: bool
    curve: bool
    weights: str | None
    at_trials: int | None
    figure: Path | None
    single_run: bool
    noise_from: str | None

    @property
    def any_page(self) -> bool:
        """Whether there is anything beside the report, which CSV cannot have."""
        return self.timings or self._compares

    @property
    def files(self) -> list[str]:
        """What is read beside the dataset; names of what is no file may be among them."""
        return [name for name in (self.weights, self.noise_from) if name is not None]

    @property
    def about_single_runs(self) -> bool:
        """Whether there is a page about single runs; noise from elsewhere is for nothing else."""
        return self.single_run or self.noise_from is not None

    @property
    def only_timings(self) -> bool:
        """Whether all that is asked for says something of a single configuration too."""
        return self.timings and not self._compares and self.at_trials is None

    @property
    def _compares(self) -> bool:
        pages = self.noise or self.overall or self.curve or self.about_single_runs
        return pages or self.explain is not None or self.weights is not None


def section_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of further pages to a command, which receives them as ``asked``."""

    def gathered(*arguments: Any, **options: Any) -> int:
        asked = Asked(**{name: options.pop(name) for name in Asked.__slots__})
        _check(asked)
        return command(*arguments, asked=asked, **options)

    gathered.__doc__ = command.__doc__
    gathered.__name__ = command.__name__
    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


_OPTIONS = (
    click.option(
        "--explain",
        metavar="SHAPE",
        help="Tell the whole story of one shape: samples, every method, what the verdict requires.",
    ),
    click.option("--noise", is_flag=True, help="Say where the scatter comes from, and what failed."),
    click.option(
        "--overall", is_flag=True, help="Say more of all shapes together: range, chance to win, spread."
    ),
    click.option(
        "--timings", is_flag=True, help="Say what the raw timings of single processes show, and cannot show."
    ),
    click.option(
        "--weights",
        metavar="FILE",
        help="Time of a program: lines of label,weight, or JSON; or the built-in resnet50.",
    ),
    click.option(
        "--at-trials",
        type=click.IntRange(min=1),
        metavar="N",
        help="Judge the best that each search had measured after N trials, not the winners measured again.",
    ),
    click.option("--curve", is_flag=True, help="Show the boost by number of trials."),
    click.option(
        "--figure",
        metavar="FILE",
        type=FigurePath(),
        help="Draw the curve into this file (needs matplotlib).",
    ),
    click.option(
        "--single-run",
        is_flag=True,
        help="Say what a table with one run a cell supports, as a whole and for each boost.",
    ),
    click.option(
        "--noise-from",
        metavar="DATASET",
        help="A dataset with several seeds whose noise is taken for that of single runs; with --single-run.",
    ),
)


def read_weights_option(value: str | None) -> Weights | None:
    """Read the file of this name, or take the built-in weights of this name; a file wins."""
    if value is None:
        return None
    from abtune.analyse.weights import BUILT_IN, Weights, built_in_weights
    from abtune.ingest.weights import read_weights

    path = Path(value)
    if not path.exists() and (value in BUILT_IN or not (path.suffix or len(path.parts) > 1)):
        return built_in_weights(value)
    return Weights(name=value, calls=read_weights(path), not_covered="", strict=True)


def compose(
    asked: Asked, dataset: xr.Dataset, analysis: Analysis, judge: Callable[..., Analysis]
) -> Iterator[Section]:
    """Make the sections that were asked for.

    Parameters
    ----------
    asked : Asked
        Which.
    dataset : xarray.Dataset
        The one that was analysed.
    analysis : Analysis
        Its analysis.
    judge : callable
        Makes such an analysis of another dataset; takes another ``margin``.
    """
    from abtune.report.page import Section

    if asked.explain is not None:
        from abtune.analyse.explain import explain
        from abtune.report.explain_page import explain_page

        story = explain(dataset, analysis, asked.explain, judge)
        yield Section(name="explain", page=explain_page(story), result=story)

    if asked.overall or asked.weights is not None:
        from abtune.report.overall_page import overall_page

        yield Section(name="overall", page=overall_page(analysis), result=None)
    if asked.noise:
        from abtune.analyse.noise import describe_noise
        from abtune.report.noise_page import noise_page

        noise = describe_noise(dataset, analysis)
        yield Section(name="noise", page=noise_page(noise), result=noise)
    if asked.timings:
        shapes = [row.shape for row in analysis.comparisons]
        yield timings_section(dataset, shapes, baseline=analysis.baseline, level=analysis.level)
    if asked.curve:
        from abtune.analyse.convergence import boost_curve
        from abtune.report.curve_page import curve_page

        curve = boost_curve(dataset, analysis)
        if asked.figure is not None:
            from abtune.report.figures import draw_curve, save_figure

            save_figure(draw_curve(curve, analysis), asked.figure)
        yield Section(name="curve", page=curve_page(curve, analysis), result=curve)
    if asked.about_single_runs:
        from abtune.report.single_run_page import single_run_page

        single = _single_runs(asked.noise_from, dataset, analysis)
        yield Section(name="single_run", page=single_run_page(single), result=single)


def _single_runs(noise_from: str | None, dataset: xr.Dataset, analysis: Analysis) -> SingleRun:
    """Describe single runs, with the noise of another dataset if one is named."""
    from abtune.analyse.single_run import describe_single_runs

    if noise_from is None:
        return describe_single_runs(dataset, analysis)
    import abtune
    from abtune.analyse.outside import Outside

    outside = Outside(name=noise_from, dataset=abtune.open_dataset(noise_from))
    return describe_single_runs(dataset, analysis, outside)


def timings_section(
    dataset: xr.Dataset, shapes: Sequence[str] | None, *, baseline: str, level: float
) -> Section:
    """Make the section on timings of single processes, which takes no comparison."""
    from abtune.analyse.arguments import restrict
    from abtune.analyse.timings import describe_timings
    from abtune.report.page import Section
    from abtune.report.timings_page import timings_page

    timings = describe_timings(restrict(dataset, shapes), baseline=baseline, level=level)
    return Section(name="timings", page=timings_page(timings), result=timings)


def _check(asked: Asked) -> None:
    if asked.figure is not None and not asked.curve:
        raise InputError("--figure draws the curve; add --curve")
    if asked.curve and asked.at_trials is not None:
        raise InputError("--curve shows every number of trials; leave out --at-trials")
