"""The sections of ``abtune analyze`` by name: the only place that lists them. It loads none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abtune.errors import InputError, unknown_name
from abtune.lazy import Function, load

if TYPE_CHECKING:
    from abtune.compare.results import Analysis
    from abtune.report.page import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionKind:
    """One kind of section."""

    name: str  # its field in JSON
    help: str  # what it shows
    make: Function  # from an analysis to a section
    asked_by: str = ""  # an option whose value asks for it, too
    in_place: bool = False  # whether it stands in place of the report, and takes that value, too
    of_all: bool = False  # whether it is about all configurations, so that several candidates share it
    shown_with: str = ""  # a variable of datasets whose report has it without being asked; empty for none

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")

    def section(self, analysis: Analysis, values: Mapping[str, Any]) -> Section:
        """Return the section; the values are those of options, by name."""
        more = (values[self.asked_by],) if self.in_place else ()
        return load(self.make)(analysis, *more)


# In the order of the report.
SECTIONS: dict[str, SectionKind] = {
    kind.name: kind
    for kind in (
        SectionKind(
            name="explain",
            help="The whole story of some shapes.",
            make="abtune.sections.explain:explain_section",
            asked_by="explain",
            in_place=True,
        ),
        SectionKind(
            name="overall",
            help="All shapes together: range, chance to win, spread.",
            make="abtune.sections.overall_page:overall_section",
            asked_by="weights",
        ),
        SectionKind(
            name="same_schedule",
            help="Winners built under both configurations: code or luck? Part of the report of such data.",
            make="abtune.sections.same_schedule.same_schedule_page:same_schedule_section",
            shown_with="transfer_latency",
        ),
        SectionKind(
            name="noise",
            help="Where the noise comes from, and which trials failed.",
            make="abtune.sections.noise:noise_section",
        ),
        SectionKind(
            name="timings",
            help="What the raw timings of single processes show, and what they cannot.",
            make="abtune.sections.raw_timings:timings_section",
            of_all=True,
        ),
        SectionKind(
            name="curve",
            help="The boost by number of trials.",
            make="abtune.sections.curve.curve:curve_section",
        ),
        SectionKind(
            name="single_run",
            help="What a table with one run per cell supports, overall and shape by shape.",
            make="abtune.sections.single_run:single_run_section",
        ),
    )
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
    kind = SECTIONS[section]
    known = [kind.asked_by] * kind.in_place
    for name in options:
        if name not in known:
            raise unknown_name(f"option of {section}", name, known)
    if kind.in_place and kind.asked_by not in options:
        raise InputError(f"{section} needs {kind.asked_by}=VALUE, as --{kind.asked_by} takes it")
    return kind.section(analysis, options).result
