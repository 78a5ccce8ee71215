"""``abtune plot``: figures of an analysis, of its seeds, and of its searches."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from abtune.commands.common.options import (
    chosen_shapes,
    ci_option,
    configuration_options,
    dataset_argument,
    figure_file,
    percent_option,
    rng_seed_option,
    shapes_option,
)
from abtune.commands.common.section_options import choice_options
from abtune.errors import InputError
from abtune.sections.section_registry import FIGURES


@click.command(
    epilog="""\b
Examples:
  abtune plot --out boosts.svg                         boosts and intervals of abtune.nc
  abtune plot h200-pilot --beside tvm14009-rtx3080 --out boosts.pdf
  abtune plot h200-pilot --kind seeds --out seeds.png  every seed of every shape
  abtune plot --kind trials --shapes 'M=*' --out searches.png
"""
)
@dataset_argument
@click.option(
    "--out",
    metavar="FILE",
    type=figure_file,
    required=True,
    help="The figure, a file that ends in .png, .svg or .pdf.",
)
@click.option(
    "--kind",
    type=click.Choice(list(FIGURES)),
    default=next(iter(FIGURES)),
    show_default=True,
    help=f"What to draw: {'; '.join(f'{name}, {kind.words}' for name, kind in FIGURES.items())}.",
)
@configuration_options()
@shapes_option
@ci_option()
@percent_option(
    "--margin", "2", "The smallest boost that matters: shapes shown to differ by less are equivalent."
)
@rng_seed_option("Seed of the resampling.")
@click.option(
    "--beside",
    metavar="DATASET",
    help="Another dataset with some of the same shapes: its boosts are crosses in the forest.",
)
@choice_options
def plot(
    dataset: str | None, *, out: Path, kind: str, shapes: tuple[str, ...], beside: str | None, **how: Any
) -> None:
    """Draw the boosts of a dataset, its seeds, or its searches.

    DATASET is a netCDF file or the name of a bundled dataset (see abtune datasets); without it, abtune.nc
    in this folder is read. Shapes are judged as abtune analyze judges them with the same options. Figures
    need matplotlib.
    """
    import abtune
    from abtune.commands.common.output import default_dataset, emit, remark
    from abtune.compare.settings import candidates_judged
    from abtune.files import check_place
    from abtune.report.figures.panels import default_settings, require_matplotlib, save_figure
    from abtune.text import count

    _refuse_unused(kind)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns where it cannot keep a cache
    require_matplotlib()
    source = dataset or default_dataset()
    check_place(out, filter(None, [source, beside]))
    opened = abtune.open_dataset(source)
    how["of_candidates"] = candidates_judged(opened, how["candidate"])
    analysis = abtune.analyze(opened, shapes=chosen_shapes(shapes, opened), **how)
    other = None if beside is None else abtune.open_dataset(beside)
    with default_settings(), warnings.catch_warnings(record=True) as warned:
        warnings.filterwarnings("always", "Glyph")
        figure = analysis.plot(kind, beside=other)
        save_figure(figure, out)
    if any(str(warning.message).startswith("Glyph") for warning in warned):
        remark("no font here has some letters of the names; install one, such as Noto Sans CJK")
    several = (
        f"; {analysis.candidate} is one of {how['of_candidates']} candidates: --candidate NAME draws another"
    )
    drawn = figure.get_label() or count(len(analysis.comparisons), "shape")
    emit(f"{out}: {drawn}{several * (how['of_candidates'] > 1)}\n")


def _refuse_unused(kind: str) -> None:
    """Refuse options that would change nothing in this kind of figure."""
    unused = {"margin", "rng_seed", "estimand", "method", "correction"} if kind == "power" else set()
    unused |= {"beside"} if kind != "forest" else set()
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name in unused:
            raise InputError(f"{option.opts[0]} changes nothing in --kind {kind}; leave it out")
