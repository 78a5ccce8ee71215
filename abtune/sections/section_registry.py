"""The sections of ``abtune analyze`` and the figures by name: the only list of them, which loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from abtune.errors import InputError, unknown_name
from abtune.lazy import Function, load

if TYPE_CHECKING:
    from abtune.compare.results import Analysis


class Entry(NamedTuple):
    """A section or a figure."""

    words: str  # what it shows, for the help
    make: Function  # from an analysis. Explain takes the shapes, too, and forest another dataset or None


_HOME = "abtune.sections"
# By their fields in JSON, in the order of the report.
SECTIONS: dict[str, Entry] = {
    "explain": Entry("The whole story of some shapes.", f"{_HOME}.explain:explain_section"),
    "overall": Entry(
        "All shapes together: range, chance to win, spread.", f"{_HOME}.overall_page:overall_section"
    ),
    "same_schedule": Entry(
        "Winners built under both configurations: code or luck? Part of the report of such data.",
        f"{_HOME}.same_schedule.same_schedule_page:same_schedule_section",
    ),
    "noise": Entry("Where the noise comes from, and which trials failed.", f"{_HOME}.noise:noise_section"),
    "timings": Entry(
        "What the raw timings of single processes show, and what they cannot.",
        f"{_HOME}.raw_timings:timings_section",
    ),
    "curve": Entry("The boost by number of trials.", f"{_HOME}.curve.curve:curve_section"),
    "single_run": Entry(
        "What a table with one run per cell supports, overall and shape by shape.",
        f"{_HOME}.single_run:single_run_section",
    ),
}


_FOREST, _CURVE = "abtune.report.figures.forest", f"{_HOME}.curve.curve_figures"
# The first is the default.
FIGURES = {
    "forest": Entry("boosts with their intervals", f"{_FOREST}:draw_forest_beside"),
    "seeds": Entry("every seed", f"{_FOREST}:draw_seeds"),
    "trials": Entry("the fastest kernel by number of trials", f"{_CURVE}:draw_searches"),
    "curve": Entry("the boost by number of trials", f"{_CURVE}:draw_boosts"),
    "same-schedule": Entry(
        "each schedule under both configurations",
        f"{_HOME}.same_schedule.same_schedule_page:draw_same_schedule",
    ),
    "power": Entry(
        "the chance to find a boost, by seeds and their cost", f"{_HOME}.power.power_page:draw_power"
    ),
}


def describe(analysis: Analysis, section: str, **options: Any) -> Any:
    """Return what a section of the report shows, as a value.

    Parameters
    ----------
    analysis : Analysis
        As :func:`abtune.analyze` returns it.
    section : str
        explain, overall, same_schedule, noise, timings, curve or single_run.
    **options : object
        The option of the section by name, as the command line takes it: ``explain="M=512_N=256_K=640"``.

    Returns
    -------
    object
        A frozen dataclass, whose fields are those of the section in JSON: boosts, noise and levels are
        fractions, latencies are seconds, NaN stands for what is unknown. None if the fields of the analysis
        have it already.

    Raises
    ------
    InputError
        If there is no such section or option, or the dataset lacks what the section needs.
    """
    if not hasattr(analysis, "comparisons"):  # the class of an analysis would be slow to import
        kind_given = type(analysis).__name__
        raise InputError(f"an object of type {kind_given} is not an analysis; make one with abtune.analyze")
    section = str(section).replace("-", "_")  # the command line has hyphens
    if section not in SECTIONS:
        raise unknown_name("section", section, SECTIONS)
    known = ["explain"] if section == "explain" else []
    for name in options:
        if name not in known:
            raise unknown_name(f"option of {section}", name, known)
    if known and not options:
        raise InputError("explain needs explain=VALUE, as --explain takes it")
    return load(SECTIONS[section].make)(analysis, *options.values()).result
