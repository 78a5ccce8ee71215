"""``abtune analyze``: judge a dataset and report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from abtune.commands.choosing import method_options
from abtune.commands.options import (
    baseline_option,
    candidate_option,
    chosen_shapes,
    ci_option,
    margin_option,
    rng_seed_option,
    shapes_option,
)
from abtune.commands.sections import Asked, section_options
from abtune.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from abtune.analyse.comparison import Analysis
    from abtune.report.page import Section

FORMATS = ("table", "markdown", "html", "json", "csv")
GATES = ("regressed", "inconclusive", "invalid")
_SUFFIXES = {".md": "markdown", ".html": "html", ".htm": "html", ".json": "json", ".csv": "csv"}


@click.command(
    epilog="""\b
Examples:
  abtune analyze                              the abtune.nc that a sweep wrote here
  abtune analyze tvm14009-rtx3080             a bundled dataset
  abtune analyze mine.nc --shapes 'M=*'       only the matrix products
  abtune analyze --output report.html         a page for a browser, by the name of the file
  abtune analyze --fail-on regressed          exit code 1 if a shape regressed
  abtune analyze --noise --overall            more of the noise, and of all shapes together
  abtune analyze --explain 'M=512_*'          the whole story of one shape
  abtune analyze --curve                      the boost by number of trials
  abtune analyze table.nc --single-run        what one run a cell supports
  abtune analyze dump.nc --timings            raw timings of one process for each configuration
"""
)
@click.argument("dataset", required=False)
@baseline_option()
@candidate_option()
@shapes_option()
@ci_option("Confidence of the intervals; tests use level 1 - confidence.")
@margin_option("The smallest boost that matters: within it, shapes count as equivalent.")
@rng_seed_option("Seed of the resampling. The same seed gives the same report, byte for byte.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="[default: table, or what the name of the --output file says]",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to this file, whole or not at all.",
)
@click.option("--why", is_flag=True, help="Give the reason of each verdict below the table.")
@click.option(
    "--fail-on",
    type=click.Choice(GATES),
    multiple=True,
    help="Exit with 1 if any shape has this verdict. Repeatable.",
)
@method_options
@section_options
def analyze(
    dataset: str | None,
    baseline: str | None,
    candidate: str | None,
    shapes: tuple[str, ...],
    level: float,
    margin: float,
    rng_seed: int,
    format_: str | None,
    output: Path | None,
    fail_on: tuple[str, ...],
    *,
    why: bool,
    how: dict[str, Any],
    asked: Asked,
) -> int:
    """Say of each shape whether the candidate is faster than the baseline.

    DATASET is a netCDF file or the name of a bundled dataset (see abtune datasets); without it, abtune.nc
    in this folder is read. The report gives for each shape the boost with its confidence interval, the
    test with its correction over the shapes, and a verdict: improved, regressed, equivalent, inconclusive
    or invalid.
    """
    import abtune
    from abtune.commands.pages import default_dataset
    from abtune.commands.sections import compose, read_weights_option, timings_section
    from abtune.report.files import check_place

    form = format_ or (_SUFFIXES.get(output.suffix.lower(), "table") if output else "table")
    if form == "csv" and asked.any_page:
        raise InputError("CSV has the comparisons only; for the rest take --format json")
    source = dataset or default_dataset()
    for place in filter(None, (output, asked.figure)):
        check_place(place, [source, *asked.files])
    opened = abtune.open_dataset(source)
    chosen = chosen_shapes(shapes, opened)
    if opened.sizes["config"] == 1 and asked.only_timings and not (baseline or candidate or fail_on):
        only = str(opened["config"].values[0])
        section = timings_section(opened, chosen, baseline=only, level=level)
        _put(None, [section], form, output, why=why)
        return 0
    judged = _at_trials(opened, asked.at_trials)
    settings = {"baseline": baseline, "candidate": candidate, "level": level, "rng_seed": rng_seed, **how}

    def judge(part: xr.Dataset, *, margin: float = margin, **changes: Any) -> Analysis:
        return abtune.analyze(part, margin=margin, **settings, **changes)

    analysis = judge(judged, shapes=chosen, weights=read_weights_option(asked.weights))
    if asked.at_trials is not None:
        from abtune.analyse.convergence import relabelled

        analysis = relabelled(analysis, opened, asked.at_trials)
    sections = tuple(compose(asked, judged, analysis, judge))
    whole = None if asked.explain is not None and form != "json" else analysis
    _put(whole, sections, form, output, why=why)
    return _gate(analysis, fail_on)


def _at_trials(dataset: xr.Dataset, trials: int | None) -> xr.Dataset:
    if trials is None:
        return dataset
    from abtune.analyse.convergence import at_trials

    return at_trials(dataset, trials)


def _put(
    analysis: Analysis | None, sections: Sequence[Section], format_: str, output: Path | None, *, why: bool
) -> None:
    """Print what there is, or write it into a file."""
    from abtune.commands.output import emit
    from abtune.report.files import write_text

    if output is None:
        emit(_render(analysis, sections, format_, sys.stdout, why=why))
    else:
        write_text(_render(analysis, sections, format_, None, why=why), output)


def _render(
    analysis: Analysis | None,
    sections: Sequence[Section],
    format_: str,
    stream: TextIO | None,
    *,
    why: bool,
) -> str:
    """Set the report, if it is wanted, and the sections below it."""
    if format_ == "markdown":
        from abtune.report.markdown import render_markdown
        from abtune.report.markdown_page import markdown_page

        report = [render_markdown(analysis)] if analysis else []
        return "\n".join([*report, *(markdown_page(section.page) for section in sections)])
    if format_ == "html":
        from abtune.report.html_report import render_html

        return render_html(analysis, sections, why=why)
    if format_ == "table":
        from abtune.report.terminal import terminal_text

        return terminal_text(analysis, stream, why=why, sections=sections)
    from abtune.report.machine import render_csv, render_json, render_result

    if analysis is None:
        return render_result({section.name: section.result for section in sections})
    return render_json(analysis, sections) if format_ == "json" else render_csv(analysis)


def _gate(analysis: Analysis, fail_on: tuple[str, ...]) -> int:
    """Return the exit code, and say on the standard error which shapes hit the gate."""
    hit = [row for row in analysis.comparisons if row.verdict.value in fail_on]
    for verdict in dict.fromkeys(row.verdict.value for row in hit):
        shapes = [row.shape for row in hit if row.verdict.value == verdict]
        more = f" and {len(shapes) - 3} more" if len(shapes) > 3 else ""
        click.echo(f"abtune: --fail-on {verdict}: {', '.join(shapes[:3])}{more}", err=True)
    return 1 if hit else 0
