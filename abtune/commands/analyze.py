"""``abtune analyze``: judge a dataset and report."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import (
    chosen_shapes,
    ci_option,
    configuration_options,
    dataset_argument,
    percent_option,
    percentage,
    read_weights_option,
    rng_seed_option,
    shapes_option,
)
from abtune.commands.common.output import Destination, default_dataset, remark, report_options
from abtune.commands.common.section_options import GroupedCommand, Wanted, choice_options, section_options
from abtune.errors import InputError
from abtune.lazy import load
from abtune.sections.section_registry import SECTIONS
from abtune.text import bound_percent, plain_percent, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import xarray as xr

    from abtune.compare.results import Analysis
    from abtune.report.page import Section
    from abtune.report.summary import View

_VERDICTS = ("regressed", "inconclusive", "invalid")
_SLOWER_THAN = "slower-than:"
_ORDERS = ("boost", "p", "verdict", "noise", "name")
# The options that say how shapes are judged.
_JUDGING = ("baseline", "level", "margin", "tolerance", "rng_seed", "estimand", "method", "correction")


def gates(value: str) -> tuple[str | float, ...]:
    """Return the verdicts of a list with commas, and the slowdowns that have to be excluded, as fractions."""
    return tuple(_gate(word.strip()) for word in value.split(","))


def _gate(word: str) -> str | float:
    if word in _VERDICTS:
        return word
    if not word.startswith(_SLOWER_THAN):
        commas = "; write commas between gates" if " " in word else ""
        raise click.BadParameter(f"{word!r} is none of {', '.join(_VERDICTS)}, {_SLOWER_THAN}5%{commas}.")
    return percentage(0, 100, example=f"{_SLOWER_THAN}5%")(word.removeprefix(_SLOWER_THAN))


@click.command(
    cls=GroupedCommand,
    epilog="""\b
Examples:
  abtune analyze                              the abtune.nc that a sweep wrote here
  abtune analyze tvm14009-rtx3080             a bundled dataset
  abtune analyze mine.nc --shapes 'M=*'       only the matrix products
  abtune analyze --out report.html            a page for a browser, by the name of the file
  abtune analyze --format sentence            the result in a few sentences
  abtune analyze --fail-on regressed          exit code 1 if a shape is shown to regress
  abtune analyze --fail-on slower-than:5%     exit code 1 unless each shape loses 5% at most
  abtune analyze --show regressed --why       only these shapes, and why
  abtune analyze --explain 'M=512_N=256*'     the whole story of one shape
  abtune analyze --section noise              where the noise comes from
  abtune analyze --section report,overall     the report, and more of all shapes together
  abtune analyze t.nc --section single-run    what one run per cell supports
  abtune analyze dump.nc --section timings    raw timings of one process for each configuration
""",
)
@dataset_argument
@configuration_options("each of the others")
@shapes_option
@ci_option()
@percent_option(
    "--margin", "2", "The smallest boost that matters: shapes shown to differ by less are equivalent."
)
@percent_option(
    "--tolerance", "5", "The largest acceptable slowdown: shapes shown to lose no more are not slower."
)
@rng_seed_option("Seed of the resampling. The same seed gives the same report, byte for byte.")
@report_options
@click.option("--why", is_flag=True, help="Give the reason of each verdict below the table.")
@click.option(
    "--show",
    metavar="NAME,...",
    multiple=True,
    help="Show only shapes with these labels or verdicts; all are judged. Repeatable.",
)
@click.option("--sort", type=click.Choice(_ORDERS), help="The order of the shapes. [default: the dataset's]")
@click.option(
    "--fail-on",
    type=gates,
    metavar=f"[{'|'.join(_VERDICTS)}|{_SLOWER_THAN}PERCENT]",
    multiple=True,
    help="Exit with 1 if a shape has this verdict, or if all are invalid. slower-than:5% does so unless "
    "every shape is shown to lose at most 5%. Repeatable.",
)
@section_options
@choice_options
def analyze(dataset: str | None, *, destination: Destination, **options: Any) -> int:
    """Say of each shape whether the candidate is faster.

    DATASET is a netCDF file or the name of a bundled dataset (see abtune datasets); without it, abtune.nc
    in this folder is read. The report begins with the result over all shapes. Then each shape has its boost
    with a confidence interval, a p-value that is corrected over the shapes, and a verdict: improved,
    regressed, equivalent, not slower, inconclusive or invalid.

    --fail-on is a gate for scripts. With regressed, a shown regression fails. With slower-than:5%, every
    shape that may lose more than 5% fails, also where seeds are too few to tell.
    """
    import abtune

    source, weights = dataset or default_dataset(), options["weights"]
    explained = None if options["explain"] is None else [options["explain"]]
    wanted = Wanted.asked(options["section"], explained=explained, weighted=weights is not None)
    destination.check(filter(None, [source, weights]))
    opened = abtune.open_dataset(source)
    if explained is not None:
        wanted = dataclasses.replace(wanted, explained=chosen_shapes(explained, opened))
    only_timings = not wanted.main and wanted.sections == {"timings"}
    comparing = ("baseline", "candidate", "fail_on")
    if opened.sizes["config"] == 1 and only_timings and not any(options[name] for name in comparing):
        from abtune.compare.settings import restrict
        from abtune.sections.raw_timings import section_of_timings

        chosen = restrict(opened, chosen_shapes(options["shapes"], opened))
        destination.write(section_of_timings(chosen, level=options["level"]))
        return 0
    how = {name: options[name] for name in _JUDGING}
    how["shapes"] = chosen_shapes(options["shapes"], opened)
    how["weights"] = read_weights_option(weights)
    if options["candidate"] is None:
        analyses = abtune.analyze_all(opened, **how)
    else:
        analyses = (abtune.analyze(opened, candidate=options["candidate"], **how),)
    views = [_view(source, opened, analysis, wanted, options) for analysis in analyses]
    destination.write(*_report(analyses, wanted, views))
    return _exit_code(analyses, [gate for some in options["fail_on"] for gate in some])


def _view(
    source: str, dataset: xr.Dataset, analysis: Analysis, wanted: Wanted, options: dict[str, Any]
) -> View:
    from abtune.report.summary import ONE_RUN_PER_CELL, TIMINGS_OF_ONE_RUN, View, chosen_rows

    timings = dataset.attrs.get("latency_source") == "timings" and dataset.sizes["repeat"] > 1
    section, hint = ("timings", TIMINGS_OF_ONE_RUN) if timings else ("single_run", ONE_RUN_PER_CELL)
    return View(
        why=options["why"],
        source=Path(source).name,
        rows=chosen_rows(analysis, chosen_shapes(options["show"], dataset), order=options["sort"]),
        brief=wanted.main == "summary",
        hint="" if section in wanted.sections else hint,
    )


def _report(analyses: Sequence[Analysis], wanted: Wanted, views: Sequence[View]) -> Iterator[Section]:
    """Yield the sections of the only candidate, or a table of all, and the sections of each and of all."""
    from abtune.report.several_candidates import candidates_sections

    if len(analyses) == 1:
        yield from _sections(analyses[0], wanted, views[0])
        return
    of_all = wanted.sections & {"timings"}  # this section is about all configurations
    own = dataclasses.replace(wanted, sections=wanted.sections - of_all)
    if own.sections or wanted.main:
        caveats = analyses[0].caveats if wanted.main == "report" else ()
        shared = tuple(text for text in caveats if all(text in one.caveats for one in analyses))
        below = (dataclasses.replace(view, said=shared) for view in views)
        pairs = zip(analyses, below, strict=True)
        reports = [tuple(_sections(analysis, own, view)) for analysis, view in pairs]
        yield from candidates_sections(analyses, reports, shared)
    yield from _sections(analyses[0], dataclasses.replace(wanted, sections=of_all, main=""), views[0])


def _sections(analysis: Analysis, wanted: Wanted, view: View) -> Iterator[Section]:
    from abtune.report.summary import analysis_section

    if wanted.main:
        yield analysis_section(analysis, view)
    for name, entry in SECTIONS.items():
        if name in wanted.sections:
            yield load(entry.make)(analysis, *([wanted.explained] if name == "explain" else []))
        elif name == "same_schedule" and wanted.main == "report" and "transfer_latency" in analysis.dataset:
            with contextlib.suppress(InputError):  # these two configurations lack what another pair has
                section = load(entry.make)(analysis, unfolded=False)
                some = view.rows is not None and len(view.rows) < len(analysis.comparisons)
                yield dataclasses.replace(section, page=() if some else section.page, unasked=True)


def _exit_code(analyses: Sequence[Analysis], fail_on: Sequence[str | float]) -> int:
    """Return the exit code, and say on the standard error which gate is hit, and why."""
    code = 0
    for analysis in analyses:
        which = f" ({analysis.candidate})" if len(analyses) > 1 else ""
        for gate in dict.fromkeys(fail_on):
            if hit := _hit(analysis, gate):
                code = 1
                remark(f"abtune: --fail-on {hit}{which}")
    return code


def _hit(analysis: Analysis, gate: str | float) -> str:
    """Return why a gate is hit; empty if it is not."""
    if isinstance(gate, str):
        if shapes := [row.shape for row in analysis.comparisons if row.verdict.value == gate]:
            return f"{gate}: {some_of(shapes)}"
        # Without a verdict nothing speaks against the shapes, and nothing for them.
        unknown = all(row.verdict.value == "invalid" for row in analysis.comparisons)
        return f"{gate}: no shape has a verdict" if unknown else ""
    name, worst = f"{_SLOWER_THAN}{plain_percent(gate)}", analysis.worst
    if worst is None:
        return f"{name}: not every shape has a verdict, so no bound holds for all"
    if worst.boost_low >= -gate:
        return ""
    return f"{name}: {worst.shape} may be slower by up to {bound_percent(worst.boost_low).lstrip('-')}"
