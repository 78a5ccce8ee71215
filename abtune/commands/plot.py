"""``abtune plot``: figures of an analysis, of its seeds, and of its searches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from abtune.commands.common.options import (
    DatasetSource,
    FigurePath,
    chosen_shapes,
    ci_option,
    configuration_options,
    margin_option,
    rng_seed_option,
    shapes_option,
)
from abtune.commands.common.section_options import choice_options
from abtune.errors import InputError
from abtune.sections.figure_kinds import FIGURES, FigureKind

if TYPE_CHECKING:
    from abtune.compare.results import Analysis

_JUDGING = ("level", "margin", "rng_seed", "estimand", "method", "test", "correction")


@click.command(
    epilog="""\b
Examples:
  abtune plot --out boosts.svg                         boosts and intervals of abtune.nc
  abtune plot h200-pilot --beside tvm14009-rtx3080 --out boosts.pdf
  abtune plot h200-pilot --kind seeds --out seeds.png  every seed of every shape
  abtune plot --kind trials --shapes 'M=*' --out searches.png
"""
)
@click.argument("dataset", required=False, type=DatasetSource())
@click.option(
    "--out",
    metavar="FILE",
    type=FigurePath(),
    required=True,
    help="Where to draw; a name that ends in .png, .svg or .pdf says how.",
)
@click.option(
    "--kind",
    type=click.Choice(list(FIGURES)),
    default=next(iter(FIGURES)),
    show_default=True,
    help=f"What to draw: {'; '.join(f'{kind.name}, {kind.words}' for kind in FIGURES.values())}.",
)
@configuration_options()
@shapes_option
@ci_option("Confidence of the intervals; tests use level 1 - confidence.")
@margin_option("The smallest boost that matters: within it, shapes count as equivalent.")
@rng_seed_option("Seed of the resampling.")
@click.option(
    "--beside",
    metavar="DATASET",
    help="Add the boosts of another dataset to the forest, as crosses, where it has the same shapes.",
)
@choice_options
def plot(
    dataset: str | None,
    *,
    out: Path,
    kind: str,
    shapes: tuple[str, ...],
    beside: str | None,
    how: dict[str, Any],
    **choices: Any,
) -> None:
    """Draw the boosts of a dataset, its seeds, or its searches.

    DATASET is a netCDF file or the name of a bundled dataset (see abtune datasets); without it, abtune.nc
    in this folder is read. Shapes are judged as abtune analyze judges them with the same options. Figures
    need matplotlib.
    """
    import abtune
    from abtune.commands.common.output import emit
    from abtune.commands.common.pages import default_dataset
    from abtune.report.figures.figure import require_matplotlib, save_figure
    from abtune.report.figures.forest import draw_forest
    from abtune.report.report_files import check_place
    from abtune.text import count

    _check(FIGURES[kind])
    require_matplotlib()
    source = dataset or default_dataset()
    check_place(out, filter(None, [source, beside]))
    opened = abtune.open_dataset(source)
    analysis = abtune.analyze(opened, shapes=chosen_shapes(shapes, opened), **choices, **how)
    if beside is None:
        figure = analysis.plot(kind)
    else:
        figure = draw_forest(analysis, _boosts(beside, analysis), Path(beside).name)
    save_figure(figure, out)
    emit(f"{out}: {count(len(analysis.comparisons), 'shape')}\n")


def _check(kind: FigureKind) -> None:
    useless = [*([] if kind.beside else ["beside"]), *([] if kind.judges else _JUDGING)]
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in useless:
            raise InputError(f"{parameter.opts[0]} changes nothing in --kind {kind.name}; leave it out")


def _boosts(name: str, analysis: Analysis) -> dict[str, float]:
    """Return the boosts of another dataset, by shape, for the shapes that an analysis has."""
    import abtune

    other = abtune.open_dataset(name)
    wanted = {row.shape for row in analysis.comparisons}
    both = [label for label in map(str, other["shape"].values.tolist()) if label in wanted]
    if not both:
        raise InputError(f"--beside {name}: it has none of the shapes that are drawn")
    found = abtune.analyze(other.sel(shape=both), baseline=analysis.baseline, candidate=analysis.candidate)
    return {row.shape: row.boost for row in found.comparisons}
